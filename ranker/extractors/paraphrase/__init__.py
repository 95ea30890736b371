"""Features of word matches with substitutions learnt from translations."""
