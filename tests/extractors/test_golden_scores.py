"""Metrics against independent programs and formulas: every segment, and every corpus that they scored."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of
from tests.golden_values import SHARED_ONLY, expected, inputs


class Column(NamedTuple):
    """One column of a golden file, and the metric that has the same scores."""

    file: str
    column: str
    metric: str
    references: int | None = None
    """How many references of an item count; None if all do."""
    texts: str = ""
    """The texts as they are, or with ``_tok`` those that were tokenised before."""
    counts: tuple[str, ...] = ()
    """Columns with the statistics of the metric."""
    scale: float = 1.0
    tolerance: float = 1e-12


MEASURES = {"p": "precision", "r": "recall", "f": "f"}
ROUGE = {
    **{f"rouge-{order}": f"rouge_n[order={order}" for order in (1, 2, 3, 4)},
    "rouge-l": "rouge_l[lowercase=true",
    "rouge-w-1.2": "rouge_w[weight=1.2",
    "rouge-s4": "rouge_s[distance=4",
    "rouge-su4": "rouge_su[distance=4",
    "rouge-s*": "rouge_s[distance=-1",
    "rouge-su*": "rouge_su[distance=-1",
}
SKIP_BIGRAMS = {
    **{f"s{distance}": f"rouge_s[distance={distance}" for distance in (0, 4, 9)},
    "s_inf": "rouge_s[distance=-1",
    "su4_allunigrams": "rouge_su[last=true,distance=4",
    "su_inf_allunigrams": "rouge_su[last=true,distance=-1",
}
CHRF = {
    "chrF2": "chrf",
    "chrF2++": "chrf[word_order=2]",
    "chrF1": "chrf[beta=1]",
    "chrF3": "chrf[beta=3]",
    "chrF2_w1": "chrf[word_order=1]",
    "chrF2_lc": "chrf[lowercase=true]",
    "chrF2_ws": "chrf[whitespace=true]",
    "chrF2_eps": "chrf[epsilon=true]",
    "chrF2_c4": "chrf[order=4]",
}


def columns() -> Iterator[Column]:
    for theirs, ours in {"exp": "exp", "floor": "floor", "add-k": "add-one", "none": "none"}.items():
        for effective in ("eff", "noeff"):
            for case, order in [*(("cased", order) for order in range(1, 6)), ("lc", 4)]:
                options = f"order={order},smoothing={ours},effective_order={str(effective == 'eff').lower()}"
                metric = f"bleu[{options},lowercase={str(case == 'lc').lower()}]"
                yield Column(
                    "bleu_sacrebleu.tsv", f"{case}.{theirs}.{effective}.N{order}", metric, scale=100, tolerance=1e-9
                )
    yield Column("bleu_sacrebleu.tsv", "bp", "bp", counts=("sys_len", "ref_len"))
    for column, metric in CHRF.items():
        yield Column("chrf_sacrebleu.tsv", column, metric, scale=100, tolerance=1e-9)
    for case, lowercase in (("lc", "true"), ("cased", "false")):
        for references, which in ((1, "ref0"), (None, "best")):
            for name, errors in (("wer", "edits"), ("per", "errors")):
                counts = tuple(f"{case}.{part}.{which}" for part in (errors, "len"))
                metric = f"{name}[lowercase={lowercase}]"
                yield Column(f"{name}.tsv", f"{case}.{name}.{which}", metric, references, counts=counts)
        for measure, which in (("p", "ref0"), ("r", "ref0"), ("f", "ref0"), ("f", "bestref")):
            words = {"p": "precision", "r": "recall", "f": "f1"}[measure]
            for metric in (f"{words}[", f"gtm[measure={MEASURES[measure]},"):
                of_words = f"{metric}tokenizer=none,lowercase={lowercase}]"
                yield Column(
                    "gtm_e1.tsv", f"{case}.{measure}.{which}", of_words, 1 if which == "ref0" else None, "_tok"
                )
    for measure, name in MEASURES.items():
        end = f",tokenizer=none,measure={name}]"
        for rouge, metric in ROUGE.items():
            for references, which in ((1, "ref0"), (None, "best")):
                column, by = f"pyrouge.{which}.{rouge}.{measure}", ",best_by=recall]" if which == "best" else "]"
                yield Column("rouge.tsv.gz", column, metric + end[:-1] + by, references, "_tok", tolerance=1e-9)
        for skip, metric in SKIP_BIGRAMS.items():
            yield Column("rouge.tsv.gz", f"direct.ref0.{skip}.{measure}", metric + end, 1, "_tok", tolerance=1e-9)


@functools.cache
def dataset(golden: Path, references: int | None, texts: str, group: str = "all") -> Dataset:
    chosen = [item for item in inputs(golden) if group in ("all", item["group"])]
    return dataset_of([(item[f"refs{texts}"][:references], item[f"hyp{texts}"]) for item in chosen])


@pytest.mark.parametrize("case", list(columns()), ids=lambda case: case.metric)
def test_every_segment_equals_the_program(golden: Path, case: Column) -> None:
    metric = make_metric(case.metric)
    rows = metric.statistics(dataset(golden, case.references, case.texts))
    wanted = expected(golden, case.file, case.column)[:, 0] / case.scale
    np.testing.assert_allclose(metric.score(rows), wanted, atol=case.tolerance, rtol=0)
    if case.counts:
        np.testing.assert_array_equal(rows, expected(golden, case.file, *case.counts))


def in_corpora(column: str) -> tuple[str, str]:
    """Return the name of a column in the file with scores of corpora, and of its value there."""
    if column == "bp":
        return "cased.exp.N4", "bp"
    if ".wer." in column or ".per." in column:
        case, name, which = column.split(".")
        return f"{name}.{case}.{which.replace('best', 'bestrate')}", "rate"
    return column.replace(".noeff", ""), "score"


CORPORA = {"bleu_sacrebleu.tsv": "bleu_sacrebleu", "chrf_sacrebleu.tsv": "chrf_sacrebleu"}
CORPORA |= dict.fromkeys(("wer.tsv", "per.tsv"), "wer_per")
SCORED = [case for case in columns() if case.file in CORPORA and ".eff." not in case.column]


@SHARED_ONLY
@pytest.mark.parametrize("case", SCORED, ids=lambda case: case.metric)
def test_every_corpus_equals_the_program(golden: Path, case: Column) -> None:
    metric, (name, key) = make_metric(case.metric), in_corpora(case.column)
    corpora = json.loads((golden / f"{CORPORA[case.file]}.corpus.json").read_text(encoding="utf-8"))
    groups = [group for group in corpora if not group.startswith("_")]
    assert len(groups) >= 6
    for group in groups:
        references = 1 if group.endswith("ref0") else case.references
        of_group = dataset(golden, references, case.texts, "all" if group.startswith("all") else group)
        total = metric.statistics(of_group).sum(axis=0)
        wanted = corpora[group][name]
        wanted = wanted[key] if isinstance(wanted, dict) else wanted
        assert metric.score(total) == pytest.approx(wanted / case.scale, abs=1e-9), group


@SHARED_ONLY
def test_a_corpus_of_rouge_is_the_mean_of_its_segments(golden: Path) -> None:
    wanted = json.loads((golden / "rouge.corpus.json").read_text(encoding="utf-8"))["mean_over_segments"]
    for name, text in ROUGE.items():
        metric = make_metric(f"{text},tokenizer=none]")
        total = metric.statistics(dataset(golden, 1, "_tok")).sum(axis=0)
        assert metric.score(total) == pytest.approx(wanted[f"pyrouge.ref0.{name}.f"], abs=1e-9)
