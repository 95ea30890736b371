"""Trains a tagger and dependency parser on a treebank in CoNLL-U format.

``python -m models.making.parser TREEBANK DIR [--language en] [--seed 0]`` made ``models/parser-en``. If *-dev and
*-test files are next to the training file, the parser is evaluated on them. The parser is used as ``ds[parser=DIR]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from models.making.parser.training import train
from ranker.errors import RankerError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after an error that it prints to standard error."""
    options = argparse.ArgumentParser(prog="python -m models.making.parser", description=__doc__.split("\n")[0])
    options.add_argument("treebank", help="a *-train.conllu file (or .gz), or a directory that contains one")
    options.add_argument("output", help="directory for the parser")
    options.add_argument("--language", default="en", help="ISO language code; determines the tokenizer")
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args(arguments)
    try:
        scores = train(
            chosen.treebank,
            chosen.output,
            language=chosen.language,
            seed=chosen.seed,
            report=lambda line: print(line, file=sys.stderr),
        )
    except RankerError as error:
        print(f"ranker: error: {error}", file=sys.stderr)
        return 2
    for part, by_form in scores.items():
        for form, of_form in by_form.items():
            print(f"{part} {form}: tags {of_form.tags:.1%}, UAS {of_form.uas:.1%}, LAS {of_form.las:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
