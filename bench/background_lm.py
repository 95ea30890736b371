"""Makes the included language models of English: `python bench/background_lm.py TREEBANK [--output models/lm-en]`.

Counts the n-grams of the training sentences of a treebank in CoNLL-U: of their words, and of the parts of speech that
the included parser gives their raw text. Prints the perplexity of the development sentences.
"""

from __future__ import annotations

import argparse
import shutil
import textwrap
from pathlib import Path

import numpy as np

from ranker import share
from ranker.extractors.dependency.cache import parse
from ranker.extractors.fluency.included import DIRECTORY, TOKENIZER, Unit
from ranker.extractors.text.tokens import Segments, tokenise
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.counts_file import CountsModel, to_arrays
from ranker.learning.parser.treebanks import Treebank, find_treebank
from ranker.storage.model_files import write_arrays

ORDERS: dict[Unit, int] = {"words": 3, "tags": 5}


def sentences(treebank: Treebank, part: str, unit: Unit) -> Segments:
    """Return the sentences of a part of a treebank as words or as parts of speech."""
    texts = [sentence.text for sentence in treebank.read(part)]
    if unit == "words":
        return tokenise(texts, TOKENIZER, lowercase=True)
    distinct = sorted(set(texts))
    parses = parse(distinct)
    tags = Segments(parses.tags, parses.offsets, list(parses.tag_names))
    values, offsets = tags.take(np.searchsorted(np.array(distinct, dtype=object), np.array(texts, dtype=object)))
    return Segments(values, offsets, tags.vocabulary)


def facts(unit: Unit, model: CountsModel, text: Segments, held_out: Segments) -> str:
    """Return a row of the card."""
    scores = model.scores(held_out.vocabulary, held_out.values, held_out.offsets)
    perplexity = np.exp(-np.log(10) * scores.log10_prob.sum() / (scores.tokens + 1).sum())
    unknown = scores.unknown.sum() / scores.tokens.sum()
    sizes = np.diff(model.model.trie.starts[1:])
    return (
        f"| {unit} | {len(text.lengths):,} | {len(text.values):,} | {' '.join(f'{size:,}' for size in sizes)} | "
        f"{perplexity:.1f} | {unknown:.1%} |"
    )


CARD = """\
---
language: en
license: cc-by-sa-4.0
library_name: ranker
tags: [language-model, n-gram, kneser-ney]
datasets: [universal_dependencies]
---

# lm-en

N-gram language models of English: of words, and of parts of speech. The extractor `perp` uses them with `model=shipped`
(`unit=tags` for parts of speech), without references, so that a score depends on nothing but the candidate.

- Command: `python bench/background_lm.py TREEBANK`
- Size: {size:.1f} MB
- Content: counts of n-grams, from which interpolated modified Kneser-Ney models (Chen and Goodman 1999) are estimated
  when they are loaded, by the estimator of `ranker lm train`

| model | sentences | tokens | n-grams by order | perplexity, development sentences | unknown |
|---|---|---|---|---|---|
{rows}

Words are those of the tokenizer {tokenizer}, lower-cased; parts of speech are those that `models/parser-en` gives the
raw text.

## Intended use

How usual the wording and the word order of a translation into English are, as a feature of `ranker`, beside features
that compare it with references or other candidates. Too little text for anything else.

## Data

{owed}

Licence text: {licence}; see also NOTICE.

{digests}

## Limits

{limits}

## Biases

{biases}
"""
LIMITS = (
    "Little text, and from the web: blogs, newsgroups, e-mails, reviews and answers, not news or talks. The models "
    "know what usual English looks like, but few names and terms."
)
BIASES = (
    "English of the web from before 2012: other varieties and registers, newer usage, and names that are rare in such "
    "text seem less usual than they are, which can lower the score of a translation that has them. How much this "
    "affects which writers has not been measured."
)


def main() -> None:
    """Count, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--output", type=Path, default=share.directory("models") / DIRECTORY)
    options = parser.parse_args()
    treebank = find_treebank(options.treebank)
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    for unit, order in ORDERS.items():
        text = sentences(treebank, "train", unit)
        arrays = to_arrays(count_ngrams(text.values, text.offsets, order), text.vocabulary)
        write_arrays(options.output / f"{unit}.npz", arrays)
        rows.append(facts(unit, CountsModel(arrays), text, sentences(treebank, "dev", unit)))
        print(rows[-1])
    owed = textwrap.fill(treebank.attribution(), 110)
    licence = treebank.licence.name if treebank.licence else "none"
    if treebank.licence:
        shutil.copyfile(treebank.licence, options.output / licence)
    notice = f"The counts in this directory were taken from:\n\n{owed}\n\n"
    notice += f"The licence text of the treebank is in {licence}, and holds for this directory too.\n"
    (options.output / "NOTICE").write_text(notice, encoding="utf-8")
    card = CARD.format(
        size=sum(file.stat().st_size for file in options.output.glob("*.npz")) / 1e6,
        rows="\n".join(rows),
        tokenizer=TOKENIZER,
        owed=owed,
        licence=licence,
        digests="\n".join(f"- `{name}`, SHA-256 `{sha}`" for name, sha in treebank.digests().items()),
        limits=textwrap.fill(LIMITS, 120),
        biases=textwrap.fill(BIASES, 120),
    )
    (options.output / "CARD.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
