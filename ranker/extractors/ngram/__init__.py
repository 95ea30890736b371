"""Features and metrics based on matched n-grams: BLEU, NIST, chrF, ROUGE, GTM, precision and recall."""
