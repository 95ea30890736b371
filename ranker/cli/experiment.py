"""``ranker experiment``: the papers' tables on any corpus."""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from ranker.cli.commands import Commands
from ranker.cli.options import (
    MOST_SEARCHES,
    Corpora,
    ExcludeSelfOption,
    KindOption,
    LpOption,
    working,
)
from ranker.cli.output import print_note, print_table, print_text, say
from ranker.errors import RankerError

if TYPE_CHECKING:
    from ranker.apps.experiments.settings import Settings
    from ranker.apps.experiments.tables import Experiment, Plan, Table
    from ranker.corpora.dataset import Dataset

app = Commands(
    "Reproduce the papers' tables on any corpus. Tables are printed as they are computed. If a table fails, the "
    "error is reported on stderr, the other tables are still printed, and the exit code is 2."
)


Form = Literal["table", "json", "csv", "markdown"]
TrainOption = Annotated[
    list[str], Option("--train", help="Training corpus; may be repeated to combine several.", metavar="NAME|PATH")
]
TestOption = Annotated[
    list[str] | None, Option("--test", help="Test corpus, such as another year; may be repeated.", metavar="NAME|PATH")
]
LmDataOption = Annotated[
    list[str] | None,
    Option("--lm-data", help="Another corpus whose references train a language model.", metavar="NAME|PATH"),
]
AlignerOption = Annotated[
    list[str] | None,
    Option(
        "--aligner",
        help="Word aligner written by ranker align train: FILE for all language pairs, or LP=FILE for one, such as "
        "de-en=FILE. May be repeated.",
        metavar="[LP=]FILE",
    ),
]


@app.command()
def ye07(
    train: TrainOption,
    test: TestOption = None,
    kind: KindOption = "auto",
    lp: LpOption = None,
    exclude_self: ExcludeSelfOption = False,
    form: Form = "table",
) -> int:
    """Ye, Zhou and Lin (2007): BLEU, dependencies, perplexity.

    Compares the features alone and combined, with word order, and with perplexity under a language model without the
    references of the same source.

    Reports Spearman's rho per source within a year (cross-validated), across years and per document, with tie
    correction and as defined in the paper.

    Example: ranker experiment ye07 --train sample
    """
    trained_on, tested_on = _train_and_test(train, test, lp)
    from ranker.apps.experiments.settings import Settings
    from ranker.apps.experiments.ye07 import plan

    settings = Settings(kind=kind, exclude_self=exclude_self)
    return _emit(plan(trained_on, tested_on, settings), form)


@app.command()
def birch11(
    train: TrainOption,
    test: TestOption = None,
    lp: LpOption = None,
    restarts: Annotated[
        int, Option(help="Random starts of each search, by hill climbing and by --mert.", min=1, max=MOST_SEARCHES)
    ] = 20,
    aligner: AlignerOption = None,
    mert: Annotated[bool, Option("--mert", help="Also tune the choice among outputs to BLEU and to LRscore.")] = False,
    lm_data: LmDataOption = None,
    form: Form = "table",
) -> int:
    """Birch and Osborne (2011): LRscore and preferences.

    The parameters theta are trained for consistency with preferences, over all language pairs. Where people gave scores
    instead, the output with the higher score is preferred.

    Word aligners are trained on the sources and references of each corpus, unless --aligner is given. In scripts
    without spaces, characters count as words.

    Without --test, consistency is measured on the training corpus. --mert uses half of the documents of a test corpus
    for tuning.

    Example: ranker experiment birch11 --train wmt12 --test wmt13 --lp "*-en"
    """
    trained_on, tested_on = _train_and_test(train, test, lp)
    from ranker.apps.experiments.birch11 import plan

    tuning = _tuning(lm_data if mert else None, aligner)
    settings = replace(tuning, restarts=restarts, runs=3, mert=mert)
    return _emit(plan(trained_on, tested_on, settings), form)


@app.command()
def stanojevic14(
    corpora: Corpora,
    alignment: Annotated[
        Literal["isozaki", "ribes", "meteor"], Option(help="Word alignment: exact matches by context, or METEOR's.")
    ] = "isozaki",
    sweeps: Annotated[
        bool, Option("--sweeps/--no-sweeps", help="Also vary the parameters alpha, beta and gamma.")
    ] = True,
    form: Form = "table",
) -> int:
    """Stanojević and Sima'an (2014): permutation metrics.

    Each metric is combined with a lexical score and evaluated by Kendall's tau.

    Example: ranker experiment stanojevic14 --data wmt13 --lp "*-en"
    """
    dataset = corpora.read()
    from ranker.apps.experiments.settings import Settings
    from ranker.apps.experiments.stanojevic14 import plan

    return _emit(plan(dataset, Settings(alignment=alignment, sweeps=sweeps)), form)


@app.command()
def isozaki10(
    corpora: Corpora,
    kind: KindOption = "auto",
    form: Form = "table",
) -> int:
    """Isozaki and others (2010): word-order metrics at system level.

    Compares rank correlations of word order with other metrics.

    Reports Spearman's rho and Pearson's r between metric scores and human scores of systems, per language pair and data
    set.

    Example: ranker experiment isozaki10 --data sample --kind adequacy
    """
    datasets = [each.read() for each in corpora.each()]
    from ranker.apps.experiments.isozaki10 import plan
    from ranker.apps.experiments.settings import Settings

    return _emit(plan(datasets, Settings(kind=kind)), form)


@app.command()
def cer10(
    corpora: Corpora,
    metric: Annotated[
        list[str] | None,
        Option(
            "--metric",
            "-m",
            help="Metric to tune to and score with: its name in the paper, such as BLEU:4, or any metric, included "
            "model or model file (default: all metrics of the paper).",
            metavar="METRIC|MODEL",
        ),
    ] = None,
    lm_data: LmDataOption = None,
    aligner: AlignerOption = None,
    restarts: Annotated[int, Option(help="Random starting points per iteration.", min=0, max=MOST_SEARCHES)] = 20,
    runs: Annotated[
        int, Option(help="Runs with different random starts, for the standard deviation.", min=1, max=MOST_SEARCHES)
    ] = 5,
    times: Annotated[bool, Option("--times", help="Report the CPU time of the searches.")] = False,
    form: Form = "table",
) -> int:
    """Cer, Manning and Jurafsky (2010): tuning to 19 metrics.

    Tunes to each metric, scores with each metric, and compares by human preferences.

    The choice among the outputs of a corpus with several systems is tuned: half of the documents are for tuning, half
    for testing. In scripts without spaces, characters count as words for LR-HB4 and LR-KB4.

    Example: ranker experiment cer10 --data sample --runs 1 --restarts 1 -m BLEU:4 -m TER
    """
    dataset = corpora.read()
    tuning = _tuning(lm_data, aligner)
    from ranker.apps.experiments.cer10 import plan

    settings = replace(tuning, restarts=restarts, runs=runs, times=times, metrics=tuple(metric or ()))
    return _emit(plan(dataset, settings), form)


def _train_and_test(train: list[str], test: list[str] | None, lp: list[str] | None) -> tuple[Dataset, list[Dataset]]:
    """Read the corpora, and print a note on each test corpus that shares sources with the training corpus."""
    trained_on, tested_on = Corpora(train, lp or []).read(), [Corpora([path], lp or []).read() for path in test or []]
    from ranker.corpora.source_keys import among, short_keys
    from ranker.ranking.scorers import trained_on_sources

    for corpus in tested_on:
        if shared := trained_on_sources(among(corpus, short_keys(trained_on)), corpus):
            print_note(f"the experiment {shared}: it agrees better with people there than on new data")
    return trained_on, tested_on


def _tuning(lm_data: list[str] | None, aligner: list[str] | None) -> Settings:
    """Return the settings of a paper's experiment: the language model's text and the word aligners."""
    lm = Corpora(lm_data).read() if lm_data else None
    from ranker.apps.experiments.aligners import Aligners
    from ranker.apps.experiments.settings import Settings

    return Settings(lm=lm, aligners=Aligners.parse(aligner or []))


def _emit(plan: Plan, form: Form) -> int:
    """Print each table as soon as it is ready, and return the exit code: 2 if a table failed, else 0.

    A failed table is reported in one line on stderr, and the others follow. JSON and CSV are a single document,
    printed when all tables are ready.
    """
    from ranker.apps.experiments.tables import Experiment, Failure

    tables, failures = [], []
    outcomes = plan.outcomes()
    while True:
        with working("experimenting"):
            outcome = next(outcomes, None)
        if outcome is None:
            break
        if isinstance(outcome, Failure):
            failures.append(outcome)
            say(f"ranker: error: table {outcome.title!r} could not be computed: {outcome.reason}", err=True)
        else:
            tables.append(outcome)
            _print_table(outcome, form)
    _print_end(Experiment(plan.name, tuple(tables), plan.signature, tuple(failures)), form)
    # faults of the program are shown with their traceback, after all tables that could be computed
    for failure in failures:
        if not isinstance(failure.error, RankerError | OSError | MemoryError):
            traceback.print_exception(failure.error)
    return 2 if failures else 0


def _print_table(table: Table, form: Form) -> None:
    if form == "markdown":
        print_text(table.markdown())
    elif form == "table":
        # numbers with a mark, such as significance, have a text of their own
        rows = [{key: getattr(value, "text", value) for key, value in row.items()} for row in table.rows]
        print_table(rows, table.title)
        say(*([table.note] if table.note else []), "")
    sys.stdout.flush()


def _print_end(experiment: Experiment, form: Form) -> None:
    """Print the lines that follow the tables, or, in JSON and CSV, the whole document."""
    if form == "table":
        say(experiment.signature)
    elif form == "markdown":
        print_text("".join([*(failure.markdown() for failure in experiment.failures), experiment.closing()]))
    else:
        print_text(experiment.json() if form == "json" else experiment.csv())
