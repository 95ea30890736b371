"""Dependency parsers: spaCy pipelines, checked when they are loaded."""
