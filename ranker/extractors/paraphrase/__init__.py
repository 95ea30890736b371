"""Substitutions learnt from translations."""
