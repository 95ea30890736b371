"""Edit distances: WER, PER, TER."""
