"""Gain by the encoder of many languages: `python bench/any_language.py` prints the tables of its card.

Samples sources of corpora in $RANKER_SHARED/data. Spearman's rho per source of chrF, `full-any`, and F of the encoder
alone, and of rankers of several features that learn from all corpora but the one that is tested: pairs of a source by
the difference of the judgements, each corpus and within it each language pair with the same weight, squared hinge loss.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import minimize

from bench.common import drawn_sources, locate, run_main, say, table
from ranker.arrays import BoolArray, FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, source_language_pairs
from ranker.corpora.judgements import human_scores, judged, resolve_kind
from ranker.corpora.source_keys import UInt32Array, among
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.resampling.significance import bootstrap_interval
from ranker.extractors.registry import make_metric
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker

CORPORA = ("mqm21", "bio21-mqm", "wmt24-esa", "wmt12", "wmt14", "wmt19-darr")
NONE_KNOWN: UInt32Array = np.zeros(0, np.uint32)
COPYING = "mtcarousel"
"""A system of bio21-mqm whose outputs are references."""
ENCODER = "semantic[encoder=encoder-any]"
CHARACTERS = "ngrams[order=6,unit=character,lowercase=false]"
LEXICAL = (
    "bleu[order=1,smoothing=add-one],bleu[order=2,smoothing=add-one],bleu[order=3,smoothing=add-one],"
    "bleu[order=4,smoothing=add-one],rouge_l[tokenizer=auto],rouge_w[tokenizer=auto],"
    "ter[search=tercom,tokenizer=auto],ribes[tokenizer=auto],hamming[tokenizer=auto]"
)
SETS = {
    "words and characters": f"{CHARACTERS},{LEXICAL}",
    "features of `full-any`": "full-any",
    "and `semantic`": f"full-any,{ENCODER}",
    "`standard-any`": "standard-any",
    "and words": f"standard-any,{LEXICAL}",
}
CHRF, FULL, F = "chrF", "`full-any`", "`semantic.f`"
WORDS, ANY, WITH, STANDARD, MORE = SETS
DIFFERENCES = (
    *((F, CHRF), (F, FULL), (WITH, ANY), (STANDARD, CHRF), (STANDARD, WORDS), (STANDARD, WITH), (MORE, STANDARD)),
)


def sample(name: str, most: int, known: UInt32Array = NONE_KNOWN) -> Dataset:
    """Return the judged candidates of at most `most` sources of every language pair, without `known` sources."""
    whole = catalogue.load(locate(name))
    whole = whole.select_candidates(judged(whole) & (whole.candidates["system"] != COPYING).to_numpy())
    several = (np.diff(whole.candidate_offsets) > 2) & ~among(whole, known)
    return whole.select_sources(drawn_sources(whole, several, most))


class Corpus:
    """A sample with its judgements, the columns of all features, and pairs of candidates to learn from."""

    def __init__(self, dataset: Dataset, features: FeatureSet) -> None:
        kind = resolve_kind(dataset, "auto")
        self.dataset, self.columns = dataset, features.transform(dataset)
        self.human = human_scores(dataset, "win-rate" if kind == "preferences" else kind)
        self.lp = source_language_pairs(dataset)
        better, worse, weight = [], [], []
        for start, stop in zip(dataset.candidate_offsets, dataset.candidate_offsets[1:], strict=False):
            margin = self.human[start:stop, np.newaxis] - self.human[start:stop]
            first, second = np.nonzero(margin > 0)
            better.append(start + first)
            worse.append(start + second)
            margins = margin[first, second]
            weight.append(margins / max(margins.sum(), 1e-12) * len(margins) ** 0.5)
        self.better, self.worse, self.weight = map(np.concatenate, (better, worse, weight))
        lp = self.lp[dataset.candidate_source[self.better]]
        for each in set(lp):
            self.weight[lp == each] /= self.weight[lp == each].sum() * len(set(lp))

    def rho(self, scores: FloatArray) -> FloatArray:
        """Return Spearman's rho of every source."""
        return source_spearman(self.dataset, scores, self.human)


def learnt(corpora: list[Corpus], used: BoolArray, strength: float) -> FloatArray:
    """Return the weights of the used columns: squared hinge loss on standardised columns."""
    scale = np.concatenate([corpus.columns[:, used] for corpus in corpora]).std(axis=0)
    scale[scale == 0] = 1.0
    rows = [corpus.columns[corpus.better][:, used] - corpus.columns[corpus.worse][:, used] for corpus in corpora]
    pairs, weight = np.concatenate(rows) / scale, np.concatenate([corpus.weight / len(corpora) for corpus in corpora])

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        lacking = np.maximum(1 - pairs @ weights, 0)
        value = float(weight @ lacking**2 + weights @ weights / (2 * strength))
        return value, weights / strength - 2 * pairs.T @ (weight * lacking)

    found: FloatArray = minimize(loss, np.zeros(pairs.shape[1]), jac=True, method="L-BFGS-B").x
    return found / scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=100, help="sources of a language pair")
    parser.add_argument("--strength", type=float, default=10.0, help="C of the rankers")
    options = parser.parse_args()
    sets = {title: FeatureSet.parse(text) for title, text in SETS.items()}
    full, chrf = Ranker.load("full-any"), make_metric("chrf")
    # what learns from references has learnt with `full-any`
    parts = [*(part for each in sets.values() for part in each.extractors), *full.feature_set.extractors]
    every = FeatureSet(tuple({str(part): part for part in parts}.values()))
    corpora = {}
    for name in CORPORA:
        say(name)
        corpora[name] = Corpus(sample(name, options.most), every)
    lines, rhos = [], dict[str, list[dict[str, FloatArray]]]()
    for name, corpus in corpora.items():
        others = [other for other in corpora.values() if other is not corpus]
        scores = {CHRF: chrf.transform(corpus.dataset)[:, 0], FULL: full.candidate_scores(corpus.dataset)}
        scores[F] = corpus.columns[:, every.columns.index(f"{ENCODER}.f")]
        for title, features in sets.items():
            used = np.isin(every.columns, features.columns)
            scores[title] = corpus.columns[:, used] @ learnt(others, used, options.strength)
        by_source = {title: corpus.rho(each) for title, each in scores.items()}
        for lp in corpus.dataset.language_pairs:
            part = {title: rho[corpus.lp == lp] for title, rho in by_source.items()}
            rhos.setdefault("into English" if lp.endswith("-en") else "out of English", []).append(part)
            lines.append([f"{name} {lp}", *(f"{np.nanmean(rho):.3f}" for rho in part.values())])
    for title, parts in rhos.items():
        lines.append(
            [f"mean {title}", *(f"{np.mean([np.nanmean(part[of]) for part in parts]):.3f}" for of in parts[0])]
        )
    print("\n".join(table(["corpus left out", CHRF, FULL, F, *SETS], lines)))
    for title, parts in rhos.items():
        for first, second in DIFFERENCES:
            values = np.concatenate([part[first] - part[second] for part in parts])
            low, high = bootstrap_interval(values)
            print(f"{title}: {first} less {second}: {np.nanmean(values):+.3f} [{low:+.3f} {high:+.3f}]")


if __name__ == "__main__":
    run_main(main)
