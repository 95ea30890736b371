"""The ranker: feature sets, weights, training, and everything that has a score and a name."""
