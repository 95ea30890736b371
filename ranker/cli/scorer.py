"""What scores candidates on the command line: a trained ranker or a metric, chosen by the same two options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ranker.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.extractors.base import Metric
    from ranker.ranking import Ranker
    from ranker.tuning.objectives import Objective

MetricOption = Annotated[
    str | None,
    typer.Option("--metric", "-m", help="Metric to use instead of a model, as bleu[smoothing=exp].", metavar="METRIC"),
]


@dataclass(frozen=True)
class Scorer:
    """A trained ranker or a metric."""

    using: Ranker | Metric

    @classmethod
    def choose(cls, model: Path | None, metric: str | None) -> Scorer:
        """Load the model or make the metric that the options name."""
        if (model is None) == (metric is None):
            raise OptionError("give either --model FILE (see ranker train) or --metric NAME, as --metric bleu")
        if metric is not None:
            from ranker.extractors.registry import make_metric

            return cls(make_metric(metric))
        from ranker.ranking import Ranker

        assert model is not None
        return cls(Ranker.load(model))

    def score(self, dataset: Dataset) -> FloatArray:
        """Return a score for every candidate, higher is better."""
        from ranker.ranking import Ranker

        self.say_note(dataset)
        if isinstance(self.using, Ranker):
            return self.using.score(dataset)
        from ranker.extractors.feature_sets import FeatureSet

        scores = FeatureSet((self.using,)).transform(dataset)[:, 0]
        return scores if self.using.higher_is_better else -scores

    def score_references(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return a score for every reference of `dataset` as a candidate, higher is better."""
        from ranker.ranking import Ranker

        if isinstance(self.using, Ranker):
            return self.using.score_references(dataset, others)
        from ranker.extractors.feature_sets import FeatureSet

        scores = FeatureSet((self.using,)).transform_references(dataset, others)[:, 0]
        return scores if self.using.higher_is_better else -scores

    @classmethod
    def chosen(cls, model: Path | None, metric: str | None, read: Callable[[], Dataset]) -> tuple[Scorer, Dataset]:
        """Return the scorer that the options name, or the ranker that ships for such data, and the data.

        What the options say is checked before the data are read.
        """
        if model is not None or metric is not None:
            scorer = cls.choose(model, metric)
            return scorer, read()
        dataset = read()
        from ranker import shipped

        name = shipped.suited(dataset)
        typer.echo(
            f"ranker: note: scored by the included model {name}; choose another with --model or --metric", err=True
        )
        return cls.choose(Path(name), None), dataset

    @property
    def higher_is_better(self) -> bool:
        """Whether more of what the metric itself says is better; always of a ranker."""
        from ranker.ranking import Ranker

        return isinstance(self.using, Ranker) or self.using.higher_is_better

    def say_note(self, dataset: Dataset) -> None:
        """Tell the user on stderr what there is to know about the scores of `dataset`."""
        say_notes([self.using], dataset)

    def was_trained_on(self, dataset: Dataset) -> bool:
        """Whether this is a ranker that learnt from just this data set."""
        from ranker.ranking import Ranker

        trained = self.using.training if isinstance(self.using, Ranker) else None
        return trained is not None and trained.data_hash == dataset.fingerprint

    @property
    def learnt(self) -> tuple[str, ...]:
        """Kind of judgement that the ranker learnt from; nothing of a metric."""
        from ranker.ranking import Ranker

        trained = self.using.training if isinstance(self.using, Ranker) else None
        return (trained.kind,) if trained else ()

    def metric_signature(self, dataset: Dataset) -> str:
        """Return the signature of a ranker, or of a metric with the tokenizers that it uses on `dataset`."""
        from ranker.extractors.text.tokens import language_tokenizers
        from ranker.ranking import Ranker

        if isinstance(self.using, Ranker):
            return self.using.signature()
        signature = self.using.resolved(dataset).signature()
        names, _ = language_tokenizers(dataset)
        return f"{signature}|auto:{'+'.join(names)}" if "tokenizer=auto" in signature else signature

    def sacrebleu_signature(self, dataset: Dataset, levels: Sequence[str]) -> str:
        """Return sacreBLEU's signature of the same scores at `levels`, as a part of one; empty if it has none."""
        from ranker.ranking import Ranker

        if isinstance(self.using, Ranker):
            return ""
        found = {level: self.using.sacrebleu(dataset, segments=level == "segment") for level in levels}
        if len(set(found.values())) > 1:
            return "".join(f"|sacrebleu[{level}]:{signature}" for level, signature in found.items())
        return "".join(f"|sacrebleu:{signature}" for signature in set(found.values()) - {None})

    def signature(self, dataset: Dataset, *levels: str, **more: object) -> str:
        """Return the signature of results on `dataset` at `levels`, by default of segments."""
        from ranker.ranking import Ranker
        from ranker.version import VERSION

        mine = self.metric_signature(dataset)
        if not isinstance(self.using, Ranker):
            mine = f"ranker:{VERSION}|metric:{mine}"
        parts = [
            f"ranked:{dataset.name}#{dataset.fingerprint[:8]}",
            *(f"{key}:{value}" for key, value in more.items()),
        ]
        if isinstance(self.using, Ranker) and self.using.feature_set.unusable(dataset):
            parts.append("fallback")
        return "|".join([mine, *parts]) + self.sacrebleu_signature(dataset, levels or ("segment",))


def say_notes(scorers: Iterable[Ranker | Metric | Objective], dataset: Dataset) -> None:
    """Tell the user on stderr what there is to know about the scores of `dataset`, each thing once."""
    notes = [scorer.note(dataset) for scorer in scorers]
    for note in dict.fromkeys(note for note in notes if note):
        typer.echo(f"ranker: note: {note}", err=True)
