"""What features read: tokens, n-grams, sequences, reference pairs."""
