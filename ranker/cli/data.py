"""``ranker data``: the corpora known by name, and files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ranker.cli.options import LpOption, OutputOption, working
from ranker.cli.output import Result, emit, say

app = typer.Typer(
    help="Look at, check and convert corpora.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

NameOrPath = Annotated[str, typer.Argument(help="Corpus by name, or a file.", metavar="NAME|PATH")]


@app.command("list")
def list_(output: OutputOption = "table") -> None:
    """List the corpora known by name, and whether they are on this machine.

    Example: ranker data list
    """
    from ranker.corpora import catalogue

    rows = [
        {
            "name": card.name,
            "here": card.find() is not None,
            "languages": card.languages,
            "title": card.title,
        }
        for card in catalogue.cards().values()
    ]
    emit(Result.of_rows(rows, signature=f"corpora are looked for in {catalogue.corpus_directory()}"), output)


@app.command()
def show(name: Annotated[str, typer.Argument(help="Name of a corpus.")]) -> None:
    """Show the card of a corpus: what it is, its licence, how to get it, which files are expected.

    Example: ranker data show acl05
    """
    from ranker.corpora import catalogue

    card = catalogue.card(name)
    found = card.find()
    facts = {
        "": card.title,
        "languages": card.languages,
        "licence": card.licence,
        "homepage": card.homepage,
        **card.facts,
        "how to get it": card.obtain,
        "files": " or ".join(card.files),
        "folder": str(card.folder),
        "here": str(found) if found else "no",
    }
    say(*card.description.strip().split("\n"), "")
    for key, value in facts.items():
        if value:
            say(*(f"{key}: {value}" if key else value).split("\n"))


@app.command()
def check(data: NameOrPath, output: OutputOption = "table") -> None:
    """Read a corpus and say what is in it, or what is wrong with it.

    Example: ranker data check candidates.json
    """
    from ranker.corpora import catalogue
    from ranker.corpora.columns import is_reserved
    from ranker.corpora.judgements import kinds, rating_names
    from ranker.corpora.summary import summarise

    with working("reading"):
        dataset = catalogue.load(data)
        rows = summarise(dataset)
    judgements = ", ".join(kinds(dataset)) or "none"
    reserved = ", ".join(name for name in rating_names(dataset) if is_reserved(name))
    others = f"\nused only if --kind names it: {reserved}" if reserved else ""
    emit(
        Result.of_rows(rows, signature=f"judgements: {judgements}{others}\nfingerprint: {dataset.fingerprint}"), output
    )


@app.command()
def convert(
    data: NameOrPath,
    target: Annotated[Path, typer.Argument(help="File to write: .jsonl, .json, .csv, .tsv (or .gz), .parquet.")],
    lp: LpOption = None,
    judgements: Annotated[
        Path | None,
        typer.Option("--judgements", help="Preference pairs, or relative rankings of WMT, to add.", metavar="FILE"),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Write a corpus in another format; preferences go to a pairs file beside it.

    Example: ranker data convert sample sample.csv
    """
    from ranker.corpora import catalogue
    from ranker.corpora.formats.preference_pairs import read_pairs
    from ranker.corpora.formats.writing import write_dataset

    with working("converting"):
        dataset = catalogue.load(data)
        if lp:
            dataset = dataset.select_language_pairs(lp)
        if judgements:
            dataset = read_pairs(judgements, dataset)
        written = write_dataset(dataset, target)
    paths = [str(path) for path in written]
    lines = [f"written: {path}" for path in paths]
    emit(Result(paths, [{"written": path} for path in paths], lambda: say(*lines), paths), output)
