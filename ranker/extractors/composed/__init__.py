"""Extractors made of others, and scores from files."""
