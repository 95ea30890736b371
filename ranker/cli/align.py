"""``ranker align``: the bilingual word aligner."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from ranker.cli.commands import Commands
from ranker.cli.options import Input, OmitFields, OutputForm, working
from ranker.cli.output import emit, print_table, say
from ranker.errors import DataError, OptionError, nearest

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset

app = Commands("Align the words of source and target sentences.")


Tokens = Literal["13a", "none"]
"""Tokenizers of an aligner."""


AlignInput = Annotated[
    Input,
    OmitFields(["given", "references", "no_references", "translations", "align", "systems"]),
]
TargetOption = Annotated[
    list[Path] | None, Option("--target", "-t", help="Translations of the source sentences, one per line.")
]


@app.command("train")
def train_command(
    inputs: AlignInput,
    output: Annotated[Path, Option("--output", "-o", help="Output file for the aligner.")],
    targets: TargetOption = None,
    tokenizer: Annotated[Tokens, Option(help="Tokenizer.")] = "13a",
    form: OutputForm = "table",
) -> None:
    """Learn a bilingual word aligner from sources and their translations.

    The aligner is IBM model 1 followed by an HMM, in both directions, trained to agree. The log-likelihood before each
    iteration is printed; it may decrease. Text in a language written without spaces must be segmented into words first.

    Example: ranker align train -s source.de -t reference.en -o de-en.align
    """
    dataset, files = _read(inputs, targets)
    from ranker.extractors.order.aligner import learn_aligner
    from ranker.storage.model_files import check_target

    check_target(output)
    with working("training"):
        trained = learn_aligner(
            dataset,
            references=files is None,
            candidates=files is not None,
            tokenizer=tokenizer,
            files=files,
        )
        trained.save(output)
    rows = [
        {
            "iteration": number,
            "model": "IBM 1" if number <= trained.iterations[0] else "HMM",
            "target | source": onto,
            "source | target": back,
        }
        for number, (onto, back) in enumerate(trained.log_likelihood.tolist(), 1)
    ]

    def show() -> None:
        shown = [
            {name: f"{value:.1f}" if isinstance(value, float) else value for name, value in row.items()} for row in rows
        ]
        print_table(shown, f"{trained.pairs:,} sentence pairs; log-likelihood")
        say(f"written: {output}")

    emit(form, {"written": str(output), "pairs": trained.pairs, "log_likelihood": rows}, rows, show)


@app.command("apply")
def apply_command(
    inputs: AlignInput,
    model: Annotated[Path, Option("--model", "-M", help="Aligner file written by ranker align train.")],
    system: Annotated[
        str | None, Option(help="With --data: align the candidates of one system only.", metavar="NAME")
    ] = None,
    reference: Annotated[
        int | None, Option(help="With --data: align the reference with this number, from 1.", min=1, metavar="NUMBER")
    ] = None,
    targets: TargetOption = None,
) -> None:
    """Print the word alignments of sources and translations.

    The output is in Pharaoh format, one line per sentence pair: 0-0 1-2 links the first words of both sentences, and
    the second source word to the third target word. With --data, all candidates are aligned in order, or only those of
    one system, or one of the references.

    Example: ranker align apply --model de-en.align -s source.de -t system.en
    """
    if system is not None and reference is not None:
        raise OptionError("give --system or --reference, not both")
    dataset, files = _read(inputs, targets)
    if files and (system is not None or reference is not None):
        raise OptionError(
            "--system and --reference select translations from --data; with -s and -t, leave out these options"
        )
    from ranker.corpora.formats.pharaoh import pharaoh_lines
    from ranker.extractors.order.aligner import align_texts, load_aligner

    aligner = load_aligner(model)
    sources, translations = _translations(dataset, system, reference)
    with working("aligning"):
        links = align_texts(aligner, sources, translations)
    sys.stdout.writelines(f"{line}\n" for line in pharaoh_lines(links))


def _read(inputs: Input, targets: list[Path] | None) -> tuple[Dataset, tuple[Path, Path] | None]:
    """Return the data set, and the paths of the source and target files if the options name two such files."""
    if not inputs.data and not (inputs.source and targets):
        raise OptionError("nothing to align: give --data CORPUS, or -s SOURCE -t TARGET")
    if targets and len(targets) > 1:
        raise OptionError(f"-t: expected one file, found {len(targets)}")
    dataset = replace(inputs, translations=targets or []).read(to_score=False)
    return dataset, (inputs.source, targets[0]) if inputs.source and targets else None


def _translations(dataset: Dataset, system: str | None, reference: int | None) -> tuple[list[str], list[str]]:
    """Return source texts and, row by row, their translations: all systems' outputs, one system's, or one reference."""
    if reference is None:
        rows = dataset.candidates
        if system is not None:
            rows = rows[rows["system"] == system]
            if rows.empty:
                known = sorted(set(dataset.candidates["system"]))
                listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
                what = f"no candidates by system {system!r}{nearest(system, known)}; expected one of {listed}"
                raise DataError(what, file=dataset.name)
    else:
        slot = dataset.references.groupby("source").cumcount()
        rows = dataset.references[(slot == reference - 1).to_numpy()]
        if rows.empty:
            raise DataError(f"there is no reference number {reference}: choose another --reference", file=dataset.name)
    return dataset.sources["text"].iloc[rows["source"].to_numpy()].tolist(), rows["text"].tolist()
