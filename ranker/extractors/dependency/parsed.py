"""Dependency trees of a data set's sentences, and their parts of speech as tokens."""

from __future__ import annotations

import dataclasses

from ranker.corpora.dataset import Dataset, view
from ranker.extractors.dependency.cache import origin_of, parse
from ranker.learning.parser.parsing import Parses, digest
from ranker.text.tokens import TokenBatch, TokenisedTexts, distinct_sentences, token_batch


def parser_signature(parser: str) -> str:
    """Return the digest that identifies a parser in signatures, because one name may denote different parsers."""
    return digest(origin_of(parser))[:8]


@view
def parses_of(dataset: Dataset, parser: str) -> Parses:
    """Return the dependency trees of the distinct sentences of `dataset`."""
    return parse(distinct_sentences(dataset).texts, parser)


@view
def tag_batch(dataset: Dataset, parser: str) -> TokenBatch:
    """Return the token batch of `dataset` with every word replaced by its part of speech."""
    parses = parses_of(dataset, parser)
    segments = TokenisedTexts(parses.tags, parses.offsets, list(parses.tag_names))
    return dataclasses.replace(token_batch(dataset), segments=segments)
