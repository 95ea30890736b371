"""Every metric and ranker beside human judgements: `python bench/leaderboard.py` writes `docs/leaderboard.md`.

Scores every corpus with every metric of the registry and with the rankers that ship, and compares them as
`ranker evaluate` does. A ranker is never shown on judgements it learnt from: for a corpus it was trained on, one with
the same settings is trained here on its other corpora. Corpora are names, or files of the shared data
($RANKER_SHARED/data). Scores and models are kept in --work, so that a run with one more row only scores that row;
empty it after a change to an extractor.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench import system_accuracy, with_less
from bench.board import NORMALISED, TWO_SYSTEMS, Board, corpora_of, language_pairs, learnt, read
from bench.common import figure, run_main, say, table
from bench.with_less import scope_of
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.evaluation.metrics.result import Comparison
from ranker.evaluation.metrics.run import compare
from ranker.extractors.base import Metric
from ranker.extractors.registry import extractor_class, make_metric, names
from ranker.files import cache_directory, write_bytes
from ranker.ranking import included as included_models
from ranker.ranking.ranker import Ranker

PAGE = Path(__file__).resolve().parents[1] / "docs" / "leaderboard.md"
CORPORA = ("wmt12", "wmt13", "wmt14", "wmt15", "ted-fluency", "ted21-mqm")
METRICS = (
    *("bleu", "bleu[smoothing=add-one]"),
    *(f"bleu[order={order},smoothing=add-one]" for order in (1, 2, 3)),
    *("bp", "precision", "recall", "f1", "chrf", "chrf[word_order=2]", "nist", "gtm", "gtm[exponent=2.0]"),
    *("rouge_n[order=1]", "rouge_n", "rouge_l", "rouge_w", "rouge_s", "rouge_su"),
    *("wer", "per", "ter", "ter[search=tercom,tokenizer=13a]", "terp", "terp[costs=terpa]"),
    *("meteor[modules=exact+stem]", "meteor"),
    *("ribes", "nkt[precision=0.25]", "nsr[precision=0.25]", "lrscore[alignment=isozaki]"),
    *(f"{name}[alpha=0.5]" for name in ("hamming", "kendall", "kendall_sqrt", "spearman", "ulam", "fuzzy", "pef")),
    *(f"{name}[alpha=0.5]" for name in ("pef_size", "pet", "pet_arity", "pet_flat", "pet_max_arity", "pet_size")),
    "pet_viterbi[alpha=0.5]",
)
NOT_SHOWN = ("combine", "given")
"""Metrics that are what their user makes of others, or brings along."""
PRIMARY = "segment.tau.primary"
OFFICIAL = "segment.tau.official"
OF_SCORES = "segment.tau.scores"
SPEARMAN = "segment.spearman"
ALPHA = 0.05
INTRODUCTION = """\
# Leaderboard

All metrics and all included rankers, compared with human judgements. Written by `{command}`.

- The result for a corpus is the mean over its language pairs into English of the segment-level Kendall tau, wmt14
  variant. On WMT data it is computed over strict human preferences: *primary* counts each judgement once, *official*
  counts as the shared tasks did (a table with one column: both are equal). On TED data it is computed over the
  candidates of a source whose human scores differ.
- All tables list the rows in the same order: by the mean of these results over the corpora (of wmt15 the primary one).
- Spearman is the mean over sources of the tie-corrected rho with win rates or human scores. *undefined* is the number
  of sources left out because people or the metric gave all candidates the same score.
- Brackets contain the 95% confidence interval from {resamples} bootstrap samples of sources. Each row is tested against
  the next row by a paired bootstrap over sources: two-sided p, with *ahead* or *behind* if p is below {alpha}. *beats*
  is the number of rows that a row is ahead of by the same test. Both refer to the column on their left. P-values are
  not corrected for the number of rows.
- No ranker is tested on judgements that it was trained on: see [Rankers](#rankers). But the features of the rankers
  were chosen by training on two of the years 2012 to 2014 and testing on the third, and those for consensus and the
  language model on wmt19-darr and ted21-mqm too, so the results on these corpora may be optimistic. wmt15 and
  ted-fluency were not used for any choice.
- This page only reports. Every row is one test on wmt15; nothing is chosen from this page.
- `meteor` and `terp` use this project's own function words, so their figures are not exactly those of the Java
  programs.
- `combine`, a sum of metrics that its user writes, has no row. Metrics of word order take exact matches here instead
  of alignments with the source; those with `alpha=0.5` weigh order and unigram precision alike."""
REMARKS = {
    NORMALISED: "Three systems, one for each source language, which differ in case and tokenization: here all English "
    "is lowercase, and endings that some split off, such as *n't*, are joined. People mostly prefer the system from "
    "Arabic to that from Farsi, and that to the one from Korean. The next table compares the latter two, which "
    "have the same form.",
    TWO_SYSTEMS: "The table above without the system from Arabic; not in the mean over corpora.",
}


def check_rows(metrics: Sequence[str]) -> None:
    """Refuse to make a page that lacks a metric of the registry."""
    there = {make_metric(metric).name for metric in metrics}
    lacking = [
        name
        for name in names()
        if name not in there and name not in NOT_SHOWN and issubclass(extractor_class(name), Metric)
    ]
    if lacking:
        raise OptionError(f"METRICS of {Path(__file__).name} lacks {', '.join(lacking)}: add a row for each")


def verdicts(found: Comparison, statistic: str, scope: str, rows: Sequence[str]) -> list[tuple[str, str]]:
    """Return, of every row, what the test says of it and the row below, and how many rows it is ahead of."""
    tests = found.tests_of(statistic, scope)
    if tests is None:
        return [("-", "-")] * len(rows)
    place = [[metric.name for metric in found.metrics].index(row) for row in rows]
    written = []
    for upper, lower in itertools.pairwise([*place, place[-1]]):
        word = "ahead " if tests.ahead[upper][lower] else "behind " if tests.ahead[lower][upper] else ""
        written.append((f"{word}{tests.p[upper][lower]:.3f}", str(sum(tests.ahead[upper]))))
    return [*written[:-1], ("-", written[-1][1])]


def primary(corpus: Dataset) -> str:
    """Return the statistic that the rows of a corpus are judged by."""
    return PRIMARY if len(corpus.preferences) else OF_SCORES


def means(found: Comparison, corpora: Sequence[Dataset]) -> dict[str, float]:
    """Return the mean over corpora of the primary figure of every metric, best first; equal ones by name."""
    figures = np.mean([found.values(primary(corpus), scope_of(found, corpus.name).id) for corpus in corpora], axis=0)
    ranked = sorted(zip(-figures, (metric.name for metric in found.metrics), strict=True))
    return {name: -float(value) for value, name in ranked}


def overview(found: Comparison, corpora: Sequence[Dataset]) -> list[str]:
    """Write the table over all corpora."""
    mean = means(found, corpora)
    scope = found.main_scope.id
    body = []
    for row, verdict in zip(mean, verdicts(found, SPEARMAN, scope, list(mean)), strict=True):
        cells = [found.cell(primary(corpus), scope_of(found, corpus.name).id, row) for corpus in corpora]
        each = ["-" if cell is None else f"{cell.value:.3f}" for cell in cells]
        body.append([f"`{row}`", f"{mean[row]:.3f}", *each, figure(found.cell(SPEARMAN, scope, row)), *verdict])
    head = ["metric", "mean tau", *(corpus.name for corpus in corpora), "mean Spearman", "p", "beats"]
    return ["", "## All corpora", "", *table(head, body)]


def corpus_table(found: Comparison, corpus: Dataset, rows: Sequence[str], marked: Sequence[str]) -> list[str]:
    """Write the table of one corpus; an asterisk stands behind the rows that are marked."""
    scope = scope_of(found, corpus.name)
    lps = [member.removeprefix(f"{corpus.name}/") for member in scope.members or (scope.id,)]
    facts = f"{', '.join(lps)}: {scope.sources:,} sources, {scope.candidates:,} judged candidates"
    titles = {primary(corpus): "tau"}
    if len(corpus.preferences):
        titles = {PRIMARY: "tau primary"}
        facts += f", {scope.pairs['primary']:,} strict preferences"
        if scope.pairs["official"] > scope.pairs["primary"]:
            titles = {OFFICIAL: "tau official", **titles}
            facts += f" ({scope.pairs['official']:,} official)"
    tests = [verdicts(found, statistic, scope.id, rows) for statistic in (primary(corpus), SPEARMAN)]
    body = []
    for row, first, second in zip(rows, *tests, strict=True):
        taus = [figure(found.cell(statistic, scope.id, row)) for statistic in titles]
        rho = found.cell(SPEARMAN, scope.id, row)
        undefined = str(rho.undefined) if rho else "-"
        title = f"`{row}`" + (" *" if row in marked else "")
        body.append([title, *taus, *first, figure(rho), *second, undefined])
    head = ["metric", *titles.values(), "p", "beats", "Spearman", "p", "beats", "undefined"]
    remarks = [f"{facts}; judged by {scope.kind}.", REMARKS.get(corpus.name, "")]
    remarks += [f"\\* trained without {corpus.name}, on the other corpora it learns from."] if marked else []
    return ["", f"## {corpus.name}", "", *filter(None, remarks), "", *table(head, body)]


def rankers_table(board: Board, notes: Sequence[str]) -> list[str]:
    """Say what the rankers learnt from, and what is special about their scores."""
    body = []
    for name, ranker in board.rankers.items():
        training = learnt(ranker)
        pairs = "into English" if language_pairs(name, ranker) else "all language pairs"
        data = f"{training.data}, {pairs}, {training.candidates:,} candidates"
        settings = f"{training.loss}, C = {training.C:g}, pairs {training.pairs}"
        body.append([f"`{name}`", data, settings, f"`{ranker.digest[:8]}`"])
    if not body:
        return []
    head = ["ranker", "trained on", "how", "model"]
    return ["", "## Rankers", "", *table(head, body), *(f"\n{note}" for note in notes)]


def page(
    board: Board,
    found: Comparison,
    more: Comparison | None,
    corpora: Sequence[Dataset],
    notes: Sequence[str],
    command: str,
) -> str:
    """Write the page, Markdown."""
    rows = list(means(found, corpora))
    settings = found.settings
    lines = [
        INTRODUCTION.format(command=command, resamples=f"{settings.resamples:,}", alpha=f"{settings.alpha:g}"),
        *overview(found, corpora),
        *rankers_table(board, notes),
    ]
    for corpus in corpora:
        marked = [name for name, ranker in board.rankers.items() if corpus.name in corpora_of(ranker)]
        lines += corpus_table(found, corpus, rows, marked)
        if corpus.name == NORMALISED and more is not None:
            lines += corpus_table(more, read(TWO_SYSTEMS), rows, [])
    lines += ["", *with_less.section(board, with_less.CORPORA, settings.resamples)]
    lines += ["", *system_accuracy.section(resamples=settings.resamples)]
    return "\n".join([*lines, "", f"`{found.signature}`"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, default=cache_directory() / "leaderboard", help="keeps scores and models")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--metrics", nargs="+", default=list(METRICS))
    parser.add_argument("--rankers", nargs="*", default=included_models.names())
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    if tuple(options.metrics) == METRICS:
        check_rows(METRICS)
    board = Board(options.work, {name: Ranker.load(name) for name in options.rankers})
    corpora, data = [], []
    for name in options.corpora:
        scored = board.scored(read(name), options.metrics)
        # read again, because scoring leaves much in the memory of a data set
        corpora.append(read(name))
        data.append((corpora[-1], scored))
    extra = [read(TWO_SYSTEMS)] if NORMALISED in options.corpora else []
    more = [(item, board.scored(item, options.metrics)) for item in extra]
    say("comparing")
    compared = functools.partial(
        compare, levels=["segment"], resamples=options.resamples, correction="none", alpha=ALPHA
    )
    notes = [
        f"{corpus.name}, `{item.name}`: {note}." for corpus, all in data + more for item in all for note in item.notes
    ]
    command = "python bench/leaderboard.py"
    for option in ("corpora", "metrics", "rankers"):
        chosen = getattr(options, option)
        command += "" if chosen == parser.get_default(option) else f" --{option} {' '.join(chosen)}"
    text = page(board, compared(data), compared(more) if more else None, corpora, notes, command)
    write_bytes(options.page, text.encode())


if __name__ == "__main__":
    run_main(main)
