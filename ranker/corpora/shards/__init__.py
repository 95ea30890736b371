"""Data sets of many files, each with whole sources: made from a stream, read one at a time."""
