"""Dependency triplets (type, head, dependent) of five types, derived from parser labels by tables of rules.

The types are those of Ye, Zhou and Lin (2007, section 4.2.2). A label scheme is a list of `Rule`; the first rule that
fits a word makes its triplet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int32Array, Int64Array, offsets_of
from ranker.learning.parser.parsing import Parses

TYPES = ("agent-verb", "verb-patient", "noun-modifier", "verb-modifier", "preposition-object")


@dataclass(frozen=True)
class Rule:
    """Rule that makes a triplet of `type` from each word whose relation to its head is one of `relations`."""

    type: str
    relations: tuple[str, ...]
    head_tags: tuple[str, ...] = ()
    head_relations: tuple[str, ...] = ()
    swapped: bool = False
    child: str = ""


VERBS = ("VERB", "AUX")
OBLIQUES = ("obl", "obl:agent", "obl:arg", "obl:tmod", "obl:npmod", "obl:unmarked", "nmod", "nmod:tmod", "nmod:npmod")

UNIVERSAL = (
    # in a clause without a verb ("he is tall") the predicate takes the verb's place
    Rule("agent-verb", ("nsubj", "nsubj:outer", "csubj", "csubj:outer", "obl:agent")),
    Rule("verb-patient", ("obj", "iobj", "nsubj:pass", "csubj:pass")),
    Rule("noun-modifier", ("amod", "nummod", "compound", "nmod:poss", "nmod:desc", "acl", "acl:relcl", "appos")),
    Rule("noun-modifier", ("nmod:unmarked", "nmod:npmod", "nmod:tmod")),
    Rule(
        "verb-modifier",
        ("advmod", "advcl", "compound:prt", "obl:unmarked", "obl:npmod", "obl:tmod"),
        head_tags=VERBS,
    ),
    Rule("preposition-object", ("case",), head_relations=OBLIQUES, swapped=True),
)
"""Rules for the labels of Universal Dependencies, versions 1 and 2."""

CLEARNLP = (
    Rule("agent-verb", ("nsubj", "csubj")),
    Rule("agent-verb", ("agent",), child="pobj"),
    Rule("verb-patient", ("dobj", "dative", "nsubjpass", "csubjpass")),
    Rule("noun-modifier", ("amod", "nummod", "compound", "poss", "nmod", "acl", "relcl", "appos")),
    Rule("verb-modifier", ("advmod", "advcl", "prt", "npadvmod", "neg"), head_tags=VERBS),
    Rule("preposition-object", ("pobj",)),
)
"""Rules for the labels of spaCy's English models."""


def scheme_of(relation_names: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return the rules for a parser's labels: `CLEARNLP` or `UNIVERSAL`."""
    return CLEARNLP if "pobj" in relation_names or "dobj" in relation_names else UNIVERSAL


@dataclass(frozen=True, eq=False)
class Triplets:
    """Triplets of many sentences in CSR form, sorted by type, head and dependent within a sentence."""

    type: npt.NDArray[np.int8]
    head: Int32Array
    dependent: Int32Array
    offsets: Int64Array
    vocabulary: list[str]

    def of(self, sentence: int) -> list[tuple[str, str, str]]:
        """Return the triplets of one sentence as (type, head, dependent), with heads and dependents as words."""
        block = slice(*self.offsets[sentence : sentence + 2])
        return [
            (TYPES[kind], self.vocabulary[head], self.vocabulary[dependent])
            for kind, head, dependent in zip(self.type[block], self.head[block], self.dependent[block], strict=True)
        ]


def triplets(parses: Parses, *, lemma: bool = False) -> Triplets:
    """Return the triplets of parsed sentences, with lemmas instead of lower-cased words if `lemma` is set."""
    words = parses.lemmas if lemma and parses.lemmas is not None else [word.lower() for word in parses.words]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    word = np.fromiter(map(numbers.__getitem__, words), dtype=np.int32, count=len(words))
    sentence = np.repeat(np.arange(len(parses), dtype=np.int64), np.diff(parses.offsets))
    # positions in the columns; a root is its own head, and no rule has its relation
    start = parses.offsets[:-1][sentence]
    own = np.arange(len(words), dtype=np.int64)
    head = np.where(parses.heads < 0, own, start + parses.heads)
    free = parses.heads >= 0
    kinds, heads, dependents, members = [], [], [], []
    for rule in scheme_of(parses.relation_names):
        fits = free & np.isin(parses.relations, _codes(parses.relation_names, rule.relations))
        if rule.head_tags:
            fits &= np.isin(parses.tags[head], _codes(parses.tag_names, rule.head_tags))
        if rule.head_relations:
            fits &= np.isin(parses.relations[head], _codes(parses.relation_names, rule.head_relations))
        free = free & ~fits
        chosen = np.flatnonzero(fits)
        dependent = chosen
        if rule.child:
            child = _first_child(parses, head, rule.child)
            chosen = chosen[child[chosen] >= 0]
            dependent = child[chosen]
        pair = (chosen, head[chosen]) if rule.swapped else (head[chosen], dependent)
        kinds.append(np.full(len(chosen), TYPES.index(rule.type), dtype=np.int8))
        heads.append(word[pair[0]])
        dependents.append(word[pair[1]])
        members.append(sentence[chosen])
    kind, member = np.concatenate(kinds), np.concatenate(members)
    left, right = np.concatenate(heads), np.concatenate(dependents)
    order = np.lexsort((right, left, kind, member))
    counts = np.bincount(member, minlength=len(parses))
    return Triplets(
        kind[order],
        left[order],
        right[order],
        offsets_of(counts),
        list(numbers),
    )


def _codes(names: tuple[str, ...], wanted: tuple[str, ...]) -> list[int]:
    return [code for code, name in enumerate(names) if name in wanted]


def _first_child(parses: Parses, head: Int64Array, label: str) -> Int64Array:
    """Return the position of each word's first child with the relation `label`, -1 for words without one."""
    child = np.full(len(head), -1, dtype=np.int64)
    children = np.flatnonzero((parses.heads >= 0) & np.isin(parses.relations, _codes(parses.relation_names, (label,))))
    child[head[children[::-1]]] = children[::-1]
    return child
