"""Metrics composed of other metrics, and external scores read from files."""
