"""The ranker: its feature sets, weights and training; and scorers, one interface for rankers and metrics."""
