"""``ranker nbest``: n-best lists made, merged and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ranker.cli.commands import Commands
from ranker.cli.options import Corpora, EachOption, OutputForm, working
from ranker.cli.output import emit, print_note
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from ranker.corpora.formats.nbest import NBestList

app = Commands("Create, merge and check n-best lists.")


@app.command("from-dataset", writes_files=True)
def from_dataset_command(
    corpora: Corpora,
    target: Annotated[Path, Argument(help="Output file, such as dev.nbest or dev.nbest.gz.", metavar="NBEST")],
    features: Annotated[
        str | None,
        Option(
            "--features",
            "-F",
            help="Features of the hypotheses: words, lm, systems, and metrics for the agreement with other outputs "
            "(default: words,chrf,bleu[smoothing=add-one],systems, and lm if there is text for it).",
            metavar="FEATURES",
        ),
    ] = None,
    lm_text: Annotated[
        list[Path] | None, Option(help="Training text for the language model, one sentence per line.")
    ] = None,
    lm_data: Annotated[
        list[str] | None, Option(help="Another corpus whose references train the language model.", metavar="NAME|PATH")
    ] = None,
    form: OutputForm = "table",
) -> None:
    """Create an n-best list from a corpus with several systems.

    Every output becomes a hypothesis. Its features need no reference. References and sources are written next to the
    list, as dev.ref0, dev.ref1 and dev.src; the language model is never trained on these references.

    Example: ranker nbest from-dataset dev.nbest --data sample
    """
    dataset = corpora.read(to_score=False)
    from ranker.apps.tuning import nbest_features as making
    from ranker.corpora import catalogue
    from ranker.files import check_target

    check_target(target)
    text = [line for path in lm_text or [] for line in making.lm_lines(path)]
    for name in lm_data or []:
        text += catalogue.load(name).references["text"].tolist()
    wanted = features if features is not None else making.WITH_LM if lm_text or lm_data else making.WITHOUT_LM
    with working("creating the n-best list"):
        selection = making.from_dataset(dataset, making.FeatureOptions(wanted, text))
        written = making.write_selection(selection, target)
    if selection.left_out:
        print_note(
            f"{selection.left_out:,} of {counted(len(text), 'sentence')} are references of {dataset.name}; the "
            "language model did not learn from them"
        )
    emit(form, None, _facts([selection.nbest]), signature="\n".join(f"written: {path}" for path in written))


@app.command("check")
def check_command(
    nbest: Annotated[
        list[str],
        Argument(
            help="N-best lists: Moses format, JSON or tables with several outputs per source, or plain text; "
            "- for stdin.",
            metavar="NBEST",
        ),
    ],
    each: EachOption = None,
    form: OutputForm = "table",
) -> None:
    """Check n-best lists and summarise their contents.

    Example: ranker nbest check dev.nbest
    """
    from ranker.apps.tuning.hypothesis_files import read_hypotheses

    with working("reading"):
        lists = [read_hypotheses(path, each=each)[0] for path in nbest]
    described = "\n".join(f"features of {nbest_list.name}: {nbest_list.described}" for nbest_list in lists)
    emit(form, None, _facts(lists), signature=described)


@app.command("merge")
def merge_command(
    nbest: Annotated[list[str], Argument(help="N-best lists with the same sentences and features.", metavar="NBEST")],
    output: Annotated[Path, Option("--output", "-o", help="Output file.")],
    form: OutputForm = "table",
) -> None:
    """Merge n-best lists.

    Hypotheses with the same text and features are kept once.

    Example: ranker nbest merge run1.nbest run2.nbest -o both.nbest
    """
    from ranker.corpora.formats.nbest import merge, write_nbest
    from ranker.corpora.formats.nbest_reading import read_nbest

    if len(nbest) < 2:
        raise OptionError("found one n-best list, expected at least two to merge")
    with working("merging"):
        together = read_nbest(nbest[0])
        read = _facts([together])
        for path in nbest[1:]:
            other = read_nbest(path)
            read += _facts([other])
            together = merge(together, other)
        write_nbest(together, output)
    for what in ("scores", "alignments"):
        lacking = [facts["list"] for facts in read if not facts[what]]
        if 0 < len(lacking) < len(read):
            print_note(f"{lacking[0]} has no {what}, so the merged list has none")
    emit(form, None, _facts([together]), signature=f"written: {output}")


def _facts(lists: list[NBestList]) -> list[dict[str, object]]:
    return [
        {
            "list": nbest_list.name,
            "sentences": nbest_list.sentences,
            "hypotheses": len(nbest_list),
            "texts": len(nbest_list.texts),
            "columns": len(nbest_list.columns),
            "scores": nbest_list.score is not None,
            "alignments": nbest_list.alignment is not None,
        }
        for nbest_list in lists
    ]
