"""Creates a campaign from a data set: its items, its judges and their links."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ranker.apps.collect import access
from ranker.apps.collect.assigning import place_of
from ranker.apps.collect.campaign import check_new, create, insert, save, transaction
from ranker.apps.collect.marking import marks_by_candidate
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tables import GOLD, PLAIN
from ranker.apps.collect.tasks import RANKED, TaskKind
from ranker.corpora.column_names import is_negated, lower_is_better
from ranker.corpora.formats.preference_pairs import check_cells
from ranker.errors import DataError, OptionError
from ranker.files import printable

if TYPE_CHECKING:
    import sqlite3

    import pandas as pd

    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset


@dataclass(frozen=True)
class CreatedCampaign:
    """Numbers of items and skipped sources in a new campaign, and the personal links, which are not stored.

    `unmarked` is the number of `gold` items without prefilled marks, but 0 if other items lack them as often;
    `passed_over` is the number of sources without two different outputs; `shared` is the number of items that go to
    several judges with an overlap.
    """

    items: int
    gold: int
    unmarked: int
    passed_over: int
    shared: int
    links: dict[str, str]


def make_campaign(
    path: str | Path,
    dataset: Dataset,
    settings: CampaignSettings,
    judges: Sequence[str],
    *,
    gold: Dataset | None = None,
    prefill: Sequence[Mapping[int, object]] = (),
    days: float = 90.0,
) -> CreatedCampaign:
    """Create a campaign file from a data set's sources and outputs, without its judgements, and from `gold` items.

    `prefill` has the marks from which judges start, by candidate of either data set; known errors are of other raters.
    """
    kind = settings.task
    _check(dataset, settings, kind)
    for code in judges:
        access.check_code(code)
    gold_answers = None if gold is None else _gold_answers(gold, kind, settings)
    if gold is not None:
        _check(gold, settings, kind)
    generator = random.Random(settings.seed)
    check_new(path)
    with closing(create(settings)) as connection:
        with transaction(connection):
            marks, gold_marks = [*prefill, {}, {}][:2]
            count, passed_over = _fill(connection, dataset, settings, PLAIN, generator, prefill=marks)
            if not count:
                raise DataError("contains nothing to judge: no source has two different outputs", file=dataset.name)
            shared = (
                _share(connection, settings, generator)
                if settings.next == "overlap" and settings.judges_per_item > 1
                else 0
            )
            known = 0
            if gold is not None:
                known, _ = _fill(connection, gold, settings, GOLD, generator, gold_answers, gold_marks)
                if not known:
                    raise DataError(
                        "contains no source with two outputs judged differently: use another --gold corpus",
                        file=gold.name,
                    )
            query = "SELECT role, sum(prefill IS NULL), avg(prefill IS NULL) FROM item GROUP BY role"
            bare = {role: (number, share) for role, number, share in connection.execute(query)}
            unmarked, share = bare.get(GOLD, (0, 0.0))
            links = {
                code: f"{settings.address}/enter/{access.give_link(connection, code, days)}"
                for code in (access.OWNER, *judges)
            }
        save(connection, path)
    return CreatedCampaign(count, known, unmarked if share > bare[PLAIN][1] else 0, passed_over, shared, links)


def _check(dataset: Dataset, settings: CampaignSettings, kind: TaskKind) -> None:
    if settings.show not in kind.shown:
        raise OptionError(f"--show {settings.show}: with --kind {kind.name} expected {' or '.join(kind.shown)}")
    if settings.show in ("reference", "both") and len(set(dataset.references["source"])) < len(dataset.sources):
        advice = ": use --show source" if "source" in kind.shown else ""
        raise DataError(
            f"has sources without a reference, which --show {settings.show} requires{advice}", file=dataset.name
        )


def _fill(
    connection: sqlite3.Connection,
    dataset: Dataset,
    settings: CampaignSettings,
    role: str,
    generator: random.Random,
    answers: Mapping[int, object] | None = None,
    prefill: Mapping[int, object] = MappingProxyType({}),
) -> tuple[int, int]:
    """Store a data set's sources and items; return the numbers of items and of sources without any item."""
    kind = settings.task
    references = dataset.references["text"].tolist()
    columns = [dataset.candidates[name].tolist() for name in ("system", "text", "is_reference")]
    created = passed_over = 0
    # a system's outputs of a document follow each other where errors are marked
    documents: dict[tuple[object, ...], tuple[int, float]] = {}
    wanted = 1 if settings.next == "overlap" else settings.judges_per_item
    for source, row in enumerate(_rows(dataset)):
        block = slice(*dataset.reference_offsets[source : source + 2])
        key = insert(connection, "source", role=role, **row)
        for reference in references[block]:
            insert(connection, "reference", source=key, text=reference)
        same: dict[str, list[int]] = {}
        value: dict[int, object] = {}
        marks: dict[int, str] = {}
        systems: dict[int, str] = {}
        for candidate in range(*dataset.candidate_offsets[source : source + 2]):
            system, text, is_reference = (column[candidate] for column in columns)
            more = {"system": system, "text": text, "is_reference": int(is_reference)}
            code = insert(connection, "candidate", source=key, **more)
            look = text if kind.severities else _as_seen(text)
            same.setdefault(look, []).append(code)
            systems[code] = system
            if answers is not None and candidate in answers:
                value.setdefault(same[look][0], answers[candidate])
            if candidate in prefill:
                marks.setdefault(same[look][0], json.dumps(prefill[candidate]))
        outputs = [rows for rows in same.values() if answers is None or rows[0] in value]
        before = created
        for number, chosen in enumerate(_groups(outputs, kind, generator)):
            known = None if answers is None else [value[rows[0]] for rows in chosen]
            if known and kind.compares and len(set(known)) < 2:
                continue
            rank, document = number + generator.random(), None
            if kind.severities and role == PLAIN and row["doc"] is not None:
                whole = (row["lp"], row["doc"], systems[chosen[0][0]])
                document, rank = documents.setdefault(whole, (len(documents) + 1, rank - number))
            insert(
                connection,
                "item",
                role=role,
                source=key,
                outputs=json.dumps(chosen),
                known=json.dumps(known[0] if kind.severities else known) if known else None,
                prefill=marks.get(chosen[0][0]),
                document=document,
                rank=rank,
                wanted=wanted,
                given=0,
                place=place_of(settings, rank, 0, wanted) if role == PLAIN else None,
            )
            created += 1
        if kind.compares and role == PLAIN and created > before:
            # else the judgements could not be exported
            for title, names in (("lp", [row["lp"] or ""]), ("seg_id", [row["seg_id"]]), ("system", systems.values())):
                check_cells(title, names, dataset.name)
        passed_over += created == before
    return created, passed_over


def _share(connection: sqlite3.Connection, settings: CampaignSettings, generator: random.Random) -> int:
    """Give the overlap, at least one item or one system's output of a document, to several judges; count its items."""
    groups: dict[int, list[int]] = {}
    for item, document in connection.execute("SELECT id, document FROM item WHERE role = ? ORDER BY id", (PLAIN,)):
        groups.setdefault(document or -item, []).append(item)
    number = max(round(settings.overlap * len(groups)), settings.overlap > 0)
    items = [*itertools.chain(*generator.sample([*groups.values()], number))]
    values = [(settings.judges_per_item, item) for item in items]
    connection.executemany("UPDATE item SET wanted = ? WHERE id = ?", values)
    return len(items)


def _as_seen(text: str) -> str:
    """Return a text without white space at the ends of its lines and of the text, which a page does not show."""
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def _rows(dataset: Dataset) -> list[dict[str, Any]]:
    names = ["lp", "doc", "seg_id", "text"]
    sources = dataset.sources[names].astype(object)
    return [dict(zip(names, row, strict=True)) for row in sources.where(sources.notna(), None).to_numpy().tolist()]


def _groups(outputs: list[list[int]], kind: TaskKind, generator: random.Random) -> list[list[list[int]]]:
    """Group one source's outputs into items, in random order; a short last group is filled up from the other groups."""
    order = generator.sample(outputs, len(outputs))
    if not kind.compares:
        return [[output] for output in order]
    if len(order) < 2:
        return []
    if kind.outputs == 2:
        pairs = [list(pair) for pair in itertools.combinations(order, 2)]
        return generator.sample(pairs, len(pairs))
    groups = [order[start : start + RANKED] for start in range(0, len(order), RANKED)]
    short = RANKED - len(groups[-1])
    if len(groups) > 1 and short:
        groups[-1] = groups[-1] + generator.sample(order[: RANKED * (len(groups) - 1)], short)
    return groups


def _gold_answers(gold: Dataset, kind: TaskKind, settings: CampaignSettings) -> Mapping[int, object]:
    """Return control items' known answers by candidate: a value or, if errors are marked, a list of score and marks."""
    from ranker.corpora.judgements import ratings_of
    from ranker.ranks import merge_ties

    if kind.compares:
        scores = merge_ties(_gold_scores(gold), gold.candidate_offsets)
        return {row: float(score) for row, score in enumerate(scores) if score == score}
    shown = [rater for rater in set(gold.errors["rater"]) if printable(rater) == settings.prefill]
    errors = gold.errors[~gold.errors["rater"].isin(shown).to_numpy(bool)]
    marks = marks_by_candidate(errors, settings) if kind.severities else {}
    values = {} if kind.name == "mqm" else _known_values(gold, kind, ratings_of(gold, kind.judgements))
    if not values and not marks:
        what = "marked errors" if kind.name == "mqm" else f"judgements of kind {kind.judgements!r}"
        what += " or marked errors" if kind.name == "esa" else ""
        what += f" of other raters than {settings.prefill}" if shown else ""
        raise DataError(f"contains no {what} to make control items from: use another --gold corpus", file=gold.name)
    if not kind.severities:
        return values
    return {row: [values.get(row), marks.get(row)] for row in sorted({*values, *marks})}


def _gold_scores(gold: Dataset) -> FloatArray:
    """Return the candidates' human scores by the first well-known kind of judgement, or else by the only kind."""
    from ranker.corpora.judgements import PREFERENCES, RATINGS, human_scores, kinds, ratings_of

    available = kinds(gold)
    names = [name for name in available if name == PREFERENCES or name in RATINGS][:1] or available
    if len(names) != 1:
        what = f"expected one kind of judgement for control items, or a known kind such as {', '.join(RATINGS)}"
        raise DataError(f"{what}; found {', '.join(names) or 'no judgements'}", file=gold.name)
    if names == [PREFERENCES]:
        return human_scores(gold, PREFERENCES)
    values = ratings_of(gold, names[0])["value"]
    lower = lower_is_better(names[0]) and not is_negated(names[0], values.min(), values.max())
    return human_scores(gold, f"{names[0]}:{'lower' if lower else 'higher'}")


def _known_values(gold: Dataset, kind: TaskKind, ratings: pd.DataFrame) -> dict[int, float]:
    """Return each candidate's mean rating; raise a `DataError` if a mean is not on the task's scale."""
    means = ratings.groupby("candidate")["value"].mean()
    wrong = means[(means < kind.lowest) | (means > kind.highest)]
    if len(wrong):
        what = f"contains a known judgement of {wrong.iloc[0]:g}, expected {kind.lowest} to {kind.highest}"
        raise DataError(what, file=gold.name)
    return dict(zip(map(int, means.index.tolist()), means.astype(float).tolist(), strict=True))
