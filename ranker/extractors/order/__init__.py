"""Word order: permutation scores, permutation trees, RIBES, LRscore, and the alignments they read."""
