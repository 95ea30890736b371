"""Applications built on the ranker, each of which can be read on its own."""
