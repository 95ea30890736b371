"""Judged candidates as examples for the training of the included encoders: corpora, recipes, texts, and batches.

`bench/train_encoder.py` learns from them.
"""

from __future__ import annotations

import gzip
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from bench.common import INTO_ENGLISH, SHARED, shared_file, shared_records
from ranker.arrays import Float32Array

Other = Literal["source", "reference"]
"""The text that a candidate is compared with."""


@dataclass(frozen=True)
class Corpus:
    """A corpus to learn from: its share of the drawn sources, the most that are read, and its judgements."""

    file: str
    share: float
    most: int
    value: str = ""
    """Name of the judgement; empty for preferences in a file of pairs."""
    full: float = 1.0
    """Difference of two judgements from which a pair has its whole weight."""
    across: Other | None = None
    """If each source has one candidate: by what candidates of different sources are compared."""
    across_weight: float = 1.0
    """Weight of a pair of such candidates."""

    @property
    def lower(self) -> bool:
        """True if lower values are better."""
        return self.value.startswith("mqm")


CORPORA = {
    "wmt12": Corpus("wmt12-rr", 0.13, 7000),
    "wmt13": Corpus("wmt13-rr", 0.08, 3000),
    "wmt14": Corpus("wmt14-rr", 0.12, 6000),
    "wmt19-darr": Corpus("wmt19-darr", 0.08, 3000),
    "mqm21": Corpus("mqm21", 0.20, 10_000, "mqm_total", 5.0),
    "bio21-mqm": Corpus("bio21-mqm", 0.13, 10_000, "mqm_total", 5.0),
    "wmt24-esa": Corpus("wmt24-esa", 0.04, 10_000, "esa", 25.0),
    "mlqe-pe": Corpus("mlqe-pe", 0.22, 24_000, "da_z", 1.5, "source"),
}
ODD = ("mtcarousel", *(f"en-de Huawei_AGI_run{number}" for number in (1, 2, 3)))
"""Ends of the names of systems that copied references, or whose errors are in capitals alone."""
CANDIDATES, APART, LEAST_MARGIN = 8, 8, 0.25
MARKED_MORE = 1.4
"""Weight of a source with marked errors or scores; of one with preferences it is 1."""
SPOILT, SPOILT_WEIGHT = 0.6, 0.5
"""Share of sources that get a spoilt copy of a candidate, and weight of the pair of both."""
TOKENS, LONGEST, CHUNK = 12_000, 126, 1024
UNKNOWN = 255
SCRIPTS_WITHOUT_SPACES = ("zh", "ja")
FEATURES = ("precision", "recall", "f", "cosine")
"""The summands of a score of the first task."""


@dataclass(frozen=True)
class Recipe:
    """The settings in which the trainings of the included encoders differ."""

    corpora: Mapping[str, Corpus]
    drawn: int
    """Sources in all, some of small corpora drawn again with other candidates."""
    start: int
    end: int
    padding: int
    between: int
    """Number of end marks between two texts that are read as one."""
    apart: tuple[tuple[Other, ...], ...]
    """The scores of the first task, all learnt in each step, by the texts that they compare a candidate with."""
    together: Mapping[tuple[Other, ...], float]
    """The scores of the second task, one of which is learnt in a step, and the share of steps of each."""
    sums: tuple[float, ...]
    """Weights of `FEATURES` before training, in a score by several others those of the first."""
    lp: str = "*"
    """Pattern of the language pairs that are learnt from."""
    matched: int = -1
    """Layer in which words are matched, -1 for the last one."""

    @property
    def others(self) -> tuple[Other, ...]:
        """The kinds of text that some score of the first task compares a candidate with."""
        return tuple(dict.fromkeys(other for others in self.apart for other in others))

    def can_use(self, group: Group) -> bool:
        """Return False if a group has no reference and all scores compare with one."""
        return bool(group.references) or any("reference" not in others for others in self.apart)


ANY = Recipe(
    corpora=CORPORA,
    drawn=36_800,
    start=0,
    end=2,
    padding=1,
    between=2,
    apart=(("reference",), ("source",), ("reference", "source")),
    together={("source",): 0.5, ("reference",): 0.2, ("reference", "source"): 0.3},
    sums=(0.0, 0.0, 15.0, 5.0),
)
EN = Recipe(
    corpora={
        "wmt12": replace(CORPORA["wmt12"], share=0.12, most=3200),
        "wmt13": replace(CORPORA["wmt13"], share=0.10, most=7000),
        "wmt14": replace(CORPORA["wmt14"], share=0.16, most=6000),
        "wmt19-darr": replace(CORPORA["wmt19-darr"], share=0.14, most=3000),
        "mqm21": replace(CORPORA["mqm21"], share=0.18, most=10_000),
        "bio21-mqm": replace(CORPORA["bio21-mqm"], share=0.16, most=10_000),
        "mlqe-pe": replace(CORPORA["mlqe-pe"], share=0.14, most=15_000, across="reference", across_weight=0.5),
    },
    drawn=37_000,
    start=101,
    end=102,
    padding=0,
    between=1,
    apart=(("reference",),),
    together={("reference",): 1.0},
    sums=(0.0, 0.0, 20.0, 5.0),
    lp=INTO_ENGLISH,
    matched=5,
)


@dataclass(eq=False)
class Group:
    """The judged candidates of a source, numbers of texts, and pairs (better, worse, weight) of them."""

    corpus: str
    lp: str
    source: int
    references: list[int]
    candidates: list[int]
    values: Float32Array
    pairs: list[tuple[int, int, float]]
    spoilt: tuple[int, int] | None = None
    """A spoilt copy, and the candidate that it is made from."""


@dataclass
class Texts:
    """All texts, with their pieces and, where people marked errors, 1 for each piece that is marked."""

    numbers: dict[str, int] = field(default_factory=dict)
    marks: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    ids: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)

    def number(self, text: str) -> int:
        """Return the number of a text, which is added if it is new."""
        return self.numbers.setdefault(text, len(self.numbers))

    def split(self, tokenizer: Tokenizer) -> None:
        """Split all texts, and label the sub-words of those that people marked."""
        encoded = tokenizer.encode_batch([*self.numbers], add_special_tokens=False)
        for number, each in enumerate(encoded):
            self.ids.append(np.array(each.ids[:LONGEST]))
            label = np.full(len(self.ids[-1]), 0 if number in self.marks else UNKNOWN)
            for start, end in self.marks.get(number, []):
                label[[first < end and last > start for first, last in each.offsets[:LONGEST]]] = 1
            self.labels.append(label)


def preferences(corpus: Corpus) -> Mapping[tuple[str, str], Counter[tuple[str, str]]]:
    """Read how often people preferred one system to another, by language pair and segment."""
    found: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    if not corpus.value:
        with gzip.open(shared_file(f"{corpus.file}.pairs.tsv.gz"), "rt", encoding="utf-8") as file:
            head = next(file).rstrip("\n").split("\t")
            for line in file:
                row = dict(zip(head, line.rstrip("\n").split("\t"), strict=True))
                if row["primary"] == "1" and row["relation"] in "<>":
                    better, worse = row["sysA"], row["sysB"]
                    found[row["lp"], row["seg_id"]][(better, worse) if row["relation"] == ">" else (worse, better)] += 1
    return found


def read(name: str, recipe: Recipe, texts: Texts, chance: random.Random) -> Iterator[Group]:
    """Read the sources of a corpus on which people ordered candidates, the same number of every language pair."""
    corpus = recipe.corpora[name]
    wins = preferences(corpus)
    spans: dict[tuple[str, str, str], dict[str, Any]] = {}
    if (SHARED / "data" / f"{corpus.file}.spans.jsonl.gz").is_file():
        for record in shared_records(f"{corpus.file}.spans"):
            for each in record["candidates"]:
                spans[record["lp"], str(record["seg_id"]), each["system"]] = each
    by_pair = defaultdict(list)
    for record in shared_records(corpus.file):
        known = corpus.value or wins[record["lp"], str(record["seg_id"])]
        if known and fnmatchcase(record["lp"], recipe.lp):
            by_pair[record["lp"]].append(record)
    for lp, records in sorted(by_pair.items()):
        chance.shuffle(records)
        pool = [record["references"][0] for record in records if record["references"]]
        for record in records[: corpus.most // len(by_pair)]:
            judged = [
                each
                for each in record["candidates"]
                if each["human"] and each["text"].strip() and not f"{lp} {each['system']}".endswith(ODD)
            ]
            candidates = list(dict.fromkeys(texts.number(each["text"]) for each in judged))
            place = {each["system"]: candidates.index(texts.number(each["text"])) for each in judged}
            values, pairs = _pairs(corpus, judged, place, wins[lp, str(record["seg_id"])])
            for each in judged:
                marked = spans.get((lp, str(record["seg_id"]), each["system"]))
                if marked is not None:
                    texts.marks.setdefault(texts.number(each["text"]), []).extend(_marks(marked["errors"]))
            if not candidates or not (pairs or corpus.across):
                continue
            references = [texts.number(text) for text in record["references"][:2]]
            group = Group(name, lp, texts.number(record["source"]), references, candidates, values, pairs)
            if pool and chance.random() < SPOILT:
                kept = chance.randrange(len(judged))
                copy = spoil(judged[kept]["text"], lp, chance.choice(pool), chance)
                if copy and texts.number(copy) not in candidates:
                    group.spoilt = texts.number(copy), place[judged[kept]["system"]]
            yield group


def _pairs(
    corpus: Corpus, judged: Sequence[dict[str, Any]], place: Mapping[str, int], wins: Mapping[tuple[str, str], int]
) -> tuple[Float32Array, list[tuple[int, int, float]]]:
    """Return the candidates' values, and the pairs that people ordered, of equal texts as one."""
    if not corpus.value:
        net: Counter[tuple[int, int]] = Counter()
        for (better, worse), count in wins.items():
            if better in place and worse in place:
                net[place[better], place[worse]] += count
        pairs = [(*pair, 1.0) for pair, count in net.items() if pair[0] != pair[1] and count > net[pair[::-1]]]
        return np.zeros(0, np.float32), pairs
    several = defaultdict(list)
    for each in judged:
        if corpus.value in each["human"]:
            several[place[each["system"]]].append(each["human"][corpus.value] * (-1 if corpus.lower else 1))
    values = np.array([np.mean(several.get(at, np.nan)) for at in range(max(place.values(), default=-1) + 1)])
    better, worse = np.nonzero(values[:, np.newaxis] > values)
    weight = np.minimum(1.0, (values[better] - values[worse]) / corpus.full)
    return values.astype(np.float32), list(zip(better.tolist(), worse.tolist(), weight.tolist(), strict=True))


def _marks(errors: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    for error in errors:
        if error["start"] is not None and error["severity"].lower() != "neutral":
            yield error["start"], error["end"]


def spoil(text: str, lp: str, other: str, chance: random.Random) -> str | None:
    """Return a text with words dropped, swapped, repeated or replaced, without its end, or with another digit."""
    join = "" if lp.endswith(SCRIPTS_WITHOUT_SPACES) else " "
    words, others = ((list(each) if not join else each.split()) for each in (text, other))
    if len(words) < 4 or not others:
        return None
    numbers = [at for at, word in enumerate(words) if any(map(str.isdigit, word))]
    kind = chance.choice(
        ["drop", "drop", "swap", "repeat", "replace", "replace", "cut", *["number"] * 4 * bool(numbers)]
    )
    at = chance.randrange(len(words) - 1)
    if kind == "drop":
        del words[at : at + chance.choice([1, 1, 2, 3])]
    elif kind == "swap":
        words[at : at + 2] = words[at + 1], words[at]
    elif kind == "repeat":
        words.insert(at, words[at])
    elif kind == "replace":
        words[at] = chance.choice(others)
    elif kind == "cut":
        del words[max(2, int(len(words) * chance.uniform(0.5, 0.85))) :]
    else:
        at = chance.choice(numbers)
        letters = list(words[at])
        digit = chance.choice([place for place, letter in enumerate(letters) if letter.isdigit()])
        letters[digit] = chance.choice([each for each in "123456789" if each != letters[digit]])
        words[at] = "".join(letters)
    made = join.join(words)
    return None if made == text else made


@dataclass(frozen=True, eq=False)
class Item:
    """Candidates that are compared in a step, with the source and a reference of each (-1: none), and their pairs."""

    candidates: Any
    sources: Any
    references: Any
    better: Any
    worse: Any
    weight: Any

    def other(self, kind: Other) -> Any:
        """Return the texts to compare candidates with, the source in place of a reference that is missing."""
        return self.sources if kind == "source" else np.where(self.references >= 0, self.references, self.sources)

    def known(self, others: Sequence[Other]) -> Any:
        """Return 1 for each pair that has what a score compares with, else 0."""
        missing = self.references[self.better] < 0
        return np.where(missing & ("reference" in others), np.float32(0), np.float32(1))


def plan(
    groups: Sequence[Group], recipe: Recipe, texts: Texts, number: int, generator: np.random.Generator
) -> list[list[Group]]:
    """Draw about `number` groups in a random order, of mlqe-pe several of one language pair together.

    Drawn groups that lack a reference that all scores need are left out.
    """
    shares = {name: recipe.corpora[name].share for name in {group.corpus for group in groups}}
    result: list[list[Group]] = []
    for name in sorted(shares):
        by_pair = defaultdict(list)
        for group in groups:
            if group.corpus == name:
                by_pair[group.lp].append(group)
        for own in by_pair.values():
            wanted = round(number * shares[name] / sum(shares.values()) / len(by_pair))
            rows: list[int] = []
            while len(rows) < wanted:
                rows += generator.permutation(len(own)).tolist()
            drawn = [own[row] for row in rows[:wanted] if recipe.can_use(own[row])]
            if recipe.corpora[name].across:
                drawn.sort(key=lambda group: len(texts.ids[group.source]))
                result += [drawn[at : at + APART] for at in range(0, len(drawn) - APART + 1, APART)]
            else:
                result += [[group] for group in drawn]
    order = generator.permutation(len(result))
    return [result[at] for at in order]


def item(groups: Sequence[Group], recipe: Recipe, generator: np.random.Generator) -> Item:
    """Choose candidates and a reference of a group, or compare the candidates of several groups."""
    group = groups[0]
    corpus = recipe.corpora[group.corpus]
    if corpus.across:
        values = np.array([each.values[0] for each in groups])
        margin = values[:, np.newaxis] - values
        better, worse = np.nonzero(margin > LEAST_MARGIN)
        weight = np.minimum(margin[better, worse], corpus.full) / corpus.full * corpus.across_weight
        candidates = np.array([each.candidates[0] for each in groups])
        sources = np.array([each.source for each in groups])
        references = np.array([each.references[0] if corpus.across == "reference" else -1 for each in groups])
        return Item(candidates, sources, references, better, worse, weight)
    kept = np.sort(generator.permutation(len(group.candidates))[:CANDIDATES]).tolist()
    place = {row: at for at, row in enumerate(kept)}
    pairs = [(place[a], place[b], weight) for a, b, weight in group.pairs if a in place and b in place]
    scale = (1.0 if not corpus.value else MARKED_MORE) / math.sqrt(max(1, len(pairs)))
    pairs = [(a, b, scale * weight) for a, b, weight in pairs]
    texts = [group.candidates[row] for row in kept]
    if group.spoilt and group.spoilt[1] in place:
        pairs.append((place[group.spoilt[1]], len(texts), SPOILT_WEIGHT))
        texts.append(group.spoilt[0])
    reference = group.references[generator.integers(len(group.references))] if group.references else -1
    better, worse, weight = (np.array(side) for side in zip(*pairs, strict=True)) if pairs else [np.zeros(0, int)] * 3
    return Item(
        np.array(texts), np.full(len(texts), group.source), np.full(len(texts), reference), better, worse, weight
    )


def batches(
    drawn: Sequence[list[Group]], recipe: Recipe, texts: Texts, generator: np.random.Generator
) -> Iterator[tuple[list[Item], int]]:
    """Yield items of similar length together, about `TOKENS` pieces of candidates, and the number of items so far."""
    done = 0
    for start in range(0, len(drawn), CHUNK):
        made = (item(each, recipe, generator) for each in drawn[start : start + CHUNK])
        items = [each for each in made if len(each.better)]
        longest = [
            max(
                len(texts.ids[at])
                for several in (each.candidates, *(each.other(kind)[:1] for kind in recipe.others))
                for at in several
            )
            for each in items
        ]
        groups: list[list[Item]] = [[]]
        held = 0
        for at in np.argsort(longest, kind="stable"):
            if groups[-1] and (held + len(items[at].candidates)) * longest[at] > TOKENS:
                groups.append([])
                held = 0
            groups[-1].append(items[at])
            held += len(items[at].candidates)
        for at in generator.permutation(len(groups)):
            yield groups[at], done
            done += len(groups[at])


def merged(items: Sequence[Item]) -> Item:
    """Put items into one, whose pairs have the numbers of its candidates."""
    start = np.cumsum([0, *(len(each.candidates) for each in items)])
    return Item(
        *(np.concatenate([getattr(each, name) for each in items]) for name in ("candidates", "sources", "references")),
        *(
            np.concatenate([getattr(each, side) + first for each, first in zip(items, start, strict=False)])
            for side in ("better", "worse")
        ),
        np.concatenate([each.weight for each in items]),
    )
