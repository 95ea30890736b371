"""What the included rankers are worth with and without consensus, without references, and with few candidates.

A part of the page of `bench/leaderboard.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from bench.board import TWO_SYSTEMS, Board, corpora_of, everything, read, rows_in
from bench.common import figure, table
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged
from ranker.corpora.selection import without_references
from ranker.errors import DataError
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.metrics.evaluation import evaluate
from ranker.evaluation.metrics.result import Comparison, Scope
from ranker.evaluation.metrics.run import compare
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker

CORPORA = ("wmt12", "wmt13", "wmt14", "wmt15", "wmt19-darr", "ted-fluency", TWO_SYSTEMS, "ted21-mqm")
CHRF = "chrf"
PRIMARY, OFFICIAL, SPEARMAN = "segment.tau.primary", "segment.tau.official", "segment.spearman"
FEW = (2, 3, 5, 8)
ALONE, BLIND = "without consensus", "without references"
TEXT = """\
Kendall's tau as above (*official* and *primary* of wmt15), but on TED data the mean Spearman's rho per source. A row
*without consensus* is the same model with the weights that it uses for sources with fewer than three candidates; a row
*without references* uses its weights for sources without references. The number of candidates is the mean per source
of the judged candidates, which are compared; in brackets of all candidates, which vote. p: paired bootstrap over
sources, two-sided, against the row without consensus and against chrF, with *above* or *below* if p is under 0.05.
Rankers that do not use consensus are left out."""
TEXT_FEW = """\
The same with 2, 3, 5 or 8 of the judged candidates of each source, drawn at random; no other candidate votes, and
sources with fewer candidates are left out. `consensus.mean` is the mean chrF with the other candidates."""


def main_statistic(corpus: Dataset) -> str:
    return PRIMARY if len(corpus.preferences) else SPEARMAN


def uses_consensus(ranker: Ranker) -> bool:
    return ranker.feature_set.needs.other_candidates


def variants(ranker: Ranker, dataset: Dataset) -> Iterator[tuple[str, FloatArray]]:
    """Yield what is missing, nothing first, and the weights of every candidate where that is missing."""
    sets = ranker.weight_sets
    yield "", sets.of_candidates(dataset)
    parts = ranker.feature_set.extractors
    if not any(part.needs.references for part in parts):
        return
    alone = np.array([not part.needs.other_candidates for part in parts])
    rows = np.flatnonzero((sets.used == alone).all(axis=1))
    if len(rows) and not alone.all():
        yield ALONE, sets.weights[rows[0]]
    # two candidates alone may be too little to rank by
    with contextlib.suppress(DataError):
        yield BLIND, sets.of_candidates(without_references(dataset.context).in_context(dataset.context_rows))


def rows_of(board: Board, corpus: Dataset, fresh: Dataset | None = None) -> dict[str, FloatArray]:
    """Return the scores of all rows for a corpus, or for some of its candidates."""
    whole = everything(corpus.name)
    dataset = Judged.of(whole).dataset if fresh is None else fresh
    place = rows_in(corpus, corpus if fresh is None else fresh)
    rows = {CHRF: board.by_metric(corpus, CHRF).scores[place]}
    rows["consensus.mean"] = board.by_metric(corpus, "consensus[trust=source].mean").scores
    if fresh is not None:
        rows["consensus.mean"] = make_metric("consensus[trust=source].mean").transform(fresh)[:, 0]
    for name, ranker in board.rankers.items():
        used = board.unseen(name, ranker, corpus)
        columns = (used.feature_set.transform(dataset, partial=True) - used.mean) / used.scale
        for title, weights in variants(used, dataset):
            rows[f"{name} {title}".strip()] = (columns * weights).sum(axis=1)
    return rows


def scope_of(found: Comparison, corpus: str) -> Scope:
    """Return the scope that sums a corpus up."""
    return [scope for scope in found.scopes if scope.data == corpus][-1]


def verdict(found: Comparison, statistic: str, scope: str, row: str, other: str) -> str:
    """Return the p-value of two rows, and which is above."""
    names = [metric.name for metric in found.metrics]
    tests = found.tests_of(statistic, scope)
    if tests is None or other not in names or row == other:
        return "-"
    first, second = names.index(row), names.index(other)
    word = "above " if tests.ahead[first][second] else "below " if tests.ahead[second][first] else ""
    return f"{word}{tests.p[first][second]:.3f}"


def corpus_lines(board: Board, corpus: Dataset, resamples: int) -> list[str]:
    """Return the table of one corpus."""
    rows = rows_of(board, corpus)
    scored = [CandidateScores(name, scores, type="metric", signature=name) for name, scores in rows.items()]
    comparison = compare([(corpus, scored)], levels=["segment"], resamples=resamples, correction="none")
    scope, statistic = scope_of(comparison, corpus.name).id, main_statistic(corpus)
    official = comparison.values(OFFICIAL, scope) if statistic == PRIMARY else np.array([np.nan])
    has_both = statistic == PRIMARY and not np.allclose(official, comparison.values(PRIMARY, scope))
    sizes, voting = (np.diff(item.candidate_offsets) for item in (corpus, everything(corpus.name)))
    seen = sizes > 0
    named = "Spearman" if statistic == SPEARMAN else "tau primary" if has_both else "tau"
    unseen = [name for name, ranker in board.rankers.items() if name in rows and corpus.name in corpora_of(ranker)]
    remark = f" Trained again without it: {', '.join(f'`{item}`' for item in unseen)}." if unseen else ""
    titles = [*(["tau official"] if has_both else []), named]
    body = []
    for name in rows:
        base = base_of(name)
        cells = [comparison.cell(item, scope, name) for item in ([OFFICIAL] if has_both else []) + [statistic]]
        apart = verdict(comparison, statistic, scope, name, f"{base} {ALONE}") if name == base else "-"
        body.append([shown(name), *map(figure, cells), apart, verdict(comparison, statistic, scope, name, CHRF)])
    lines = [f"### {corpus.name}", ""]
    lines += [f"{seen.sum():,} sources, {sizes[seen].mean():.1f} candidates ({voting[seen].mean():.1f}).{remark}", ""]
    lines += table(["row", *titles, "p, without consensus", "p, chrF"], body)
    pairs = corpus.language_pairs
    if len(pairs) > 1:
        by_pair = {name: evaluated(corpus, scores) for name, scores in rows.items()}
        body = [[shown(name), *(f"{figures[pair]:.3f}" for pair in pairs)] for name, figures in by_pair.items()]
        lines += ["", *table(["row", *pairs], body)]
    return [*lines, ""]


def base_of(row: str) -> str:
    return row.removesuffix(BLIND).removesuffix(ALONE).strip()


def shown(row: str) -> str:
    """Write the name of a row, Markdown."""
    return f"`{base_of(row)}`{row.removeprefix(base_of(row))}"


def evaluated(corpus: Dataset, scores: FloatArray) -> dict[str, float]:
    """Return the figure of every language pair."""
    comparison = evaluate(corpus, scores, resamples=0)
    return {
        scope.lp: float(comparison.values(main_statistic(corpus), scope.id)[0])
        for scope in comparison.scopes
        if scope.lp
    }


def drawn(corpus: Dataset, number: int) -> Dataset:
    """Return the corpus with `number` random candidates of every source that has as many, and no others."""
    rng = np.random.default_rng(number)
    sizes = np.diff(corpus.candidate_offsets)
    order: Int64Array = np.lexsort((rng.random(len(corpus)), corpus.candidate_source))
    rank = np.empty(len(corpus), dtype=np.int64)
    rank[order] = np.arange(len(corpus)) - corpus.candidate_offsets[corpus.candidate_source[order]]
    return corpus.select_candidates((rank < number) & (sizes >= number)[corpus.candidate_source])


def few_lines(board: Board, corpora: Sequence[str]) -> list[str]:
    """Return the table of cut-down sources, mean over language pairs."""
    head = [f"{name}, {number}" for name in corpora for number in FEW]
    figures: dict[str, list[float]] = {}
    trials = []
    for name in corpora:
        corpus = read(name)
        for number in FEW:
            if (np.diff(corpus.candidate_offsets) >= number).sum() < 100:
                head.remove(f"{name}, {number}")
                continue
            some = drawn(corpus, number)
            trials.append((name, number))
            for row, scores in rows_of(board, corpus, some).items():
                figures.setdefault(row, []).append(float(np.mean(list(evaluated(some, scores).values()))))
    figures = {row: values for row, values in figures.items() if len(values) == len(trials)}
    means = {
        row: [np.mean([v for (_, n), v in zip(trials, values, strict=True) if n == k]) for k in FEW]
        for row, values in figures.items()
    }
    body = [[shown(row), *(f"{value:.3f}" for value in [*means[row], *values])] for row, values in figures.items()]
    return [TEXT_FEW, "", *table(["row", *(f"mean, {k}" for k in FEW), *head], body)]


def section(board: Board, corpora: Sequence[str], resamples: int) -> list[str]:
    """Return the section of the page, Markdown."""
    board = Board(board.work, {name: ranker for name, ranker in board.rankers.items() if uses_consensus(ranker)})
    lines = ["## Rankers with and without consensus and references", "", TEXT, ""]
    for name in corpora:
        lines += corpus_lines(board, read(name), resamples)
    few = [corpus for corpus in corpora if corpus not in ("ted-fluency", TWO_SYSTEMS)]
    return [*lines, "### Few candidates", "", *few_lines(board, few)]
