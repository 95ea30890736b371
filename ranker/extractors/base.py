"""Base classes of extractors, which compute feature columns, and of metrics.

An *extractor* turns a data set into columns, one row per candidate. A *metric* is an extractor of one column whose
scores come from additive sufficient statistics. Both are frozen dataclasses: their fields are their options, and
their notation ``name[option=value]`` is their identity, their column head and their part of a signature.

``extractor.fit(dataset)`` returns the *fitted* extractor, which computes the columns. An extractor that learns nothing
is fitted already; one that must learn refuses to compute columns before it is fitted.
"""

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.own_references import references_among_candidates
from ranker.corpora.source_keys import UInt32Array
from ranker.errors import DataError, ModelError, OptionError
from ranker.extractors.needs import Needs
from ranker.extractors.text_scores import TextScores
from ranker.signature import escaped
from ranker.text.pairs import TextPairs
from ranker.text.tokenizer_note import tokenizer_note
from ranker.text.tokens import Tokenizer, language_tokenizers

ExtractorT = TypeVar("ExtractorT", bound="Extractor")
FitScope = Literal["none", "train", "ranked"]
FeatureFamily = Literal[
    "words", "word order", "syntax", "fluency", "similarity", "mismatch", "agreement", "length", "other"
]
"""Feature groups; explanations sum contributions by group, in this order."""


class Extractor(ABC):
    """Base class of extractors, each of which computes one or more feature columns of a data set once it is fitted.

    A subclass is a frozen dataclass whose fields are its options. One that must learn in training derives from this
    class, and its fitted form from it and from `FittedExtractor`; all others derive from `FittedExtractor`.
    """

    name: ClassVar[str]
    """Name in the registry."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # before the decorator of dataclasses gives the class one that lists all its fields
        if "__repr__" not in vars(cls):
            type.__setattr__(cls, "__repr__", Extractor.__repr__)
        if "__post_init__" in vars(cls):
            type.__setattr__(cls, "__post_init__", _after_settling(vars(cls)["__post_init__"]))
        for name in _READING if cls.__module__.partition(".")[0] != __name__.partition(".")[0] else ():
            if callable(method := vars(cls).get(name)):
                type.__setattr__(cls, name, _unchanging(method))

    def __post_init__(self) -> None:
        """Give the options their declared types, before a class's own checks of them."""
        notation.settle_options(self)

    def __str__(self) -> str:
        """Return the notation of this extractor: its name, and the options that differ from their defaults."""
        return notation.describe(self)

    def __repr__(self) -> str:
        return str(self)

    @property
    def family(self) -> FeatureFamily:
        """Group that the features of this extractor belong to."""
        return "other"

    @property
    def needs(self) -> Needs:
        """Requirements of this extractor on the data."""
        return Needs()

    @property
    def fit_scope(self) -> FitScope:
        """Data that `fit` learns from: ``none``, ``train`` (training data) or ``ranked`` (data set being ranked)."""
        return "none"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that `transform` makes."""
        return (str(self),)

    def signature(self) -> str:
        """Return this extractor's notation with every option that has a value, defaults included."""
        values = {option: getattr(self, option) for option, *_ in notation.option_table(type(self))}
        values.update(self.signed())
        options = [(option, escaped(notation.write(value))) for option, value in values.items() if value is not None]
        return str(notation.Spec(self.name, tuple(options)))

    def signed(self) -> dict[str, object]:
        """Option values that the signature gives in place of the actual ones, or None for options that it omits.

        An example is the digest of a file in place of its name. Options without effect are omitted.
        """
        return {}

    def resolved(self, dataset: Dataset) -> Self:
        """Return this extractor with values for `dataset` in place of ``auto``, for each option that has only one.

        The signature of the resolved extractor determines its scores; the values of an option with several, such as the
        tokenizers of several languages, follow from the language pairs of the data.
        """
        made: Any = self
        names, _ = language_tokenizers(dataset)
        if getattr(made, "tokenizer", None) != "auto" or len(names) > 1:
            return self
        resolved: Self = dataclasses.replace(made, tokenizer=names[0])
        return resolved

    def check_ready(self) -> None:  # noqa: B027 - most need nothing but this package
        """Raise an error if a resource that the columns require is not installed.

        This method is called before any work is done.

        Raises
        ------
        MissingError, ModelError
            With a message that tells what to install.
        """

    @abstractmethod
    def fit(self, dataset: Dataset) -> FittedExtractor:
        """Return the extractor fitted on `dataset`, the training data or the data being ranked (see `fit_scope`)."""

    def fit_transform(self, dataset: Dataset) -> tuple[FittedExtractor, FloatArray]:
        """Return the extractor fitted on `dataset`, and the columns of `dataset` for a ranker to learn from.

        If the columns would look better on the data learnt from than on new data, the extractor cross-fits them: it
        computes those of each part of the data from what it learnt on the other parts.
        """
        fitted = self.fit(dataset)
        return fitted, fitted.transform(dataset)

    @property
    def pretraining_sources(self) -> UInt32Array | None:
        """Hashes (`short_keys`) of the judged sources on which the extractor was pre-trained, or None.

        On these sources, the columns look better than they are.
        """
        return None

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return lists of one candidate's matches as readable text, keyed by titles such as ``reference 1``.

        The dictionary is empty if the extractor matches no words.
        """
        return {}

    @property
    def lower_is_better(self) -> tuple[str, ...]:
        """Names of the columns in which lower values are better; in all other columns, higher values are better."""
        return ()

    @property
    def symmetric(self) -> tuple[str, ...]:
        """Names of columns whose values stay the same if the candidate and its only reference are exchanged."""
        return ()

    @property
    def members(self) -> tuple[Extractor, ...]:
        """Extractors that this extractor combines, or this extractor alone if it does not combine any."""
        return (self,)

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on the columns of `dataset`, joined in one line, or None if there are no notes."""
        return None

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the learnt arrays, which are stored with a model; empty unless `fit_scope` is ``train``."""
        return {}

    def with_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> FittedExtractor:
        """Return the fitted extractor whose `state` is `arrays`."""
        raise ModelError(
            f"the model contains learnt values of {self}, which learns nothing in training; train the model again"
        )

    @classmethod
    def _parsed(cls, text: str) -> dict[str, str]:
        """Return the option values in the notation `text`."""
        return dict(notation.parse(text).options)

    def _options(self) -> dict[str, Any]:
        """Return the option values by name, as arguments for making the fitted extractor."""
        return {option: getattr(self, option) for option in notation.options_of(self)}


def _after_settling(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a ``__post_init__`` that gives the options their declared types before the checks of a class."""

    @functools.wraps(check)
    def settled(self: Extractor) -> None:
        Extractor.__post_init__(self)
        check(self)

    return settled


_READING = ("fit", "fit_transform", "transform", "transform_references", "statistics", "sentence_scores")
"""Methods that read a data set."""


def _unchanging(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a plug-in that raises an error if it changes the tables of its data set."""

    @functools.wraps(method)
    def checked_method(extractor: Extractor, dataset: Dataset, *more: Any, **options: Any) -> Any:
        before = dataset.content_digest()
        result = method(extractor, dataset, *more, **options)
        if dataset.content_digest() != before:
            what = f"{type(extractor).__module__}.{type(extractor).__qualname__}.{method.__name__}"
            raise ModelError(
                f"{extractor.name}: {what} changed the tables of the data set, which other metrics read too: expected "
                "it to change copies, such as dataset.candidates.copy()"
            )
        return result

    return checked_method


class FittedExtractor(Extractor):
    """Base class of extractors that can compute their columns, because they are fitted or have nothing to learn."""

    def fit(self, dataset: Dataset) -> FittedExtractor:
        """Return this extractor: there is nothing to learn."""
        return self

    @abstractmethod
    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, columns).

        Raises
        ------
        ModelError
            If the extractor must be fitted first.
        """

    def transform_references(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return columns for `dataset`'s references, which are candidates in `others`, shape (references, columns).

        `others` has the references as candidates, each with the other references of its source. Extractors that learnt
        from the references of `dataset` leave out the reference that they score, if they can. Extractors that compare
        candidates add each reference to the candidates of its source.
        """
        if self.needs.other_candidates:
            together, rows = references_among_candidates(dataset)
            return self.transform(together)[rows]
        return self.transform(others)


class Metric(FittedExtractor):
    """Base class of metrics, which score candidates by statistics that can be summed over a corpus.

    The score of a candidate is ``score(statistics)`` row by row, that of a corpus ``score`` of the sum of the rows, a
    resampled score ``score`` of a weighted sum, so that the three never disagree. A metric that must learn has no
    statistics before it is fitted.
    """

    tokenizer: Tokenizer
    lowercase: bool

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of statistics per candidate."""

    @property
    def higher_is_better(self) -> bool:
        """True if higher scores are better."""
        return True

    @property
    def is_fraction(self) -> bool:
        """True if tables may show the score as a percentage."""
        return True

    def __call__(
        self,
        translations: Sequence[str],
        references: Sequence[str | Sequence[str]] | Mapping[Any, Sequence[str]] | None = None,
        sources: Sequence[str] | None = None,
        *,
        lp: str | None = None,
    ) -> TextScores:
        """Score a list of translations.

        Parameters
        ----------
        translations : list of str
            One for each source.
        references : list of str or of lists of str
            One reference, or a list of them, for each translation; not needed by metrics that compare with none.
        sources : list of str, optional
            Source sentences; only few metrics look at them.
        lp : str, optional
            Language pair, such as ``en-ja``, for the tokenizer.

        Returns
        -------
        TextScores
            With ``corpus``, a number, and ``segments``, an array with a number for each translation.

        Raises
        ------
        DataError
            If the lists differ in length or hold something else, a reference is missing, or the references can be read
            in two ways.
        ModelError
            If the metric must learn in training first.

        Examples
        --------
        >>> from ranker import make_metric
        >>> scores = make_metric("chrf")(["the cat sat", "it rain"], ["the cat sat", "it rains"])
        >>> scores
        <chrf: 0.9171 of 2 segments>
        >>> scores.segments.round(4).tolist()
        [1.0, 0.7757]
        """
        from ranker.corpora.formats.in_memory import from_texts

        dataset = from_texts(translations, references, sources, lp=lp)
        bare = np.flatnonzero(np.diff(dataset.reference_offsets) == 0)
        if self.needs.references and len(bare):
            what = "references are missing" if references is None else f"references[{bare[0]}] is empty"
            raise DataError(f"{what}; {self} requires one per translation", file=dataset.name)
        if self.needs.source and (dataset.sources["text"] == "").any():
            raise DataError(f"sources are missing; {self} requires one per translation", file=dataset.name)
        self.check_ready()
        statistics = fitted_on(self, dataset).statistics(dataset)
        corpus, signature = float(self.score(statistics.sum(axis=0))), self.resolved(dataset).signature()
        return TextScores(str(self), corpus, self.score(statistics), self.higher_is_better, signature)

    def compute(
        self,
        *,
        predictions: Sequence[str],
        references: Sequence[str | Sequence[str]] | None = None,
        sources: Sequence[str] | None = None,
        lp: str | None = None,
    ) -> dict[str, float]:
        """Return a dictionary from the metric's name to the corpus score, as metrics of Hugging Face's evaluate do.

        Parameters
        ----------
        predictions : list of str
        references : list of str or of lists of str
            One reference, or a list of them, for each prediction.
        sources, lp
            As when the metric is called.

        Examples
        --------
        >>> from ranker import make_metric
        >>> make_metric("ter").compute(predictions=["the cat sat"], references=[["the cat sat", "a cat sat"]])
        {'ter': 0.0}
        """
        from ranker.corpora.formats.in_memory import by_translation

        return {self.name: float(self(predictions, by_translation(references), sources, lp=lp))}

    def fit(self, dataset: Dataset) -> Metric:
        """Return the metric fitted on `dataset`, or this metric unchanged if it has nothing to learn."""
        return self

    @property
    def lower_is_better(self) -> tuple[str, ...]:
        """Name of the metric's column if lower scores are better, else an empty tuple."""
        return () if self.higher_is_better else self.columns

    @abstractmethod
    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the additive statistics of the candidates of `dataset`, shape (candidates, width).

        Raises
        ------
        ModelError
            If the metric must be fitted first.
        """

    @abstractmethod
    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return scores, shape (...), for statistics of candidates or their sums, shape (..., width)."""

    def reference_statistics(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return statistics of `dataset`'s references, which are candidates in `others`, shape (references, width)."""
        return self.statistics(others)

    def details(self, statistics: npt.ArrayLike) -> dict[str, FloatArray]:
        """Return components of the score by name, each of shape (...), for statistics of shape (..., width)."""
        return {}

    def pair_statistics(self, pairs: TextPairs) -> FloatArray:
        """Return the statistics of each pair, its first text scored against the second, shape (pairs, width)."""
        return self.statistics(pairs.dataset())

    def swapped_statistics(self, pair_statistics: FloatArray) -> FloatArray | None:
        """Return the statistics of the pairs with their two texts exchanged, or None if these cannot be derived."""
        return None

    def note(self, dataset: Dataset) -> str | None:
        """Return a note if the tokenizer cannot split the references of `dataset` into words, else None."""
        return tokenizer_note(dataset, self.tokenizer)

    def sacrebleu(self, dataset: Dataset, *, segments: bool) -> str | None:
        """Return sacreBLEU's signature of this score for segments or a corpus, or None if sacreBLEU lacks the score."""
        return None

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the scores of the candidates, shape (candidates, 1)."""
        rows = checked(self, "statistics", self.statistics(dataset), (len(dataset), self.width))
        return checked(self, "score", self.score(rows), (len(dataset),))[:, np.newaxis]

    def transform_references(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return scores of `dataset`'s references, which are candidates in `others`, shape (references, 1)."""
        return self.score(self.reference_statistics(dataset, others))[:, np.newaxis]


def from_notation(kind: type[ExtractorT], text: str) -> ExtractorT:
    """Make an extractor of the class `kind` from its notation `text`, such as ``bleu[order=2]``.

    Raises
    ------
    OptionError
        For an option or value that is not known.
    """
    return notation.build(kind, notation.open_brackets(text)[0], kind._parsed(text))


@overload
def fitted_on(extractor: Metric, dataset: Dataset) -> Metric: ...
@overload
def fitted_on(extractor: Extractor, dataset: Dataset) -> FittedExtractor: ...
def fitted_on(extractor: Extractor, dataset: Dataset) -> FittedExtractor:
    """Return the extractor, fitted on `dataset` if its fit scope is ``ranked``; refuse an untrained extractor."""
    return extractor.fit(dataset) if extractor.fit_scope == "ranked" else fitted_form(extractor)


def fitted_form(extractor: Extractor) -> FittedExtractor:
    """Return the extractor if it is fitted; raise an error if it is not."""
    if isinstance(extractor, FittedExtractor):
        return extractor
    raise unfitted(extractor)


def unfitted(extractor: Extractor) -> ModelError:
    """Return the error to raise if an extractor, or one of its columns, is used before the extractor is fitted."""
    name = extractor.members[0] if len(extractor.members) == 1 else extractor
    if extractor.fit_scope == "ranked":
        return ModelError(
            f"{name} is not fitted; it learns from the data being ranked: call fit on the data first, and use the "
            "extractor that it returns"
        )
    return ModelError(
        f"{name} is not fitted, and would learn from the data that it scores: train a ranker with it "
        f"(ranker train --features {name}), or call fit on other data first"
    )


def check_new_texts(extractors: Iterable[Extractor], what: str) -> None:
    """Raise an error if an extractor can score only candidates of a data set; it names the new texts, `what`."""
    for extractor in extractors:
        if any(part.needs.known_texts for part in extractor.members):
            raise OptionError(
                f"{extractor} has scores of the candidates of a data set only, not of {what}: use another metric"
            )


def checked(extractor: Extractor, what: str, values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return `values` as an array, or raise an error naming the method `what` unless they are numbers of `shape`."""
    try:
        array = np.asarray(values)
        found = "None" if values is None else f"{array.dtype} of shape {array.shape}"
    except ValueError:
        array, found = None, type(values).__name__
    if array is None or array.shape != shape or array.dtype.kind not in "buif":
        kind = type(extractor)
        expected = f"expected numbers of shape {shape}: correct the plug-in {kind.__module__}.{kind.__qualname__}"
        raise OptionError(f"{extractor}: {what} returned {found}, {expected}")
    return array


def join_notes(notes: Iterable[str | None]) -> str | None:
    """Join the distinct `notes` in one line, or return None if there are none."""
    return "; ".join(dict.fromkeys(filter(None, notes))) or None


class SentenceMean(Metric):
    """A metric whose corpus score is the mean of its sentence scores."""

    width: ClassVar[int] = 2

    @abstractmethod
    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return the scores of the candidates, shape (candidates,)."""

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's score and a sentence count of 1, shape (candidates, 2)."""
        scores = checked(self, "sentence_scores", self.sentence_scores(dataset), (len(dataset),))
        return np.stack([scores, np.ones(len(scores))], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return mean scores, shape (...), for statistics of shape (..., 2); 0 where there are no sentences."""
        return mean_score(statistics)


def mean_score(statistics: npt.ArrayLike) -> FloatArray:
    """Return mean scores, shape (...), for sums of scores and counts, shape (..., 2); 0 if the count is 0."""
    rows = np.asarray(statistics, dtype=np.float64)
    total, number = rows[..., 0], rows[..., 1]
    return np.asarray(np.divide(total, number, out=np.zeros(total.shape), where=number > 0))
