"""Readers and writers for the formats of translations, judgements, alignments and scores."""
