"""Trains a sentence encoder on human judgements, with torch: the better candidate of a pair gets the higher score.

The score is a learnt sum of what `semantic` computes: precision, recall and F score of words matched in one layer, and
the cosine of the sentence vectors. The loss is the logistic one of Bradley and Terry (1952) on the difference of two
scores, weighted by the judgements of the pair; its gradient changes all layers. Candidates are compared with one
reference or, for two more scores that are learnt at the same time, with the source and with both.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ranker import progress
from ranker.arrays import Float32Array, FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.corpora.joining import join_corpora
from ranker.corpora.judgements import (
    PREFERENCES,
    PreferencePairs,
    human_scores,
    judged,
    ordered_pairs,
    preference_pairs,
    resolve_kind,
)
from ranker.corpora.source_keys import UInt32Array, short_keys
from ranker.errors import DataError, ModelError, OptionError
from ranker.files import check_folder, replacing, replacing_together
from ranker.learning.encoder.embedding import Encoder, load
from ranker.learning.encoder.files import SOURCES
from ranker.learning.encoder.onnx_file import bert_graph
from ranker.learning.encoder.torch_network import TorchNetwork
from ranker.ranks import merge_ties

Precision = Literal["float32", "bfloat16"]
_STATE = "training.safetensors"
_HEAD = "head"
_START = (0.0, 0.0, 25.0, 5.0)
"""Weights of precision, recall, F score and cosine in the score before training."""
_LONGEST = 128
_CHUNK = 400
_WARM_UP, _LEAST_RATE = 0.05, 0.02


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the training of an encoder.

    `batch` is in sub-words, `candidates` is the maximum drawn per source, and `sources` is about how many sources are
    drawn, 0 for all. `balanced` gives each corpus, and within it each language pair, the same weight;
    `against_source` compares with the source too; `freeze` leaves the embeddings of sub-words unchanged; and `keep` is
    the share of the original weights in the mean of original and trained weights that is written.
    """

    layer: int = 5
    epochs: int = 1
    rate: float = 5e-5
    head_rate: float = 3e-2
    batch: int = 3000
    candidates: int = 8
    sources: int = 0
    seed: int = 0
    precision: Precision = "float32"
    balanced: bool = False
    against_source: bool = False
    freeze: bool = False
    keep: float = 0.0
    check_every: int = 2000
    patience: int = 3


@dataclass(frozen=True)
class Check:
    """Measurement during training: sources seen so far, loss, and Kendall's tau on pairs of held-out data, if any."""

    sources: int
    loss: float
    tau: float | None


@dataclass(frozen=True)
class Example:
    """Training example from one source: the sub-words of its texts, and the candidate pairs with a human preference.

    The texts are a reference, the source if `against_source`, and the candidates, which are compared with the former.
    """

    texts: list[list[int]]
    better: Int64Array
    worse: Int64Array
    weight: FloatArray

    @property
    def share(self) -> FloatArray:
        """Weight of each pair in the loss: its own, divided by the square root of its source's number of pairs."""
        return self.weight / math.sqrt(len(self.weight))

    @property
    def size(self) -> int:
        """Number of sub-words in all texts, with special tokens."""
        return sum(map(len, self.texts)) + 2 * len(self.texts)


def _pairs(dataset: Dataset, kind: str) -> PreferencePairs:
    if kind == PREFERENCES:
        return preference_pairs(dataset)
    human = merge_ties(human_scores(dataset, kind), dataset.candidate_offsets)
    pairs = ordered_pairs(human, dataset.candidate_offsets)
    margin = human[pairs.better] - human[pairs.worse]
    return PreferencePairs(pairs.better, pairs.worse, margin / margin.mean() if len(margin) else margin)


def draw(dataset: Dataset, number: int, seed: int) -> Dataset:
    """Draw at least `number` sources at random, keeping sources with the same first reference together."""
    first = dataset.references["text"].to_numpy(object)[dataset.reference_offsets[:-1]]
    codes, texts = pd.factorize(first)
    order = np.random.default_rng(seed).permutation(len(texts))
    drawn = np.cumsum(np.bincount(codes)[order])
    return dataset.select_sources(np.isin(codes, order[: np.searchsorted(drawn, number) + 1]))


def examples(dataset: Dataset, encoder: Encoder, kind: str, settings: TrainingSettings) -> list[Example]:
    """Return an example for each source with human preferences: a reference and some candidates, drawn at random.

    If `balanced`, the pairs of a source are weighted by margin, and sources by their number of pairs only.
    """
    kind = resolve_kind(dataset, kind)
    dataset = dataset.select_candidates(judged(dataset, kind))
    pairs, generator = _pairs(dataset, kind), random.Random(settings.seed)
    references, offsets = dataset.references["text"].tolist(), dataset.reference_offsets
    texts, bounds = dataset.candidates["text"].tolist(), dataset.candidate_offsets
    order = np.argsort(dataset.candidate_source[pairs.better], kind="stable")
    better, worse, weight = pairs.better[order], pairs.worse[order], pairs.weight[order]
    cuts = np.searchsorted(dataset.candidate_source[better], np.arange(len(dataset.sources) + 1))
    result = []
    for source in range(len(dataset.sources)):
        here, first = slice(cuts[source], cuts[source + 1]), int(bounds[source])
        if cuts[source] == cuts[source + 1] or offsets[source] == offsets[source + 1]:
            continue
        kept = sorted(
            generator.sample(range(first, bounds[source + 1]), min(settings.candidates, bounds[source + 1] - first))
        )
        place = {row: number for number, row in enumerate(kept)}
        chosen = [pair for pair in range(here.start, here.stop) if better[pair] in place and worse[pair] in place]
        reference = references[generator.randrange(offsets[source], offsets[source + 1])]
        source_text = [dataset.sources["text"].iloc[source]] if settings.against_source else []
        pieces = encoder.split([reference, *source_text, *(texts[row] for row in kept)])
        ids = [
            pieces.ids[pieces.offsets[text] : pieces.offsets[text + 1]][
                pieces.word[pieces.offsets[text] : pieces.offsets[text + 1]] >= 0
            ].tolist()[: min(encoder.files.longest, _LONGEST) - 2]
            for text in range(len(pieces))
        ]
        if chosen and all(ids):
            first_side, second_side = ([place[int(side[pair])] for pair in chosen] for side in (better, worse))
            share = weight[chosen] / (weight[chosen].mean() if settings.balanced else 1.0)
            result.append(Example(ids, np.array(first_side), np.array(second_side), share))
    if not result:
        raise _nothing(dataset)
    return result


def _nothing(dataset: Dataset) -> DataError:
    what = "no source has a reference and two candidates that people ordered: train on other data"
    return DataError(what, file=dataset.name)


def mixture(
    corpora: Sequence[Dataset], encoder: Encoder, kind: str, settings: TrainingSettings, number: int = 0
) -> tuple[list[Example], UInt32Array]:
    """Return examples from about `number` sources drawn from corpora (0 for all), and the keys of these sources."""
    result, keys = [], []
    for corpus in corpora if settings.balanced else [join_corpora(corpora)]:
        own = resolve_kind(corpus, kind)
        if number or settings.balanced:
            rows, least = (_pairs(corpus, own).better, 1) if settings.balanced else (judged(corpus, own), 2)
            enough = np.bincount(corpus.candidate_source[rows], minlength=len(corpus.sources)) >= least
            corpus = corpus.select_sources(enough & (np.diff(corpus.reference_offsets) > 0))
        if not len(corpus.sources):
            raise _nothing(corpus)
        lp = corpus.source_language_pairs
        masks = [lp == each for each in np.unique(lp)] if settings.balanced else [np.ones(len(lp), dtype=bool)]
        share = 1 / (len(masks) * (len(corpora) if settings.balanced else 1))
        for mask in masks:
            part = corpus.select_sources(mask)
            part = draw(part, math.ceil(number * share), settings.seed) if number else part
            items = examples(part, encoder, own, settings)
            if settings.balanced:
                factor = share / sum(float(item.share.sum()) for item in items)
                items = [dataclasses.replace(item, weight=factor * item.weight) for item in items]
            result += items
            keys.append(short_keys(part))
    return result, np.unique(np.concatenate(keys))


def batches(items: Sequence[Example], size: int, generator: random.Random | None = None) -> list[list[Example]]:
    """Group examples of similar length into batches of about `size` sub-words, shuffled if there is a generator."""
    order = list(range(len(items)))
    if generator:
        generator.shuffle(order)
    result: list[list[Example]] = []
    for start in range(0, len(order), _CHUNK):
        chunk = [items[index] for index in order[start : start + _CHUNK]]
        chunk.sort(key=lambda item: max(map(len, item.texts)))
        held = 0
        for number, item in enumerate(chunk):
            if not number or held + item.size > size:
                result.append([])
                held = 0
            result[-1].append(item)
            held += item.size
    if generator:
        generator.shuffle(result)
    return result


class Trainer:
    """A network in training: `step` learns from a batch, `state` and `restore` save and restore its whole state."""

    def __init__(self, encoder: Encoder, settings: TrainingSettings, steps: int) -> None:
        import torch

        network = encoder._network
        if not isinstance(network, TorchNetwork) or encoder.files.model_type != "bert":
            raise ModelError(
                f"{encoder.files.directory}: cannot be trained: expected a BERT model in Hugging Face's format"
            )
        encoder.check_layer(settings.layer)
        self.model, self.settings, self.steps, self.done = network._model, settings, steps, 0
        self.ends = [encoder._before.tolist(), encoder._after.tolist()]
        self.padding = network.padding
        self.device = next(self.model.parameters()).device
        for module in self.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        self.model.train()
        if settings.freeze:
            self.model.get_input_embeddings().requires_grad_(False)
        # columns: the scores against the reference, the source, and both; the last starts as the first
        own, none = torch.tensor(_START, device=self.device), torch.zeros(len(_START), device=self.device)
        blocks = [[own, none, own], [none, own, none]] if settings.against_source else [[own]]
        start = torch.cat([torch.stack(row, dim=1) for row in blocks])
        self.used = torch.ones_like(start)
        if settings.against_source:
            self.used[len(_START) :, 0] = self.used[: len(_START), 1] = 0.0
        self.head = torch.nn.Parameter(start)
        changing = [each for each in self.model.named_parameters() if each[1].requires_grad]
        self.before = {name: value.detach().cpu().clone() for name, value in changing if settings.keep}
        self.named = [*changing, (_HEAD, self.head)]
        groups = [
            {"params": [value for _, value in changing], "lr": settings.rate, "weight_decay": 0.01},
            {"params": [self.head], "lr": settings.head_rate, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98))

    def columns(self, batch: Sequence[Example]) -> Any:
        """Return precision, recall, F score and cosine of each candidate of a batch, shape (candidates, 4).

        If candidates are also compared with the source, four columns of that comparison follow.
        """
        import torch
        from torch.nn import functional

        texts = [[*self.ends[0], *text, *self.ends[1]] for item in batch for text in item.texts]
        longest = max(map(len, texts))
        ids = torch.tensor([text + [self.padding] * (longest - len(text)) for text in texts], device=self.device)
        lengths = torch.tensor([len(text) for text in texts], device=self.device)
        at = torch.arange(longest, device=self.device)
        mask = at < lengths[:, None]
        word = (at >= len(self.ends[0])) & (at < lengths[:, None] - len(self.ends[1]))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.precision == "bfloat16"):
            output = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True)
        vectors = functional.normalize(output.hidden_states[self.settings.layer].float(), dim=-1)
        sentence = functional.normalize((output.last_hidden_state.float() * mask[:, :, None]).sum(1), dim=-1)
        first, compared = offsets_of(np.array([len(item.texts) for item in batch])), self._compared
        rows = [np.arange(start + compared, stop) for start, stop in itertools.pairwise(first.tolist())]
        candidate, columns = torch.tensor(np.concatenate(rows), device=self.device), []
        for at in range(compared):
            text = torch.tensor(np.repeat(first[:-1] + at, np.diff(first) - compared), device=self.device)
            cosines = torch.bmm(vectors[candidate], vectors[text].transpose(1, 2))
            left, right = word[candidate], word[text]
            cosines = cosines.masked_fill(~(left[:, :, None] & right[:, None, :]), -2.0)
            precision = (cosines.amax(2) * left).sum(1) / left.sum(1)
            recall = (cosines.amax(1) * right).sum(1) / right.sum(1)
            f = 2 * precision * recall / (precision + recall)
            columns += [precision, recall, f, (sentence[candidate] * sentence[text]).sum(1)]
        return torch.stack(columns, dim=1)

    @property
    def _compared(self) -> int:
        """Number of texts with which each candidate is compared: the reference, and the source if it is used."""
        return 1 + self.settings.against_source

    def _scores(self, batch: Sequence[Example]) -> Iterator[tuple[Example, Any]]:
        """Yield each example with its candidates' scores, one row per candidate and one column per score."""
        scores, start = self.columns(batch) @ (self.head * self.used), 0
        for item in batch:
            stop = start + len(item.texts) - self._compared
            yield item, scores[start:stop]
            start = stop

    def step(self, batch: Sequence[Example]) -> float:
        """Update the weights by the gradient of the loss on a batch, and return the loss."""
        import torch

        share = (self.done + 1) / self.steps
        rate = min(1.0, share / _WARM_UP) * max(_LEAST_RATE, 1 - share)
        for group, full in zip(self.optimizer.param_groups, (self.settings.rate, self.settings.head_rate), strict=True):
            group["lr"] = full * rate
        losses, total = [], 0.0
        for item, own in self._scores(batch):
            margin = own[torch.from_numpy(item.better)] - own[torch.from_numpy(item.worse)]
            weights = torch.tensor(item.share, dtype=torch.float32, device=self.device)
            losses.append((torch.nn.functional.softplus(-margin).mean(1) * weights).sum())
            total += float(item.share.sum())
        loss = torch.stack(losses).sum() / total
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([value for value in self.model.parameters() if value.requires_grad], 1.0)
        self.optimizer.step()
        self.done += 1
        return float(loss.detach())

    def tau(self, items: Sequence[Example]) -> float:
        """Return Kendall's tau between examples' weighted preferences and scores computed against the reference."""
        import torch

        agreed = total = 0.0
        with torch.inference_mode():
            for batch in batches(items, 2 * self.settings.batch):
                for item, scores in self._scores(batch):
                    own = scores[:, 0].cpu().numpy()
                    agreed += float(np.sign(own[item.better] - own[item.worse]) @ item.weight)
                    total += float(item.weight.sum())
        return agreed / total

    def weights(self) -> dict[str, Any]:
        """Return copies of the learnt weights."""
        return {name: value.detach().cpu().clone().contiguous() for name, value in self.named}

    def result(self, learnt: dict[str, Any]) -> dict[str, Float32Array]:
        """Return all weights: learnt weights averaged with their original values (see `keep`), others unchanged."""
        whole = dict(self.model.named_parameters()) | learnt
        mean = {name: before.lerp(learnt[name], 1 - self.settings.keep) for name, before in self.before.items()}
        return {name: each.detach().cpu().float().numpy() for name, each in (whole | mean).items()}

    def state(self) -> dict[str, Any]:
        """Return the weights and the optimiser's state as tensors by name."""
        moments = {
            f"{key} {name}": self.optimizer.state[value][key].detach().cpu().contiguous()
            for name, value in self.named
            if value in self.optimizer.state
            for key in ("step", "exp_avg", "exp_avg_sq")
        }
        return self.weights() | moments

    def restore(self, tensors: dict[str, Any], done: int) -> None:
        """Restore the state that `state` returned after `done` steps."""
        import torch

        with torch.no_grad():
            for name, value in self.named:
                value.copy_(tensors[name])
                if f"step {name}" in tensors:
                    self.optimizer.state[value] = {
                        key: tensors[f"{key} {name}"].clone().to(self.device if key != "step" else "cpu")
                        for key in ("step", "exp_avg", "exp_avg_sq")
                    }
        self.done = done


def train(
    corpora: Sequence[Dataset],
    start: str,
    folder: Path,
    *,
    kind: str = "auto",
    aside: Sequence[Dataset] = (),
    settings: TrainingSettings | None = None,
    minutes: float = 5.0,
    report: Callable[[Check], None] = lambda check: None,
) -> list[Check]:
    """Train the encoder `start`, write it to `folder` in ONNX format, and return the measurements made during training.

    With held-out data (`aside`), training ends when agreement with it no longer grows; the best weights are written.
    Every few `minutes` the training state is saved in the folder; the same call resumes from there and reaches the same
    weights.
    """
    settings = settings or TrainingSettings()
    if settings.layer < 1 or settings.epochs < 1 or settings.rate <= 0:
        raise OptionError(
            f"layer={settings.layer}, epochs={settings.epochs}, rate={settings.rate}: expected a layer and a number of "
            "epochs of at least 1, and a learning rate above 0"
        )
    check_output(folder)
    encoder = load(start)
    items, sources = mixture(corpora, encoder, kind, settings, settings.sources)
    kept = mixture(aside, encoder, kind, settings)[0] if aside else []
    generator = random.Random(settings.seed)
    plan = [batch for _ in range(settings.epochs) for batch in batches(items, settings.batch, generator)]
    # weights and optimiser are new: another training in this process must not go on from these
    trainer = Trainer(Encoder(encoder.files), settings, len(plan))
    digest = _digest(encoder, settings, items, kept)
    folder.mkdir(parents=True, exist_ok=True)
    seen, checks, losses, best = 0, [], [], trainer.weights()
    found = _read_state(folder / _STATE, digest)
    if found is not None:
        tensors, facts = found
        trainer.restore(
            {name.removeprefix("now "): each for name, each in tensors.items() if name.startswith("now ")},
            facts["done"],
        )
        best = {name.removeprefix("best "): each for name, each in tensors.items() if name.startswith("best ")}
        checks, losses = [Check(**check) for check in facts["checks"]], facts["losses"]
        seen = sum(map(len, plan[: trainer.done]))
    saved = time.monotonic()
    while trainer.done < len(plan) and not _levelled_off(checks, settings.patience):
        batch = plan[trainer.done]
        losses.append(trainer.step(batch))
        before, seen = seen, seen + len(batch)
        progress.report("sources", seen, sum(map(len, plan)))
        if seen // settings.check_every > before // settings.check_every or trainer.done == len(plan):
            checks.append(Check(seen, float(np.mean(losses)), trainer.tau(kept) if kept else None))
            losses = []
            report(checks[-1])
            if not kept or checks[-1].tau == max(check.tau or 0.0 for check in checks):
                best = trainer.weights()
        if time.monotonic() - saved > 60 * minutes:
            facts = {"done": trainer.done, "losses": losses, "checks": [dataclasses.asdict(each) for each in checks]}
            _write_state(folder / _STATE, digest, trainer.state(), best, facts)
            saved = time.monotonic()
    _write(folder, encoder, settings, trainer.result(best), sources)
    (folder / _STATE).unlink(missing_ok=True)
    return checks


def check_output(folder: Path) -> None:
    """Raise a `DataError` if `folder` has files, but neither an encoder nor a checkpoint of its training."""
    check_folder(folder, "encoder", ["model.onnx", _STATE])


def _levelled_off(checks: Sequence[Check], patience: int) -> bool:
    taus = [check.tau for check in checks if check.tau is not None]
    return len(taus) > patience and max(taus[-patience:]) <= max(taus[:-patience])


def _digest(encoder: Encoder, settings: TrainingSettings, *data: list[Example]) -> str:
    """Return a digest of everything on which the trained weights depend."""
    digest = hashlib.sha256(f"{encoder.files.digest} {settings}".encode())
    for items in data:
        for item in items:
            digest.update(json.dumps(item.texts).encode())
            for column in (item.better, item.worse, item.weight):
                digest.update(column.tobytes())
    return digest.hexdigest()


def _write_state(path: Path, digest: str, now: dict[str, Any], best: dict[str, Any], facts: dict[str, object]) -> None:
    from safetensors.torch import save

    tensors = {f"now {name}": each for name, each in now.items()} | {
        f"best {name}": each for name, each in best.items()
    }
    with replacing(path) as stream:
        stream.write(save(tensors, {"of": digest, "facts": json.dumps(facts)}))


def _read_state(path: Path, digest: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the tensors and facts saved by an interrupted training run with this digest, or None."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("of") != digest:
                return None
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata["facts"])  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError):
        return None


def _write(
    folder: Path,
    encoder: Encoder,
    settings: TrainingSettings,
    weights: dict[str, Float32Array],
    sources: UInt32Array,
) -> None:
    config = json.loads((encoder.files.directory / "config.json").read_text(encoding="utf-8"))
    heads, epsilon = int(config["num_attention_heads"]), float(config.get("layer_norm_eps", 1e-12))
    raw = bert_graph(weights, encoder.layers, heads, epsilon)
    named = dict(zip(("precision", "recall", "f", "cosine"), weights[_HEAD][: len(_START), 0].tolist(), strict=True))
    config |= {"matched_layer": settings.layer, "learnt_weights": named}
    with replacing_together(folder) as made:
        (made / "model.onnx").write_bytes(raw)
        np.save(made / SOURCES, sources)
        (made / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        for name in ("tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json"):
            if (encoder.files.directory / name).is_file():
                (made / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(encoder.files.directory / name, made / name)
