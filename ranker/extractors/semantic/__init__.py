"""Features of the similarity of contextual embeddings."""
