"""TERp: costs, words and phrases that match, alignment, shifts."""
