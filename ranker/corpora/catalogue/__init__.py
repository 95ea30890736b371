"""The corpora known by name: their cards and their loading."""

from ranker.corpora.catalogue.card_files import Card, Download, card, cards, corpus_directory
from ranker.corpora.catalogue.loading import load

__all__ = ["Card", "Download", "card", "cards", "corpus_directory", "load"]
