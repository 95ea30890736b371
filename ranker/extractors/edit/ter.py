"""The metric TER, translation edit rate (Snover et al. 2006)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import Metric
from ranker.extractors.edit.shifts import SACREBLEU, TERCOM, Limits, shift_edits_of_pairs
from ranker.extractors.edit.wer import error_rate
from ranker.extractors.sacrebleu_signature import sacrebleu_signature
from ranker.text.reference_pairs import ReferencePairs, reference_pairs
from ranker.text.tokenizer_note import tokenizer_note
from ranker.text.tokenizers import ASIAN_PUNCTUATION
from ranker.text.tokens import TokenBatch, TokenisedTexts, Tokenizer, token_batch

SearchProgram = Literal["sacrebleu", "tercom"]
MOST_TOKENS = {"tercom": 2_000, "sacrebleu": 5_000}
"""Maximum length of candidate and reference; doubling it takes four times as long."""
_BEAMS: dict[SearchProgram, int] = {"tercom": 20, "sacrebleu": 25}
PUNCTUATION = '.,?:;!"()'


def fewest_edits(batch: TokenBatch, pairs: ReferencePairs, edits: npt.ArrayLike) -> FloatArray:
    """Return each candidate's fewest edits to any reference and its average reference length, shape (candidates, 2)."""
    size = len(batch.candidate)
    fewest = np.full(size, np.inf)
    np.minimum.at(fewest, pairs.candidate, np.asarray(edits, dtype=np.float64))
    lengths = np.bincount(pairs.candidate, batch.reference_lengths[pairs.reference], minlength=size)
    references = np.bincount(pairs.candidate, minlength=size)
    fewest = np.where(references > 0, fewest, batch.candidate_lengths)
    return np.stack([fewest, lengths / np.maximum(references, 1)], axis=1)


@dataclass(frozen=True)
class TranslationEditRate(Metric):
    r"""TER: edits, block shifts included, over the average reference length; 0 is best, and there is no upper bound.

    .. math:: \frac{\min_r \mathrm{edits}(c, r)}{\mathrm{mean}_r |r|}

    where an edit inserts, deletes or substitutes a word or shifts a block of words (Snover et al. 2006). Shifts are
    found by greedy search. By default scores equal sacreBLEU's divided by 100, with ``search=tercom`` those of tercom
    0.10.0. The two prune alignments differently (see `beam`), so that sacreBLEU finds a few more edits in some long
    segments. An empty candidate scores 1 against one reference. Against an empty reference, a candidate with words
    scores 1 and an empty candidate 0.

    Parameters
    ----------
    search : {"sacrebleu", "tercom"}, default "sacrebleu"
        Program whose greedy search for shifts is used.
    beam : int or none, default none
        Limit for pruning the edit distance; with none, the program's own value: tercom 20, sacreBLEU 25. In tercom it
        is the number of edits by which a partial alignment may be worse than the best one that covers as many candidate
        words; in sacreBLEU, the number of words by which an alignment may be away from the diagonal.
    max_distance : int, default 50
        Maximum number of words by which a block is moved; 0 forbids shifts.
    max_size : int, default 10
        Maximum number of words of a block; 0 forbids shifts.
    no_punct : bool, default False
        Remove the marks ``. , ? : ; ! " ( )``, and East Asian ones with tokenizer ``tercom-asian``. With
        ``search=tercom``, as in tercom, an empty word remains in place of such marks if they are the first token of a
        sentence that has other words, or its only token.
    tokenizer : str, default "none"
        tercom and sacreBLEU split at white space (``none``). ``tercom`` does what tercom's option -N does, and
        ``tercom-asian`` what -N -A do; ``13a`` separates punctuation too.
    lowercase : bool, default True

    Notes
    -----
    Statistics: fewest edits, average reference length.
    """

    name: ClassVar[str] = "ter"
    family = "words"
    higher_is_better: ClassVar[bool] = False
    width: ClassVar[int] = 2
    search: SearchProgram = "sacrebleu"
    beam: int | None = None
    max_distance: int = 50
    max_size: int = 10
    no_punct: bool = False
    tokenizer: Tokenizer = "none"
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option, lowest, highest in (("beam", 1, 1_000_000), ("max_distance", 0, 1_000_000), ("max_size", 0, 1000)):
            value = getattr(self, option)
            if value is not None and not lowest <= value <= highest:
                raise OptionError(f"ter[{option}={value}]: expected a whole number from {lowest} to {highest:,}")

    def note(self, dataset: Dataset) -> str | None:
        """Return a note if the tokenizer cannot split the references of `dataset` into words, else None."""
        return tokenizer_note(dataset, self.tokenizer, asian="tercom-asian")

    def sacrebleu(self, dataset: Dataset, *, segments: bool) -> str | None:
        """Return sacreBLEU's signature, or None if the search, its limits or the tokenizer differ from sacreBLEU's."""
        limits = (self.search, self.beam or _BEAMS["sacrebleu"], self.max_distance, self.max_size)
        if limits != ("sacrebleu", _BEAMS["sacrebleu"], 50, 10) or self.tokenizer != "none":
            return None
        case = "lc" if self.lowercase else "mixed"
        fields = {"case": case, "tok": "tercom", "norm": False, "punct": not self.no_punct, "asian": False}
        return sacrebleu_signature("TER", dataset, **fields)

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's fewest edits and average reference length, shape (candidates, 2)."""
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        if self.no_punct:
            marks = PUNCTUATION + (ASIAN_PUNCTUATION if self.tokenizer == "tercom-asian" else "")
            segments = without_marks(batch.segments, marks, leave_empty_words=self.search == "tercom")
            batch = dataclasses.replace(batch, segments=segments)
        pairs.refuse_long(batch, dataset, str(self), MOST_TOKENS[self.search])
        search = {"tercom": TERCOM, "sacrebleu": SACREBLEU}[self.search]
        beam = _BEAMS[self.search] if self.beam is None else self.beam
        edits = shift_edits_of_pairs(
            batch.segments.values,
            batch.segments.offsets,
            batch.candidate[pairs.candidate],
            batch.reference[pairs.reference],
            Limits(search, beam, self.max_distance, self.max_size),
        )
        return fewest_edits(batch, pairs, edits)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return error rates, shape (...), for statistics of shape (..., 2)."""
        return error_rate(statistics)


def without_marks(segments: TokenisedTexts, marks: str, *, leave_empty_words: bool) -> TokenisedTexts:
    """Remove the characters `marks` from all words, then empty words or, with `leave_empty_words`, most empty words.

    With `leave_empty_words`, an empty first word is kept if the text has non-empty words or had no other word.
    """
    removed = str.maketrans("", "", marks)
    numbers: dict[str, int] = {}
    number = [numbers.setdefault(word.translate(removed), len(numbers)) for word in segments.vocabulary]
    empty = numbers.setdefault("", len(numbers))
    values = np.array(number, dtype=np.int32)[segments.values]
    keep = values != empty
    sentence = np.repeat(np.arange(len(segments.lengths)), segments.lengths)
    if leave_empty_words:
        left = np.bincount(sentence, weights=keep, minlength=len(segments.lengths))
        keep[segments.offsets[:-1][(left > 0) | (segments.lengths == 1)]] = True
    lengths = np.bincount(sentence[keep], minlength=len(segments.lengths))
    offsets = offsets_of(lengths)
    return TokenisedTexts(values[keep], offsets, list(numbers))
