"""``ranker data``: the corpora known by name, and the user's own files."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from ranker.cli.commands import Commands
from ranker.cli.options import (
    DocumentFormat,
    Input,
    LpOption,
    OmitFields,
    OutputForm,
    SeverityWeightsOption,
    SystemsOption,
    listed_names,
    working,
)
from ranker.cli.output import emit, figure, print_table, say
from ranker.errors import OptionError, counted
from ranker.files import exists

if TYPE_CHECKING:
    from ranker.corpora.catalogue import Download
    from ranker.corpora.formats.shards import Shards

app = Commands("List, download, check and convert corpora.")

MarkedForm = Literal["mqm", "esa", "pearmut", "label-studio"]
"""Formats of other programs for marked errors."""
NameOrPath = Annotated[str, Argument(help="Corpus name or file.", metavar="NAME|PATH")]


@app.command("list")
def list_(form: OutputForm = "table") -> None:
    """List known corpora and whether they are on this machine.

    Example: ranker data list
    """
    from ranker.corpora import catalogue

    rows = [
        {
            "name": card.name,
            "here": card.find() is not None,
            "get": bool(card.download),
            "languages": card.languages,
            "title": card.title,
        }
        for card in catalogue.cards().values()
    ]
    emit(form, None, rows, signature=f"corpus directory: {catalogue.corpus_directory()}")


@app.command()
def show(
    name: Annotated[str, Argument(help="Name of a corpus, or a file.", metavar="NAME|PATH")],
    form: DocumentFormat = "table",
) -> None:
    """Describe a corpus or a file.

    For a corpus, contents, licence and how to get it are shown; for a file, contents and marked errors.

    Example: ranker data show acl05
    """
    from ranker.corpora import catalogue

    if name not in catalogue.cards() and exists(name):
        _show_file(name, form)
        return
    card = catalogue.card(name)
    folder = card.find()
    facts = {
        "": card.title,
        "languages": card.languages,
        "licence": card.licence,
        "homepage": card.homepage,
        **card.facts,
        "how to get it": card.obtain,
        **{f"ranker data get {name}": "\n".join(map(_where, card.download))},
        "files": " or ".join(card.files),
        "folder": str(card.folder),
        "here": str(folder) if folder else "no",
    }

    def print_card() -> None:
        say(*card.description.strip().split("\n"), "")
        for key, value in facts.items():
            if value:
                say(*(f"{key}: {value}" if key else value).split("\n"))

    document = {**facts, "name": name, "title": card.title, "description": card.description.strip()}
    document.pop("")
    emit(form, document, [], print_card)


def _show_file(path: str, form: str) -> None:
    from ranker.corpora import catalogue
    from ranker.corpora.summary import errors_by_category, summarise, summarise_errors

    with working("reading"):
        dataset = catalogue.load(path)
        document = {"name": dataset.name, "language_pairs": summarise(dataset)}
        if len(dataset.errors):
            document |= {"marked_errors": summarise_errors(dataset), "categories": errors_by_category(dataset)}

    def print_file() -> None:
        print_table(summarise(dataset), dataset.name)
        if len(dataset.errors):
            say("")
            print_table(
                [{**row, "without error": figure(row["without error"])} for row in summarise_errors(dataset)],
                "marked errors",
            )
            say("")
            print_table(errors_by_category(dataset), "marked errors by category and severity")

    emit(form, document, [], print_file)


def _where(part: Download) -> str:
    from ranker.corpora.downloads.transfer import in_bytes

    size = f"{in_bytes(part.size)}, " if part.size else ""
    return f"{part.address} ({size}{f'SHA-256 {part.sha256}' if part.sha256 else 'no SHA-256 digest is published'})"


@app.command(writes_files=True)
def get(
    name: Annotated[str, Argument(help="Name of a corpus with a download address.", metavar="CORPUS")],
    sha256: Annotated[
        list[str] | None,
        Option(
            help="Expected digest, instead of the one on the card; FILE=DIGEST if the corpus has several files.",
            metavar="[FILE=]DIGEST",
        ),
    ] = None,
    unverified: Annotated[
        bool,
        Option(
            "--unverified",
            help="Accept a file without a known digest. Its digest is recorded and checked from then on.",
        ),
    ] = False,
    again: Annotated[bool, Option("--again", help="Download the corpus even if it is already present.")] = False,
    sources: Annotated[
        bool, Option("--sources", help="Download only the sources and references, as text files.")
    ] = False,
    lp: Annotated[list[str] | None, Option(help="Language pairs for --sources (default: all).", metavar="LP")] = None,
    max_gb: Annotated[float, Option(help="Maximum size of a file, in GB.", min=0.0, max=1e6)] = 4.0,
    form: OutputForm = "table",
) -> None:
    """Download a corpus from the address on its card.

    The corpus is stored where --data NAME finds it; ranker data show NAME prints its card. Every file is verified
    against its SHA-256 digest. Proxies are read from https_proxy, http_proxy and no_proxy. No other command connects
    to other computers, except to a Dask cluster that --workers names.

    Example: ranker data get wmt25-esa
    """
    from ranker.corpora.downloads.getting import get as get_corpus
    from ranker.corpora.downloads.transfer import DownloadLimits, in_bytes

    if lp and not sources:
        raise OptionError("--lp: only available with --sources; without --sources, all language pairs are downloaded")
    digests = {file: digest for file, _, digest in (text.rpartition("=") for text in sha256 or [])}
    with working("fetching"):
        limits, pairs = DownloadLimits(size=round(max_gb * 1e9)), (lp or ()) if sources else None
        fetched = get_corpus(name, sha256=digests, unverified=unverified, again=again, sources=pairs, limits=limits)
    rows = [{**asdict(file), "written": str(file.written)} for file in fetched]
    lines = [
        f"{file.file}: {in_bytes(file.size)}, SHA-256 {file.sha256} (verified against: {file.checked}); "
        f"in {file.written}"
        for file in fetched
    ]
    lines += [str(path) for file in fetched if sources for path in sorted(file.written.rglob("*.txt"))]
    emit(form, rows, rows, lambda: say(*lines))


@app.command()
def check(data: NameOrPath, form: OutputForm = "table") -> None:
    """Check a corpus and summarise its contents.

    Empty candidates and references, and sources that differ only by white space or a blank reference, are counted.

    Shards are read one at a time. Their digests and numbers of rows must be those of the manifest, and no source may be
    in two shards. Each note is about a single shard.

    Example: ranker data check candidates.json
    """
    from ranker.corpora import catalogue, sanity
    from ranker.corpora.column_names import is_reserved
    from ranker.corpora.formats.shards import Shards
    from ranker.corpora.judgements import kinds, rating_names, use_of_errors
    from ranker.corpora.near_sources import counts
    from ranker.corpora.own_references import without_only_references
    from ranker.corpora.summary import summarise

    shards = Shards.open([data])
    if shards is not None:
        _check_shards(shards, form)
        return
    with working("reading"):
        dataset = catalogue.load(data)
        rows = summarise(dataset)
        notes = list(sanity.notes_of(dataset, (*sanity.CHECKS, *sanity.CONCLUSIONS)))
    judgements = ", ".join(kinds(dataset)) or f"none{use_of_errors(dataset)}"
    reserved = ", ".join(name for name in rating_names(dataset) if is_reserved(name))
    unused = f"\nused only if selected by --kind: {reserved}" if reserved else ""
    _, references = without_only_references(dataset)
    noted = "".join(f"\nnote: {note}" for note in notes)
    signature = "\n".join(
        [
            f"judgements: {judgements}{unused}",
            *counts(dataset),
            *filter(None, [references]),
            f"fingerprint: {dataset.fingerprint}",
        ]
    )
    document = {"signature": signature, "rows": rows, "notes": notes}
    emit(form, document, rows, signature=f"{signature}{noted}")


def _check_shards(shards: Shards, form: OutputForm) -> None:
    from ranker.corpora import sanity
    from ranker.corpora.shards.making import check_shards

    rows, notes = list[dict[str, Any]](), list[sanity.Note]()
    with working("checking"):
        for shard, part in zip(shards.shards, check_shards(shards), strict=True):
            name = Path(shard.file).name
            rows.append(
                {
                    "shard": name,
                    "sources": len(part.sources),
                    "references": len(part.references),
                    "candidates": len(part),
                    "ratings": len(part.ratings),
                    "preferences": len(part.preferences),
                    "verified": shard.sha256 is not None,
                }
            )
            notes += [replace(note, text=f"{name}: {note.text}") for note in sanity.notes_of(part)]
    signature = f"{shards.name}: {counted(len(rows), 'shard')}"
    noted = "".join(f"\nnote: {note}" for note in notes)
    document = {"signature": signature, "rows": rows, "notes": notes}
    emit(form, document, rows, signature=f"{signature}{noted}")


@app.command(writes_files=True)
def shard(
    data: NameOrPath,
    out: Annotated[Path, Option(help="Directory for the shards.", metavar="DIR")],
    rows: Annotated[int, Option(help="Maximum number of candidates per shard.", min=1)] = 100_000,
    jsonl: Annotated[
        bool,
        Option(
            "--jsonl",
            help="Write compressed JSONL instead of Parquet: slower, but it can hold word alignments and names of "
            "references.",
        ),
    ] = False,
    lp: LpOption = None,
    form: OutputForm = "table",
) -> None:
    """Split a corpus into shards, for data larger than memory.

    JSONL and Parquet files are read as a stream. No source is split, and the order stays the same; a source with more
    candidates than --rows gets a shard of its own. The directory can be given to --data.

    Example: ranker data shard sample --out shards --rows 300
    """
    from ranker.corpora.shards.making import ENDINGS, make_shards

    with working("sharding"):
        manifest = make_shards(data, out, rows, ending=ENDINGS[jsonl], lp=lp or ())
    listed = [{"shard": entry.file, "sources": entry.sources, "candidates": entry.rows} for entry in manifest.shards]
    summary = f"{counted(manifest.rows, 'candidate')} in {counted(len(manifest.shards), 'shard')}: {out}"
    emit(form, None, listed, signature=summary)


Target = Annotated[Path, Argument(help="Output file: .jsonl, .json, .csv, .tsv (or .gz), .parquet.", metavar="FILE")]


@app.command(writes_files=True)
def select(
    inputs: Annotated[Input, OmitFields(["given", "no_references"])],
    target: Target,
    n: Annotated[int, Option("--n", help="Number of sources per language pair.", min=1)] = 100,
    metric: Annotated[str, Option("--metric", "-m", help="Metric that scores the outputs.", metavar="METRIC")] = "chrf",
    form: OutputForm = "table",
) -> None:
    """Select sources whose judgements tell systems apart soon.

    Sources are chosen whose outputs differ in a metric, and in the way in which the systems differ on average. The
    judgements order systems sooner than those of random sources, but mean scores of the selected sources exaggerate
    the differences between systems.

    Example: ranker data select selected.jsonl --data sample --n 20
    """
    from ranker.apps.collect.sources import informative_sources
    from ranker.corpora.formats.writing import write_dataset
    from ranker.ranking.scorers import make_scorer

    scorer = make_scorer(metric, None)
    dataset = inputs.read(scorer.feature_set.members)
    with working("selecting"):
        chosen = dataset.select_sources(informative_sources(dataset, scorer, n))
        paths = [str(path) for path in write_dataset(chosen, target)]
    about = f"{counted(len(chosen.sources), 'source')} of {len(dataset.sources):,}, selected by {scorer.name}"
    emit(form, paths, [{"written": path} for path in paths], lambda: say(about, *(f"written: {p}" for p in paths)))


@app.command(writes_files=True)
def convert(
    data: NameOrPath,
    target: Target,
    lp: LpOption = None,
    systems: SystemsOption = None,
    judgements: Annotated[
        Path | None,
        Option(
            help="Judgements to add: preference pairs, WMT relative rankings, or JSONL of the same outputs with marked "
            "errors."
        ),
    ] = None,
    severity_weights: SeverityWeightsOption = None,
    to: Annotated[
        MarkedForm | None, Option("--to", help="Write marked errors for another program.", show_default=False)
    ] = None,
    form: OutputForm = "table",
) -> None:
    """Write a corpus in another format.

    Preferences are written to a separate file of pairs. --to writes marked errors, with scores by the same raters, as
    tables of Google's MQM viewer (.tsv), error span annotations of WMT (.jsonl), or JSON of Pearmut or Label Studio.

    Example: ranker data convert sample sample.csv
    """
    from ranker.corpora import catalogue
    from ranker.corpora.formats.error_spans import with_errors_of
    from ranker.corpora.formats.preference_pairs import read_pairs
    from ranker.corpora.formats.reading import format_of, read_dataset
    from ranker.corpora.formats.writing import write_dataset
    from ranker.corpora.selection import of_language_pairs, only_pair, with_language_pair
    from ranker.corpora.severity_weights import weights_of

    with working("converting"):
        weights = weights_of(severity_weights or [])
        pair = only_pair(lp or [])
        dataset = catalogue.load(data, systems=listed_names(systems or []), severity_weights=weights, lp=pair)
        marked = None
        if judgements and format_of(judgements) == "json":
            marked = with_language_pair(read_dataset(judgements, lp=pair), lp or [])
        elif judgements:
            dataset = read_pairs(judgements, dataset)
        dataset = of_language_pairs(dataset, lp or [])
        if marked is not None:
            chosen = [pair for pair in marked.language_pairs if lp and pair in dataset.language_pairs]
            dataset = with_errors_of(dataset, of_language_pairs(marked, chosen or lp or []))
        written = write_dataset(dataset, target, to)
    paths = [str(path) for path in written]
    lines = [f"written: {path}" for path in paths]
    emit(form, paths, [{"written": path} for path in paths], lambda: say(*lines), paths)
