"""``ranker lm``: n-gram language models for the extractor ``perp``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from ranker.cli.commands import Commands
from ranker.cli.options import DocumentFormat, working
from ranker.cli.output import emit, print_note, say
from ranker.errors import counted

app = Commands("Train language models.")


@app.command("train")
def train_command(
    text: Annotated[
        list[Path],
        Option(
            help="Training text, one sentence per line: one or more files, plain or gzip, or - for stdin.",
            metavar="FILE...",
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", help="Output file, in ARPA format.")],
    order: Annotated[int, Option(help="Order of the model (longest n-gram).", min=2, max=6)] = 5,
    tokenizer: Annotated[str, Option(help="Tokenizer; none for text that is already tokenized.")] = "13a",
    keep_case: Annotated[bool, Option("--keep-case", help="Do not lowercase the text.")] = False,
    form: DocumentFormat = "table",
) -> None:
    """Train an n-gram language model and write it as an ARPA file.

    The model has interpolated modified Kneser-Ney smoothing, like those of KenLM's lmplz. Use it as perp[model=FILE].
    The text and its n-grams are held in memory: for larger text use lmplz, and name its file in perp[model=FILE].

    Example: ranker lm train --text sentences.en --order 3 -o en.arpa
    """
    from ranker.extractors.fluency.training import train_language_model
    from ranker.files import check_target
    from ranker.text.tokens import checked_tokenizer

    check_target(output)
    chosen = checked_tokenizer(tokenizer)
    with working("training"):
        trained = train_language_model(text, output, order=order, tokenizer=chosen, lowercase=not keep_case)
    if trained.fallback_orders:
        orders = ", ".join(map(str, trained.fallback_orders))
        what = f"the text is too small or too repetitive to estimate the discounts of order {orders}"
        print_note(f"{what}; using 0.5, 1 and 1.5")

    def show() -> None:
        say(
            f"learnt from {counted(trained.sentences, 'sentence')}, {counted(trained.tokens, 'token')}; "
            "n-grams by order: "
            f"{' '.join(f'{number:,}' for number in trained.ngrams)}",
            f"written: {output}",
        )

    facts = {
        "written": str(output),
        "sentences": trained.sentences,
        "tokens": trained.tokens,
        "ngrams": list(trained.ngrams),
    }
    emit(form, facts, [], show)
