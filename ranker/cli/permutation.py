"""``ranker permutation``."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranker.cli.options import OutputForm
from ranker.cli.output import emit, emit_rows, print_table, say
from ranker.errors import OptionError

if TYPE_CHECKING:
    from ranker.arrays import Int64Array
    from ranker.extractors.order.charts import PermutationTree

_MOST_SPANS = 150
_MOST_SPANS_IN_JSON = 20_000
_PIPE_WIDTH = 160
# what a float can hold, so that any reader of JSON takes it
_MOST_BITS = 1000


def command(
    permutation: Annotated[
        list[str],
        typer.Argument(help="Permutation, such as '5 7 4 6 3 1 2'; - reads permutations from stdin, one per line."),
    ],
    beta: Annotated[float, typer.Option("--beta", help="Weight of a node relative to its children.")] = 0.6,
    gamma: Annotated[float, typer.Option("--gamma", help="Score of the inverting operator 21.")] = 0.0,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw the tree of a single permutation to FILE.", metavar="FILE")
    ] = None,
    flat: Annotated[
        bool,
        typer.Option("--flat", help="Draw a run of the same binary operator as one node instead of left-branching."),
    ] = False,
    form: OutputForm = "table",
) -> None:
    """Score a permutation with word-order metrics; draw its tree.

    The permutation tree and the packed chart of all trees are printed.

    Positions count from 1, or from 0 if there is a 0. The identity scores 1. In the chart, a binary operator splits at
    any one of the listed positions, other operators at all of them. For several permutations, one row of scores is
    printed for each.

    Example: ranker permutation "5 7 4 6 3 1 2"
    """
    from ranker.extractors.order.charts import permutation_tree
    from ranker.version import VERSION

    read = _read(" ".join(permutation))
    scores = _scores([values for values, _ in read.values()], beta, gamma)
    signature = f"ranker:{VERSION}|permutation|beta:{beta!r}|gamma:{gamma!r}"
    rows = [
        {"line": line, "counted_from": first, "length": len(values)} | {name: score[index] for name, score in scores}
        for index, (line, (values, first)) in enumerate(read.items())
    ]
    if len(read) > 1 or form in ("jsonl", "csv"):
        if svg:
            many = f"draws a single permutation, found {len(read)}"
            raise OptionError(f"--svg {many if len(read) > 1 else 'requires --format table or json'}")
        emit_rows(form, rows, signature=signature)
        return
    ((values, first),) = read.values()
    tree = permutation_tree(values)
    drawn = tree if flat else tree.canonical()
    if svg:
        from ranker.extractors.order.drawing import draw_svg
        from ranker.files import write_bytes

        write_bytes(svg, draw_svg(drawn, first=first).encode())
    by_name = {name: score[0] for name, score in scores}

    def show() -> None:
        _print(values, first, tree, drawn, list(by_name.items()))
        say("", signature)

    document = {"signature": signature, **_facts(values, first, tree), "scores": by_name} if form == "json" else None
    emit(form, document, rows, show)


def _read(text: str) -> dict[int, tuple[Int64Array, int]]:
    """Return the permutations, with what each counted from, by line."""
    from ranker.extractors.order.charts import read_permutation
    from ranker.files import STDIN, display_name, read_text

    if text != STDIN:
        return {1: read_permutation(text)}
    name = display_name(STDIN)
    lines = enumerate(read_text(STDIN).split("\n"), start=1)
    read = {line: read_permutation(text, file=name, line=line) for line, text in lines if text.strip()}
    return read or {1: read_permutation("", file=name)}


def _scores(permutations: list[Int64Array], beta: float, gamma: float) -> list[tuple[str, list[float]]]:
    import numpy as np

    from ranker.arrays import offsets_of
    from ranker.extractors.order.scores import NAMES, permutation_scores

    offsets = offsets_of([len(permutation) for permutation in permutations])
    values = np.concatenate(permutations)
    return [(name, permutation_scores(name, values, offsets, beta=beta, gamma=gamma).tolist()) for name in NAMES]


def _chart(tree: PermutationTree, first: int) -> list[dict[str, Any]]:
    from ranker.extractors.order.drawing import operator_text

    return [
        {
            "positions": [span.start + first, span.stop - 1 + first],
            "values": [span.low + first, span.low + span.stop - span.start - 1 + first],
            "operator": operator_text(span.operator),
            "splits": [split + first for split in span.splits],
            "trees": span.trees,
        }
        for span in tree.chart()
    ]


def _facts(values: Int64Array, first: int, tree: PermutationTree) -> dict[str, Any]:
    few = tree.n_trees.bit_length() <= _MOST_BITS
    return {
        "permutation": (values + first).tolist(),
        "counted_from": first,
        "length": len(values),
        "tree": tree.canonical().brackets(first),
        "flat_tree": tree.brackets(first),
        "trees": tree.n_trees if few else None,
        "log10_trees": math.log10(tree.n_trees),
        "spans": tree.n_spans,
        "chart": _chart(tree, first) if few and tree.n_spans <= _MOST_SPANS_IN_JSON else None,
    }


def _print(
    values: Int64Array, first: int, tree: PermutationTree, drawn: PermutationTree, scores: list[tuple[str, float]]
) -> None:
    from ranker.extractors.order.drawing import draw_text

    words = "1 word" if len(values) == 1 else f"{len(values)} words"
    typer.echo(f"{words}, counted from {first}\n")
    print_table([{"metric": name, "score": score} for name, score in scores])
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH
    typer.echo(f"\n{draw_text(drawn, first=first, width=width)}\n")
    number = f"{tree.n_trees:,}" if tree.n_trees < 10**15 else f"about 10^{math.log10(tree.n_trees):.2f}"
    trees = "1 tree" if tree.n_trees == 1 else f"{number} trees"
    if tree.n_spans > _MOST_SPANS:
        typer.echo(f"forest: {trees}; {tree.n_spans:,} spans, too many to print (use --format json)")
        return
    typer.echo(f"forest: {trees}" + (", packed in this chart" if tree.n_spans else ""))
    if tree.n_spans:
        chart = [
            {
                "positions": "{}-{}".format(*row["positions"]),
                "values": "{}-{}".format(*row["values"]),
                "operator": row["operator"],
                "splits before": " ".join(map(str, row["splits"])),
                "trees": f"{row['trees']:,}",
            }
            for row in _chart(tree, first)
        ]
        print_table(chart)
