"""What is measured: token batches, metrics, feature extractors and their registry."""
