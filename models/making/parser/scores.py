"""Scores a dependency parser against a treebank.

On the treebank's own words: share of words with the right tag, the right head (UAS), and the right head and relation
(LAS), punctuation included. On raw text, where the parser's tokenizer may cut words differently: F1 over words that
span the same characters, as in the CoNLL 2018 shared task (Zeman et al. 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.making.parser.conllu import Sentence
from ranker.learning.parser.parsing import DependencyParser, Parses


@dataclass(frozen=True)
class ParserScores:
    """Fractions in [0, 1]."""

    words: float
    tags: float
    uas: float
    las: float
    lemmas: float


def score_words(parser: DependencyParser, sentences: Sequence[Sentence], *, lowercase: bool = False) -> ParserScores:
    """Score on the treebank's words, optionally lower-cased first."""
    words = [[form.lower() for form in sentence.forms] if lowercase else sentence.forms for sentence in sentences]
    parses = parser.parse(words, lemmas=parser.has_lemmas)
    return _compared(parses, sentences, [_unit_spans(sentence) for sentence in words])


def score_text(parser: DependencyParser, sentences: Sequence[Sentence]) -> ParserScores:
    """Score on the treebank's raw text, tokenised by the parser's pipeline."""
    parses = parser.parse([sentence.text for sentence in sentences], lemmas=parser.has_lemmas)
    spans = [
        _character_spans(parses.words[start:end])
        for start, end in zip(parses.offsets[:-1], parses.offsets[1:], strict=True)
    ]
    return _compared(parses, sentences, spans, [_character_spans(sentence.forms) for sentence in sentences])


_Spans = Sequence[tuple[int, int]]


def _unit_spans(words: Sequence[str]) -> _Spans:
    return [(position, position + 1) for position in range(len(words))]


def _character_spans(words: Sequence[str]) -> _Spans:
    """Return where each word starts and ends in the sentence without its spaces."""
    ends = np.cumsum([len("".join(word.split())) for word in words]).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True)) if words else []


def _compared(
    parses: Parses, sentences: Sequence[Sentence], spans: Sequence[_Spans], expected: Sequence[_Spans] | None = None
) -> ParserScores:
    expected = spans if expected is None else expected
    right = np.zeros(5)
    for index, sentence in enumerate(sentences):
        start = int(parses.offsets[index])
        own = spans[index]
        place = {span: position for position, span in enumerate(own)}
        for position, span in enumerate(expected[index]):
            gold = place.get(span)
            if gold is None:
                continue
            row = start + gold
            head, expected_head = int(parses.heads[row]), sentence.heads[position]
            if head < 0 or expected_head < 0:
                same_head = head < 0 and expected_head < 0
            else:
                same_head = own[head] == expected[index][expected_head]
            relation = parses.relation_names[parses.relations[row]]
            right += (
                1,
                parses.tag_names[parses.tags[row]] == sentence.tags[position],
                same_head,
                same_head and relation == sentence.relations[position],
                parses.lemmas is not None and parses.lemmas[row] == sentence.lemmas[position].lower(),
            )
    words = sum(len(sentence) for sentence in sentences) + len(parses.words)
    return ParserScores(*(2 * right / max(words, 1)).tolist())
