"""``ranker experiment``: the papers' tables on any corpus."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ranker.cli.options import DataOption, JobsOption, KindOption, LpOption, SeedOption, read_input, working
from ranker.cli.output import print_table

if TYPE_CHECKING:
    from ranker.experiments.tables import Experiment

app = typer.Typer(
    help="Reproduce the papers' tables on any corpus.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


class Form(StrEnum):
    """Forms of output."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class Loss(StrEnum):
    """Losses of the ranking SVM."""

    hinge = "hinge"
    squared_hinge = "squared_hinge"


class Contexts(StrEnum):
    """Monolingual word alignments."""

    isozaki = "isozaki"
    ribes = "ribes"
    meteor = "meteor"


class Lexical(StrEnum):
    """Lexical scores."""

    bleu1 = "bleu1"
    f1 = "f1"


TrainOption = Annotated[
    list[str], typer.Option("--train", help="Corpus to train on; several are put together.", metavar="NAME|PATH")
]
TestOption = Annotated[
    list[str] | None,
    typer.Option("--test", help="Corpus of another year to test on; several may follow.", metavar="NAME|PATH"),
]
WriteOption = Annotated[
    list[Path] | None,
    typer.Option("--write", help="File to write too: .json, .csv or .md; may be given several times.", metavar="FILE"),
]
FormOption = Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")]


@app.callback()
def _group() -> None:
    pass


@app.command()
def ye07(
    train: TrainOption,
    test: TestOption = None,
    kind: KindOption = "auto",
    lp: LpOption = None,
    penalty: Annotated[float, typer.Option("--C", help="Penalty of a wrongly ordered pair.")] = 1.0,
    loss: Annotated[Loss, typer.Option("--loss", help="Loss of a pair.")] = Loss.hinge,
    folds: Annotated[int, typer.Option("--folds", help="Folds of the within-year experiment.", min=2)] = 3,
    exclude_self: Annotated[
        bool, typer.Option("--exclude-self", help="Score a reference against the other references only.")
    ] = False,
    write: WriteOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    output: FormOption = Form.table,
) -> None:
    """Ye, Zhou and Lin (2007): BLEU, dependencies and perplexity, alone and together.

    Spearman's rho per source within a year (cross-validated), across years and per document.

    Example: ranker experiment ye07 --train sample
    """
    trained_on = read_input(train, None, None, None, lp)
    tested_on = [read_input([one], None, None, None, lp) for one in test or []]
    from ranker.experiments.ye07 import Settings, run

    settings = Settings(kind=kind, C=penalty, loss=loss.value, folds=folds, exclude_self=exclude_self, seed=seed)
    with working("experimenting"):
        found = run(trained_on, tested_on, settings)
    _emit(found, write, output)


@app.command()
def birch11(
    train: TrainOption,
    test: TestOption = None,
    lp: LpOption = None,
    restarts: Annotated[int, typer.Option("--restarts", help="Random starts of the hill climbing.", min=1)] = 20,
    align_candidates: Annotated[
        bool, typer.Option("--align-candidates", help="Train the word aligner on the candidates too.")
    ] = False,
    write: WriteOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    output: FormOption = Form.table,
) -> None:
    """Birch and Osborne (2011): LRscore, theta trained over language pairs, consistency with preferences.

    Word alignments come from the aligner, trained on each language pair of each corpus itself. Without --test,
    consistency is that on the training corpus.

    Example: ranker experiment birch11 --train wmt12 --test wmt13 --lp "*-en"
    """
    trained_on = read_input(train, None, None, None, lp)
    tested_on = [read_input([one], None, None, None, lp) for one in test or []]
    from ranker.experiments.birch11 import Settings, run

    settings = Settings(restarts=restarts, seed=seed, learn_from_candidates=align_candidates)
    with working("experimenting"):
        found = run(trained_on, tested_on, settings)
    _emit(found, write, output)


@app.command()
def stanojevic14(
    data: DataOption,
    lp: LpOption = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Weight of the lexical score.", min=0, max=1)] = 0.5,
    beta: Annotated[float, typer.Option("--beta", help="Weight of a node beside its children.", max=1)] = 0.6,
    gamma: Annotated[float, typer.Option("--gamma", help="Score of two swapped children.", min=0)] = 0.0,
    alignment: Annotated[
        Contexts, typer.Option("--alignment", help="Exact matches by contexts, or METEOR's.")
    ] = Contexts.isozaki,
    lexical: Annotated[Lexical, typer.Option("--lexical", help="The lexical score.")] = Lexical.bleu1,
    sweeps: Annotated[bool, typer.Option("--sweeps/--no-sweeps", help="Vary alpha, beta and gamma.")] = True,
    draw: Annotated[
        Path | None, typer.Option("--plot", help="File to draw the sweeps to: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    write: WriteOption = None,
    jobs: JobsOption = None,
    output: FormOption = Form.table,
) -> None:
    """Stanojević and Sima'an (2014): permutation metrics beside a lexical score, by Kendall's tau.

    Example: ranker experiment stanojevic14 --data wmt13 --lp "*-en" --plot sweeps.svg
    """
    dataset = read_input(data or [], None, None, None, lp)
    from ranker.experiments.stanojevic14 import Settings, plot, run

    settings = Settings(alpha, beta, gamma, alignment.value, lexical.value, sweeps)
    with working("experimenting"):
        found = run(dataset, settings)
    if draw is not None:
        plot(found, draw)
    _emit(found, write, output)


def _emit(found: Experiment, write: list[Path] | None, output: Form) -> None:
    """Write the files that were asked for, and print."""
    for path in write or []:
        found.write(path)
    if output is Form.table:
        for table in found.tables:
            print_table(table.rows, table.title)
            typer.echo(f"{table.note}\n" if table.note else "")
        typer.echo(found.signature)
    else:
        forms = {Form.json: found.json, Form.csv: found.csv, Form.markdown: found.markdown}
        typer.echo(forms[output](), nl=False)
