"""``ranker lm``: n-gram language models for the extractor ``perp``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ranker.cli.commands import Commands
from ranker.cli.options import DocumentFormatOption, working
from ranker.cli.output import Result, emit, say, say_note
from ranker.errors import counted

app = Commands("Train language models.")


@app.callback()
def _group() -> None:
    pass


@app.command("train")
def train_command(
    text: Annotated[
        list[Path],
        typer.Option(
            "--text",
            help="Sentences, one a line; several files, plain or gzip, may follow; - for stdin.",
            metavar="FILE...",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="ARPA file to write.", metavar="FILE")],
    order: Annotated[int, typer.Option("--order", help="Longest n-grams.", min=2, max=6)] = 5,
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="How to split words; none for text that is split already.")
    ] = "13a",
    keep_case: Annotated[bool, typer.Option("--keep-case", help="Do not lower-case.")] = False,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            help="Memory for sorting n-grams, as 500M; the vocabulary comes on top. More text goes to temporary files.",
            metavar="SIZE",
        ),
    ] = "2G",
    form: DocumentFormatOption = "table",
) -> None:
    """Train an n-gram language model on text, and write an ARPA file.

    Interpolated modified Kneser-Ney, as KenLM's lmplz. Use the model as perp[model=FILE].

    Example: ranker lm train --text sentences.en --order 3 -o en.arpa
    """
    from ranker.extractors.fluency.training import train_language_model
    from ranker.extractors.text.tokens import checked_tokenizer

    chosen = checked_tokenizer(tokenizer)
    with working("training"):
        made = train_language_model(text, output, order=order, tokenizer=chosen, lowercase=not keep_case, memory=memory)
    if made.fallback_orders:
        orders = ", ".join(map(str, made.fallback_orders))
        what = f"the discounts of order {orders} cannot be estimated from so little or so repetitive text"
        say_note(f"{what}: 0.5, 1 and 1.5 are used")

    def show() -> None:
        say(
            f"learnt from {counted(made.sentences, 'sentence')}, {counted(made.tokens, 'token')}; n-grams by order: "
            f"{' '.join(f'{number:,}' for number in made.ngrams)}",
            f"written: {output}",
        )

    facts = {"written": str(output), "sentences": made.sentences, "tokens": made.tokens, "ngrams": list(made.ngrams)}
    emit(Result(facts, [], show), form)
