"""Data sets and human judgements, their readers and writers, and the catalogue for ``--data``."""
