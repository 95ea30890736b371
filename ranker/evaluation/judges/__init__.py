"""Judges: agreement coefficients, votes, quality of annotators."""
