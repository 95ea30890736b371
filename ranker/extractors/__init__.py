"""Metrics and features, one folder per subject, and their registry."""
