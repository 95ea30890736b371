"""Comparisons of systems as tables for papers: LaTeX with booktabs, or Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ranker.corpora.languages import LanguagePair
from ranker.errors import counted
from ranker.evaluation.systems.result import ComparedSystem, SystemsResult
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
_DAGGERS = {"†": r"$^\dagger$", "‡": r"$^\ddagger$", "": ""}
_MARKS = ((0.01, "‡"), (0.05, "†"))
"""Marks of differences to the baseline whose adjusted p-values are below a threshold, smallest threshold first."""


def latex(result: SystemsResult, *, percent: bool = False) -> str:
    """Return one booktabs table per language pair, sorted by the first metric, with the best scores in bold."""
    return "\n".join(_latex_table(result, lp, percent) for lp in result.language_pairs)


def markdown(result: SystemsResult, *, percent: bool = False) -> str:
    """Return the tables of `latex` as Markdown, without the lines between clusters."""
    return "\n".join(_markdown_table(result, lp, percent) for lp in result.language_pairs)


def _latex_table(result: SystemsResult, lp: LanguagePair, percent: bool) -> str:
    head = ["Rank", "System", *(_tex(name) + r" $\downarrow$" * falls for name, falls in _heads(result, lp, percent))]
    head += ["People"] * bool(result.people(lp))
    lines = []
    for after_line, ranks, system, scores, people in _rows(result, lp, percent):
        lines += [r"\midrule"] * after_line
        cells = [
            (r"\textbf{%s}" if best else "%s") % value + rf"{_DAGGERS[mark]} {{\scriptsize [{interval}]}}"
            for value, best, mark, interval in scores
        ]
        figures = [each.replace("-", "$-$").replace("–", "--") for each in cells + people]
        lines.append(" & ".join([ranks.replace("–", "--"), _tex(system), *figures]) + r" \\")
    caption = _tex(_caption(result, lp)).replace("†", _DAGGERS["†"]).replace("‡", _DAGGERS["‡"])
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
            rf"\label{{tab:systems{re.sub('[^A-Za-z0-9-]+', '', f'-{lp}' if lp.known else '')}}}",
            r"\end{table}",
            "",
        ]
    )


def _markdown_table(result: SystemsResult, lp: LanguagePair, percent: bool) -> str:
    head = ["Rank", "System", *(_md(name) + " ↓" * falls for name, falls in _heads(result, lp, percent))]
    head += ["People"] * bool(result.people(lp))
    lines = [head, [":--"] * 2 + ["--:"] * (len(head) - 2)]
    for _, ranks, system, scores, people in _rows(result, lp, percent):
        cells = [f"{f'**{value}**' if best else value}{mark} [{interval}]" for value, best, mark, interval in scores]
        lines.append([ranks, _md(system), *cells, *people])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    signatures = "\n".join(
        f"- `{signature.replace('`', chr(39))}`" for signature in map(printable, _signatures(result))
    )
    return f"{table}\n\n{_md(_caption(result, lp))}\n\n{signatures}\n"


def _heads(result: SystemsResult, lp: LanguagePair, percent: bool) -> Iterator[tuple[str, bool]]:
    """Yield the heading of every metric, and True if lower is better."""
    for comparison in result.of_language_pair(lp):
        metric = result.metric(comparison.metric)
        yield f"{metric.name}{' (%)' * (metric.scale(percent=percent) > 1)}", not metric.higher_is_better


def _rows(
    result: SystemsResult, lp: LanguagePair, percent: bool
) -> Iterator[tuple[bool, str, str, list[tuple[str, bool, str, str]], list[str]]]:
    """Yield, for each system, True if a new cluster begins, the ranks, the name, the scores, and any human score.

    A score is the value, True if it is the best, a mark and the interval.
    """
    comparisons, people = result.of_language_pair(lp), result.people(lp)
    cluster = 1
    for each in comparisons[0].systems:
        scores = []
        for comparison in comparisons:
            system = next(other for other in comparison.systems if other.system == each.system)
            scale = result.metric(comparison.metric).scale(percent=percent)
            score = system.score.scaled(scale)
            value, low, high = (
                f"{number + 0.0:.{2 if scale > 1 else 4}f}" for number in (score.value, score.low, score.high)
            )
            scores.append((value, system.rank == 1, _mark(system), f"{low}, {high}"))
        judged = people.get(each.system)
        human = "–" if judged is None else f"{judged.score:.3f} ({judged.cluster})"
        ranks = str(each.low) if each.low == each.high else f"{each.low}–{each.high}"
        yield each.cluster != cluster, ranks, each.system, scores, [human] if people else []
        cluster = each.cluster


def _mark(each: ComparedSystem) -> str:
    p = each.adjusted
    return "" if p is None else next((mark for limit, mark in _MARKS if p < limit), "")


def _caption(result: SystemsResult, lp: LanguagePair) -> str:
    """Return the caption without the signatures, as plain text."""
    comparisons, settings = result.of_language_pair(lp), result.settings
    first = comparisons[0]
    where = printable(lp.of(result.data))
    pairs = counted(len(first.pairs), "pair")
    people = result.people(lp)
    agreement = "; ".join(
        f"{comparison.metric} {_known(comparison.kendall)}, {_known(comparison.pearson)}" for comparison in comparisons
    )
    parts = [
        f"Corpus scores on {where} ({counted(first.sources, 'source')}) with 95% bootstrap confidence intervals"
        f"{' over documents' if first.documents else ''} ({counted(settings.resamples, 'resample')}, seed "
        f"{settings.seed}).",
        f"Best scores in bold. Order and rank ranges by {first.metric}.",
        f"† ‡: differs from {printable(first.baseline)} at p < .05, p < .01 ({result.tested_by(lp)}, "
        f"{settings.correction_title}, {pairs}).",
    ]
    if people:
        method = next(ranking.title for ranking in result.human if ranking.lp == lp)
        parts.append(f"People: {method}, and cluster; Kendall's tau and Pearson's r with human scores: {agreement}.")
    return " ".join(parts)


def _known(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _signatures(result: SystemsResult) -> list[str]:
    return [*(metric.signature for metric in result.metrics), result.signature]


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in printable(text))


def _breakable(text: str) -> str:
    """Convert a signature to LaTeX, with line breaks allowed after its separators."""
    words = re.split(r"(?<=[|,])", printable(text))
    return r"\allowbreak ".join(
        "".join("|" if character == "|" else _LATEX.get(character, character) for character in word) for word in words
    )


def _md(text: str) -> str:
    """Escape `text` for Markdown, tables included."""
    return re.sub(r"([\\`*_\[\]<>|&~#])", r"\\\1", printable(text))
