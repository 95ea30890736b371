"""Content of the pages: values for the templates, and rendered templates."""

from __future__ import annotations

import functools
import itertools
import json
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.apps.collect import assigning
from ranker.apps.collect.access import JUDGE, link_state
from ranker.apps.collect.campaign import output_texts
from ranker.apps.collect.marking import errors_of
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tasks import Choice, TaskKind, choices, direction, languages
from ranker.apps.collect.web.differences import Stretch, marked
from ranker.errors import MissingError

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).with_name("templates")
_LETTERS = "ABCDE"
_EARLIER = 30
"""Maximum number of preceding segments of the document that are shown."""


@dataclass(frozen=True)
class Passage:
    """A text with its language and direction, the HTML attributes ``lang`` and ``dir``."""

    title: str
    text: str
    lang: str
    dir: str


@dataclass(frozen=True)
class ShownOutput:
    """An output as shown on the page; an empty output has no stretches.

    `value` is the rank or value that the judge gave it before, and `known` the correct one for a control item.
    """

    place: int
    name: str
    stretches: list[Stretch]
    value: int | None
    known: float | None


@dataclass(frozen=True)
class TaskPage:
    """Content of the page of one assignment.

    `marks` are those on the page when it opens; `listed` has a control item's known errors and the judge's own, with
    the marked words; `categories` have numbers and are grouped by their first level; `changed` is the assignment's last
    judgement, 0 for none; and `earlier` are the segments that precede this one in its document.
    """

    assignment: int
    kind: TaskKind
    passages: list[Passage]
    outputs: list[ShownOutput]
    choices: tuple[Choice, ...]
    marks: str
    listed: dict[str, list[tuple[str, str]]]
    categories: list[tuple[str, list[tuple[int, str]]]]
    prefill: str | None
    changed: int
    document: str | None
    earlier: list[list[Passage]]
    lang: str
    dir: str
    differ: bool
    chosen: str
    judged: bool
    done: int
    left: int | None
    quota: int | None
    last: int | None
    form: int
    undo_form: int
    final: bool


def task_page(
    connection: sqlite3.Connection,
    settings: CampaignSettings,
    judge: int,
    assignment: int,
    form_values: dict[str, str] | None = None,
) -> TaskPage | None:
    """Return the page of an assignment, filled in from a refused form; None if the assignment is another judge's."""
    row = connection.execute(
        "SELECT item.*, assignment.id AS assignment, shown, answer FROM assignment JOIN item ON item.id = item "
        "WHERE assignment.id = ? AND judge = ?",
        (assignment, judge),
    ).fetchone()
    if row is None:
        return None
    kind = settings.task
    source = connection.execute("SELECT * FROM source WHERE id = ?", (row["source"],)).fetchone()
    source_language, target = languages(source["lp"])
    outputs, shown = output_texts(connection, row), json.loads(row["shown"])
    answer = assigning.earlier_answer(connection, assignment)
    stretches = marked(outputs)
    final = assigning.is_final(connection, assignment)
    known = _known(kind, row["known"]) if final else [None] * len(outputs)
    marks = json.dumps(answer[1:]) if answer else row["prefill"] or "[]"
    change = assigning.last_change(connection, assignment)
    noun = "Text" if settings.show == "none" else "Translation"
    shown_outputs = [
        ShownOutput(
            place,
            f"{noun} {_LETTERS[place]}" if len(outputs) > 1 else noun,
            stretches[output] if outputs[output].strip() else [],
            _value(form_values, place) if form_values is not None else answer[output] if answer else None,
            known[output],
        )
        for place, output in enumerate(shown)
    ]
    passages = []
    if settings.shows_source:
        passages.append(_passage("Source", source["text"], source_language))
    if settings.show in ("reference", "both"):
        query = "SELECT text FROM reference WHERE source = ? ORDER BY id LIMIT 1"
        for (reference,) in connection.execute(query, (row["source"],)):
            passages.append(_passage("Reference translation", reference, target))
    chosen = ""
    if kind.name == "pairwise":
        first, second = (output.value for output in shown_outputs)
        chosen = "" if first is None or second is None else _relation(first, second)
        if form_values is not None:
            chosen = form_values.get("choice", "")
    done = connection.execute(
        "SELECT count(*) FROM assignment WHERE judge = ? AND answer IS NOT NULL", (judge,)
    ).fetchone()[0]
    last = assigning.last_answered(connection, judge)
    return TaskPage(
        assignment,
        kind,
        passages,
        shown_outputs,
        choices(kind, target),
        marks if form_values is None else form_values.get("marks", ""),
        _listed(settings, outputs[0], source["text"], row["known"], marks) if final and kind.severities else {},
        _by_level(settings.category_names),
        settings.prefill if row["prefill"] else None,
        change["id"] if change else 0,
        source["doc"],
        _earlier(connection, settings, row) if kind.severities else [],
        target or "",
        direction(target),
        len(outputs) > 1,
        chosen,
        row["answer"] is not None,
        done,
        None if settings.quota else assigning.left_for(connection, judge),
        settings.quota,
        last,
        assigning.new_form(connection, assignment),
        assigning.new_form(connection, last),
        final,
    )


def _passage(title: str, text: str, language: str | None) -> Passage:
    return Passage(title, text, language or "", direction(language))


def _earlier(connection: sqlite3.Connection, settings: CampaignSettings, item: sqlite3.Row) -> list[list[Passage]]:
    """Return the segments that precede an item in its document: sources, if shown, and outputs of its system."""
    query = (
        "SELECT before.lp, before.text AS source, output.text FROM source AS this JOIN source AS before "
        "ON before.doc = this.doc AND before.lp IS this.lp AND before.role = this.role AND before.id < this.id "
        "JOIN candidate AS output ON output.source = before.id WHERE this.id = ? AND output.system = (SELECT system "
        "FROM candidate JOIN item ON item.id = ? WHERE candidate.id = json_extract(outputs, '$[0][0]')) "
        f"ORDER BY before.id DESC LIMIT {_EARLIER}"
    )
    earlier = []
    # a degraded copy has no output of its own
    for pair, source, output in connection.execute(query, (item["source"], item["below"] or item["id"])):
        language, target = languages(pair)
        shown = [_passage("Source", source, language)] if settings.shows_source else []
        earlier.append([*shown, _passage("Translation", output, target)])
    return earlier[::-1]


def _known(kind: TaskKind, known: str) -> list[Any]:
    """Return the known answers to an item: values, or ranks for items that compare outputs."""
    values: list[Any] = json.loads(known)
    if kind.severities:
        return values[:1]
    return [1 + sum(other > value for other in values) for value in values] if kind.compares else values


def _by_level(categories: list[str]) -> list[tuple[str, list[tuple[int, str]]]]:
    """Group adjacent categories by the level before their first slash, "" for categories of a single level."""
    levels = [name.partition("/")[::2] if re.search(r"\S/\s*\S", name) else ("", name) for name in categories]
    groups = itertools.groupby(enumerate(levels), key=lambda one: one[1][0])
    return [(level, [(number, name) for number, (_, name) in group]) for level, group in groups]


def _listed(
    settings: CampaignSettings, target: str, source: str, known: str, marks: str
) -> dict[str, list[tuple[str, str]]]:
    """Return the known errors and the judge's errors, each as a description and the marked words."""
    lists = {"Known errors": json.loads(known)[1], "Your errors": json.loads(marks)}
    return {
        title: [
            (", ".join(filter(None, (error.severity, error.category, where))), text[error.start or 0 : error.end or 0])
            for error in (() if some is None else errors_of(some, "", settings))
            for text, where in ((source, "in the source") if error.side == "source" else (target, ""),)
        ]
        for title, some in lists.items()
    }


def people(connection: sqlite3.Connection, now: float) -> list[dict[str, Any]]:
    """Return the judges, sorted by code, with the state of their links."""
    query = (
        "SELECT code, token IS NOT NULL AND expires > ? AS open, (SELECT count(*) FROM assignment "
        "WHERE judge = person.id AND answer IS NOT NULL) AS judged FROM person WHERE role = ? ORDER BY code"
    )
    rows = connection.execute(query, (now, JUDGE)).fetchall()
    return [{**row, "state": link_state(connection, row["code"])} for row in rows]


def _value(form_values: dict[str, str], place: int) -> int | None:
    text = form_values.get(f"value{place}", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


def _relation(first: int, second: int) -> str:
    return "first" if first < second else "second" if first > second else "same"


@functools.cache
def environment() -> Environment:
    """Return the Jinja environment of the page templates; raise a `MissingError` if Jinja is not installed."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise missing() from None
    templates = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    templates.filters.update(exact=_exact, share=_share, decimals=_decimals, duration=_duration, estimate=_estimate)
    return templates


def missing() -> MissingError:
    """Return the error to raise if the server's packages are not installed."""
    return MissingError("ranker collect needs starlette, uvicorn and jinja2: pip install 'mt-ranker[collect]'")


def render(name: str, **values: Any) -> str:
    """Render the template called `name` with `values`."""
    return environment().get_template(name).render(**values)


@functools.cache
def static(name: str) -> bytes:
    """Return the content of a file that pages load: the style sheet or a script."""
    return (_FOLDER / name).read_bytes()


def _exact(text: str) -> str:
    """Escape a text for HTML, including carriage returns, which browsers would read as line feeds."""
    from markupsafe import Markup, escape

    return Markup(str(escape(text)).replace("\r", "&#13;"))


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"


def _decimals(value: float | None, count: int = 2) -> str:
    return "–" if value is None else f"{value:.{count}f}"


def _estimate(value: dict[str, float | None], count: int) -> str:
    interval = "" if value["low"] is None else f" [{_decimals(value['low'], count)}, {_decimals(value['high'], count)}]"
    return _decimals(value["value"], count) + interval


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 2:
        return "a moment" if seconds else "none"
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
