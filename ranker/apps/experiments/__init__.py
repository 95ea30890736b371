"""Experiments that reproduce the tables of papers, one module per paper."""
