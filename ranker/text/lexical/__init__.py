"""Lexical resources: stems, synonyms, phrase tables and function words, as arrays over a vocabulary."""
