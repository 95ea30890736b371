"""``ranker features``."""

from __future__ import annotations

from typing import Any

from ranker.cli.options import OutputOption
from ranker.cli.output import Result, emit, print_table


def command(output: OutputOption = "table") -> None:
    """List the feature sets and extractors that --features and --metric know, with their options.

    Example: ranker features
    """
    from ranker import notation
    from ranker.extractors import registry
    from ranker.extractors.feature_sets import declarations

    rows: list[dict[str, Any]] = []
    for name in registry.names():
        kind = registry.extractor_class(name)
        summary = (kind.__doc__ or "").strip().split("\n")[0]
        rows.append({"name": name, "what": summary})
        rows.extend(
            {"name": f"  {option}={default}", "what": expected}
            for option, expected, default in notation.option_table(kind)
        )
    rows.extend(
        {"name": one.name, "what": f"{one.description} = {', '.join(one.extractors)}"}
        for one in declarations().values()
    )
    emit(Result(rows, rows, lambda: print_table(rows, wide=("what",))), output)
