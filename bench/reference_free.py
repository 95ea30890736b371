"""Agreement of rankers trained without references: `python bench/reference_free.py --encoder DIR` prints two tables.

Rankers of several feature sets are cross-validated over the judged sources of a language pair, with all candidates of
a source or with two of them, drawn at random among those that people order. Figures are Spearman's rho per source.
The included encoders learnt from these corpora, so DIR has one that did not, what `python bench/encoder_any.py` makes
of the base model of many languages; for English it is all-MiniLM-L6-v2.
"""

from __future__ import annotations

import argparse

import numpy as np

from bench.common import figure, locate, row, run_main, say, table
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged
from ranker.corpora.selection import select_language_pairs, without_references
from ranker.evaluation.metrics.cross_validation import CrossValidation, cross_validate
from ranker.learning.encoder.files import SMALL
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.settings import STANDARD_UNREFERENCED, STANDARD_UNREFERENCED_ANY

CORPORA = {
    "mqm21": ("en-de", "en-ru", "zh-en"),
    "bio21-mqm": ("en-de", "en-es", "en-fr", "en-ru", "de-en", "es-en", "fr-en", "pt-en"),
    "wmt24-esa": ("en-cs", "en-hi"),
    "wmt19-darr": ("gu-en", "kk-en", "lt-en"),
}
ALL, TWO = "all candidates", "two candidates"
PLAIN = "consensus[trust=source].diverse,length[against=candidates]"


def feature_sets(lp: str, encoder: str) -> tuple[str, str]:
    """Return the features that need no encoder of many languages, and those of `reference-free-any` by `encoder`."""
    features = str(FeatureSet.parse(STANDARD_UNREFERENCED_ANY)).replace("encoder=encoder-any", f"encoder={encoder}")
    english = str(FeatureSet.parse(STANDARD_UNREFERENCED)).replace("semantic", f"semantic[encoder={SMALL},layer=5]")
    return english if lp.endswith("-en") else PLAIN, features


def two_of(dataset: Dataset) -> Dataset:
    """Keep two candidates of every source, drawn among those that people order."""
    people = Judged.of(dataset)
    pairs = people.pairs
    order = np.random.default_rng(0).permutation(len(pairs.better))
    drawn = order[np.unique(people.dataset.candidate_source[pairs.better[order]], return_index=True)[1]]
    keep = np.zeros(len(people.dataset), dtype=bool)
    keep[pairs.better[drawn]] = keep[pairs.worse[drawn]] = True
    return people.dataset.select_candidates(keep)


def held_out(dataset: Dataset, features: str) -> CrossValidation:
    """Cross-validate a ranker of `features`, trained on `dataset`."""
    ranker = Ranker(features)
    return cross_validate(ranker, ranker.fit_table(dataset))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--encoder", required=True, help="directory of an encoder that learnt from no judgements")
    options = parser.parse_args()
    for title in (ALL, TWO):
        print("\n".join([title, "", *table(["corpus", "sources", "`reference-free`", "`reference-free-any`"])]))
        for name, language_pairs in CORPORA.items():
            for lp in language_pairs:
                dataset = without_references(select_language_pairs(catalogue.load(locate(name)), [lp]))
                dataset = two_of(dataset) if title == TWO else dataset
                say(f"{name} {lp}")
                results = [held_out(dataset, features) for features in feature_sets(lp, options.encoder)]
                print(row(f"{name} {lp}", results[0].sources, *(figure(each.rows[0].spearman) for each in results)))
        print()


if __name__ == "__main__":
    run_main(main)
