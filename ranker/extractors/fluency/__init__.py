"""Perplexity features by n-gram language models."""
