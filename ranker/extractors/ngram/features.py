"""Features of the n-grams that candidate and reference share, and of the ratio of their lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import FeatureFamily, FittedExtractor
from ranker.extractors.dependency.cache import SHIPPED
from ranker.extractors.dependency.parsed import parser_signature, tag_batch
from ranker.extractors.needs import COMPARABLE, Needs
from ranker.text.function_words import function_words
from ranker.text.lexical.word_classes import WordClass, class_batch
from ranker.text.ngrams import closest_reference_lengths, ngram_matches, ngram_totals
from ranker.text.ratios import f_score, ratio
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import TokenBatch, Tokenizer, token_batch

MEASURES = ("precision", "recall", "f1")
MAX_ORDER = 9
Unit = Literal["word", "character"]


@dataclass(frozen=True)
class NgramAgreement(FittedExtractor):
    r"""Precision, recall and F score of matched n-grams of each order, 3 columns per order, in [0, 1].

    .. math:: P_n = m_n / c_n, \quad R_n = m_n / r_n, \quad F_n = 2 m_n / (c_n + r_n)

    with :math:`m_n` clipped matches between the :math:`c_n` n-grams of the candidate and the :math:`r_n` of the
    reference; with several references each column takes its highest value. BLEU (Papineni et al. 2002), chrF (Popović
    2015) and BEER (Stanojević and Sima'an 2014) are made of these scores. All three are 1 if neither side has an
    n-gram, and 0 if only one side has n-grams.

    Parameters
    ----------
    order : int, default 4
        Longest n-gram, 1 to 9.
    unit : {"word", "character", "tag"}, default "word"
        Characters are those of the sentence without white space. Tags are the parts of speech that the parser assigns
        to its words; they show how similar the structures of two sentences are.
    parser : str, default "shipped"
        Parser for ``unit=tag``, as for `ds`.
    words : {"all", "content", "function", "numbers", "punctuation"}, default "all"
        Words to compare; other words are first removed from both sentences. Function words are those of a list, which
        includes punctuation, and content words all others; numbers are words with a digit; punctuation is words without
        a letter or digit.
    match : {"form", "stem"}, default "form"
        Words are equal if their forms are, or if their stems are.
    function_words : str, default "english"
        List of function words: ``english``, which is included, ``none``, or a file of words.
    stemmer : str, default "english"
        Language of the Snowball stemmer (Porter 2001).
    tokenizer : str, default "13a"
        For words.
    lowercase : bool, default True

    Notes
    -----
    Columns: ``ngrams.1.precision``, ``ngrams.1.recall``, ``ngrams.1.f1``, ``ngrams.2.precision`` ...
    """

    name: ClassVar[str] = "ngrams"
    order: int = 4
    unit: Unit | Literal["tag"] = "word"
    parser: str = SHIPPED
    words: WordClass = "all"
    match: Literal["form", "stem"] = "form"
    function_words: str = "english"
    stemmer: str = "english"
    tokenizer: Tokenizer = "13a"
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Refuse options out of range and options that cannot be combined."""
        if not 1 <= self.order <= MAX_ORDER:
            raise OptionError(f"ngrams[order={self.order}]: expected 1 to {MAX_ORDER}")
        if self.unit != "word" and (self.words != "all" or self.match != "form" or self.tokenizer != "13a"):
            raise OptionError(f"{self}: the options words, match and tokenizer do not apply to {self.unit}s; omit them")

    @property
    def family(self) -> FeatureFamily:
        """Feature group: ``words``, or ``syntax`` if parts of speech are compared."""
        return "syntax" if self.unit == "tag" else "words"

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``ngrams.ORDER.MEASURE`` for every order and measure."""
        return tuple(f"{self}.{n}.{measure}" for n in range(1, self.order + 1) for measure in MEASURES)

    def signed(self) -> dict[str, object]:
        """Option values for the signature, with digests of the parser and the words listed; unused options are None."""
        unused = () if self.unit == "word" else ("words", "match", "function_words", "stemmer", "tokenizer")
        parser = parser_signature(self.parser) if self.unit == "tag" else None
        signed = {**dict.fromkeys(unused), "parser": parser, **({"lowercase": None} if self.unit == "tag" else {})}
        if self.words in ("content", "function"):
            signed["function_words"] = function_words(self.function_words)[1]
        return signed

    @property
    def needs(self) -> Needs:
        """Needs of the columns: English translations if the parser, stemmer or function words in use are English."""
        used = {
            "parser": self.unit == "tag" and self.parser == SHIPPED,
            "function_words": self.words in ("content", "function") and self.function_words == "english",
            "stemmer": self.match == "stem" and self.stemmer == "english",
        }
        return Needs.english(*(option for option, is_used in used.items() if is_used))

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 3 x order)."""
        batch, pairs = self._batch(dataset), reference_pairs(dataset)
        expanded = pairs.expand(batch)
        matched, candidate_totals = ngram_matches(expanded, self.order), ngram_totals(expanded, self.order)
        reference_totals = np.maximum(
            batch.reference_lengths[pairs.reference][:, np.newaxis] - np.arange(self.order), 0
        )
        nothing = (candidate_totals == 0) & (reference_totals == 0)
        precision, recall = (
            np.where(nothing, 1.0, ratio(matched, total)) for total in (candidate_totals, reference_totals)
        )
        columns = np.stack([precision, recall, f_score(precision, recall)], axis=2).reshape(len(pairs.candidate), -1)
        return np.stack([pairs.highest(column) for column in columns.T], axis=1)

    def _batch(self, dataset: Dataset) -> TokenBatch:
        if self.unit == "character":
            return token_batch(dataset, "char", lowercase=self.lowercase)
        if self.unit == "tag":
            return tag_batch(dataset, self.parser)
        return class_batch(
            dataset,
            self.words,
            stemmer=self.stemmer if self.match == "stem" else None,
            functions=self.function_words,
            tokenizer=self.tokenizer,
            lowercase=self.lowercase,
        )


@dataclass(frozen=True)
class LengthRatio(FittedExtractor):
    r"""Two log length ratios, each at least 0: how much shorter and how much longer a candidate is than its reference.

    .. math:: \max\Bigl(0, \log \frac{r + 1}{c + 1}\Bigr), \quad \max\Bigl(0, \log \frac{c + 1}{r + 1}\Bigr)

    of the length c of the candidate and the length r of the reference closest to it in length, as in BLEU
    (Papineni et al. 2002, section 2.2), or the mean length r of the other candidates. 1 is added so that an empty
    sentence has a logarithm. There are two columns so that a linear ranker can penalise both.

    Parameters
    ----------
    unit : {"word", "character"}, default "word"
        Unit of the lengths; characters exclude white space.
    tokenizer : str, default "13a"
        For words.
    against : {"references", "candidates"}, default "references"
        Texts whose lengths are compared with. Candidates are the other candidates of the source, without references; a
        candidate without other candidates gets 0.

    Notes
    -----
    Columns: ``length.shorter``, ``length.longer``.
    """

    name: ClassVar[str] = "length"
    family = "length"
    unit: Unit = "word"
    tokenizer: Tokenizer = "13a"
    against: Literal["references", "candidates"] = "references"

    def __post_init__(self) -> None:
        """Refuse options that cannot be combined."""
        if self.unit == "character" and self.tokenizer != "13a":
            raise OptionError(f"{self}: the option tokenizer does not apply to characters; omit it")

    @property
    def needs(self) -> Needs:
        """Needs of the columns: a reference or, if candidates are compared with each other, three candidates."""
        if self.against == "references":
            return Needs()
        return Needs(references=0, candidates=COMPARABLE, other_candidates=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``length.shorter`` and ``length.longer``."""
        return (f"{self}.shorter", f"{self}.longer")

    @property
    def lower_is_better(self) -> tuple[str, ...]:
        """Names of both columns."""
        return self.columns

    def signed(self) -> dict[str, object]:
        """Option values for the signature, which omits `against` if it is ``references``, the default."""
        return {"against": None} if self.against == "references" else {}

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 2)."""
        batch = token_batch(dataset, "char" if self.unit == "character" else self.tokenizer, lowercase=True)
        usual = closest_reference_lengths(batch) if self.against == "references" else _mean_of_others(dataset, batch)
        difference = np.log1p(batch.candidate_lengths) - np.log1p(usual)
        return np.asarray(np.maximum(np.stack([-difference, difference], axis=1), 0.0))


def _mean_of_others(dataset: Dataset, batch: TokenBatch) -> FloatArray:
    """Return, for each candidate, the mean length of its source's other candidates, references excluded."""
    lengths = batch.candidate_lengths.astype(np.float64)
    counted = ~dataset.is_reference
    number, total = (
        np.bincount(dataset.candidate_source, values, minlength=len(dataset.sources))[dataset.candidate_source]
        for values in (counted, np.where(counted, lengths, 0.0))
    )
    number, total = number - counted, total - np.where(counted, lengths, 0.0)
    return np.where(number > 0, total / np.maximum(number, 1), lengths)
