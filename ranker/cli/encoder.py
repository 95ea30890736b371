"""``ranker encoder``: training of sentence encoders for the extractor ``semantic``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ranker.cli.commands import Commands
from ranker.cli.options import Corpora, KindOption, OutputForm, SeedOption, working
from ranker.cli.output import emit, print_table, say, say_progress

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset

app = Commands("Train sentence encoders.")


@app.command()
def train(
    corpora: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output directory for the encoder.", metavar="DIR")],
    start: Annotated[
        str,
        typer.Option(
            "--from",
            help="Encoder to start from: a name, or a directory in Hugging Face's format.",
            metavar="NAME|PATH",
        ),
    ] = "all-minilm-l6-v2",
    aside: Annotated[
        list[str] | None,
        typer.Option(
            "--stop-by",
            help="Corpus not used for training: training ends when the agreement with its judgements stops growing.",
            metavar="NAME|PATH",
        ),
    ] = None,
    kind: KindOption = "auto",
    layer: Annotated[int, typer.Option("--layer", help="Layer whose vectors are matched.", min=1)] = 5,
    epochs: Annotated[int, typer.Option("--epochs", help="Number of times that each source is seen.", min=1)] = 1,
    sources: Annotated[
        int, typer.Option("--sources", help="Number of randomly chosen sources to learn from (0: all).", min=0)
    ] = 0,
    rate: Annotated[float, typer.Option("--rate", help="Highest learning rate.", min=1e-9, max=1.0)] = 5e-5,
    precision: Annotated[
        Literal["float32", "bfloat16"],
        typer.Option("--precision", help="Number format; bfloat16 is faster if the processor or GPU has it."),
    ] = "float32",
    balanced: Annotated[
        bool,
        typer.Option(
            "--balanced",
            help="Learn from each corpus by its own kind of judgement, and give every corpus, and within it every "
            "language pair, the same weight.",
        ),
    ] = False,
    against_source: Annotated[
        bool,
        typer.Option("--against-source", help="Learn to compare with the source too, for a multilingual encoder."),
    ] = False,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Leave the vectors of sub-words before the first layer unchanged.")
    ] = False,
    keep: Annotated[
        float,
        typer.Option(
            "--keep", help="Share of the original weights in the mean with the trained weights.", min=0, max=1
        ),
    ] = 0.0,
    seed: SeedOption = 0,
    form: OutputForm = "table",
) -> None:
    """Train a sentence encoder on human judgements.

    The encoder learns to give the better of two candidates the higher score. Use it as semantic[encoder=DIR]. Training
    starts from a pre-trained encoder, and needs mt-ranker[semantic-train]. An interrupted run goes on from its last
    checkpoint if the same command is given again. A GPU is used if there is one.

    Example: ranker encoder train --data wmt14 --lp "*-en" --output my-encoder
    """
    from ranker.learning.encoder.files import check_installed
    from ranker.learning.encoder.training import Check, TrainingSettings, check_output
    from ranker.learning.encoder.training import train as train_encoder

    check_output(output)
    check_installed(start, onnx=False)

    def row(check: Check) -> dict[str, object]:
        return {"sources": check.sources, "loss": check.loss, "tau": check.tau}

    def tell(check: Check) -> None:
        tau = "" if check.tau is None else f", tau {check.tau:.3f}"
        say_progress(f"ranker: {check.sources:,} sources seen: loss {check.loss:.3f}{tau}")

    settings = TrainingSettings(
        layer,
        epochs,
        rate,
        sources=sources,
        seed=seed,
        precision=precision,
        balanced=balanced,
        against_source=against_source,
        freeze=freeze,
        keep=keep,
    )

    def read(options: Corpora) -> list[Dataset]:
        return [each.read(kind=kind) for each in (options.each() if balanced else [options])]

    data = read(corpora)
    kept = read(Corpora(aside, corpora.lp)) if aside else []
    with working("training"):
        checks = train_encoder(data, start, output, kind=kind, aside=kept, settings=settings, report=tell)
    rows = [row(check) for check in checks]

    def show() -> None:
        shown = [name for name in ("loss", "tau") if kept or name == "loss"]
        print_table([{"sources": each["sources"]} | {name: f"{each[name]:.3f}" for name in shown} for each in rows])
        say(f"written: {output}")

    emit(form, {"written": str(output), "checks": rows}, rows, show)
