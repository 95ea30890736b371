"""Exports a campaign as a data set for ``ranker train --data``."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ranker.apps.collect.marking import errors_of, quality_of
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tables import PLAIN
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.marked_errors import MarkedError, error_columns
from ranker.corpora.schema import table
from ranker.corpora.severity_weights import penalties
from ranker.errors import DataError, counted, log_note
from ranker.files import printable


def dataset_of(
    connection: sqlite3.Connection,
    settings: CampaignSettings,
    *,
    without: Collection[str] = (),
    by_judge: bool = False,
) -> Dataset:
    """Return a data set of a campaign's items and their current judgements, without items that only check the judges.

    MQM penalties are means over the judges of an output or, with `by_judge`, separate for each judge.
    """
    sources = connection.execute("SELECT * FROM source WHERE role = ? ORDER BY id", (PLAIN,)).fetchall()
    code = {row["id"]: place for place, row in enumerate(sources)}
    references, candidates = (
        [row for row in connection.execute(f"SELECT * FROM {table} ORDER BY source, id") if row["source"] in code]
        for table in ("reference", "candidate")
    )
    row_of = {row["id"]: place for place, row in enumerate(candidates)}
    judged = connection.execute(
        "SELECT person.code, assignment.id, outputs, answer FROM assignment "
        "JOIN item ON item.id = assignment.item JOIN person ON person.id = assignment.judge "
        "WHERE answer IS NOT NULL AND repeat = 0 AND item.role = ? ORDER BY assignment.id",
        (PLAIN,),
    ).fetchall()
    judged = [row for row in judged if row["code"] not in without]
    kind = settings.task
    name = "mqm_total" if kind.name == "mqm" else kind.judgements
    ratings: list[tuple[int, str | None, str, float]] = []
    preferences: list[tuple[object, ...]] = []
    marked: list[tuple[int, MarkedError]] = []
    for row in judged:
        groups = [[row_of[candidate] for candidate in same] for same in json.loads(row["outputs"])]
        answer = json.loads(row["answer"])
        if kind.compares:
            preferences += _preferences(groups, answer, row["code"], str(row["id"]))
            continue
        if kind.severities:
            errors = errors_of(answer[1:], row["code"], settings)
            marked += [(candidate, error) for candidate in groups[0] for error in errors]
        value = abs(quality_of(answer, settings))
        ratings += [(candidate, row["code"], name, value) for candidate in groups[0]]
    errors_table = table("errors", error_columns(marked))
    if kind.name == "mqm" and not by_judge:
        totals = penalties(errors_table)[name]
        ratings = [(row, None, name, value) for row, value in zip(totals.index, totals, strict=True)]
    ratings.sort(key=lambda rating: (rating[0], rating[1] or ""))
    return Dataset(
        printable(settings.title),
        table("sources", {name: [row[name] for row in sources] for name in ("lp", "doc", "seg_id", "text")}),
        table(
            "references",
            {"source": [code[row["source"]] for row in references], "text": [row["text"] for row in references]},
        ),
        table(
            "candidates",
            {
                "source": [code[row["source"]] for row in candidates],
                "system": [row["system"] for row in candidates],
                "text": [row["text"] for row in candidates],
                "is_reference": [bool(row["is_reference"]) for row in candidates],
            },
        ),
        table("ratings", _columns(("candidate", "judge", "kind", "value"), ratings)),
        table(
            "preferences",
            _columns(
                ("first", "second", "relation", "judge", "task", "rank_first", "rank_second", "primary"), preferences
            ),
        ),
        errors_table,
    )


def _preferences(groups: list[list[int]], ranks: list[int], judge: str, task: str) -> list[tuple[object, ...]]:
    """Return a row for each pair of an item's candidates; a pair is primary if both are the first of a group."""
    shown = sorted(
        (candidate, ranks[place], not number)
        for place, group in enumerate(groups)
        for number, candidate in enumerate(group)
    )
    rows: list[tuple[object, ...]] = []
    for (first, rank, leads), (second, other_rank, also) in itertools.combinations(shown, 2):
        relation = ">" if rank < other_rank else "<" if rank > other_rank else "="
        rows.append((first, second, relation, judge, task, str(rank), str(other_rank), leads and also))
    return rows


def _columns(names: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, list[object]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def export(
    connection: sqlite3.Connection,
    settings: CampaignSettings,
    path: str | Path,
    *,
    without: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Dataset, list[Path]]:
    """Write a campaign's judgements to a file in any format that `ranker.corpora.formats.writing` supports.

    The judges `without` whose judgements are exported are given by code, with the reasons.
    """
    dataset = dataset_of(connection, settings, without=without)
    if not len(dataset.preferences) + len(dataset.ratings):
        what = "contains no judgements to export yet; answers to checks and repeats are not exported"
        if without:
            reasons = ", ".join(f"{judge} ({reason})" for judge, reason in without.items())
            what = f"every judge with judgements to export is excluded: {reasons}; choose other thresholds"
        raise DataError(what, file=dataset.name)
    if settings.task.compares:
        dataset = _with_names_for_pairs(dataset)
    return dataset, write_dataset(dataset, path)


def _with_names_for_pairs(dataset: Dataset) -> Dataset:
    r"""Write the tabs and line breaks in a data set's names, which a pairs file cannot hold, as ``\t``, ``\n``, ``\r``.

    Names that would become equal are left to the writer to refuse.
    """
    for table_name, column in (("sources", "lp"), ("sources", "seg_id"), ("candidates", "system")):
        frame = getattr(dataset, table_name)
        names = frame[column]
        for character in "\t\n\r":
            names = names.str.replace(character, repr(character)[1:-1], regex=False)
        changed = names[names.ne(frame[column]).fillna(value=False)]
        if len(changed) and names.nunique() == frame[column].nunique():
            example = f"{counted(changed.nunique(), 'name')}, such as {changed.iloc[0]}"
            what = f"tabs and line breaks in {column}, which a pairs file cannot hold, are written as \\t, \\n and \\r"
            log_note(f"{what}: {example}", dataset.name)
            dataset = replace(dataset, **{table_name: frame.assign(**{column: names})})
    return dataset
