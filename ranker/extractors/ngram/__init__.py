"""Features and metrics of matched n-grams: BLEU, NIST, chrF, ROUGE, GTM, precision and recall."""
