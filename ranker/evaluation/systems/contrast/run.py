"""Contrast of two systems by segments, words, n-grams, length and word order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows
from ranker.corpora.dataset import Dataset
from ranker.corpora.numbered_systems import note_numbered
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import check_resampling
from ranker.evaluation.resampling.significance import few_sources
from ranker.evaluation.systems.contrast.estimates import Bootstrap, Score, f_measure, length_ratio, recall
from ranker.evaluation.systems.contrast.ngrams import one_sided_ngrams
from ranker.evaluation.systems.contrast.pairing import ContrastedSystems
from ranker.evaluation.systems.contrast.result import WORD_F1, WORD_RECALL, Breakdown, Bucket, Subject, SystemContrast
from ranker.evaluation.systems.contrast.segments import differing_segments
from ranker.evaluation.systems.contrast.words import (
    LENGTHS,
    bucket_names,
    bucket_of,
    by_frequency,
    by_part_of_speech,
    reference_frequencies,
    text_frequencies,
)
from ranker.evaluation.systems.levels import documents
from ranker.extractors.base import Metric
from ranker.extractors.dependency.cache import SHIPPED
from ranker.extractors.order.ribes import NormalisedKendall
from ranker.files import display_name, read_lines
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import Scorer, candidate_scores, scorer_of, sign_of, systems_scorer
from ranker.text.ngrams import closest_reference_lengths
from ranker.text.target_languages import other_language
from ranker.text.tokens import Tokenizer, language_tokenizers

NO_PARSER = "none"


def contrast(
    candidates: Candidates,
    first: str | None = None,
    second: str | None = None,
    scorer: str | Path | Metric | Ranker | Scorer = "chrf",
    *,
    train_text: Path | None = None,
    parser: str = SHIPPED,
    tokenizer: Tokenizer = "auto",
    lowercase: bool = False,
    ngrams: int = 50,
    segments: int = 50,
    resamples: int = 1000,
    seed: int = 0,
) -> SystemContrast:
    """Contrast two systems by segments, kinds of words, n-grams, length and word order.

    The figures of a bucket of words are the F measure, 2 m / (c + r), and the recall, m / r, with m clipped matches of
    c words of the translations and r words of the references. With several references, a translation is compared with
    the one that it matches best, as by `f1`. All intervals are percentiles of a paired bootstrap over sources; the
    intervals of n-grams do not allow for the selection of the most one-sided n-grams.

    Candidates are in any form that `ranker.ranking.ranker.Ranker.score` takes; if there are only two
    systems, they need not be named. The scorer is a metric in its notation, the name of an included
    ranker, a model file (as Path), or a metric or ranker itself; the other options are those of the command.
    """
    dataset = candidate_rows(candidates).dataset
    if first is None or second is None:
        first, second = _only_two(dataset)
    check_resampling(resamples, seed)
    scorer = systems_scorer(scorer_of(scorer))
    note_numbered([first, second], dataset.name)
    pair = ContrastedSystems.of(dataset, first, second, tokenizer, lowercase=lowercase)
    lines = _lines(pair.dataset, tokenizer, train_text)
    statistics = scorer.statistics(pair.dataset)
    scores = sign_of(scorer) * candidate_scores(scorer, pair.dataset, statistics)[pair.rows]
    statistics = statistics[pair.rows]
    bootstrap = Bootstrap(resamples if len(pair.rows) > 1 else 0, seed)
    frequency = (
        reference_frequencies(pair)
        if lines is None
        else text_frequencies(pair, lines[1], lines[0], lowercase=lowercase)
    )
    words, frequencies = by_frequency(pair, frequency)
    order = NormalisedKendall(tokenizer=tokenizer, lowercase=lowercase)
    overall = (
        _named(bootstrap, scorer.name, statistics, scorer.score),
        _named(bootstrap, WORD_F1, words.sum(axis=1), f_measure),
        _named(bootstrap, WORD_RECALL, words.sum(axis=1), recall),
        _named(bootstrap, "length ratio", _lengths(pair), length_ratio),
        _named(bootstrap, order.name, order.statistics(pair.dataset)[pair.rows], order.score),
    )
    breakdowns = [Breakdown("overall", "", "segments", overall), *_by_words(bootstrap, "frequency", words, frequencies)]
    note = _no_tags(pair.dataset, parser)
    if note is None and parser != NO_PARSER:
        breakdowns += _by_words(bootstrap, "part of speech", *by_part_of_speech(pair, parser, lowercase=lowercase))
    breakdowns += _by_segments(bootstrap, pair, scorer, statistics, words.sum(axis=1))
    first_ngrams, second_ngrams = one_sided_ngrams(pair, ngrams, bootstrap)
    first_segments, second_segments = differing_segments(pair, scores, sign_of(scorer), segments)
    return SystemContrast(
        data=dataset.name,
        first=first,
        second=second,
        sources=len(pair.rows),
        scorer=scorer.name,
        higher_is_better=scorer.higher_is_better,
        resamples=resamples,
        seed=seed,
        frequencies="the references" if train_text is None else display_name(train_text),
        breakdowns=tuple(breakdowns),
        first_ngrams=first_ngrams,
        second_ngrams=second_ngrams,
        first_segments=first_segments,
        second_segments=second_segments,
        notes=tuple(filter(None, [note, few_sources(len(pair.rows)) if resamples else None])),
    )


def _only_two(dataset: Dataset) -> tuple[str, str]:
    """Return the names of the two systems of a data set; raise an error if there are more or fewer than two."""
    names = [str(name) for name in dataset.candidates["system"].unique()]
    if len(names) != 2:
        named = f"{dataset.name} has {counted(len(names), 'system')}: {', '.join(map(repr, names))}"
        raise OptionError(f"name the two systems to contrast; {named}")
    return names[0], names[1]


def _lines(dataset: Dataset, tokenizer: Tokenizer, path: Path | None) -> tuple[Tokenizer, list[str]] | None:
    """Return the tokenizer and lines of the text in which words are counted, or None if no text is given."""
    if path is None:
        return None
    names = language_tokenizers(dataset)[0] if tokenizer == "auto" else (tokenizer,)
    if len(names) > 1:
        raise OptionError(
            f"--train-text is a single text, but {dataset.name} uses the tokenizers {', '.join(names)}: "
            "use data of one language pair, or give one tokenizer with --tokenizer"
        )
    return names[0], read_lines(path)


def _named(bootstrap: Bootstrap, name: str, statistics: FloatArray, score: Score) -> Bucket:
    """Return a bucket called `name` with a figure over all segments."""
    everything = np.zeros(len(statistics), dtype=np.int64)
    return bootstrap.of_segments("overall", statistics, score, everything, [name])[0]


def _lengths(pair: ContrastedSystems) -> FloatArray:
    """Number of words in each translation and in the reference closest in length, shape (sources, 2, 2)."""
    lengths = pair.batch.candidate_lengths, closest_reference_lengths(pair.batch)
    return np.stack(lengths, axis=1).astype(np.float64)[pair.rows]


def _by_words(bootstrap: Bootstrap, subject: Subject, statistics: FloatArray, names: list[str]) -> list[Breakdown]:
    return [
        Breakdown(subject, measure, "words", bootstrap.of_words(subject, statistics, score, names))
        for measure, score in ((WORD_F1, f_measure), (WORD_RECALL, recall))
    ]


def _by_segments(
    bootstrap: Bootstrap, pair: ContrastedSystems, scorer: Scorer, statistics: FloatArray, words: FloatArray
) -> list[Breakdown]:
    """Return scores and F measures of segments by length, and by language pair and document if there are several."""
    return [
        Breakdown(subject, measure, "segments", bootstrap.of_segments(subject, columns, score, group, names))
        for subject, group, names in _groups(pair, words[..., 2].mean(axis=1))
        for measure, columns, score in ((scorer.name, statistics, scorer.score), (WORD_F1, words, f_measure))
    ]


def _groups(pair: ContrastedSystems, lengths: FloatArray) -> list[tuple[Subject, Int64Array, list[str]]]:
    dataset = pair.dataset
    groups: list[tuple[Subject, Int64Array, list[str]]] = [
        ("length", bucket_of(lengths, LENGTHS), bucket_names(LENGTHS))
    ]
    if len(dataset.language_pairs) > 1:
        group = np.searchsorted(dataset.language_pairs, dataset.source_language_pairs.astype(str))
        groups.append(("language pair", group.astype(np.int64), [*dataset.language_pairs]))
    if dataset.sources["doc"].notna().all():
        document, names = documents(dataset)
        if len(names) > 1:
            _, first = np.unique(document, return_index=True)
            pairs = dataset.source_language_pairs[first] if len(dataset.language_pairs) > 1 else [""] * len(names)
            titles = [f"{pair} {name}".strip() for pair, name in zip(pairs, names, strict=True)]
            groups.append(("document", document, titles))
    return groups


def _no_tags(dataset: Dataset, parser: str) -> str | None:
    """Return the reason why words cannot be tagged with parts of speech, or None if they can."""
    language = other_language(dataset) if parser == SHIPPED else None
    if language is None:
        return None
    return f"no parts of speech: the included parser is for English, but the text is in {language}; use --parser"
