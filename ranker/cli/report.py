"""``ranker report``: an HTML report on a ranker or a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from ranker.cli.options import Input, KindOption, ModelOption, OmitFields, ResamplesOption, typed_options, working
from ranker.cli.output import print_note, print_pending_notes, say
from ranker.cli.pages import check_page, write_html
from ranker.cli.scorer import files_for
from ranker.errors import OptionError

_OF_COMPARISON = ("comparison", "html", "plots", "quiet", "jobs", "long_signatures")


def command(
    context: typer.Context,
    inputs: Annotated[Input, OmitFields(["severity_weights"])],
    model: ModelOption = None,
    comparison: Annotated[
        Path | None, Option(help="JSON output of ranker evaluate for several metrics, to report on instead of a model.")
    ] = None,
    html: Annotated[Path, Option(help="Output file.")] = Path("report.html"),
    plots: Annotated[Path | None, Option(help="Directory for the plots, in SVG and PNG.", metavar="DIR")] = None,
    kind: KindOption = "auto",
    examples: Annotated[
        int,
        Option(
            help="Number of examples of each type: worst, best, random; without judgements, largest differences and "
            "random.",
            min=0,
            max=1000,
        ),
    ] = 10,
    resamples: ResamplesOption = 1000,
) -> None:
    """Write an HTML report on a ranker or a comparison.

    The report is one self-contained file.

    For a ranker, the report shows its agreement with human judgements, its weights, the contribution of each extractor,
    and all sources with their outputs, to search and compare. Judgements are optional. Each --data is ranked
    separately.

    Example: ranker report --model sample.model --data sample --html report.html
    """
    if (model is None) == (comparison is None):
        raise OptionError("give either --model FILE with --data, or --comparison FILE (see ranker evaluate)")
    if comparison is not None and (more := typed_options(context, _OF_COMPARISON)):
        option, *_ = [*next(iter(more.values())), "data"]
        raise OptionError(f"--comparison cannot be combined with {option}; leave out one of the two")
    if model is not None and not (inputs.data or inputs.parallel):
        raise OptionError("no data: give --data NAME or --data PATH, or -s SRC -r REF... -t SYSTEM...")
    from ranker.reports.pages import write_plots

    check_page(html, plots)
    if comparison is not None:
        from ranker.evaluation.metrics.result import Comparison
        from ranker.reports.comparison_page import comparison_report

        with working("writing"):
            page, drawn = comparison_report(Comparison.read(comparison))
    else:
        from ranker.ranking.ranker import Ranker
        from ranker.reports.findings import examine
        from ranker.reports.ranker_page import ranker_report

        assert model is not None
        ranker = Ranker.load(model)
        ranker = ranker.with_files(files_for(ranker.feature_set.members, inputs.given))
        extractors = ranker.feature_set.members
        datasets = [each.read(extractors) for each in inputs.each()]
        with working("examining"):
            findings = examine(ranker, datasets, kind=kind, examples=examples, resamples=resamples)
        with working("writing"):
            page, drawn = ranker_report(findings)
        for measured in findings.measured:
            for note in measured.notes:
                print_note(f"{measured.dataset.name}: {note}")
    write_html(html, page)
    print_pending_notes()
    say(f"written: {html}")
    for path in write_plots(drawn, plots) if plots else ():
        say(f"written: {path}")
