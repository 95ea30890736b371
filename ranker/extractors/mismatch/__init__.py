"""Differences in meaning between a candidate and its reference."""
