"""The tables of papers: one module per paper."""
