"""How often a metric prefers a translation that says something else: `python bench/minimal_pairs.py`, a Markdown table.

A pair is a reference and two candidates: the *right* one rewords the reference, the *wrong* one is the reference with
one small change of what it says, of one kind: a negation, an opposite, a number, a name, agent and patient exchanged, a
tense, something left out, added or repeated. Both are made by the rules below from sentences of a treebank
($RANKER_SHARED/data/ud_en_ewt), whose trees say what depends on what. From the included data set `sample` the wrong
ones are made by the same rules and the trees of the included parser, and the right one is another reference.

``--part learn`` takes other sentences, those that the lists and limits of the extractor `mismatch` were made with.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from bench.common import SHARED, run_main, say, table
from models.making.parser.conllu import read_conllu
from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import from_records
from ranker.extractors.dependency.cache import parse
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker

KINDS = ("negation", "antonym", "number", "name", "role", "tense", "omission", "addition", "repetition")
METRICS = ("chrf", "meteor[modules=exact+stem]")
MODELS = ("full", "full-lexical")
LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MOST, FEW = 200, 100
"""Numbers of pairs per kind: at most, and so few that more are made."""
_LENGTH = range(4, 36)
_OBLIQUE = ("obl", "obl:tmod", "obl:npmod", "obl:unmarked")
_BE = {"is": "was", "are": "were", "was": "will be", "were": "will be", "am": "was"}
_AUXILIARIES = frozenset("is are was were am can could will would should must may might has have had".split())  # noqa: SIM905
_OBJECTS = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_SUBJECTS = {objective: subjective for subjective, objective in _OBJECTS.items()}


@dataclass(frozen=True)
class Pair:
    """A reference with a candidate that says the same and one that does not."""

    kind: str
    reference: str
    right: str
    wrong: str


@dataclass(frozen=True)
class Tree:
    """A sentence with its tree; `spaces` are the characters before each word."""

    forms: tuple[str, ...]
    spaces: tuple[str, ...]
    lemmas: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.forms)

    @functools.cached_property
    def root(self) -> int:
        """Return the word that depends on none."""
        return self.heads.index(-1)

    def children(self, word: int, *relations: str) -> list[int]:
        """Return what depends on a word, by these relations if there are any."""
        return [
            i for i in range(len(self)) if self.heads[i] == word and (not relations or self.relations[i] in relations)
        ]

    def span(self, word: int) -> range | None:
        """Return the words below `word` if nothing else is between them."""
        below = {word}
        while more := {i for i in range(len(self)) if self.heads[i] in below and i not in below}:
            below |= more
        return range(min(below), max(below) + 1) if max(below) - min(below) + 1 == len(below) else None

    def text(self, edits: dict[int, str]) -> str:
        """Write the sentence with other words in place of some; a word replaced by nothing takes its space along."""
        parts = []
        for i, form in enumerate(self.forms):
            word = edits.get(i, form)
            parts.append(f"{self.spaces[i]}{word}" if word else "")
        return tidy("".join(parts))

    def words(self, span: range) -> str:
        """Write some of the words."""
        return "".join(self.spaces[i] * (i > span.start) + self.forms[i] for i in span)


def tidy(text: str) -> str:
    """Remove what edits leave behind: doubled spaces and commas, a small letter at the beginning."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s+([,.!?;:])", r"\1", text)
    text = re.sub(r",(?=[,.!?;])|^[,;] *", "", text)
    return text[:1].upper() + text[1:]


OPPOSITES = {
    word: other
    for pair in re.split(r"[;\s]+", LISTS["opposites"].strip(" ;\n"))
    for word, other in (pair.split("/"), pair.split("/")[::-1])
}
SYNONYMS, CONTRACTIONS = (
    dict(re.split(r"\s*>\s*", pair.strip()) for pair in LISTS[name].split(";")) for name in ("synonyms", "contractions")
)
IRREGULAR = {lemma: forms.split("/") for lemma, forms in LISTS["irregular"].items()}


def cased(word: str, like: str) -> str:
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def past(lemma: str) -> str:
    if lemma in IRREGULAR:
        return str(IRREGULAR[lemma][0])
    if lemma.endswith("e"):
        return f"{lemma}d"
    return re.sub(r"([^aeiou])y$", r"\1i", lemma) + "ed"


def participle(lemma: str) -> str:
    return str(IRREGULAR[lemma][-1]) if lemma in IRREGULAR else past(lemma)


def finite(tree: Tree, word: int) -> str:
    """Name the tense of a verb without auxiliary: past, present, or nothing if it is not finite."""
    form, lemma = tree.forms[word].lower(), tree.lemmas[word]
    if tree.tags[word] != "VERB" or tree.children(word, "aux", "aux:pass", "cop", "mark"):
        return ""
    if not tree.children(word, "nsubj"):
        return ""
    if form in (past(lemma), *IRREGULAR.get(lemma, ())) and form != lemma:
        return "past"
    return "present" if form in (lemma, f"{lemma}s", f"{lemma}es", re.sub("y$", "ies", lemma)) else ""


# -- wrong candidates: each rule yields the sentence with one change


def negation(tree: Tree, rng: random.Random) -> Iterator[str]:
    for i, form in enumerate(tree.forms):
        following = tree.forms[i + 1] if i + 1 < len(tree) else ""
        if form.lower() in ("not", "n't", "never") and tree.tags[tree.heads[i]] in ("VERB", "ADJ", "NOUN"):
            before = tree.forms[i - 1].lower() if i else ""
            if before in ("do", "does", "did", "ca", "wo"):
                verb = tree.heads[i]
                lemma = tree.lemmas[verb]
                new = {
                    "do": lemma,
                    "does": f"{lemma}s",
                    "did": past(lemma),
                    "ca": f"can {lemma}",
                    "wo": f"will {lemma}",
                }
                if (
                    verb > i
                    and tree.forms[verb] == lemma
                    and not tree.children(verb, "cop", "aux:pass")
                    and tree.children(tree.root, "nsubj") != [i + 1]
                ):
                    yield tree.text({i - 1: "", i: "", verb: new[before]})
            elif i and tree.tags[i - 1] == "AUX":
                yield tree.text({i: ""})
        elif form.lower() == "no" and tree.relations[i] == "det" and i:
            yield tree.text({i: "some"})
        elif (
            tree.tags[i] == "AUX" and form.lower() in _AUXILIARIES and following.lower() not in ("not", "n't", "never")
        ):
            if tree.heads[i] == tree.root and tree.heads[i] > i and "?" not in tree.forms:
                yield tree.text({i: f"{form} not"})
        elif (
            i == tree.root and finite(tree, i) and not any(tree.forms[j].lower() in ("not", "never") for j in range(i))
        ):
            subject = tree.forms[tree.children(i, "nsubj")[0]].lower()
            plural = subject in ("i", "you", "we", "they") or tree.forms[i] == tree.lemmas[i]
            auxiliary = "did" if finite(tree, i) == "past" else "do" if plural else "does"
            yield tree.text({i: f"{auxiliary} not {tree.lemmas[i]}"})


def antonym(tree: Tree, rng: random.Random) -> Iterator[str]:
    verbs = (
        "left",
        "like",
        "right",
        "well",
        "open",
        "for",
        "up",
        "down",
        "with",
        "light",
        "kind",
        "lead",
        "leave",
        "first",
        "last",
    )
    for i, form in enumerate(tree.forms):
        other = OPPOSITES.get(form.lower())
        if (
            other
            and (form.lower() not in verbs or tree.tags[i] == "ADJ")
            and tree.relations[i] not in ("compound:prt", "fixed")
        ):
            article = i > 0 and tree.forms[i - 1].lower() in ("a", "an")
            edits = {i: cased(other, form)}
            if article:
                edits[i - 1] = cased("an" if other[0] in "aeiou" else "a", tree.forms[i - 1])
            yield tree.text(edits)


def number(tree: Tree, rng: random.Random) -> Iterator[str]:
    for i, form in enumerate(tree.forms):
        for words in (LISTS["numerals"], LISTS["ordinals"]):
            if form.lower() in words and form.lower() != "one" and tree.tags[i] in ("NUM", "ADJ"):
                others = [each for each in words[1:10] if each != form.lower() and each[0] not in "aeiou"]
                yield tree.text({i: cased(rng.choice(others), form)})
        if re.fullmatch(r"\d[\d.,]*\d|\d", form) and tree.tags[i] == "NUM" and tree.relations[i] != "list":
            digits = [place for place, character in enumerate(form) if character.isdigit()]
            place = rng.choice(digits)
            digit = rng.choice([each for each in "123456789" if each != form[place]])
            yield tree.text({i: form[:place] + digit + form[place + 1 :]})


def name(tree: Tree, rng: random.Random) -> Iterator[str]:
    for i, form in enumerate(tree.forms):
        for group in LISTS["names"]:
            if form in group and tree.tags[i] in ("PROPN", "ADJ") and tree.relations[i] != "vocative":
                yield tree.text({i: rng.choice([each for each in group if each != form])})
        if (
            tree.tags[i] == "PROPN"
            and tree.relations[i] in ("nsubj", "obj", "obl", "nmod")
            and form[0].isupper()
            and form.isalpha()
        ):
            if (
                any(abs(i - j) == 1 and tree.tags[j] in ("PROPN", "DET", "ADJ") for j in range(len(tree)))
                or any(form in group for group in LISTS["names"])
                or len(form) < 3
            ):
                continue
            group = rng.choice(LISTS["names"][:2]) if tree.children(i, "case") else rng.choice(LISTS["names"][5:])
            yield tree.text({i: rng.choice(group)})


def arguments(tree: Tree) -> Iterator[tuple[int, range, range]]:
    """Yield verbs with their subjects and objects, if these are phrases on both sides of the verb."""
    for verb in range(len(tree)):
        subjects, objects = tree.children(verb, "nsubj"), tree.children(verb, "obj")
        if len(subjects) != 1 or len(objects) != 1 or tree.tags[verb] != "VERB" or tree.relations[verb] == "acl:relcl":
            continue
        if tree.children(verb, "iobj", "xcomp", "ccomp", "compound:prt") or "?" in tree.forms:
            continue
        if tree.lemmas[verb] in ("have", "be", "mean", "cost", "take", "include"):
            continue
        ends = subjects[0], objects[0]
        plain = [tree.forms[i].lower() for i in ends if tree.tags[i] == "PRON"]
        if any(tree.tags[i] not in ("NOUN", "PROPN", "PRON") for i in ends) or len(plain) > 1:
            continue
        if any(each not in (*_OBJECTS, *_SUBJECTS, "you", "everyone", "someone") for each in plain):
            continue
        subject, object_ = tree.span(subjects[0]), tree.span(objects[0])
        if not subject or not object_ or subject.stop > verb or object_.start < verb:
            continue
        if (
            len(subject) > 8
            or len(object_) > 8
            or any(tree.relations[i] in ("acl:relcl", "acl", "punct") for i in (*subject, *object_))
        ):
            continue
        # the form of the verb must fit another subject
        auxiliaries = {tree.forms[i].lower() for i in tree.children(verb, "aux")}
        many = [tree.forms[i].lower() != tree.lemmas[i] for i in ends]
        same = not plain and many[0] == many[1] and finite(tree, verb) == "present"
        if (
            same
            or finite(tree, verb) == "past"
            or auxiliaries & {"will", "would", "can", "could", "should", "must", "may", "might", "did", "had"}
        ):
            yield verb, subject, object_


def swapped(text: str, cases: dict[str, str]) -> str:
    """Write a phrase in the other place: a pronoun in its other case, without the capital of the beginning."""
    return cases.get(text.lower(), text)


def lowered(tree: Tree, span: range) -> str:
    text = tree.words(span)
    return text if tree.tags[span.start] == "PROPN" or re.match(r"I\b", text) else text[:1].lower() + text[1:]


def role(tree: Tree, rng: random.Random) -> Iterator[str]:
    for _, subject, object_ in arguments(tree):
        first = swapped(tree.words(object_), _SUBJECTS)
        second = swapped(lowered(tree, subject) if subject.start == 0 else tree.words(subject), _OBJECTS)
        edits = dict.fromkeys((*subject, *object_), "")
        first = "I" if first == "i" else first
        yield tree.text({**edits, subject.start: first, object_.start: second})


def tense(tree: Tree, rng: random.Random) -> Iterator[str]:
    for i, form in enumerate(tree.forms):
        if form.lower() in _BE and tree.tags[i] == "AUX" and tree.heads[i] == tree.root and i < tree.root:
            if "?" not in tree.forms and not (
                tree.lemmas[i] == "be"
                and form.lower() in ("was", "were")
                and tree.forms[i + 1].lower() in ("not", "n't")
            ):
                yield tree.text({i: cased(_BE[form.lower()], form)})
        elif (
            form.lower() == "will"
            and tree.heads[i] == tree.root
            and tree.forms[i + 1] == tree.lemmas[i + 1]
            and i + 1 == tree.root
        ):
            yield tree.text({i: "", i + 1: past(tree.lemmas[i + 1])})
    if finite(tree, tree.root) == "past":
        yield tree.text({tree.root: f"will {tree.lemmas[tree.root]}"})
    elif finite(tree, tree.root) == "present" and (
        tree.lemmas[tree.root] in IRREGULAR or not re.search("[aeiou][bdgmnprt]$", tree.lemmas[tree.root])
    ):
        yield tree.text({tree.root: past(tree.lemmas[tree.root])})


def omission(tree: Tree, rng: random.Random) -> Iterator[str]:
    for i in range(len(tree)):
        span = tree.span(i)
        if not span or len(span) > 8 or i == tree.root:
            continue
        relation, head = tree.relations[i], tree.heads[i]
        if (
            relation == "amod"
            and len(span) == 1
            and tree.children(head, "det", "nmod:poss")
            and tree.forms[i - 1].lower() not in ("a", "an")
        ):
            yield tree.text({i: ""})
        if (
            relation in ("obl", "nmod")
            and tree.children(i, "case")
            and span.stop >= len(tree) - 1
            and len(tree) - len(span) > 4
        ):
            yield tree.text(dict.fromkeys(span, ""))
        if (
            relation == "conj"
            and tree.tags[i] in ("NOUN", "PROPN", "ADJ")
            and len(tree.children(head, "conj")) == 1
            and tree.children(i, "cc")
        ):
            yield tree.text(dict.fromkeys(span, ""))


def addition(tree: Tree, rng: random.Random) -> Iterator[str]:
    last = len(tree) - 1
    if tree.forms[last] in ".!" and finite(tree, tree.root):
        yield tree.text({last - 1: f"{tree.forms[last - 1]} {rng.choice(LISTS['additions'])}"})
    for i in range(1, len(tree)):
        before = tree.forms[i - 1].lower()
        if (
            tree.tags[i] == "NOUN"
            and tree.tags[i - 1] == "DET"
            and before in ("the", "this", "these", "his", "her", "their")
        ):
            yield tree.text({i: f"{rng.choice(LISTS['attributes'])} {tree.forms[i]}"})


def repetition(tree: Tree, rng: random.Random) -> Iterator[str]:
    for i in range(1, len(tree) - 1):
        span = tree.span(i)
        if span and span.start > 0 and len(span) <= 5 and tree.relations[i] in ("obj", "obl", "nmod", "xcomp", "conj"):
            yield tree.text({span.stop - 1: f"{tree.forms[span.stop - 1]} {tree.words(span)}"})
        if tree.tags[i] in ("VERB", "NOUN") and tree.forms[i].isalpha() and rng.random() < 0.3:
            yield tree.text({i: f"{tree.forms[i]} {tree.forms[i]}"})


WRONG: dict[str, Callable[[Tree, random.Random], Iterator[str]]] = {
    rule.__name__: rule for rule in (negation, antonym, number, name, role, tense, omission, addition, repetition)
}


# -- right candidates: each rule yields rewordings of a sentence


def other_voice(tree: Tree) -> Iterator[str]:
    """Write the active sentence in the passive."""
    for verb, subject, object_ in arguments(tree):
        if finite(tree, verb) != "past" or tree.children(verb, "advmod", "advcl", "conj"):
            continue
        first = swapped(tree.words(object_), _SUBJECTS)
        second = swapped(lowered(tree, subject) if subject.start == 0 else tree.words(subject), _OBJECTS)
        head = next(i for i in object_ if tree.heads[i] == verb)
        many = (tree.tags[head] == "NOUN" and tree.forms[head].lower() != tree.lemmas[head]) or bool(
            tree.children(head, "conj")
        )
        many = many or first.lower() in ("we", "they", "you")
        be = "were" if many else "was"
        edits = dict.fromkeys((*subject, *object_), "")
        edits |= {subject.start: "I" if first == "i" else first, object_.start: f"by {second}"}
        yield tree.text({**edits, verb: f"{be} {participle(tree.lemmas[verb])}"})


def moved(tree: Tree) -> Iterator[str]:
    """Move a time or place from the end to the beginning, or back."""
    end = len(tree) - 1
    for i in tree.children(tree.root, *_OBLIQUE):
        span = tree.span(i)
        if not span or len(span) > 8 or tree.forms[end] not in ".!" or "?" in tree.forms:
            continue
        if any(tree.relations[j] == "acl:relcl" for j in span) or not tree.children(tree.root, "nsubj"):
            continue
        case = [tree.forms[j].lower() for j in tree.children(i, "case")]
        if case not in ([], ["in"], ["on"], ["at"], ["during"], ["after"], ["before"], ["since"]):
            continue
        edits = dict.fromkeys(span, "")
        if (
            span.stop == end
            and span.start > tree.root
            and tree.tags[0] in ("PRON", "DET", "NOUN", "PROPN")
            and tree.children(tree.root, "nsubj")[0] < tree.root
        ):
            yield tree.text({**edits, 0: f"{tree.words(span)}, {lowered(tree, range(1))}"})
        elif span.start == 0 and span.stop < end and tree.forms[span.stop] == ",":
            first = lowered(tree, span)
            yield tree.text({**edits, span.stop: "", end: f" {first}{tree.forms[end]}"})


def reworded(text: str, rng: random.Random, most: int) -> str:
    """Replace words and phrases by others for the same."""
    for first, second in rng.sample(sorted(SYNONYMS.items()), len(SYNONYMS)):
        match = re.search(rf"(?<![\w'-])(?:(an?) )?({first}|^{first.capitalize()})(?![\w'-])", text)
        if most and match and not (first == "complete" and match[1] is None):
            article = f"{'an' if second[0] in 'aeiou' else 'a'} " if match[1] else ""
            text, most = text[: match.start()] + article + cased(second, match[2]) + text[match.end() :], most - 1
    for full, short in CONTRACTIONS.items():
        for first, second in ((full, short), (short, full)):
            # 's may stand for a genitive or has, and nothing is contracted before a pause
            fits = (first == full or "n't" in short) and not ("n't" in short and text.endswith("?"))
            fits = fits and not re.search(rf"{first} (?:and|or|but|that)\b", text)
            if most and fits and f" {first} " in f" {text}":
                return tidy(f" {text}".replace(f" {first} ", f" {second} ", 1))
    return text


def right(tree: Tree, rng: random.Random) -> str | None:
    """Return a rewording of a sentence, None if no rule fits."""
    original = tree.text({})
    whole = [*other_voice(tree), *moved(tree)]
    text = reworded(rng.choice(whole) if whole else original, rng, 2)
    return text if text.lower() != original.lower() else None


# -- pairs


def usable(tree: Tree) -> bool:
    """True for a whole sentence in ordinary letters that has a verb and its subject."""
    text = tree.text({})
    return (
        len(tree) in _LENGTH
        and bool(re.fullmatch(r"[A-Z][^\n<>@/_*|=]*[.!?]", text))
        and not re.search(r"\.\.|!!|\?\?|[()\[\]\"]", text)
        and bool(tree.children(tree.root, "nsubj", "nsubj:pass"))
    )


def treebank(*parts: str) -> list[Tree]:
    """Read parts of the treebank."""
    trees = []
    paths = [SHARED / "data" / "ud_en_ewt" / f"en_ewt-ud-{part}.conllu.gz" for part in parts]
    for sentence in itertools.chain.from_iterable(map(read_conllu, paths)):
        lemmas = tuple(lemma.lower() for lemma in sentence.lemmas)
        trees.append(_tree(sentence.text, sentence.forms, lemmas, sentence.tags, sentence.heads, sentence.relations))
    return [tree for tree in trees if tree and usable(tree)]


def _tree(
    text: str,
    forms: Sequence[str],
    lemmas: tuple[str, ...],
    tags: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str],
) -> Tree | None:
    spaces, at = [], 0
    for form in forms:
        place = text.find(form, at)
        if place < 0:
            return None
        spaces.append(text[at:place])
        at = place + len(form)
    return Tree(tuple(forms), tuple(spaces), lemmas, tuple(tags), tuple(heads), tuple(relations))


def _spread(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """Draw pairs of one kind, those of different changes first, so that a frequent word does not fill the sample."""
    drawn, seen = [], dict[str, int]()
    for pair in rng.sample(pairs, len(pairs)):
        change = " ".join(sorted(set(pair.wrong.lower().split()) ^ set(pair.reference.lower().split())))
        seen[change] = seen.get(change, 0) + 1
        if seen[change] <= 4:
            drawn.append(pair)
    return drawn[:MOST]


def made(trees: Sequence[Tree], rights: Callable[[Tree, random.Random], str | None], seed: int) -> list[Pair]:
    """Make pairs of every kind, at most one of each kind from a sentence."""
    pairs: list[Pair] = []
    for kind, rule in WRONG.items():
        rng = random.Random(f"{seed} {kind}")
        of_kind = []
        for tree in trees:
            reference, same = tree.text({}), rights(tree, rng)
            changed = [text for text in rule(tree, rng) if text != reference]
            if same and changed:
                of_kind.append(Pair(kind, reference, same, rng.choice(changed)))
        pairs += _spread(of_kind, rng)
    return pairs


def treebank_pairs(part: str) -> list[Pair]:
    """Make pairs of the part to learn from, half of the training file, or of those held out, from other files.

    Of kinds of which there are few, more are made of the other half of the training file.
    """
    train = treebank("train")
    if part == "learn":
        return made(train[::2], right, 0)
    pairs, more = made(treebank("dev", "test"), right, 0), made(train[1::2], right, 0)
    count = {kind: sum(pair.kind == kind for pair in pairs) for kind in KINDS}
    for kind in KINDS:
        pairs += [pair for pair in more if pair.kind == kind][: max(0, FEW - count[kind])]
    return pairs


def sample_pairs() -> list[Pair]:
    """Make pairs of the sample, with other references for the right candidates."""
    dataset = catalogue.load("sample")
    texts = dataset.references["text"].tolist()
    source = dataset.references["source"].tolist()
    parses = parse(texts)
    assert parses.lemmas is not None
    others: dict[str, list[str]] = {}
    trees = []
    for number, text in enumerate(texts):
        others[tidy(text)] = [
            each for place, each in enumerate(texts) if source[place] == source[number] and place != number
        ]
        words = slice(*parses.offsets[number : number + 2])
        names = (
            [parses.tag_names[code] for code in parses.tags[words]],
            [parses.relation_names[code] for code in parses.relations[words]],
        )
        tree = _tree(
            text, parses.words[words], tuple(parses.lemmas[words]), names[0], parses.heads[words].tolist(), names[1]
        )
        if tree and tree.heads.count(-1) == 1 and usable(tree):
            trees.append(tree)
    return made(trees, lambda tree, rng: rng.choice(others[tree.text({})]), 0)


def dataset_of(pairs: Sequence[Pair]) -> Dataset:
    """Return pairs as sources with two candidates, the right one first."""
    return from_records(
        [
            {
                "lp": "xx-en",
                "seg_id": str(place),
                "source": f"{pair.kind} {place}",
                "references": [pair.reference],
                "candidates": {"right": pair.right, "wrong": pair.wrong},
            }
            for place, pair in enumerate(pairs)
        ]
    )


def wrong_first(scores: FloatArray) -> FloatArray:
    """Return 1 for a pair whose wrong candidate scores higher, 1/2 for a tie, else 0, from scores (candidates, ...)."""
    ahead = scores[1::2] - scores[::2]
    return np.where(ahead > 0, 1.0, np.where(ahead == 0, 0.5, 0.0))


def rows_of(pairs: Sequence[Pair], models: Sequence[str], metrics: Sequence[str]) -> dict[str, FloatArray]:
    """Return for every metric, model and feature of the first model for which pairs the wrong candidate is first."""
    dataset = dataset_of(pairs)
    rows: dict[str, FloatArray] = {}
    for metric in metrics:
        features = FeatureSet.parse(metric)
        rows[f"`{metric}`"] = wrong_first(features.transform(dataset)[:, 0] * features.signs[0])
    for place, model in enumerate(models):
        ranker = Ranker.load(model)
        rows[f"**`{model}`**"] = wrong_first(ranker.candidate_scores(dataset))
        if place == 0:
            used = ranker.weight_sets.used_in(dataset)
            columns = ranker.feature_set.transform(dataset, partial=True, used=used)
            chosen = ranker.feature_set.columns_of(used)
            outcome = wrong_first(columns * ranker.feature_set.signs)
            rows |= {f"`{n}`": outcome[:, i] for i, n in enumerate(ranker.feature_set.columns) if chosen[i]}
    return rows


def cell(outcome: FloatArray) -> str:
    """Write the share of pairs with its 95% interval (Clopper and Pearson 1934), in per cent."""
    interval = binomtest(round(float(outcome.sum())), len(outcome)).proportion_ci()
    return f"{outcome.mean() * 100:.0f} [{interval.low * 100:.0f} {interval.high * 100:.0f}]"


def main() -> None:
    """Print the table, or write pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["learn", "held-out", "sample"], default="held-out")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--show", action="store_true", help="print the pairs")
    options = parser.parse_args()
    pairs = sample_pairs() if options.part == "sample" else treebank_pairs(options.part)
    say(", ".join(f"{kind} {sum(pair.kind == kind for pair in pairs)}" for kind in KINDS))
    if options.show:
        return print("\n".join("\n  ".join(dataclasses.astuple(pair)) for pair in pairs))
    kinds = np.array([pair.kind for pair in pairs])
    rows = rows_of(pairs, options.models, METRICS)
    head = ["", *(f"{kind} ({(kinds == kind).sum()})" for kind in KINDS), f"all ({len(pairs)})"]
    body = [[row, *(cell(each[kinds == kind]) for kind in KINDS), cell(each)] for row, each in rows.items()]
    print("\n".join(table(head, body)))
    return None


if __name__ == "__main__":
    run_main(main)
