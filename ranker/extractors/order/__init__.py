"""Metrics of word order: permutation scores, permutation trees, RIBES, LRscore, and the word alignments they use."""
