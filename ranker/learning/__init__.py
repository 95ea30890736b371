"""Models learnt from data: arrays in, arrays out; nothing here knows sentences or systems."""
