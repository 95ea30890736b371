"""Features for any language, and `full-any`: `python bench/any_language.py` prints the tables of its card.

Samples sources of corpora in $RANKER_SHARED/data. Spearman's rho per source of chrF, of F of the encoder alone, of the
rankers of --compare, and of rankers of several features that learn from all corpora but the one that is tested: pairs
of a source by the difference of the judgements, each corpus and within it each language pair with the same weight.
The included encoder learnt from all these corpora, so that its features look better here than on new data: `--encoder
DIR/{corpus}` takes, for every corpus, one that left it out (`bench/train_encoder_any.py --leave-out`), `--encoder DIR`
the one before training (`bench/encoder_any.py`). With --output, a ranker of the features of `full-any` is learnt from
all corpora, and its confidence from rankers that leave each corpus out, by the encoder that is named; means and scales
of features are those by the included one. The rankers that leave a corpus out are kept in the folder --left-out for
`bench/agreement_curve.py`.
"""

from __future__ import annotations

import argparse
import copy
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.common import drawn_sources, locate, run_main, table
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import PREFERENCES, Judged, PreferencePairs, human_scores, judged
from ranker.corpora.source_keys import UInt32Array, among, short_keys
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.resampling.significance import bootstrap_interval
from ranker.extractors.registry import make_metric
from ranker.learning.encoder.files import MULTILINGUAL
from ranker.ranking.confidence import fit_confidence
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.training import TrainingTable, learn_weights, standardiser

CORPORA = ("mqm21", "bio21-mqm", "wmt24-esa", "wmt12", "wmt14", "wmt19-darr")
NONE_KNOWN: UInt32Array = np.zeros(0, np.uint32)
COPYING = "mtcarousel"
"""A system of bio21-mqm whose outputs are references."""
PENALTY = 0.5
"""C; the pairs of a corpus weigh 1."""
ENCODER = f"semantic[encoder={MULTILINGUAL}]"
CONSENSUS = f"consensus[metric={ENCODER},trust=source].diverse,consensus[trust=source].diverse"
LEXICAL = (
    "bleu[order=1,smoothing=add-one],bleu[order=2,smoothing=add-one],bleu[order=3,smoothing=add-one],"
    "bleu[order=4,smoothing=add-one],rouge_l[tokenizer=auto],rouge_w[tokenizer=auto],"
    "ter[search=tercom,tokenizer=auto],ribes[tokenizer=auto],hamming[tokenizer=auto]"
)
FULL_ANY = FeatureSet.parse("full-any")
CHRF, F, INCLUDED = "chrF", "`semantic.f`", "`full-any`"
SETS = {
    "`semantic`, chrF": f"{ENCODER},chrf",
    "`semantic`, consensus": f"{ENCODER},{CONSENSUS}",
    INCLUDED: "full-any",
    "n-grams in place of chrF": f"{ENCODER},{CONSENSUS},ngrams[order=6,unit=character,lowercase=false]",
    "and words": f"full-any,{LEXICAL}",
}


def whole(name: str, most: int, known: UInt32Array = NONE_KNOWN) -> Dataset:
    """Return at most `most` sources of every language pair, without `known` sources, with all their candidates."""
    corpus = catalogue.load(locate(name))
    corpus = corpus.select_candidates((corpus.candidates["system"] != COPYING).to_numpy())
    rated = np.bincount(corpus.candidate_source[judged(corpus)], minlength=len(corpus.sources))
    return corpus.select_sources(drawn_sources(corpus, (rated > 2) & ~among(corpus, known), most))


def sample(name: str, most: int, known: UInt32Array = NONE_KNOWN) -> Dataset:
    """Return the judged candidates of `whole`."""
    corpus = whole(name, most, known)
    return corpus.select_candidates(judged(corpus))


def scores_of_people(people: Judged) -> FloatArray:
    """Return the human score of every candidate, of preferences the rate of wins."""
    return human_scores(people.dataset, "win-rate") if people.kind == PREFERENCES else people.human


def pairs_of(dataset: Dataset, human: FloatArray) -> PreferencePairs:
    """Pairs with different scores, weighted by the difference, every language pair the same, 1 in all."""
    better, worse, weight = [], [], []
    for start, stop in zip(dataset.candidate_offsets, dataset.candidate_offsets[1:], strict=False):
        margin = human[start:stop, np.newaxis] - human[start:stop]
        first, second = np.nonzero(margin > 0)
        better.append(start + first)
        worse.append(start + second)
        margins = margin[first, second]
        weight.append(margins / max(margins.sum(), 1e-12) * len(margins) ** 0.5)
    pairs = PreferencePairs(*map(np.concatenate, (better, worse, weight)))
    lp = dataset.source_language_pairs[dataset.candidate_source[pairs.better]]
    for each in set(lp):
        pairs.weight[lp == each] /= pairs.weight[lp == each].sum() * len(set(lp))
    return pairs


def together(people: list[Judged]) -> TrainingTable:
    """Put the pairs of corpora into one table, without features."""
    context = concatenate_datasets([each.dataset.context for each in people])
    dataset = context.in_context(np.concatenate([each.dataset.context_rows for each in people]))
    starts = np.cumsum([0, *(len(each.dataset) for each in people)])
    pairs = [pairs_of(each.dataset, scores_of_people(each)) for each in people]
    better, worse = (
        np.concatenate([getattr(part, side) + start for part, start in zip(pairs, starts, strict=False)])
        for side in ("better", "worse")
    )
    weight = np.concatenate([part.weight for part in pairs])
    return TrainingTable(dataset, PREFERENCES, None, PreferencePairs(better, worse, weight))


def without(ranker: Ranker, learnt: TrainingTable) -> Ranker:
    """Return a ranker of the same features that learns from a part of what it was learnt from."""
    other = copy.copy(ranker)
    fingerprint = learnt.dataset.fingerprint
    sets, training, _ = learn_weights(learnt, ranker.feature_set, ranker.settings, data_hash=fingerprint)
    assert ranker.model
    fields = {"weight_sets": sets, "training": training, "sources": short_keys(learnt.dataset), "confidence": ()}
    other.model = ranker.model.changed(**fields)
    return other


def difference(values: FloatArray) -> str:
    low, high = bootstrap_interval(values)
    return f"{np.nanmean(values):+.3f} [{low:+.3f} {high:+.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=100, help="sources of a language pair")
    parser.add_argument("--compare", nargs="*", default=[], help="rankers that have learnt")
    parser.add_argument("--encoder", default=MULTILINGUAL, help="folder of an encoder, perhaps with {corpus} in it")
    parser.add_argument("--output", type=Path, help="file for a ranker that learns from all corpora")
    parser.add_argument("--left-out", type=Path, help="folder for rankers that leave out a corpus")
    options = parser.parse_args()
    people = [Judged.of(whole(name, options.most)) for name in CORPORA]
    learnt = together(people)
    corpus = np.repeat(np.arange(len(people)), [len(each.dataset) for each in people])
    if options.output:
        learn(learnt, corpus, people, options.encoder, options.output, options.left_out)
    else:
        compare(learnt, corpus, people, options.compare, options.encoder)


def learn(
    learnt: TrainingTable, corpus: Int64Array, people: list[Judged], encoder: str, output: Path, folder: Path | None
) -> None:
    """Write the ranker that learns from all corpora, and those that leave one out."""
    fingerprint = learnt.dataset.fingerprint
    settings = {"C": PENALTY, "kind": PREFERENCES, "pairs": "balanced", "nonnegative": True}
    included = Ranker("full-any", **settings)
    taught = Ranker(",".join(map(str, FULL_ANY.extractors)).replace(MULTILINGUAL, encoder), **settings)
    included.learn(learnt, fingerprint)
    learnt = taught.learn(learnt, fingerprint)
    assert taught.training
    margins = []
    for place, (name, each) in enumerate(zip(CORPORA, people, strict=True)):
        other = without(taught, learnt.take(corpus != place))
        margins.append(other.judged_margins(each.dataset.context))
        if folder:
            folder.mkdir(exist_ok=True)
            other.save(folder / f"{name}.model")
    assert included.model
    included.model = included.model.changed(
        weight_sets=replace(included.weight_sets, weights=taught.weight_sets.weights),
        training=replace(taught.training, data="+".join(CORPORA)),
        confidence=tuple(fit_confidence(*np.concatenate(part, axis=1)) for part in zip(*margins, strict=True)),
    )
    included.save(output)


def features_of(people: list[Judged], text: str, encoder: str) -> FloatArray:
    """Return features of all candidates, of each corpus by the encoder that is named for it."""
    columns = []
    for name, each in zip(CORPORA, people, strict=True):
        features = FeatureSet.parse(text.replace(MULTILINGUAL, encoder.format(corpus=name)))
        columns.append(together([each]).with_features(features)[1].columns)
    return np.concatenate(columns)


def compare(learnt: TrainingTable, corpus: Int64Array, people: list[Judged], rivals: list[str], encoder: str) -> None:
    """Print the tables."""
    parts = [part for text in SETS.values() for part in FeatureSet.parse(text).extractors]
    every = FeatureSet(tuple({str(part): part for part in parts}.values()))
    columns = features_of(people, ",".join(map(str, every.extractors)), encoder)
    mean, scale = standardiser(columns)
    learnt = replace(learnt, columns=(columns - mean) / scale)
    dataset, human = learnt.dataset, np.concatenate([scores_of_people(each) for each in people])
    scores = {
        CHRF: make_metric("chrf").transform(dataset)[:, 0],
        F: learnt.columns[:, every.columns.index(f"{ENCODER}.f")],
    }
    scores |= {f"`{name}`": Ranker.load(name).candidate_scores(dataset) for name in rivals}
    for title, text in SETS.items():
        used = np.isin(every.columns, FeatureSet.parse(text).columns)
        columns, scores[title] = learnt.columns[:, used], np.empty(len(dataset))
        for place in range(len(people)):
            rows = corpus != place
            fitted = learnt.take(rows).learn(columns[rows], C=PENALTY, loss="squared_hinge", signs=every.signs[used])
            scores[title][~rows] = columns[~rows] @ fitted.coef
    rho = {title: source_spearman(dataset, each, human) for title, each in scores.items()}
    lp = dataset.source_language_pairs
    name = np.array(CORPORA)[corpus[dataset.candidate_offsets[:-1]]]
    into = np.char.endswith(lp.astype(str), "-en")
    sides = {"out of English": ~into, "into English": into}
    lines, means = [], dict[str, list[list[float]]]()
    for each, pair in dict.fromkeys(zip(name.tolist(), lp.tolist(), strict=True)):
        rows = (name == each) & (lp == pair)
        figures = [float(np.nanmean(values[rows])) for values in rho.values()]
        means.setdefault("into English" if into[rows].all() else "out of English", []).append(figures)
        lines.append([f"{each} {pair}", rows.sum(), *(f"{value:.3f}" for value in figures)])
    for title, several in means.items():
        lines.append([f"mean {title}", sides[title].sum(), *(f"{value:.3f}" for value in np.mean(several, axis=0))])
    print("\n".join(table(["corpus left out", "sources", *scores], lines)), "")
    changes = []
    for title, inside in sides.items():
        for each in ("all", *CORPORA):
            rows = inside & ((name == each) | (each == "all"))
            if rows.any():
                less = [rho[INCLUDED][rows] - other[rows] for key, other in rho.items() if key != INCLUDED]
                changes.append([f"{each}, {title}", rows.sum(), *map(difference, less)])
    print("\n".join(table([f"{INCLUDED} less", "sources", *(key for key in rho if key != INCLUDED)], changes)))


if __name__ == "__main__":
    run_main(main)
