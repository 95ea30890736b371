"""Data sets of many files, each with whole sources: written from a stream, read one at a time."""
