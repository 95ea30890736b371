"""Texts in the forms that features read: tokens, n-grams, sequences, reference pairs."""
