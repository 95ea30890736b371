"""Makes the included language models of English: `python bench/background_lm.py TREEBANK [--output models/lm-en]`.

Counts the n-grams of the training sentences of a treebank in CoNLL-U: of their words, and of the parts of speech that
the included parser gives their raw text. Prints what belongs into the card: sizes, the perplexity of the development
sentences, and the digests of the treebank.
"""

from __future__ import annotations

import argparse
import shutil
import textwrap
from pathlib import Path

import numpy as np

from models.making.parser.treebanks import Treebank, find_treebank
from ranker import share
from ranker.extractors.dependency.cache import parse
from ranker.extractors.fluency.included import DIRECTORY, TOKENIZER, Unit
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.counts_file import CountsModel, to_arrays
from ranker.storage.model_files import write_arrays
from ranker.text.tokens import TokenisedTexts, tokenise

ORDERS: dict[Unit, int] = {"words": 3, "tags": 5}


def sentences(treebank: Treebank, part: str, unit: Unit) -> TokenisedTexts:
    """Return the sentences of a part of a treebank as words or as parts of speech."""
    texts = [sentence.text for sentence in treebank.read(part)]
    if unit == "words":
        return tokenise(texts, TOKENIZER, lowercase=True)
    distinct = sorted(set(texts))
    parses = parse(distinct)
    tags = TokenisedTexts(parses.tags, parses.offsets, list(parses.tag_names))
    values, offsets = tags.take(np.searchsorted(np.array(distinct, dtype=object), np.array(texts, dtype=object)))
    return TokenisedTexts(values, offsets, tags.vocabulary)


def facts(unit: Unit, model: CountsModel, text: TokenisedTexts, held_out: TokenisedTexts) -> str:
    """Return a row of the card."""
    scores = model.scores(held_out.vocabulary, held_out.values, held_out.offsets)
    perplexity = np.exp(-np.log(10) * scores.log10_prob.sum() / (scores.tokens + 1).sum())
    unknown = scores.unknown.sum() / scores.tokens.sum()
    sizes = np.diff(model.model.trie.starts[1:])
    return (
        f"| {unit} | {len(text.lengths):,} | {len(text.values):,} | {' '.join(f'{size:,}' for size in sizes)} | "
        f"{perplexity:.1f} | {unknown:.1%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--output", type=Path, default=share.directory("models") / DIRECTORY)
    options = parser.parse_args()
    treebank = find_treebank(options.treebank)
    options.output.mkdir(parents=True, exist_ok=True)
    for unit, order in ORDERS.items():
        text = sentences(treebank, "train", unit)
        arrays = to_arrays(count_ngrams(text.values, text.offsets, order), text.vocabulary)
        write_arrays(options.output / f"{unit}.npz", arrays)
        print(facts(unit, CountsModel(arrays), text, sentences(treebank, "dev", unit)))
    owed = textwrap.fill(treebank.attribution(), 110)
    licence = treebank.licence.name if treebank.licence else "none"
    if treebank.licence:
        shutil.copyfile(treebank.licence, options.output / licence)
    notice = f"The counts in this directory were taken from:\n\n{owed}\n\n"
    notice += f"The licence text of the treebank is in {licence}, and holds for this directory too.\n"
    (options.output / "NOTICE").write_text(notice, encoding="utf-8")
    for name, digest in treebank.digests().items():
        print(f"- `{name}`, SHA-256 `{digest}`")


if __name__ == "__main__":
    main()
