"""METEOR: matching, alignment, chunks, paraphrases, and its parts as features."""
