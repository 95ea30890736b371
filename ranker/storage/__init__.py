"""Files that outlive a run: models, caches, and plain data written by others."""
