"""Feature counts of the dependency triplets that candidate and reference share."""
