"""``ranker features``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranker.cli.options import OutputOption
from ranker.cli.output import Result, emit, print_table

if TYPE_CHECKING:
    from ranker.extractors.base import Extractor


def command(output: OutputOption = "table") -> None:
    """List the feature sets and extractors that --features knows, with their options.

    Those marked "yes" are metrics too, for --metric. Of those marked "a column" one of the columns is, as semantic.f.

    Example: ranker features
    """
    from ranker import notation
    from ranker.extractors import registry
    from ranker.extractors.base import Metric
    from ranker.extractors.feature_sets import declarations

    rows: list[dict[str, Any]] = []
    for name in registry.names():
        kind = registry.extractor_class(name)
        summary = (kind.__doc__ or "").strip().split("\n")[0]
        made = registry.make(name)
        rows.append({"name": name, "metric": _metric(made), "what": summary})
        if not isinstance(made, Metric) and len(made.columns) > 1:
            rows.append({"name": "  columns", "metric": "", "what": ", ".join(made.columns)})
        rows.extend(
            {"name": f"  {option}={default}", "metric": "", "what": expected}
            for option, expected, default in notation.option_table(kind)
        )
    rows.extend(
        {"name": one.name, "metric": "", "what": f"{one.description} = {', '.join(one.extractors)}"}
        for one in declarations().values()
    )
    emit(Result(rows, rows, lambda: print_table(rows, wide=("what",))), output)


def _metric(extractor: Extractor) -> str:
    """Say whether --metric takes an extractor."""
    if extractor.fit_scope == "train" and not extractor.is_fitted:
        return "no, must be trained"
    return "yes" if len(extractor.columns) == 1 else "a column"
