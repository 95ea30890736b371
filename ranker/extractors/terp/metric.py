"""TERp: TER with stems, synonyms and paraphrases (Snover, Madnani, Dorr and Schwartz 2009)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset, view
from ranker.errors import OptionError
from ranker.extractors.base import Metric, join_notes
from ranker.extractors.edit.ter import PUNCTUATION, fewest_edits, without_marks
from ranker.extractors.edit.wer import error_rate
from ranker.extractors.english_only import english_note
from ranker.extractors.missing_resources import missing_paraphrases, missing_wordnet, missing_words, parity_note
from ranker.extractors.needs import Needs
from ranker.extractors.terp.alignment import DELETION, INSERTION, PHRASE
from ranker.extractors.terp.costs import COST_SETS, CostSet, EditCosts
from ranker.extractors.terp.model import EditModel, SearchCosts, no_phrases
from ranker.extractors.terp.phrases import find_phrases
from ranker.extractors.terp.shifts import edit_costs, edit_path
from ranker.text.function_words import function_words, is_among
from ranker.text.lexical.phrases import table_digest
from ranker.text.lexical.porter import porter_stem
from ranker.text.lexical.wordnet import WordNet, optional_wordnet
from ranker.text.lexical.words import share_stem, share_synset, word_tables
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import TokenBatch, TokenisedTexts, Tokenizer, token_batch

MOST_TOKENS = 2_000
"""Maximum length of candidate and reference; doubling it takes at least eight times as long."""


@dataclass(frozen=True)
class TranslationEditRatePlus(Metric):
    r"""TERp: edit cost with shifts, stems, synonyms and paraphrases over the average reference length; 0 is best.

    .. math:: \frac{\min_r \sum_{e \in \mathrm{edits}(c, r)} \mathrm{cost}(e)}{\mathrm{mean}_r |r|}

    (Snover, Madnani, Dorr and Schwartz 2009, section 2), with a greedy search for shifts as in `ter`, which tries them
    in another order, so that some edits differ. An empty candidate costs as many deletions as the reference has words.
    Against an empty reference, a candidate with words scores 1 and an empty candidate 0.

    Parameters
    ----------
    costs : {"terp", "terpa", "terph", "ter"}, default "terp"
        Costs of edits and kinds of matches; the values are in `ranker.extractors.terp.costs`. ``terp`` is the program
        without parameters: every edit costs 1 and a paraphrase its probability; stems and synonyms do not match.
        ``terpa``, tuned on judgements of adequacy for NIST MetricsMATR 2008, and ``terph``, tuned on HTER, match stems
        (Porter 1980) and synonyms; their scores are at most 1. ``ter`` is like ``terp`` without paraphrases, but any
        words are shifted.
    paraphrases : str, optional
        A table of paraphrases with ``probability <p>reference phrase</p> <p>candidate phrase</p>`` per line, in tokens
        as they are compared; without it no paraphrases match.
    wordnet : str, default "auto"
        Directory of the files of WordNet 3.x (Fellbaum 1998), or ``none`` for no synonyms. ``auto`` looks in the usual
        places; if WordNet is not installed, synonyms do not match, and a note says so once.
    stop_words : str, default "english"
        Words that are only shifted with another word: ``english``, a list made for this project, ``none``, or a file of
        words.
    beam : int, optional
        By how much a partial alignment may cost more than the best one that covers as many candidate words: by default
        20, with ``terpa`` and ``terph`` 35. With these two, surplus words cost little, so sentences of some hundred
        words need a higher limit.
    max_distance : int, default 50
        Maximum number of words by which a block is moved; 0 forbids shifts.
    max_size : int, default 10
        Maximum number of words of a block; 0 forbids shifts.
    no_punct : bool, default False
        Remove the marks ``. , ? : ; ! " ( )``.
    parity : {"terp"}, optional
        Tokenise as the program does by itself, which with ``costs=terp`` is at white space (``tokenizer=none``), and
        note what else is needed for its exact scores.
    tokenizer : default "terp"
        ``terp`` is TERp's normalisation of tokens of ``13a``.
    lowercase : bool, default True
        Lower-case all texts and the table of paraphrases.

    Notes
    -----
    Statistics: least cost of edits, average reference length. With ``parity=terp``, TERp's own list of stop words
    (``stop_words=FILE``; not included), WordNet 3.0 and its paraphrase table (``paraphrases=FILE``; not included) they
    equal those of the program; ``costs=ter`` needs none of these. With the list made for this project 7 % of 510
    segments of WMT and TED translations have another TERpA. Corpus scores are not capped, as in the program. Sentences
    may be of any length; memory grows with the product of both lengths, time faster.
    """

    name: ClassVar[str] = "terp"
    family = "words"
    higher_is_better: ClassVar[bool] = False
    width: ClassVar[int] = 2
    costs: CostSet = "terp"
    paraphrases: str | None = None
    wordnet: str = "auto"
    stop_words: str = "english"
    beam: int | None = None
    max_distance: int = 50
    max_size: int = 10
    no_punct: bool = False
    parity: Literal["terp"] | None = None
    tokenizer: Tokenizer = "terp"
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option, lowest, highest in (("beam", 1, 1_000_000), ("max_distance", 0, 1_000_000), ("max_size", 0, 1000)):
            value = getattr(self, option)
            if value is not None and not lowest <= value <= highest:
                raise OptionError(f"terp[{option}={value}]: expected a whole number from {lowest} to {highest:,}")
        if self.paraphrases is not None and not self.edit_costs.paraphrases:
            raise OptionError(f"terp[costs={self.costs}] does not use paraphrases; omit paraphrases={self.paraphrases}")
        if self.parity is not None and self.costs == "terp" and self.tokenizer == type(self).tokenizer:
            notation.settle(self, "tokenizer", "none")

    @property
    def edit_costs(self) -> EditCosts:
        """The set of edit costs that the option `costs` names."""
        chosen = COST_SETS[self.costs]
        return chosen if self.beam is None else chosen._replace(beam=self.beam)

    def signed(self) -> dict[str, object]:
        """Option values for the signature, with digests in place of file names, and None for unused options."""
        wordnet = self._wordnet()
        return {
            "paraphrases": table_digest(self.paraphrases) if self.paraphrases else None,
            "wordnet": wordnet.digest if wordnet else None,
            "stop_words": function_words(self.stop_words)[1] if self.edit_costs.stop_words else None,
            "beam": self.edit_costs.beam,
        }

    def _parity_note(self) -> str | None:
        if self.parity is None:
            return None
        chosen = self.edit_costs
        own_words = chosen.stop_words and self.stop_words == type(self).stop_words
        missing = [
            missing_words("stop words", "stop_words", "changes 7% of TERpA's segments") if own_words else None,
            missing_wordnet() if chosen.synonyms and self._wordnet() is None else None,
            missing_paraphrases() if chosen.paraphrases and self.paraphrases is None else None,
        ]
        return parity_note("TERp", missing)

    @property
    def needs(self) -> Needs:
        """Needs of the columns: English translations if stop words or stemmer are English, else any language."""
        used = {
            "costs": self.edit_costs.stems,
            "stop_words": self.edit_costs.stop_words and self.stop_words == "english",
        }
        return Needs.english(*(option for option, is_used in used.items() if is_used))

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on resources missing for `parity` and on a target language unsuited to the options, or None."""
        return join_notes([self._parity_note(), super().note(dataset) or english_note([self], dataset)])

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's least edit cost and average reference length, shape (candidates, 2)."""
        batch, pairs = self._batch(dataset), reference_pairs(dataset)
        pairs.refuse_long(batch, dataset, self.name, MOST_TOKENS)
        model = self._model(batch)
        rows = np.zeros(len(pairs.reference), dtype=np.int64)
        if self.paraphrases is not None:
            rows = np.unique(batch.reference, return_inverse=True)[1][pairs.reference].astype(np.int64)
        spent = edit_costs(
            batch.segments.values,
            batch.segments.offsets,
            batch.candidate[pairs.candidate],
            batch.reference[pairs.reference],
            rows,
            model,
        )
        return fewest_edits(batch, pairs, spent)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return error rates, shape (...), for statistics of shape (..., 2)."""
        rates = error_rate(statistics)
        return np.minimum(rates, 1.0) if self.edit_costs.capped else rates

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return the edits of one candidate against each reference.

        Words aligned are written ``word = word`` or ``word ~ word (stem)``, with ``synonym``, ``paraphrase`` or
        ``substitution`` instead of ``stem``; inserted words as ``+ word``, missing ones as ``- word``. Shifted words
        are listed at the position that they were shifted to.
        """
        batch = self._batch(dataset)
        model = _model_of(dataset, self)
        sentence, distinct = int(batch.candidate[candidate]), np.unique(batch.reference)
        return {
            f"reference {number}": _describe(
                batch.segments,
                sentence,
                reference,
                int(np.searchsorted(distinct, reference)) if self.paraphrases else 0,
                model,
            )
            for number, reference in enumerate(batch.references_of(candidate), 1)
        }

    def _batch(self, dataset: Dataset) -> TokenBatch:
        batch = token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        if not self.no_punct:
            return batch
        segments = without_marks(batch.segments, PUNCTUATION, leave_empty_words=False)
        return dataclasses.replace(batch, segments=segments)

    def _model(self, batch: TokenBatch) -> EditModel:
        """Return the edit model of a batch; its phrase table has one row per distinct reference, in order of index."""
        chosen, vocabulary = self.edit_costs, batch.segments.vocabulary
        wordnet = self._wordnet()
        words = word_tables(
            vocabulary,
            porter_stem if chosen.stems else None,
            wordnet.synsets_of_any_form if wordnet else None,
        )
        stop = function_words(self.stop_words)[0] if chosen.stop_words else frozenset()
        costs = SearchCosts(
            *(chosen.deletion, chosen.insertion, chosen.substitution, chosen.stem, chosen.synonym, chosen.shift),
            beam=float(chosen.beam),
            max_distance=self.max_distance,
            max_size=self.max_size,
            relaxed=chosen.stems or chosen.synonyms,
        )
        model = EditModel(words, is_among(vocabulary, stop), no_phrases(), costs)
        if self.paraphrases is None:
            return model
        references = np.unique(batch.reference)
        phrases = find_phrases(
            self.paraphrases, batch.segments, references, model, chosen.phrase, lowercase=self.lowercase
        )
        return model._replace(phrases=phrases)

    def _wordnet(self) -> WordNet | None:
        """Return WordNet if synonyms are matched and it is installed, else None."""
        if not self.edit_costs.synonyms or self.wordnet == "none":
            return None
        return optional_wordnet(self.wordnet, f"terp[costs={self.costs}]")


@view
def _model_of(dataset: Dataset, metric: TranslationEditRatePlus) -> EditModel:
    return metric._model(metric._batch(dataset))


def _describe(segments: TokenisedTexts, candidate: int, reference: int, row: int, model: EditModel) -> list[str]:
    """Return the edits between two sentences in the form that `TranslationEditRatePlus.evidence` describes."""
    ids = [segments.numbers(sentence) for sentence in (candidate, reference)]
    reference_words = segments.words(reference)
    if not len(ids[0]) or not len(ids[1]):
        return [*(f"+ {word}" for word in segments.words(candidate)), *(f"- {word}" for word in reference_words)]
    order, steps = edit_path(ids[0], ids[1], row, model)
    shifted = ids[0][order]
    at = place = 0
    shown = []
    for kind, words, size in steps.tolist():
        candidate_phrase = " ".join(segments.vocabulary[word] for word in shifted[at : at + words])
        reference_phrase = " ".join(reference_words[place : place + size])
        if kind == INSERTION:
            shown.append(f"+ {candidate_phrase}")
        elif kind == DELETION:
            shown.append(f"- {reference_phrase}")
        elif kind == PHRASE:
            shown.append(f"{candidate_phrase} ~ {reference_phrase} (paraphrase)")
        elif shifted[at] == ids[1][place]:
            shown.append(f"{candidate_phrase} = {reference_phrase}")
        else:
            shown.append(f"{candidate_phrase} ~ {reference_phrase} ({_relation(shifted[at], ids[1][place], model)})")
        at += words
        place += size
    return shown


def _relation(word: int, other: int, model: EditModel) -> str:
    """Return the name of the cheapest edit that aligns two different words."""
    choices = [(model.costs.substitution, "substitution")]
    if share_synset(model.words, word, other):
        choices.append((model.costs.synonym, "synonym"))
    if share_stem(model.words, word, other):
        choices.append((model.costs.stem, "stem"))
    return min(reversed(choices), key=lambda choice: choice[0])[1]
