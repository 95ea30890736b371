"""The dependency parser: its package, its training from treebanks, its scores."""
