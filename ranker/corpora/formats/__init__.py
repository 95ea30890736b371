"""Readers and writers of the formats in which translations, judgements, alignments and scores come."""
