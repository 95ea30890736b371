"""Sentence encoders: finding their files, running them."""
