"""Applications of the ranker, each readable alone."""
