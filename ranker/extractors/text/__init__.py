"""What features read: tokens, n-grams, stems, word classes, WordNet, reference pairs."""
