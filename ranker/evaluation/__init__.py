"""Evaluation against human judgements: correlation, significance, system level, annotators."""
