"""Perplexity by n-gram language models."""
