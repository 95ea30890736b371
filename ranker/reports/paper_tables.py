"""Comparisons of systems as tables for papers: LaTeX with booktabs, or Markdown."""

from __future__ import annotations

import re

from ranker.errors import counted
from ranker.evaluation.bootstrap import Estimate
from ranker.evaluation.systems.result import ComparedSystem, SystemComparison, SystemsResult
from ranker.files import printable

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_MARKS = ((0.01, "‡"), (0.05, "†"))
"""Marks for adjusted p-values of differences to the baseline, smallest first."""


def latex(result: SystemsResult, *, percent: bool = False) -> str:
    """Return one LaTeX table per language pair, for use with the package booktabs.

    Systems are sorted by the first metric, with lines between its clusters. The best score of each metric is in bold.
    """
    return "\n".join(_latex_table(result, lp, percent) for lp in result.language_pairs)


def markdown(result: SystemsResult, *, percent: bool = False) -> str:
    """Return the tables of `latex` as Markdown, without the lines between clusters."""
    return "\n".join(_markdown_table(result, lp, percent) for lp in result.language_pairs)


def _latex_table(result: SystemsResult, lp: str, percent: bool) -> str:
    comparisons, people = result.of_language_pair(lp), result.people(lp)
    marks = {"†": r"$^\dagger$", "‡": r"$^\ddagger$", "": ""}
    head = ["Rank", "System"]
    for comparison in comparisons:
        arrow = "" if result.metric(comparison.metric).higher_is_better else r" $\downarrow$"
        head.append(_tex(_heading(result, comparison, percent)) + arrow)
    lines = []
    cluster = 1
    for each in comparisons[0].systems:
        if each.cluster != cluster:
            cluster = each.cluster
            lines.append(r"\midrule")
        row = [_range(each, "--"), _tex(each.system)]
        for comparison in comparisons:
            system = _system(comparison, each.system)
            value, interval = _texts(system.score, _scale(result, comparison, percent))
            shown = rf"\textbf{{{value}}}" if system.rank == 1 else value
            row.append(rf"{shown}{marks[_mark(system)]} {{\scriptsize [{interval}]}}".replace("-", "$-$"))
        if people:
            judged = people.get(each.system)
            row.append("--" if judged is None else f"{judged.score:.3f} ({judged.cluster})".replace("-", "$-$"))
        lines.append(" & ".join(row) + r" \\")
    if people:
        head.append("People")
    caption = _tex(_caption(result, lp)).replace("†", marks["†"]).replace("‡", marks["‡"])
    signatures = "; ".join(rf"\texttt{{{_breakable(signature)}}}" for signature in _signatures(result))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{caption} {{\scriptsize {signatures}}}}}",
            rf"\label{{tab:systems{re.sub('[^A-Za-z0-9-]+', '', '' if lp == '?' else f'-{lp}')}}}",
            r"\end{table}",
            "",
        ]
    )


def _markdown_table(result: SystemsResult, lp: str, percent: bool) -> str:
    comparisons, people = result.of_language_pair(lp), result.people(lp)
    head = ["Rank", "System"]
    for comparison in comparisons:
        arrow = "" if result.metric(comparison.metric).higher_is_better else " ↓"
        head.append(_md(_heading(result, comparison, percent)) + arrow)
    if people:
        head.append("People")
    lines = [head, [*(":--" for _ in head[:2]), *("--:" for _ in head[2:])]]
    for each in comparisons[0].systems:
        row = [_range(each, "–"), _md(each.system)]
        for comparison in comparisons:
            system = _system(comparison, each.system)
            value, interval = _texts(system.score, _scale(result, comparison, percent))
            row.append(f"{f'**{value}**' if system.rank == 1 else value}{_mark(system)} [{interval}]")
        if people:
            judged = people.get(each.system)
            row.append("–" if judged is None else f"{judged.score:.3f} ({judged.cluster})")
        lines.append(row)
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    signatures = "\n".join(
        f"- `{signature.replace('`', chr(39))}`" for signature in map(printable, _signatures(result))
    )
    return f"{table}\n\n{_md(_caption(result, lp))}\n\n{signatures}\n"


def _system(comparison: SystemComparison, name: str) -> ComparedSystem:
    return next(each for each in comparison.systems if each.system == name)


def _heading(result: SystemsResult, comparison: SystemComparison, percent: bool) -> str:
    return f"{comparison.metric}{' (%)' if _scale(result, comparison, percent) > 1 else ''}"


def _scale(result: SystemsResult, comparison: SystemComparison, percent: bool) -> float:
    return result.metric(comparison.metric).scale(percent=percent)


def _range(each: ComparedSystem, dash: str) -> str:
    return str(each.low) if each.low == each.high else f"{each.low}{dash}{each.high}"


def _texts(score: Estimate, scale: float) -> tuple[str, str]:
    """Return a score and its interval."""
    value, low, high = (
        f"{scale * value + 0.0:.{2 if scale > 1 else 4}f}" for value in (score.value, score.low, score.high)
    )
    return value, f"{low}, {high}"


def _mark(each: ComparedSystem) -> str:
    p = each.adjusted
    return "" if p is None else next((mark for limit, mark in _MARKS if p < limit), "")


def _caption(result: SystemsResult, lp: str) -> str:
    """Return the caption without the signatures, as plain text."""
    comparisons, settings = result.of_language_pair(lp), result.settings
    first = comparisons[0]
    where = printable(result.data if lp == "?" else f"{result.data} {lp}")
    pairs = counted(len(first.pairs), "pair")
    people = result.people(lp)
    agreement = "; ".join(
        f"{comparison.metric} {_known(comparison.kendall)}, {_known(comparison.pearson)}" for comparison in comparisons
    )
    parts = [
        f"Corpus scores on {where} ({counted(first.sources, 'source')}) with 95% bootstrap confidence intervals.",
        f"Best scores in bold. Order and rank ranges by {first.metric}.",
        f"† ‡: differs from {printable(first.baseline)} at p < .05, p < .01 ({result.test_title}, "
        f"{counted(settings.resamples, 'resample')}, seed {settings.seed}, {settings.correction_title}, {pairs}).",
    ]
    if people:
        method = next(ranking.method for ranking in result.human if ranking.lp == lp)
        parts.append(f"People: {method}, and cluster; Kendall's tau and Pearson's r with human scores: {agreement}.")
    return " ".join(parts)


def _known(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _signatures(result: SystemsResult) -> list[str]:
    return [*(metric.signature for metric in result.metrics), result.signature]


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in printable(text))


def _breakable(text: str) -> str:
    """Return LaTeX of a signature, which may be broken after its separators."""
    words = re.split(r"(?<=[|,])", printable(text))
    return r"\allowbreak ".join(
        "".join("|" if character == "|" else _LATEX.get(character, character) for character in word) for word in words
    )


def _md(text: str) -> str:
    """Return Markdown that shows `text` as it is, in a table too."""
    return re.sub(r"([\\`*_\[\]<>|&~#])", r"\\\1", printable(text))
