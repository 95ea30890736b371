"""``ranker experiment``: the papers' tables on any corpus."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ranker.cli.commands import Commands
from ranker.cli.options import OUTPUT, DataOption, JobsOption, KindOption, LpOption, SeedOption, read_input, working
from ranker.cli.output import print_table, print_text, say
from ranker.errors import RankerError
from ranker.settings import Loss

if TYPE_CHECKING:
    from ranker.experiments.plan import Plan
    from ranker.experiments.tables import Experiment, Table
    from ranker.experiments.tuned_choices import TuningSettings

app = Commands(
    "Reproduce the papers' tables on any corpus. Each table is printed as soon as it is made. One that fails is "
    "reported on stderr, the others are printed, and the exit code is 2."
)


Form = Literal["table", "json", "csv", "markdown"]
"""Forms of output."""
TrainOption = Annotated[
    list[str], typer.Option("--train", help="Corpus to train on; several are put together.", metavar="NAME|PATH")
]
TestOption = Annotated[
    list[str] | None,
    typer.Option("--test", help="Corpus of another year to test on; several may follow.", metavar="NAME|PATH"),
]
FilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help="File to write too: .json, .csv or .md; may be given several times.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
LmDataOption = Annotated[
    list[str] | None,
    typer.Option("--lm-data", help="Another corpus, whose references teach a language model.", metavar="NAME|PATH"),
]
FeaturesOption = Annotated[
    str | None, typer.Option("--features", "-F", help="Features of the outputs, as ranker nbest takes them.")
]
AlignerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--aligner",
        help="Word aligner, as written by ranker align train: of one language pair, as de-en=FILE, or of all. May be "
        "given several times.",
        metavar="[LP=]FILE",
    ),
]
BitextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bitext",
        help="Parallel text to train the word aligner on, two files, one sentence a line: of one language pair, as "
        "de-en=SOURCE TARGET, or of all. May be given several times.",
        metavar="[LP=]SOURCE TARGET",
    ),
]
AlignCandidatesOption = Annotated[
    bool,
    typer.Option(
        "--align-candidates", help="Train word aligners on the candidates of the corpus too, not only the references."
    ),
]
FormatOption = Annotated[
    Form, typer.Option("--format", "-f", help="Format of what is printed:", metavar="FORMAT", rich_help_panel=OUTPUT)
]


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
    loss: Annotated[Loss, typer.Option("--loss", help="Loss of a pair.")] = "hinge",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the within-year experiment.", min=2)] = 3,
    exclude_self: Annotated[
        bool,
        typer.Option(
            "--exclude-self",
            help="Score a reference that is a candidate without itself: by the other references of its source, and "
            "under a language model of all other references.",
        ),
    ] = False,
    output: FilesOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Ye, Zhou and Lin (2007): BLEU, dependencies, perplexity.

    Features alone and together.

    Spearman's rho per source within a year (cross-validated), across years and per document, with correction for ties
    and in the paper's form.

    Example: ranker experiment ye07 --train sample
    """
    trained_on = read_input(train, None, None, None, lp)
    tested_on = [read_input([one], None, None, None, lp) for one in test or []]
    from ranker.experiments.ye07 import YeSettings, plan

    settings = YeSettings(kind=kind, C=penalty, loss=loss, folds=folds, exclude_self=exclude_self, seed=seed)
    _emit(plan(trained_on, tested_on, settings), output, form)


@app.command()
def birch11(
    train: TrainOption,
    test: TestOption = None,
    lp: LpOption = None,
    restarts: Annotated[int, typer.Option("--restarts", help="Random starts of the hill climbing.", min=1)] = 20,
    aligner: AlignerOption = None,
    bitext: BitextOption = None,
    align_candidates: AlignCandidatesOption = False,
    mert: Annotated[
        bool, typer.Option("--mert", help="Tune the choice among outputs to BLEU and to LRscore too.")
    ] = False,
    mert_restarts: Annotated[
        int, typer.Option("--mert-restarts", help="Random starting points of its iterations.", min=0)
    ] = 20,
    features: FeaturesOption = None,
    lm_data: LmDataOption = None,
    output: FilesOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Birch and Osborne (2011): LRscore and preferences.

    Theta is trained over language pairs, for consistency with preferences.

    Word aligners are trained on the sources and references of each corpus, unless --aligner or --bitext is given.
    Without --test, consistency is that on the training corpus. --mert takes half of the documents of a test corpus for
    tuning.

    Example: ranker experiment birch11 --train wmt12 --test wmt13 --lp "*-en"
    """
    trained_on = read_input(train, None, None, None, lp)
    tested_on = [read_input([one], None, None, None, lp) for one in test or []]
    from ranker.experiments.aligners import Aligners
    from ranker.experiments.birch11 import BirchSettings, plan

    tuning = _tuning(features, lm_data, mert_restarts, 25, 3, seed) if mert else None
    aligners = Aligners.parse(aligner or [], bitext or [], candidates=align_candidates)
    settings = BirchSettings(restarts, seed, aligners, tuning)
    _emit(plan(trained_on, tested_on, settings), output, form)


@app.command()
def stanojevic14(
    data: DataOption,
    lp: LpOption = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Weight of the lexical score.", min=0, max=1)] = 0.5,
    beta: Annotated[float, typer.Option("--beta", help="Weight of a node beside its children.", max=1)] = 0.6,
    gamma: Annotated[float, typer.Option("--gamma", help="Score of two swapped children.", min=0)] = 0.0,
    alignment: Annotated[
        Literal["isozaki", "ribes", "meteor"],
        typer.Option("--alignment", help="Exact matches by contexts, or METEOR's."),
    ] = "isozaki",
    lexical: Annotated[Literal["bleu1", "f1"], typer.Option("--lexical", help="The lexical score.")] = "bleu1",
    sweeps: Annotated[bool, typer.Option("--sweeps/--no-sweeps", help="Vary alpha, beta and gamma.")] = True,
    draw: Annotated[
        Path | None, typer.Option("--plot", help="File to draw the sweeps to: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    output: FilesOption = None,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Stanojević and Sima'an (2014): permutation metrics.

    Each is taken together with a lexical score and judged by Kendall's tau.

    Example: ranker experiment stanojevic14 --data wmt13 --lp "*-en" --plot sweeps.svg
    """
    dataset = read_input(data or [], None, None, None, lp)
    from ranker.experiments.stanojevic14 import StanojevicSettings, plan, plot

    settings = StanojevicSettings(alpha, beta, gamma, alignment, lexical, sweeps)
    draw_sweeps = None if draw is None else lambda found: plot(found, draw)
    _emit(plan(dataset, settings), output, form, draw_sweeps)


@app.command()
def isozaki10(
    data: DataOption,
    kind: KindOption = "auto",
    lp: LpOption = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Lower-case for all metrics, not only for those that always do.")
    ] = False,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap samples of sources.", min=0)] = 1000,
    output: FilesOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Isozaki and others (2010): word-order metrics, by system.

    Rank correlations of word orders beside other metrics, by the scores of whole systems.

    Spearman's rho and Pearson's r with what people say of the systems, per language pair and data set.

    Example: ranker experiment isozaki10 --data sample --kind adequacy
    """
    datasets = [read_input([one], None, None, None, lp) for one in data or []]
    from ranker.experiments.isozaki10 import IsozakiSettings, plan

    settings = IsozakiSettings(kind=kind, lowercase=lowercase, resamples=resamples, seed=seed)
    _emit(plan(datasets, settings), output, form)


@app.command()
def cer10(
    data: DataOption = None,
    lp: LpOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="Metric to tune to and score by, by its name in the paper, as BLEU:4, or notation; all of the paper's "
            "by default.",
            metavar="METRIC",
        ),
    ] = None,
    features: FeaturesOption = None,
    lm_data: LmDataOption = None,
    aligner: AlignerOption = None,
    bitext: BitextOption = None,
    restarts: Annotated[int, typer.Option("--restarts", help="Random starting points an iteration.", min=0)] = 20,
    iterations: Annotated[
        int, typer.Option("--iterations", help="Iterations at most; one that finds nothing better is the last.", min=1)
    ] = 25,
    runs: Annotated[int, typer.Option("--runs", help="Runs with other random starts, for the deviation.", min=1)] = 5,
    times: Annotated[bool, typer.Option("--times", help="Report the processor time of the searches.")] = False,
    output: FilesOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Cer, Manning and Jurafsky (2010): tuning to 19 metrics.

    Tune to every metric, score by every metric, compare by preferences of people.

    What is tuned is the choice among the outputs of a corpus with several systems; half of its documents are for
    tuning, half for testing. LR-HB4 and LR-KB4 need sources that are split into words.

    Example: ranker experiment cer10 --data sample --runs 1 --restarts 1 -m BLEU:4 -m TER
    """
    dataset = read_input(data or [], None, None, None, lp)
    tuning = _tuning(features, lm_data, restarts, iterations, runs, seed)
    from ranker.experiments.aligners import Aligners
    from ranker.experiments.cer10 import METRICS, CerSettings, plan

    tuning = dataclasses.replace(tuning, aligners=Aligners.parse(aligner or [], bitext or []))
    _emit(plan(dataset, CerSettings(tuning, tuple(metric or METRICS), times)), output, form)


def _tuning(
    features: str | None, lm_data: list[str] | None, restarts: int, iterations: int, runs: int, seed: int
) -> TuningSettings:
    """Return the settings of tuning."""
    other = read_input(lm_data, None, None, None, None) if lm_data else None
    from ranker.experiments.tuned_choices import FEATURES, TuningSettings

    return TuningSettings(features or FEATURES, other, restarts, iterations, runs, seed)


def _emit(plan: Plan, write: list[Path] | None, form: Form, draw: Callable[[Experiment], None] | None = None) -> None:
    """Print every table as soon as it is made, then write the files that were asked for.

    A table that fails is reported in one line on stderr; the others follow, and the exit code is 2. JSON and CSV are
    one document, which is printed when all tables are made.
    """
    from ranker.experiments.tables import Experiment, Failure, check_name

    for path in write or []:
        check_name(path)
    tables, failures = [], []
    unread: list[OSError] = []

    def show(print_now: Callable[[], None]) -> None:
        # when nobody reads what is printed any more, go on for the sake of the files alone
        if unread:
            return
        try:
            print_now()
        except OSError as error:
            if not write and draw is None:
                raise
            unread.append(error)

    outcomes = plan.outcomes()
    while True:
        with working("experimenting"):
            outcome = next(outcomes, None)
        if outcome is None:
            break
        if isinstance(outcome, Failure):
            failures.append(outcome)
            say(f"ranker: error: table {outcome.title!r} could not be made: {outcome.reason}", err=True)
        else:
            tables.append(outcome)
            show(partial(_print_table, outcome, form))
    found = Experiment(plan.name, tuple(tables), plan.signature, tuple(failures))
    found.write(*(write or []))
    show(partial(_print_end, found, form))
    if draw is not None:
        draw(found)
    if unread:
        raise unread[0]
    # a fault of the program is shown as such, after everything that could be made
    for one in failures:
        if not isinstance(one.error, RankerError):
            raise one.error
    if failures:
        raise typer.Exit(2)


def _print_table(table: Table, form: Form) -> None:
    if form == "markdown":
        print_text(table.markdown())
    elif form == "table":
        # numbers with a mark are shown in a form of their own
        rows = [{key: getattr(value, "text", value) for key, value in row.items()} for row in table.rows]
        print_table(rows, table.title)
        say(*([table.note] if table.note else []), "")
    sys.stdout.flush()


def _print_end(found: Experiment, form: Form) -> None:
    """Print what follows the tables, or the whole document."""
    if form == "table":
        say(found.signature)
    elif form == "markdown":
        print_text("".join([*(one.markdown() for one in found.failures), found.closing()]))
    else:
        print_text(found.json() if form == "json" else found.csv())
