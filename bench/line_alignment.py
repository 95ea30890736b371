"""Lines put right after merging and splitting: `python bench/line_alignment.py` prints the table of the guide.

Takes the outputs of one system for every language pair of corpora in $RANKER_SHARED/data, merges one line in `--every`
with the next and splits as many at a random space (a character in scripts without spaces), and aligns the rest.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np

from bench.common import locate, run_main, say, table
from ranker.corpora import catalogue, line_alignment
from ranker.corpora.dataset import Dataset
from ranker.errors import DataError

CORPORA = ("wmt14", "wmt19-darr", "bio21-mqm", "wmt24-esa")
SPACED = " "


def outputs(dataset: Dataset, lp: str, most: int) -> tuple[list[str], list[str], list[str]] | None:
    """Return translations by the system with most of them, sources and first references, or None without references."""
    of_pair = (dataset.sources["lp"] == lp).to_numpy()[dataset.candidate_source]
    candidates = dataset.candidates[of_pair & ~dataset.is_reference]
    references = dataset.references.drop_duplicates("source").set_index("source")["text"]
    candidates = candidates[candidates["source"].isin(references.index)]
    if candidates.empty:
        return None
    system = candidates["system"].value_counts().sort_index(kind="stable").idxmax()
    chosen = candidates[candidates["system"] == system].drop_duplicates("source").head(most)
    places = chosen["source"].to_numpy()
    texts = (chosen["text"], dataset.sources["text"].iloc[places], references.loc[places])
    lines, sources, wanted = ([" ".join(text.split()) for text in column] for column in texts)
    return lines, sources, wanted


def damaged(lines: Sequence[str], every: int, generator: random.Random) -> list[str]:
    """Merge one line in `every` with the next, and split as many."""
    unspaced = sum(line.count(SPACED) for line in lines) < 0.05 * sum(map(len, lines))
    left, found = [*lines], []
    while left:
        line, chance = left.pop(0), generator.random() * every
        if chance < 1 and left:
            found.append(line + ("" if unspaced else SPACED) + left.pop(0))
            continue
        places = [place for place in range(1, len(line)) if unspaced or line[place] == SPACED]
        if 1 <= chance < 2 and places:
            place = generator.choice(places)
            found += [line[:place], line[place:].strip()]
        else:
            found.append(line)
    return found


def right(lines: Sequence[str], found: Sequence[str]) -> float:
    """Proportion of lines that are found, in %, whatever the white space."""
    same = ["".join(first.split()) == "".join(second.split()) for first, second in zip(lines, found, strict=True)]
    return 100 * float(np.mean(same))


def aligned(lines: Sequence[str], broken: Sequence[str], wanted: Sequence[str], shared: float | None = None) -> float:
    """Lines that are right after alignment to texts; `shared` is the weight of shared words."""
    weight = line_alignment._SHARED if shared is None else shared
    try:
        with patch.object(line_alignment, "_SHARED", weight):
            return right(lines, line_alignment.align_lines(broken, [[text] for text in wanted], "translations"))
    except DataError:
        return 0.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--lines", type=int, default=500, help="most lines of a language pair")
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    rows = []
    for name in options.corpora:
        say(name)
        dataset = catalogue.load(locate(name))
        for lp in map(str, dataset.language_pairs):
            found = outputs(dataset, lp, options.lines)
            if found is None or len(found[0]) < 50:
                continue
            lines, sources, references = found
            broken = damaged(lines, options.every, random.Random(1))
            untouched = right(lines, [*broken, *[""] * len(lines)][: len(lines)])
            ways = ((references, 0.0), (sources, None), (references, None))
            shares = [aligned(lines, broken, wanted, shared) for wanted, shared in ways]
            rows.append((name, lp, len(lines), untouched, *shares))
    means = [float(np.mean([row[place] for row in rows])) for place in range(3, 7)]
    rows.append(("all", f"{len(rows)} pairs", sum(row[2] for row in rows), *means))
    head = ["", "", "lines", "left as they are", "by lengths alone", "with the source", "with a reference"]
    print("\n".join(table(head, [[*row[:3], *(f"{value:.1f}" for value in row[3:])] for row in rows])))


if __name__ == "__main__":
    run_main(main)
