"""Reward functions for trainers of language models, made from metrics and rankers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ranker.checks.faults import faults
from ranker.corpora.formats.in_memory import by_translation, from_texts
from ranker.corpora.records import joined_texts, shown
from ranker.errors import DataError, log_note
from ranker.extractors.base import Metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import MetricScorer, Scorer, is_fraction, scorer_of, sign_of, systems_scorer

_FAULTY = 10.0
"""Distance of the reward of a faulty output from its score, for unbounded scores."""


def reward(
    scorer: str | Path | Metric | Ranker | Scorer,
    *,
    references: str = "references",
    lp: str | None = None,
    checks: bool = True,
) -> Callable[..., list[float]]:
    """Return a reward function for trainers of language models, such as TRL's ``GRPOTrainer``.

    The function reads the keyword arguments ``completions``, ``sources`` and the references: lists with
    one entry per completion. If a completion is a list of messages, the last message is scored.

    Parameters
    ----------
    scorer : str, Path, Metric or Ranker
        A metric or its notation, the name of an included ranker, or a model file.
    references : str, default "references"
        Name of the column with one reference, or a list of them, for each completion.
    lp : str, optional
        Language pair, as ``en-ja``, for the tokenizer and the checks. Without it the tokenizer of metrics such as
        ``bleu`` follows the script of the references of each call, which a note tells once.
    checks : bool, default True
        Give completions that are no translation (empty, a copy of the source or a part of it, in another language, a
        refusal, repeated words) a low reward: 0, or for unbounded scores 10 below the lower of the score and 0.

    Returns
    -------
    function
        Returns a list of float, higher is better: for a metric that is a fraction, a number from 0 to 1 (1 minus the
        score for error rates); for a ranker, its score without features that compare candidates, which is unbounded.

    Examples
    --------
    >>> import ranker
    >>> reward = ranker.reward("ter", references="target")
    >>> reward(prompts=["Translate: ...", "Translate: ..."], completions=["a b", "b c d"], target=["a b", "b"])
    [1.0, 0.0]
    """
    return _Reward(systems_scorer(scorer_of(scorer)), references, lp, checks)


@dataclass(frozen=True)
class _Reward:
    """The function that `reward` returns, as an object that can be pickled."""

    scorer: Scorer
    references: str
    lp: str | None
    checks: bool

    @property
    def __name__(self) -> str:
        return f"ranker_{self.scorer.name}"

    def __call__(
        self,
        completions: Sequence[str | Sequence[Mapping[str, str]]],
        *,
        sources: Sequence[str] | None = None,
        **columns: Any,
    ) -> list[float]:
        """Return the reward of each completion."""
        scorer, references = self.scorer, columns.get(self.references)
        for name, values in (("completions", completions), (self.references, [] if references is None else references)):
            if isinstance(values, str) or not isinstance(values, Iterable):
                what = f"{name}: expected a list, one entry per completion, found {shown(values)}"
                raise DataError(what, file="reward")
        texts = [_text_of(completion) for completion in completions]
        if None in texts:
            at = texts.index(None)
            what = f"expected a text, or messages with the text in the last, found {shown(completions[at])}"
            raise DataError(f"completions[{at}]: {what}", file="reward")
        if references is not None and None in (listed := [*references]):
            what = f"{self.references}[{listed.index(None)}]: expected a reference, or a list of them, found null"
            raise DataError(what, file="reward")
        dataset = from_texts([text or "" for text in texts], by_translation(references), sources, lp=self.lp)
        if scorer.feature_set.needs.references and not len(dataset.references):
            what = f"no references: {scorer.name} requires a list of references in {self.references!r}"
            raise DataError(what, file="reward")
        if (
            isinstance(scorer, MetricScorer)
            and scorer.feature_set.needs.source
            and (dataset.sources["text"] == "").any()
        ):
            raise DataError(f"no sources: {scorer.name} requires a list of them in 'sources'", file="reward")
        if self.lp is None and isinstance(scorer, MetricScorer) and (note := scorer.note(dataset)):
            _log_once(note)
        scores = scorer.score(scorer.statistics(dataset))
        faulty = faults(dataset) != "" if self.checks else np.zeros(len(dataset), dtype=bool)
        if is_fraction(scorer):
            scores = np.where(faulty, 0.0, np.clip(scores if scorer.higher_is_better else 1 - scores, 0, 1))
        else:
            scores = np.where(faulty, np.minimum(sign_of(scorer) * scores, 0) - _FAULTY, sign_of(scorer) * scores)
        return [*map(float, scores)]


@functools.cache
def _log_once(note: str) -> None:
    # a trainer calls the function for every batch
    log_note(note)


def _text_of(completion: Any) -> str | None:
    """Return the text of a completion, which is a string or the last message of a list; None for other types."""
    if isinstance(completion, list | tuple) and completion and isinstance(completion[-1], Mapping):
        return joined_texts(completion[-1].get("content"))
    return completion if isinstance(completion, str) else None
