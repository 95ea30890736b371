"""Models learnt from data: arrays in, arrays out, without knowledge of sentences or systems."""
