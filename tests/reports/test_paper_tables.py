"""Tables for papers: whatever systems are called, they are shown as they are and nothing is broken."""

from __future__ import annotations

import dataclasses
import re

import pytest

from ranker.evaluation.systems.result import SystemsResult
from ranker.evaluation.systems.run import compare_systems
from ranker.ranking import make_scorer
from ranker.reports.paper_tables import latex, markdown
from tests.datasets import dataset_of

HOSTILE = ["a_b&c%d#e", r"\end{table}|$x^2~", "<b>|*x*`\u202e[1](u)"]


@pytest.fixture(scope="module")
def result() -> SystemsResult:
    items = [(["a b c d e f"], ["a b c d e f", "a b c x e f", "x x c d e x"])] * 20
    dataset = dataset_of(items, lp="de-en")
    names = dict(zip(("s0", "s1", "s2"), HOSTILE, strict=True))
    named = dataset.candidates.assign(system=dataset.candidates["system"].map(names))
    scorers = {name: make_scorer(name, None) for name in ("bleu", "ter")}
    return compare_systems(dataclasses.replace(dataset, candidates=named), scorers, resamples=200, baseline=HOSTILE[1])


def test_latex_escapes_names_and_is_balanced(result: SystemsResult) -> None:
    text = latex(result)
    assert text.count(r"\end{table}") == text.count(r"\begin{table}") == 1
    plain = re.sub(r"\\[\\{}&%$#_]", "", text)
    depth = 0
    for item in plain:
        depth += (item == "{") - (item == "}")
        assert depth >= 0
    assert depth == 0
    assert r"a\_b\&c\%d\#e" in text
    assert r"\textbackslash{}end\{table\}\textbar{}\$x\textasciicircum{}2\textasciitilde{}" in text
    assert r"\textbackslash{}u202e" in text
    rows = re.search(r"\\toprule(.*)\\bottomrule", text, re.DOTALL)
    assert rows
    lines = [line for line in rows[1].splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {3}
    # a line between the three clusters, and one below the head
    assert text.count(r"\midrule") == 3
    assert text.count(r"\textbf{") == 2
    assert r"\textbf{1.0000}$^\ddagger$" in text


def test_markdown_escapes_names(result: SystemsResult) -> None:
    lines = markdown(result, percent=True).splitlines()
    assert lines[0] == "| Rank | System | bleu (%) | ter (%) ↓ |"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:5]} == {5}
    assert lines[2].startswith(r"| 1 | a\_b\&c%d\#e | **100.00**‡ [100.00, 100.00] | **0.00**‡ [0.00, 0.00] |")
    assert r"\<b\>\|\*x\*\`\\u202e\[1\](u)" in lines[4]
    assert r"differs from \\end{table}\|$x^2\~ at p \< .05" in lines[6]
    assert lines[-1].startswith("- `ranker:")
