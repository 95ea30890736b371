"""Metrics based on edit distance: WER, PER, TER."""
