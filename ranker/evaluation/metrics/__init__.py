"""Comparison of metrics: statistics, significance tests, multiple-testing correction."""
