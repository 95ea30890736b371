"""``ranker features``: the list of metrics, features and feature sets, and their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from ranker.cli.options import OutputForm
from ranker.cli.output import emit, print_note, print_table
from ranker.errors import OptionError, nearest

if TYPE_CHECKING:
    from ranker.extractors.base import Extractor

_SETS = "feature sets"


def command(
    names: Annotated[
        list[str] | None, Argument(help="Names to describe with their options (default: list all).", metavar="FEATURE")
    ] = None,
    form: OutputForm = "table",
) -> None:
    """List metrics, features and feature sets, and their options.

    Entries marked "yes" can also be used as --metric. For entries marked "a column", use one of the columns, such as
    semantic.f. Options and columns are listed for the given names, and for all names in formats other than table.

    Example: ranker features bleu
    """
    groups = _groups()
    if names:
        groups = _chosen(groups, names)
    rows = [{"group": group, **row} for group, listed in groups.items() for part in listed for row in part]

    def show() -> None:
        for number, (group, listed) in enumerate(groups.items()):
            if number:
                typer.echo("")
            print_table([row for part in listed for row in (part if names else part[:1])], group, wide=("what",))
        if not names:
            typer.echo("\nOptions and columns of a feature: ranker features NAME")

    emit(form, rows, rows, show)


def _groups() -> dict[str, list[list[dict[str, Any]]]]:
    """Return, for each heading, the table rows of each extractor or feature set: the name, then columns and options."""
    from typing import get_args

    from ranker import notation
    from ranker.errors import RankerError
    from ranker.extractors import registry
    from ranker.extractors.base import FeatureFamily, Metric
    from ranker.ranking.feature_set import feature_set_files

    for hidden in registry.hidden_plug_ins():
        print_note(f"skipped: {hidden}")
    groups: dict[str, list[list[dict[str, Any]]]] = {family: [] for family in get_args(FeatureFamily)}
    for name in registry.names():
        try:
            kind, extractor = registry.extractor_class(name), registry.make(name)
        except RankerError as error:
            # a broken plug-in must not hide other extractors
            print_note(f"skipped: {error}")
            continue
        summary = (kind.__doc__ or "").strip().split("\n")[0]
        rows = [{"name": name, "metric": _metric(extractor), "what": summary}]
        if not isinstance(extractor, Metric) and len(extractor.columns) > 1:
            rows.append({"name": "  columns", "metric": "", "what": ", ".join(extractor.columns)})
        for option, expected, default in notation.option_table(kind):
            rows.append({"name": f"  {option}={default}", "metric": "", "what": expected})
        groups[extractor.family].append(rows)
    groups[_SETS] = [
        [{"name": file.name, "metric": "", "what": f"{file.description} = {', '.join(file.extractors)}"}]
        for file in feature_set_files().values()
    ]
    return {group: rows for group, rows in groups.items() if rows}


def _chosen(groups: dict[str, list[list[dict[str, Any]]]], names: list[str]) -> dict[str, list[list[dict[str, Any]]]]:
    wanted = {name.lower() for name in names}
    known = [part[0]["name"] for listed in groups.values() for part in listed]
    unknown = next((name for name in names if name.lower() not in map(str.lower, known)), None)
    if unknown is not None:
        near = nearest(unknown, known)
        raise OptionError(f"unknown metric, feature or feature set {unknown!r}{near}; see: ranker features")
    chosen = {group: [part for part in listed if part[0]["name"].lower() in wanted] for group, listed in groups.items()}
    return {group: listed for group, listed in chosen.items() if listed}


def _metric(extractor: Extractor) -> str:
    """Return the table entry that states whether an extractor can be given to --metric."""
    from ranker.extractors.base import FittedExtractor

    if extractor.fit_scope == "train" and not isinstance(extractor, FittedExtractor):
        return "no, must be trained"
    return "yes" if len(extractor.columns) == 1 else "a column"
