"""The papers' tables: one module a paper, each a thin composition of the rest."""
