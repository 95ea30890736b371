"""``ranker parser``: the dependency parsers behind the extractor ``ds``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ranker.cli.options import JobsOption, SeedOption, working
from ranker.cli.output import print_table, say

app = typer.Typer(help="Train dependency parsers.", no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.callback()
def _group() -> None:
    pass


@app.command()
def train(
    treebank: Annotated[Path, typer.Argument(help="Folder with *-train.conllu (or .gz), or that file.")],
    target: Annotated[Path, typer.Option("--output", help="Directory to write the parser to.")],
    language: Annotated[str, typer.Option("--language", help="ISO code; decides the tokenizer.")] = "en",
    seed: SeedOption = 0,
    jobs: JobsOption = None,
) -> None:
    """Train a tagger and dependency parser from a treebank in CoNLL-U, in any language.

    Files *-dev and *-test beside the training file are scored. Use the parser as ds[parser=DIR].

    Example: ranker parser train UD_English-EWT --output parser-en
    """
    from ranker.learning.parser.training import train as train_parser

    with working("training"):
        scores = train_parser(treebank, target, language=language, seed=seed, report=lambda line: say(line, err=True))
    rows = [
        {
            "file": part,
            "on": on,
            "tags": f"{100 * one.tags:.1f}",
            "UAS": f"{100 * one.uas:.1f}",
            "LAS": f"{100 * one.las:.1f}",
        }
        for part, by_form in scores.items()
        for on, one in by_form.items()
    ]
    if rows:
        print_table(rows)
    say(f"written: {target}")
