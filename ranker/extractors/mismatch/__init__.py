"""Features of differences in meaning between a candidate and its reference."""
