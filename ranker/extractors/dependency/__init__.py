"""Dependency triplets that candidate and reference share."""
