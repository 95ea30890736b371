"""Similarity of contextual embeddings."""
