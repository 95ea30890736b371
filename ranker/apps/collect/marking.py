"""Errors that judges mark in a translation or its source: on forms, in campaign files, in control items, and on export.

A mark is a list of numbers: severity and category, as indices into the campaign's lists; start and end in characters
of the text, except for missing content; and 1 if the text is the source. An answer is a score and such marks, as in
``[80, [0, 0, 4, 9], [1, 0, 2, 5, 1], [1, 0]]``; the score of ``mqm`` is 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tasks import KINDS, SEVERITIES, TaskKind
from ranker.corpora.marked_errors import NO_ERROR, SIDES, MarkedError, errors_by_candidate
from ranker.corpora.severity_weights import WEIGHTS, plain_category, weight_of
from ranker.errors import DataError, MissingError, OptionError, counted
from ranker.files import printable, read_lines

if TYPE_CHECKING:
    import pandas as pd

    from ranker.corpora.dataset import Dataset

CATEGORIES = (
    *(f"Accuracy/{name}" for name in ("Addition", "Mistranslation", "Omission", "Untranslated text")),
    *(f"Fluency/{name}" for name in ("Grammar", "Inconsistency", "Punctuation", "Register", "Spelling", "Encoding")),
    *(f"Locale convention/{name}" for name in ("Address", "Currency", "Date", "Name", "Telephone", "Time")),
    "Style/Awkward",
    *(f"Terminology/{name}" for name in ("Inappropriate for context", "Inconsistent use")),
    "Source error",
    "Non-translation",
    "Other",
)
"""MQM categories of Freitag et al. (2021)."""
METRIC = "metric"
MOST_MARKS = 200
_PLACED = 4, 5
"""Number of values in a mark with a position, in the translation and in its source."""
_MOST_CATEGORIES, _LONGEST_CATEGORY = 200, 100
_FORM = re.compile(rf"\[(?:\[[0-9]{{1,6}}(?:,[0-9]{{1,6}}){{1,4}}\](?:,(?=\[)|(?=\]))){{0,{MOST_MARKS}}}\]")
_CLOSE = 15
"""Largest distance of an answer's score from the known score that counts as correct."""


def categories_in(given: str | None, kind: TaskKind) -> tuple[str, ...]:
    """Return the error categories given by ``--categories``, or the defaults; empty for tasks without categories."""
    from ranker.corpora.records import shown

    if given is None:
        return CATEGORIES if kind.name == "mqm" else ()
    _check_mqm(kind, "categories")
    is_file = Path(given).is_file()
    names = [line.strip() for line in (read_lines(given) if is_file else given.split(",")) if line.strip()]
    if names == [given] and not is_file and (re.search(r"\.[a-z]{2,5}\Z", given) or Path(given).is_dir()):
        raise OptionError(f"--categories: {shown(given)} is not a file; expected names separated by commas, or a file")
    plain = [name.casefold() for name in names]
    twice = next((name for name in names if plain.count(name.casefold()) > 1), None)
    if twice is not None:
        raise OptionError(f"--categories: {twice!r} is listed twice; list each category once")
    unfit = [name for name in names if not name.isprintable() or len(name) > _LONGEST_CATEGORY]
    if unfit or not 0 < len(names) <= _MOST_CATEGORIES:
        what = f"expected 1 to {_MOST_CATEGORIES} names of up to {_LONGEST_CATEGORY} characters"
        found = shown(unfit[0]) if unfit else counted(len(names), "name")
        raise OptionError(f"--categories: {what}, separated by commas, or a file with one name per line; found {found}")
    return tuple(names)


def severities_in(given: str | None, kind: TaskKind) -> str | None:
    """Return the severities given by ``--severities``, lowest first, separated by commas; None if not given."""
    from ranker.corpora.records import shown

    if given is None:
        return None
    _check_mqm(kind, "severities")
    names = {name.strip().lower() for name in given.split(",")}
    if not names <= SEVERITIES.keys():
        what = f"expected some of the names {', '.join(SEVERITIES)}, separated by commas"
        raise OptionError(f"--severities: {what}, found {shown(given)}")
    return ",".join(name for name in SEVERITIES if name in names)


def _check_mqm(kind: TaskKind, what: str) -> None:
    if kind.name != "mqm":
        raise OptionError(f"--{what}: only available with --kind mqm; found --kind {kind.name}")


def are_marks(marks: object, texts: Sequence[str], severities: int, categories: int) -> bool:
    """True if `marks` are valid marks in a translation and its source, with known severities and categories."""
    return isinstance(marks, list) and all(
        isinstance(mark, list)
        and len(mark) in (2, 4, 5)
        and all(type(number) is int and number >= 0 for number in mark)
        and mark[0] < severities
        and mark[1] < max(categories, 1)
        and (len(mark) == 2 or (mark[4:] in ([], [1]) and mark[2] < mark[3] <= len(texts[len(mark) == 5])))
        for mark in marks
    )


def marks_in(field: str, texts: Sequence[str], settings: CampaignSettings) -> list[Any]:
    """Read the marks from a form field; raise an `OptionError` for marks that the page does not offer."""
    categories = settings.category_names
    if not field:
        raise OptionError("marking errors needs JavaScript: enable it in this browser, or use another browser")
    marks: Any = json.loads(field) if _FORM.fullmatch(field) else None
    if not are_marks(marks, texts, len(settings.task.severities), len(categories)):
        what = f"expected up to {MOST_MARKS} errors in the text, each with its severity"
        raise OptionError(f"{what}{' and category' if categories else ''}")
    return list(marks)


def quality_of(answer: Sequence[Any], settings: CampaignSettings) -> float:
    """Return an output's quality according to an answer, higher is better: the score, or the negated MQM penalty."""
    if settings.kind != "mqm":
        return float(answer[0])
    errors = errors_of(answer[1:], "", settings)
    return -sum(weight_of(error.severity, error.category, WEIGHTS) or 0.0 for error in errors)


def errors_of(marks: Sequence[Any], rater: str, settings: CampaignSettings) -> list[MarkedError]:
    """Convert a rater's marks to errors, with unplaced errors last; without marks, return a single no-error record."""
    errors, categories = [], settings.category_names
    for mark in sorted(marks, key=lambda mark: (len(mark) == 2, mark[4:], mark[2:], mark)):
        severity, category, start, end = [*mark, None, None][:4]
        name = categories[category] if category < len(categories) else "" if len(mark) > 2 else "Accuracy/Omission"
        side = SIDES[len(mark) == 5]
        errors.append(MarkedError(settings.task.severities[severity], start, end, name, rater, side))
    return errors or [MarkedError(NO_ERROR, rater=rater)]


def marks_by_candidate(errors: pd.DataFrame, settings: CampaignSettings) -> dict[int, list[list[Any]]]:
    """Convert errors to marks, without duplicates, for every candidate that somebody checked for errors.

    An error of an empty span, or of a source that is not shown, gets no position. A severity that the campaign does not
    have becomes the highest, except that neutral errors are left out. A category that it does not have becomes the
    number after the last, which judges replace.
    """
    kind, categories = settings.task, settings.category_names
    known = {plain_category(name): number for number, name in enumerate(categories)}
    levels = {name: number for number, name in enumerate(kind.severities)}
    marks: dict[int, list[list[Any]]] = {}
    for candidate, marked in errors_by_candidate(errors).items():
        found = marks.setdefault(candidate, [])
        for error in marked:
            if error.severity in ("no-error", "neutral", "") and error.severity not in levels:
                continue
            side = SIDES.index(error.side)
            placed = error.start is not None and error.start != error.end and (not side or settings.shows_source)
            category = known.get(plain_category(error.category), len(categories)) if categories else 0
            place = (error.start, error.end, side)[: 2 + side] if placed else ()
            mark: list[Any] = [levels.get(error.severity, len(levels) - 1), category, *place]
            if mark not in found and len(found) < MOST_MARKS:
                found.append(mark)
    return marks


def prefilled(
    datasets: Sequence[Dataset], given: str, settings: CampaignSettings
) -> tuple[str, list[dict[int, list[list[Any]]]]]:
    """Return the origin of prefilled marks, as shown to judges, and the marks by candidate for each data set.

    Data sets after the first contain control items, which need not have such marks.

    ``--prefill`` names a rater of the data's marked errors, ``metric`` for the included ranker, or a corpus or file
    with errors of the same translations.
    """
    from ranker.corpora import catalogue
    from ranker.corpora.formats.error_spans import rows_of_outputs

    dataset = datasets[0]
    if not settings.task.severities:
        kinds = " or ".join(kind.name for kind in KINDS.values() if kind.severities)
        raise OptionError(f"--prefill needs a task in which judges mark errors: use --kind {kinds}")
    raters = set(dataset.errors["rater"])
    if given in raters:
        chosen = [each.errors[(each.errors["rater"] == given).to_numpy(bool)] for each in datasets]
        return printable(given), [marks_by_candidate(errors, settings) for errors in chosen]
    if given == METRIC:
        from ranker.evaluation.explanations.spans import explain_spans

        return "a metric", [marks_by_candidate(explain_spans(each), settings) for each in datasets]
    try:
        other = catalogue.load(given)
    except MissingError as error:
        known = ", ".join(sorted(raters)) or "none"
        raise OptionError(f"--prefill: {error}; raters of marked errors in {dataset.name}: {known}") from None
    results = []
    for each in datasets:
        rows = rows_of_outputs(each, other)[other.errors["candidate"].to_numpy()]
        results.append(marks_by_candidate(other.errors.assign(candidate=rows)[rows >= 0], settings))
    if not results[0]:
        what = f"contains no marked errors for the translations of {dataset.name}"
        advice = "expected the same language pair (see --lp), seg_id, system and text"
        raise DataError(f"{what}: {advice}", file=other.name)
    return printable(Path(given).name), results


def moved(marks: str, text: str, copy: str) -> str:
    """Adapt a text's prefilled marks, as JSON, to its degraded copy; marks on words that the copy lacks are dropped."""
    kept = []
    for mark in json.loads(marks):
        if len(mark) == 4:
            start = copy.find(text[mark[2] : mark[3]])
            mark[2:] = start, start + mark[3] - mark[2]
        if len(mark) != 4 or mark[2] >= 0:
            kept.append(mark)
    return json.dumps(kept)


def gold_share(answer: Sequence[Any], known: Sequence[Any], texts: Sequence[str], settings: CampaignSettings) -> float:
    """Return the agreement of an answer with the known judgement of a translation and its source, from 0 to 1.

    `known` has a score and marks, of which one may be None. The share of the known errors that a mark touches counts,
    or 0 if more than half of what is not in error is marked in either text; without a known error, 1 unless a mark is
    major or critical. Missing content may be marked in the source, or without a place. A known score counts as much
    as all errors.
    """
    marks, (score, expected) = answer[1:], known
    shares = [] if score is None else [float(abs(answer[0] - score) <= _CLOSE)]
    if expected is not None and not expected:
        shares.append(float(all(settings.task.severities[mark[0]] in ("neutral", "minor") for mark in marks)))
    elif expected:
        touched = [any(_touches(mark, error) for mark in marks) for error in expected]
        all_over = False
        for size, text in zip(_PLACED, texts, strict=True):
            wrong = _characters(expected, size)
            all_over |= 2 * len(_characters(marks, size) - wrong) > len(text) - len(wrong)
        shares.append(0.0 if all_over else sum(touched) / len(touched))
    return sum(shares) / len(shares)


def _touches(mark: Sequence[int], error: Sequence[int]) -> bool:
    if 2 in (len(mark), len(error)):
        return 4 not in (len(mark), len(error))
    return len(mark) == len(error) and mark[2] < error[3] and error[2] < mark[3]


def _characters(marks: Sequence[Sequence[int]], size: int) -> set[int]:
    return {at for mark in marks if len(mark) == size for at in range(*mark[2:4])}
