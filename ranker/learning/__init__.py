"""Models learnt from data. They take and return arrays and know nothing of sentences or systems."""
