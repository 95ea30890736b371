"""``ranker parser``: the dependency parsers behind the extractor ``ds``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ranker.cli.commands import Commands
from ranker.cli.options import OutputForm, SeedOption, working
from ranker.cli.output import emit, print_table, say, say_progress

app = Commands("Train dependency parsers.")


@app.command()
def train(
    treebank: Annotated[
        Path, Argument(help="Treebank: a *-train.conllu file (or .gz), or a directory that contains one.")
    ],
    output: Annotated[Path, Option("--output", "-o", help="Output directory for the parser.", metavar="DIR")],
    language: Annotated[str, Option(help="ISO language code; determines the tokenizer.")] = "en",
    seed: SeedOption = 0,
    form: OutputForm = "table",
) -> None:
    """Train a tagger and dependency parser on a treebank.

    Treebanks are in CoNLL-U format, in any language. If *-dev and *-test files are next to the training file, the
    parser is evaluated on them. Use the parser as ds[parser=DIR].

    Example: ranker parser train UD_English-EWT --output parser-en
    """
    from ranker.learning.parser.training import train as train_parser

    with working("training"):
        scores = train_parser(treebank, output, language=language, seed=seed, report=say_progress)
    rows: list[dict[str, object]] = [
        {"file": part, "on": on, "tags": 100 * scores.tags, "UAS": 100 * scores.uas, "LAS": 100 * scores.las}
        for part, by_form in scores.items()
        for on, scores in by_form.items()
    ]

    def show() -> None:
        if rows:
            print_table([{**row, **{name: f"{row[name]:.1f}" for name in ("tags", "UAS", "LAS")}} for row in rows])
        say(f"written: {output}")

    emit(form, {"written": str(output), "scores": rows}, rows, show)
