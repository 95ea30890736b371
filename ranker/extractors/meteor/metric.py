"""METEOR (Banerjee and Lavie 2005; Denkowski and Lavie 2014)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int32Array, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import ENGLISH, language_code, main_language
from ranker.errors import OptionError
from ranker.extractors.base import Metric, join_notes
from ranker.extractors.english_only import english_note, in_doubt_note
from ranker.extractors.meteor.alignment import STATISTICS, SearchOptions, align_pairs, alignment_statistics
from ranker.extractors.meteor.matching import (
    EXACT,
    MODULES,
    PARAPHRASE,
    STEM,
    SYNONYM,
    MatchTables,
)
from ranker.extractors.meteor.parameters import (
    FUNCTION_WORDS,
    LANGUAGES,
    OTHER,
    PARAMETER_SETS,
    RANKING,
    STEMMERS,
    Parameters,
    ParameterSet,
    parameter_language,
)
from ranker.extractors.meteor.phrases import find_paraphrases, no_paraphrases
from ranker.extractors.missing_resources import missing_paraphrases, missing_wordnet, missing_words, parity_note
from ranker.extractors.needs import Needs
from ranker.text.function_words import function_words, is_among
from ranker.text.lexical.phrases import table_digest
from ranker.text.lexical.stems import stemmer_of
from ranker.text.lexical.wordnet import WordNet, optional_wordnet
from ranker.text.lexical.words import word_tables
from ranker.text.reference_pairs import ReferencePairs, reference_pairs
from ranker.text.target_languages import other_language, translations_in_others
from ranker.text.tokens import TokenBatch, TokenisedTexts, Tokenizer, token_batch

Matchers = Literal["exact", "exact+stem", "exact+synonym", "exact+stem+synonym"]


class Parts(NamedTuple):
    """Components of METEOR scores, each of shape (...): precision, recall, their weighted mean, and the penalty."""

    precision: FloatArray
    recall: FloatArray
    mean: FloatArray
    penalty: FloatArray


AUTO = "auto"
MOST_TOKENS = 20_000


@dataclass(frozen=True)
class Meteor(Metric):
    r"""Weighted harmonic mean of unigram precision and recall, less a penalty for scattered matches, in [0, 1].

    .. math:: F (1 - \gamma (c / m)^\beta), \quad F = \frac{P R}{\alpha P + (1 - \alpha) R}, \quad
              P = \frac{\sum_i w_i (\delta m^c_i + (1 - \delta) m^f_i)}{\delta n^c + (1 - \delta) n^f}

    with the :math:`n^c` content and :math:`n^f` function words of the candidate, of which module i (exact, stem,
    synonym, paraphrase) matched :math:`m^c_i` and :math:`m^f_i`; likewise R with the words of the reference; m is the
    mean number of matched words of both sides and c their number of chunks, runs that are contiguous and in the same
    order (Denkowski and Lavie 2014, section 2). A candidate that matches the whole reference in one chunk counts as
    having none, one that matches nothing scores 0. Of several references the one with the best score counts, of equal
    ones the first, as in Meteor 1.5.

    Parameters
    ----------
    parameters : {"rank", "adq", "li", "METR", "METR-r", "METR:0.5", "METR-r:0.5"}, default "rank"
        Defaults of the next seven options: those of Meteor 1.5 for ranking, for adequacy and for languages without
        resources, and the four of Cer, Manning and Jurafsky (2010), which weight content and function words, and all
        modules, alike. Those of ``rank`` depend on the language.
    language : str, default "auto"
        Language of the translations, such as ``de``; ``auto`` takes the target language of each source, or English if
        it is unknown. The parameters of ``rank`` are those that Meteor 1.5 has for Czech, English, French, German and
        Spanish; for all other languages they are its language-independent ones, which weight content and function words
        alike. Synonyms are English only.
    alpha, beta, gamma, delta : float, optional
        Weight of recall, 0 to 1; shape and greatest value of the penalty; weight of content words, 0 to 1.
    stem_weight, synonym_weight, paraphrase_weight : float, optional
        Weight of a match of that module, 0 to 1; an exact match has 1.
    modules : {"exact", "exact+stem", "exact+synonym", "exact+stem+synonym"}, default "exact+stem+synonym"
        Modules that match words. If WordNet is not installed, synonyms do not match, and a note says so once.
    stemmer : str, default "auto"
        Language of the Snowball stemmer (Porter 2001), such as ``german``; ``auto`` follows the language. If there is
        no stemmer, as for Czech, no stems match.
    wordnet : str, default "auto"
        Directory of the files of WordNet 3.x (Fellbaum 1998), or ``none`` for no synonyms. ``auto`` looks in the usual
        places.
    paraphrases : str, optional
        A paraphrase table in Meteor's format; with it phrases match too.
    function_words : str, default "auto"
        List of function words: ``czech``, ``english``, ``french``, ``german`` or ``spanish``, which were made for this
        project, ``none``, or a file of words. ``auto`` follows the language, with ``none`` for other languages.
    beam : int, default 40
        Number of partial alignments kept in the search.
    parity : {"meteor-1.5"}, optional
        Align with the two peculiarities of Meteor 1.5 that `ranker.extractors.meteor.alignment` describes, and note
        what else is needed for its exact scores.
    tokenizer : default "meteor"
        ``meteor`` is Meteor's option ``-norm``, ``meteor-words`` is ``-norm -noPunct``; both lower-case, and treat
        every language as English.
    lowercase : bool, default False
        For the other tokenizers.

    Notes
    -----
    Statistics: 21 counts for the reference with the best score; see `ranker.extractors.meteor.alignment.STATISTICS`.
    Then the number of sentences in each language that has parameters of its own, and in other languages. A corpus in
    several of these languages is scored with the language-independent parameters.
    With ``parity=meteor-1.5``, Meteor's own list of function words (``function_words=FILE``; not included) and WordNet
    3.0, segment and corpus scores equal those of Meteor 1.5 with its modules exact, stem and synonym; with its
    paraphrase table (``paraphrases=FILE``; not included) phrases match too. With the list of function words made for
    this project, segment scores differ by .011 on average, on 510 segments of WMT and TED translations.
    """

    name: ClassVar[str] = "meteor"
    family = "words"
    width: ClassVar[int] = STATISTICS + len(LANGUAGES)
    parameters: ParameterSet = "rank"
    language: str = AUTO
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    delta: float | None = None
    stem_weight: float | None = None
    synonym_weight: float | None = None
    paraphrase_weight: float | None = None
    modules: Matchers = "exact+stem+synonym"
    stemmer: str = AUTO
    wordnet: str = "auto"
    paraphrases: str | None = None
    function_words: str = AUTO
    beam: int = 40
    parity: Literal["meteor-1.5"] | None = None
    tokenizer: Tokenizer = "meteor"
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option in ("alpha", "delta", "stem_weight", "synonym_weight", "paraphrase_weight", "gamma"):
            value = getattr(self, option)
            if value is not None and not 0 <= value <= 1:
                raise OptionError(f"meteor[{option}={value}]: expected 0 to 1")
        if self.beta is not None and not 0 <= self.beta < np.inf:
            raise OptionError(f"meteor[beta={self.beta}]: expected 0 or more")
        if self.language != AUTO and language_code(self.language) is None:
            raise OptionError(f"meteor[language={self.language}]: expected auto or a language, such as de or german")
        if not 1 <= self.beam <= 100_000:
            raise OptionError(f"meteor[beam={self.beam}]: expected a whole number from 1 to 100,000")
        if self.lowercase and self.tokenizer in ("meteor", "meteor-words"):
            raise OptionError(f"meteor[lowercase=true]: tokenizer {self.tokenizer!r} always lowercases; omit lowercase")

    def values(self, language: str = ENGLISH) -> Parameters:
        """Return the parameters used for translations into `language`."""
        base = PARAMETER_SETS[self.parameters]
        if self.parameters == "rank":
            base = RANKING[parameter_language(language)]
        own_values = [self.alpha, self.beta, self.gamma, self.delta]
        numbers = [default if value is None else value for value, default in zip(own_values, base[:4], strict=True)]
        modules = [None, self.stem_weight, self.synonym_weight, self.paraphrase_weight]
        weights = [default if value is None else value for value, default in zip(modules, base.weights, strict=True)]
        return Parameters(
            numbers[0], numbers[1], numbers[2], numbers[3], (weights[0], weights[1], weights[2], weights[3])
        )

    def signed(self) -> dict[str, object]:
        """Option values for the signature: digests for files, ``auto`` for options that follow the language."""
        language = self.fixed_language
        wordnet = self._wordnet(language)
        used = [module for module in self.modules.split("+") if module != MODULES[SYNONYM] or wordnet]
        if self.paraphrases:
            used.append(MODULES[PARAPHRASE])
        weights = dict(zip(MODULES, self.values(language).weights, strict=True))
        signed: dict[str, object] = {
            "parameters": None,
            "language": language,
            **dict(zip(Parameters._fields[:4], self.values(language)[:4], strict=True)),
            **{f"{module}_weight": weights[module] if module in used else None for module in MODULES[STEM:]},
            "modules": "+".join(used),
            "stemmer": self._stemmer(language),
            "wordnet": wordnet.digest if wordnet else None,
            "paraphrases": table_digest(self.paraphrases) if self.paraphrases else None,
            "function_words": function_words(self._function_words(language))[1],
        }
        if self.language == AUTO:
            for name in ("stemmer", "function_words"):
                if getattr(self, name) == AUTO and signed[name] is not None:
                    signed[name] = AUTO
            if self.parameters == "rank":
                numbers = [*Parameters._fields[:4], *(f"{module}_weight" for module in MODULES[STEM:])]
                signed.update({"parameters": "rank", **{name: getattr(self, name) for name in numbers}})
            follows = wordnet or AUTO in signed.values() or self.parameters == "rank"
            signed["language"] = AUTO if follows else None
        return signed

    def resolved(self, dataset: Dataset) -> Self:
        """Return this metric with language and tokenizer of `dataset` in place of ``auto`` unless there are several."""
        languages, _ = self._languages(dataset)
        if self.signed()["language"] != AUTO or len(languages) > 1:
            return super().resolved(dataset)
        return dataclasses.replace(super().resolved(dataset), language=languages[0])

    @property
    def needs(self) -> Needs:
        """Needs of the columns: English translations if `stemmer` or `function_words` is ``english``, else any."""
        named = {"stemmer": MODULES[STEM] in self.modules, "function_words": True}
        return Needs.english(*(option for option, used in named.items() if used and getattr(self, option) == "english"))

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on resources missing for `parity` and on target languages unsuited to the options, or None."""
        language = english_note([self], dataset) or self._language_note(dataset)
        return join_notes([self._parity_note(), super().note(dataset), language])

    def _language_note(self, dataset: Dataset) -> str | None:
        languages = set(dataset.target_languages.tolist())
        if self.language != AUTO:
            translations = translations_in_others(dataset, self.fixed_language)
            better = next(iter(languages)) if len(languages) == 1 and languages != {""} else AUTO
            return f"{self}: {translations}; use language={better}" if translations else None
        if languages == {""} and other_language(dataset):
            return f"{self} assumes English, but translations are in another language: set it, as meteor[language=de]"
        if "" in languages and (doubt := in_doubt_note([self], dataset)):
            return doubt
        lacking = sorted(languages - {""} - set(STEMMERS))
        if lacking and self.stemmer == AUTO and MODULES[STEM] in self.modules:
            return f"{self}: no stemmer for {', '.join(lacking)}, so only identical words match"
        return None

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return word, chunk and match counts for the best reference, and the language, shape (candidates, 27)."""
        pairs, rows = self.pair_rows(dataset)
        # ties go to the first reference, as in METEOR 1.5
        best_rows: FloatArray = rows[pairs.best(self.score(rows))]
        return best_rows

    def pair_rows(self, dataset: Dataset) -> tuple[ReferencePairs, FloatArray]:
        """Return the pairs of candidates with their references, and the pairs' statistics, shape (pairs, 27)."""
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        pairs.refuse_long(batch, dataset, self.name, MOST_TOKENS)
        rows = np.zeros((len(pairs.candidate), self.width))
        for language, chosen, distinct, place in self._pairs_by_language(dataset, batch, pairs):
            rows[chosen, :STATISTICS] = self._rows(batch.segments, distinct, language)[place]
            rows[chosen, STATISTICS + LANGUAGES.index(parameter_language(language))] = 1.0
        return pairs, rows

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return METEOR scores, shape (...), for statistics of shape (..., 27)."""
        parts = self.parts(statistics)
        return np.asarray(parts.mean * (1 - parts.penalty))

    def parts(self, statistics: npt.ArrayLike) -> Parts:
        """Return the components of the scores for statistics of shape (..., 27); all 0 where nothing matches."""
        rows = np.asarray(statistics, dtype=np.float64)
        numbers = self.parameter_numbers(rows)
        if numbers.size and numbers.min() == numbers.max():
            return self._parts_by(self.values(LANGUAGES[numbers.flat[0]]), rows)
        totals = Parts(*np.zeros((4, *rows.shape[:-1])))
        for number in np.unique(numbers):
            chosen = numbers == number
            for whole, part in zip(totals, self._parts_by(self.values(LANGUAGES[number]), rows[chosen]), strict=True):
                whole[chosen] = part
        return totals

    def parameter_numbers(self, statistics: FloatArray) -> Int64Array:
        """Return the index in `LANGUAGES` of the parameters to use, shape (...), for statistics of shape (..., 27)."""
        sentences = statistics[..., STATISTICS:] > 0
        several = sentences.sum(axis=-1) > 1
        return np.where(several, LANGUAGES.index(OTHER), sentences.argmax(axis=-1))

    def _parts_by(self, values: Parameters, rows: FloatArray) -> Parts:
        """Return the components of the scores for statistics `rows`, with the parameters `values` of one language."""
        alpha, beta, gamma, delta, weights = values
        lengths, functions, chunks = rows[..., 0:2], rows[..., 2:4], rows[..., 4]
        # axes: module, candidate or reference, content or function words
        matched = rows[..., 5:STATISTICS].reshape(*rows.shape[:-1], len(MODULES), 2, 2)
        importance = delta, 1 - delta
        total = (lengths - functions) * importance[0] + functions * importance[1]
        hits, words = np.zeros(lengths.shape), np.zeros(lengths.shape)
        for module, weight in enumerate(weights):
            for kind in range(2):
                hits += matched[..., module, :, kind] * (weight * importance[kind])
                words += matched[..., module, :, kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = np.moveaxis(np.where(total > 0, hits / total, 0.0), -1, 0)
            mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
            penalty = np.where(chunks > 0, gamma * (chunks / words.mean(axis=-1)) ** beta, 0.0)
        return Parts(precision, recall, np.where((precision > 0) & (recall > 0), mean, 0.0), penalty)

    def orders(
        self, dataset: Dataset, tokenizer: Tokenizer, *, lowercase: bool = False
    ) -> tuple[Int32Array, Int64Array]:
        """Return each candidate's word order relative to each of its references, from METEOR's matches, in CSR form."""
        batch, pairs = token_batch(dataset, tokenizer, lowercase=lowercase), reference_pairs(dataset)
        blocks = [np.zeros(0, dtype=np.int32)]
        size, start = np.zeros((2, len(pairs.candidate)), dtype=np.int64)
        for language, chosen, distinct, place in self._pairs_by_language(dataset, batch, pairs):
            counts, matches = self._align(batch.segments, distinct, self._tables(batch.segments, language), language)
            first = offsets_of(counts)[:-1]
            size[chosen] = counts[place]
            start[chosen] = sum(map(len, blocks)) + first[place]
            pair = np.repeat(np.arange(len(counts)), counts)
            # the matches come in the order of the reference
            blocks.append(np.lexsort((matches[:, 1], pair)) - first[pair])
        offsets = offsets_of(size)
        taken = np.repeat(start - offsets[:-1], size) + np.arange(offsets[-1])
        return np.concatenate(blocks)[taken].astype(np.int32), offsets

    def _parity_note(self) -> str | None:
        if self.parity is None:
            return None
        own_words = self.function_words == type(self).function_words and self.values().delta != 0.5
        effect = "moves segment scores by .011 on average"
        synonyms = MODULES[SYNONYM] in self.modules
        missing = [
            missing_words("function words", "function_words", effect) if own_words else None,
            missing_wordnet() if synonyms and self._wordnet() is None else None,
            missing_paraphrases() if self.modules == type(self).modules and self.paraphrases is None else None,
        ]
        return parity_note("Meteor 1.5", missing)

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return one candidate's matches with each reference, as ``word = word`` and ``word ~ word (module)``."""
        batch = token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        segments = batch.segments
        sentence = int(batch.candidate[candidate])
        languages, numbers = self._languages(dataset)
        language = languages[numbers[batch.candidate_source[candidate]]]
        tables = _tables_of(dataset, self, language)
        candidate_words = segments.words(sentence)
        evidence = {}
        for number, reference in enumerate(batch.references_of(candidate), 1):
            reference_words, shown = segments.words(reference), []
            _, matches = self._align(segments, np.array([[sentence, reference]]), tables, language)
            for place, start, size, length, module in matches.tolist():
                pair = (
                    " ".join(candidate_words[start : start + size]),
                    " ".join(reference_words[place : place + length]),
                )
                shown.append(" = ".join(pair) if module == EXACT else f"{' ~ '.join(pair)} ({MODULES[module]})")
            evidence[f"reference {number}"] = shown
        return evidence

    def _align(
        self, segments: TokenisedTexts, pairs: Int64Array, tables: MatchTables, language: str
    ) -> tuple[Int64Array, Int32Array]:
        """Return the number of matches of each pair, and the matches in the same form as `align_pairs`."""
        options = self._search_options(language)
        _, counts, matches = align_pairs(segments.values, segments.offsets, pairs, tables, options)
        return counts, matches

    @property
    def fixed_language(self) -> str:
        """Code of the language that the option names, English if it is ``auto``."""
        return main_language(language_code(self.language) or ENGLISH) if self.language != AUTO else ENGLISH

    def _languages(self, dataset: Dataset) -> tuple[list[str], Int64Array]:
        """Return the assumed target languages, and the index of each source's language among them, shape (sources,)."""
        sources = len(dataset.sources)
        if self.language != AUTO:
            return [self.fixed_language], np.zeros(sources, dtype=np.int64)
        taken = [language or ENGLISH for language in dataset.target_languages]
        names = sorted(set(taken))
        places = {name: place for place, name in enumerate(names)}
        return names, np.fromiter(map(places.__getitem__, taken), dtype=np.int64, count=sources)

    def _pairs_by_language(
        self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs
    ) -> Iterator[tuple[str, Int64Array, Int64Array, Int64Array]]:
        """Yield each language, its pairs, the distinct sentence pairs, and each pair's index in the distinct pairs."""
        sentences = np.stack([batch.candidate[pairs.candidate], batch.reference[pairs.reference]], axis=1)
        languages, numbers = self._languages(dataset)
        for number, language in enumerate(languages):
            chosen = np.flatnonzero(numbers[dataset.candidate_source[pairs.candidate]] == number)
            distinct, place = np.unique(sentences[chosen], axis=0, return_inverse=True)
            yield language, chosen, distinct, place.reshape(-1)

    def _stemmer(self, language: str) -> str | None:
        """Return the name of the stemmer for `language`, or None if stems are not matched or there is no stemmer."""
        if MODULES[STEM] not in self.modules.split("+"):
            return None
        return STEMMERS.get(language) if self.stemmer == AUTO else self.stemmer

    def _function_words(self, language: str) -> str:
        return FUNCTION_WORDS.get(language, "none") if self.function_words == AUTO else self.function_words

    def _search_options(self, language: str) -> SearchOptions:
        weights = self.values(language).weights if self.parity is None else PARAMETER_SETS["rank"].weights
        return SearchOptions(np.array(weights), self.beam, self.parity is not None)

    def _wordnet(self, language: str = ENGLISH) -> WordNet | None:
        """Return WordNet if it is installed and synonyms are matched, else None; refuse a directory without WordNet."""
        if MODULES[SYNONYM] not in self.modules.split("+") or language != ENGLISH or self.wordnet == "none":
            return None
        return optional_wordnet(self.wordnet, self.name)

    def _tables(self, segments: TokenisedTexts, language: str = ENGLISH) -> MatchTables:
        stemmer, wordnet = self._stemmer(language), self._wordnet(language)
        words = word_tables(
            segments.vocabulary, stemmer_of(stemmer) if stemmer else None, wordnet.synsets if wordnet else None
        )
        if self.paraphrases is None:
            return MatchTables(words, no_paraphrases(len(segments.lengths)))
        return MatchTables(words, find_paraphrases(self.paraphrases, segments))

    def _rows(self, segments: TokenisedTexts, pairs: Int64Array, language: str) -> FloatArray:
        """Return the alignment statistics of sentence pairs, shape (pairs, 21)."""
        words, _ = function_words(self._function_words(language))
        rows: FloatArray = alignment_statistics(
            segments.values,
            segments.offsets,
            pairs,
            self._tables(segments, language),
            is_among(segments.vocabulary, words),
            self._search_options(language),
        )
        return rows


@view
def _tables_of(dataset: Dataset, metric: Meteor, language: str) -> MatchTables:
    batch = token_batch(dataset, metric.tokenizer, lowercase=metric.lowercase)
    return metric._tables(batch.segments, language)
