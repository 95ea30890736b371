"""What is learnt: array-level estimators that know nothing of sentences or systems."""
