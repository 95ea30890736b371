"""TERp: edit costs, matching of words and phrases, alignment, and shifts."""
