"""External scores: scores of the candidates that another program computed."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.column_names import is_known_metric, is_negated, lower_is_better
from ranker.corpora.dataset import Dataset, source_place, view
from ranker.corpora.formats.segment_scores import SegmentScores
from ranker.corpora.judgements import mean_ratings, rating_names, use_of_errors
from ranker.corpora.records import shown
from ranker.corpora.schema import OF_FILES
from ranker.errors import DataError, OptionError, counted, nearest
from ranker.extractors.base import Extractor, FeatureFamily, SentenceMean
from ranker.extractors.composed.direction import opposed_to_chrf
from ranker.extractors.needs import Needs
from ranker.files import STDIN, printable
from ranker.signature import escaped

Direction = Literal["auto", "higher", "lower"]
KEY = "given"
_SCORE_FILE = re.compile(r"\.score(\.gz)?\Z")
_NOT_IN_NAMES = re.compile(r"[\s\[\],=]")


@dataclass(frozen=True)
class ExternalScores(SentenceMean):
    """Segment scores that another program computed, such as COMET (Rei et al. 2020), MetricX, or a language model.

    They are read from a file or, without a file, from the column or rating called `name` of the data set. The score of
    a document or system is the mean of its segments' scores. Only candidates of the data set have scores: other texts,
    such as references scored as candidates or hypotheses compared with each other, have none.

    Parameters
    ----------
    file : str, optional
        Score file of mt-metrics-eval, JSON of ``comet-score --to_json``, CSV, TSV or JSONL with a score in every row,
        or one score per line; or a folder with a file of one score per line for each system. Models keep the name, not
        the file.
    name : str, default "given"
        Name of the scores; by default that of the file up to its first full stop.
    direction : {"auto", "higher", "lower"}, default "auto"
        Whether higher or lower scores are better. ``auto`` decides by the name, as for columns of judgements: lower for
        names such as ``metricx``, ``ter`` or ``errors``, else higher, with a note unless the name is that of a known
        metric. Scores that are errors by their name are taken to be negated if none is above 0, as WMT publishes
        MetricX, or if any is below 0 in a ``.score`` file of mt-metrics-eval; their signs are then reversed. Scores
        that run counter to chrF are refused until the direction is given.
    """

    family: ClassVar[FeatureFamily] = "other"
    is_fraction: ClassVar[bool] = False
    file: str | None = None
    # on the class the key in the registry, on an instance the name of its scores
    name: str = KEY  # type: ignore[misc]
    direction: Direction = "auto"
    negated: bool | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse standard input as the file, and names that the notation cannot express."""
        if self.file == STDIN:
            raise OptionError("given[file=-]: expected a file name, because the file is read more than once")
        if not self.name.isprintable() or _NOT_IN_NAMES.search(self.name):
            what = "expected a name without spaces, brackets, commas or equals signs"
            raise OptionError(f"given[name={printable(self.name)}]: {what}")

    @property
    def needs(self) -> Needs:
        """Requirements on the data: no references, but the texts to score must be candidates of the data set."""
        return Needs(references=0, known_texts=True)

    @classmethod
    def _parsed(cls, text: str) -> dict[str, str]:
        """Return the option values in the notation `text`; the default name is derived from the file name."""
        options = super()._parsed(text)
        if options.get("file", "none") != "none" and "name" not in options:
            options["name"] = _NOT_IN_NAMES.sub("_", printable(Path(options["file"]).name.split(".")[0])) or KEY
        return options

    def __str__(self) -> str:
        """Return the notation with the name and the direction but not the file, which differs between data sets."""
        options = {"name": (self.name, KEY), "direction": (self.direction, "auto")}
        changed = ((option, value) for option, (value, default) in options.items() if value != default)
        return str(notation.Spec(KEY, tuple(changed)))

    def signature(self) -> str:
        """Return the notation with name and direction of the scores, if signs are reversed, and the file's digest."""
        options = {"name": escaped(self.name), "direction": "higher" if self.higher_is_better else "lower"}
        if self.negated or (self._scores is not None and self._sign(self._scores.values) < 0):
            options["negated"] = "true"
        if self._scores is not None:
            options["file"] = self._scores.digest[:8]
        return str(notation.Spec(KEY, tuple(options.items())))

    def resolved(self, dataset: Dataset) -> Self:
        """Return this metric, with the signs of a column of `dataset` for the signature."""
        return dataclasses.replace(self, negated=self._sign(self._values(dataset)) < 0) if self.file is None else self

    @property
    def higher_is_better(self) -> bool:
        """True if higher scores are better, according to the option `direction` or, if it is ``auto``, to the name."""
        return self.direction == "higher" if self.direction != "auto" else not lower_is_better(self.name)

    def check_ready(self) -> None:
        """Read the file, or raise an error if it cannot be read."""
        self._scores  # noqa: B018 - kept once it is read

    def note(self, dataset: Dataset) -> str | None:
        """Return None, because a ranker learns the direction of each feature."""
        return None

    def metric_note(self, dataset: Dataset) -> str | None:
        """Return a note on the direction of the scores, or None; refuse scores that run counter to chrF on `dataset`.

        Such scores are accepted, with a note, if their direction was stated.
        """
        sign, note = (1.0 if self.higher_is_better else -1.0), self.direction_note(dataset)
        compared = len(dataset) and len(dataset.references)
        share = opposed_to_chrf(dataset, sign * self.sentence_scores(dataset)) if compared else None
        if share is None:
            return note
        opposed = f"prefers candidates with lower chrF in {share:.0%} of the sources"
        if self.direction != "auto":
            return f"{self}: {opposed}: check the direction"
        stated = f"given[{f'file={self.file}' if self.file else f'name={self.name}'},direction=higher]"
        what = f"{self}: {opposed}, so its direction is in doubt: state it, as {stated} or direction=lower"
        raise DataError(what, file=dataset.name)

    def direction_note(self, dataset: Dataset | None = None) -> str | None:
        """Return a note on whether higher or lower scores are assumed to be better, or None if this is certain."""
        if self.direction != "auto":
            return None
        if not lower_is_better(self.name):
            unknown = "higher scores are taken to be better, as the name does not tell; otherwise add direction=lower"
            return None if is_known_metric(self.name) or self._is_score_file else f"{self}: {unknown}"
        values = self._values(dataset)
        if self._sign(values) < 0:
            what = "no score is above 0" if np.nanmax(values) <= 0.0 else "this is a score file of mt-metrics-eval"
            return f"{self}: {what}, so errors are read as negated, with signs reversed; otherwise add direction=lower"
        return f"{self}: lower scores are taken to be better, because of the name; otherwise add direction=higher"

    def _values(self, dataset: Dataset | None) -> FloatArray:
        """Return all scores of the file or else all ratings of the kind, of all candidates."""
        if self._scores is not None:
            return self._scores.values
        return np.zeros(0) if dataset is None else _rated(dataset, self)["value"].to_numpy(np.float64)

    def _sign(self, values: FloatArray) -> float:
        """Return the factor that makes negated errors positive: -1 if `values` are negated errors, else 1.

        `values` contains all scores of a file or all ratings of a kind. The factor is 1 if the direction is stated.
        """
        known = values[~np.isnan(values)]
        if self.direction != "auto" or not len(known):
            return 1.0
        highest = 0.0 if self._is_score_file else known.max()
        return -1.0 if is_negated(self.name, known.min(), highest) else 1.0

    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return the scores of the candidates, shape (candidates,)."""
        if self._scores is None:
            scores = _of_column(dataset, self)
        elif self._column in dataset.candidates:
            scores = dataset.candidates[self._column].to_numpy(np.float64)
        else:
            scores = _of_candidates(dataset, self, ())
        lacking = np.flatnonzero(np.isnan(scores))
        if len(lacking):
            row = int(lacking[0])
            where = source_place(dataset, int(dataset.candidate_source[row]))
            system = shown(dataset.candidates["system"].iloc[row])
            many = f"{len(lacking):,} of {counted(len(dataset), 'candidate')}"
            what = f"no score {shown(self.name)} of system {system} for {where} (missing for {many})"
            raise DataError(
                f"{what}: expected one for every candidate", file=None if self._scores is None else self._scores.file
            )
        return scores

    def of_hypotheses(self, hypotheses: Dataset, dataset: Dataset | None = None) -> FloatArray:
        """Return the scores of `hypotheses`, which are in the order of the candidates of `dataset` if it is given.

        Scores in the file are assigned by their systems if these are systems of `dataset`, otherwise by their order.
        """
        if self._scores is None:
            expected = f"expected a file with one score for each of the hypotheses of {hypotheses.name}"
            raise OptionError(f"{self}: {expected}, as in given[file=FILE]")
        if dataset is not None and self._scores.names_systems(dataset):
            return self.sentence_scores(dataset)
        return self._sign(self._scores.values) * self._scores.in_order(hypotheses)

    @property
    def _column(self) -> str:
        """Name of the column in which the file's scores are attached to the candidates."""
        stated = "" if self.direction == "auto" else f" {self.direction}"
        return f"{OF_FILES}{self.name}{stated} {self._scores.digest if self._scores else ''}"

    @property
    def _is_score_file(self) -> bool:
        return self.file is not None and _SCORE_FILE.search(self.file) is not None

    @functools.cached_property
    def _scores(self) -> SegmentScores | None:
        return None if self.file is None else SegmentScores.read(self.file, self.name)


def given_files(extractors: Iterable[Extractor]) -> dict[str, str | None]:
    """Return the score file of each `ExternalScores` among `extractors`, keyed by the name of the scores."""
    return {extractor.name: extractor.file for extractor in extractors if isinstance(extractor, ExternalScores)}


def with_given_scores(dataset: Dataset, extractors: Iterable[Extractor], pairs: Sequence[str] = ()) -> Dataset:
    """Return the data set with scores that `extractors` read from files, which may cover only the language `pairs`."""
    in_files = {
        part._column: part for part in extractors if isinstance(part, ExternalScores) and part._scores is not None
    }
    # files may list all candidates
    whole = dataset.context
    new = {
        column: _of_candidates(whole, part, tuple(pairs))
        for column, part in in_files.items()
        if column not in whole.candidates
    }
    if not new:
        return dataset
    return dataclasses.replace(whole, candidates=whole.candidates.assign(**new)).in_context(dataset.context_rows)


@view
def _of_candidates(dataset: Dataset, extractor: ExternalScores, pairs: tuple[str, ...]) -> FloatArray:
    scores = extractor._scores
    assert scores is not None
    return extractor._sign(scores.values) * scores.of_candidates(dataset, pairs)


@view
def _of_column(dataset: Dataset, extractor: ExternalScores) -> FloatArray:
    """Return each candidate's rating in the column that the extractor names, averaged over judges; NaN if unrated.

    Negated errors are made positive.
    """
    ratings = _rated(dataset, extractor)
    if not len(ratings):
        known = rating_names(dataset)
        listed = f"{', '.join(map(shown, known[:8]))}{', ...' if len(known) > 8 else ''}"
        available = f"there are {listed}{nearest(extractor.name, known)}" if known else "it has no columns of scores"
        what = f"{extractor}: the data has no column {shown(extractor.name)} ({available})"
        advice = use_of_errors(dataset) if extractor.name.startswith("mqm_") else ""
        advice = advice or f": give a file, as in: ranker rank --given {extractor.name}=FILE"
        raise DataError(f"{what}{advice}", file=dataset.name)
    values = ratings["value"].to_numpy(np.float64)
    return extractor._sign(values) * mean_ratings(dataset, ratings, values)


def _rated(dataset: Dataset, extractor: ExternalScores) -> pd.DataFrame:
    """Return the ratings of `dataset` whose kind is the name of the extractor's scores."""
    return dataset.ratings[(dataset.ratings["kind"] == extractor.name).to_numpy(bool)]
