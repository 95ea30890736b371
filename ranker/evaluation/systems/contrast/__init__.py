"""Contrast of two systems: segments, words and n-grams that only one of them translates correctly."""
