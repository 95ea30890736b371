"""Features and weights of the included rankers: `python bench/included.py MODEL` prints the tables of a card.

MODEL is `full` or `consensus`, for English, or `full-any`. Samples sources of corpora in $RANKER_SHARED/data. Rho per
source of chrF, of F of the encoder alone, of the rankers of --compare, and of rankers of several features that learn
from all corpora but the one that is tested: pairs of a source by the difference of the judgements, each corpus and
within it each language pair with the same weight. The included encoders learnt from all these corpora, so that their
features look better here than on new data: `--encoder DIR/{corpus}` takes, for every corpus, one that left it out
(`bench/train_encoder.py --leave-out`), and without it the one before training is taken: all-MiniLM-L6-v2 or, for
`full-any`, what --encoder names (`bench/encoder_any.py`). With --output, a ranker is learnt from all corpora, and its
confidence from rankers that leave each corpus out, by the encoder that is named; means and scales of features are those
by the included one. The rankers that leave a corpus out are kept in the folder --left-out,
`left-out/MODEL` for `bench/confidence.py` and `bench/agreement_curve.py`.

--add-source DIR/{corpus} adds to the included `consensus` or `full-any` the comparison with the source, for sources
with one or two candidates and no reference; the names are those of encoders that left out a corpus, for the confidence.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from ranker.extractors.base import Extractor
from ranker.extractors.registry import make_metric
from ranker.learning.encoder.files import MULTILINGUAL, SMALL
from ranker.ranking.confidence import Confidence, JudgedPairs, fit_confidence
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.training import TrainingTable, learn_weights, standardiser
from ranker.ranking.weight_sets import WeightSets

CORPORA = ("mqm21", "bio21-mqm", "wmt24-esa", "wmt12", "wmt14", "wmt19-darr")
NONE_KNOWN: UInt32Array = np.zeros(0, np.uint32)
COPYING = "mtcarousel"
"""A system of bio21-mqm whose outputs are references."""
PENALTY = 0.5
"""C; the pairs of a corpus weigh 1."""
LEXICAL = (
    "bleu[order=1,smoothing=add-one],bleu[order=2,smoothing=add-one],bleu[order=3,smoothing=add-one],"
    "bleu[order=4,smoothing=add-one],rouge_l[tokenizer=auto],rouge_w[tokenizer=auto],"
    "ter[search=tercom,tokenizer=auto],ribes[tokenizer=auto],hamming[tokenizer=auto]"
)
CHRF, F = "chrF", "`semantic.f`"
MEANING = "semantic[{encoder}]"
AGREEMENT = f"consensus[metric={MEANING},trust=source].diverse"
BOTH = f"{AGREEMENT},consensus[trust=source].diverse"
CHARACTERS = "ngrams[order=6,unit=character,lowercase=false]"
WORDS, PERPLEXITY = "meteor[modules=exact+stem]", "perp[match=true,model=shipped]"


@dataclass(frozen=True)
class Model:
    """An included ranker: its features, and others that it is compared with, with the place of an encoder's name."""

    features: str
    others: Mapping[str, str]
    encoder: str = ""
    """The included encoder, empty for that of English."""
    before: str = f"encoder={SMALL},layer=5"
    """The encoder before its training."""

    @property
    def english(self) -> bool:
        """True if it is for translations into English."""
        return not self.encoder


MODELS = {
    "full": Model(
        f"{MEANING},{BOTH}",
        {
            "F, cosine, consensus": f"{MEANING}.f,{MEANING}.cosine,{BOTH}",
            "without consensus": MEANING,
            "and METEOR": f"{MEANING},{BOTH},{WORDS}",
            "and perplexity": f"{MEANING},{BOTH},{PERPLEXITY}",
        },
    ),
    "consensus": Model(
        BOTH,
        {
            "by the encoder alone": AGREEMENT,
            "and perplexity": f"{BOTH},{PERPLEXITY}",
            "and lengths": f"{BOTH},length[against=candidates]",
        },
    ),
    "full-any": Model(
        f"{MEANING},{BOTH},chrf",
        {
            "`semantic`, chrF": f"{MEANING},chrf",
            "`semantic`, consensus": f"{MEANING},{BOTH}",
            "n-grams in place of chrF": f"{MEANING},{BOTH},{CHARACTERS}",
            "and words": f"{MEANING},{BOTH},chrf,{LEXICAL}",
        },
        encoder=f"encoder={MULTILINGUAL}",
        before="",
    ),
}
MISMATCH = 1.5
"""Points of score that each difference found by `mismatch` costs in `full` (`bench/mismatch_weights.py`)."""
SOURCE = "semantic[encoder={encoder},against=source].cosine"
CHRF_SHARE = 0.25
"""Weight of agreement by chrF where nothing else is left, that by the encoder being 1, in units of their spread."""


def with_encoder(text: str, encoder: str) -> str:
    """Return features with the name of an encoder, which may be empty."""
    return text.format(encoder=encoder).replace("semantic[]", "semantic")


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


def together(people: Sequence[Judged]) -> TrainingTable:
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
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--most", type=int, default=100, help="sources of a language pair")
    parser.add_argument("--compare", nargs="*", default=[], help="rankers that have learnt")
    parser.add_argument("--encoder", help="folder of an encoder, perhaps with {corpus} in it")
    parser.add_argument("--output", type=Path, help="file for a ranker that learns from all corpora")
    parser.add_argument("--left-out", type=Path, help="folder for rankers that leave out a corpus")
    parser.add_argument(
        "--add-source", metavar="DIR/{corpus}", help="encoders of many languages that left out a corpus"
    )
    options = parser.parse_args()
    model = MODELS[options.model]
    if options.add_source:
        people = corpora_for(model, options.most)
        with_source(Ranker.load(options.model), people, options.add_source).save(options.output)
        return
    encoder = f"encoder={options.encoder}" if options.encoder else model.before
    if not encoder:
        parser.error(f"{options.model} needs --encoder, the one before training")
    people = corpora_for(model, options.most)
    if options.output:
        learn(options.model, people, encoder, options.output, options.left_out)
    else:
        compare(options.model, people, options.compare, encoder)


def corpora_for(model: Model, most: int) -> dict[str, Judged]:
    """Return at most `most` judged sources of every language pair that a model is for, by corpus."""
    result = {}
    for name in CORPORA:
        dataset = whole(name, most)
        if model.english:
            dataset = dataset.select_sources(np.char.endswith(dataset.source_language_pairs.astype(str), "-en"))
        if len(dataset.sources):
            result[name] = Judged.of(dataset)
    return result


def learn(name: str, people: dict[str, Judged], encoder: str, output: Path, folder: Path | None) -> None:
    """Write the ranker that learns from all corpora, and those that leave one out."""
    model = MODELS[name]
    learnt, corpus = together([*people.values()]), corpus_of(people)
    fingerprint = learnt.dataset.fingerprint
    included, taught = (
        Ranker(with_encoder(model.features, each), C=PENALTY, kind=PREFERENCES, pairs="balanced", nonnegative=True)
        for each in (model.encoder, encoder)
    )
    included.learn(learnt, fingerprint)
    learnt = taught.learn(learnt, fingerprint)
    assert taught.training
    training = replace(taught.training, data="+".join(people))
    margins = []
    for place, (left_out, each) in enumerate(people.items()):
        other = finished(name, without(taught, learnt.take(corpus != place)))
        margins.append(other.judged_margins(each.dataset.context))
        if folder:
            folder.mkdir(exist_ok=True, parents=True)
            other.save(folder / f"{left_out}.model")
    taught, included = finished(name, taught), finished(name, included)
    assert included.model
    included.model = included.model.changed(
        weight_sets=replace(included.weight_sets, weights=taught.weight_sets.weights),
        training=training,
        confidence=tuple(fit_confidence(*np.concatenate(part, axis=1)) for part in zip(*margins, strict=True)),
    )
    included.save(output)


def finished(name: str, ranker: Ranker) -> Ranker:
    """Return a ranker with what is not learnt: `mismatch` in `full`, and for English the weights of agreement alone."""
    if not MODELS[name].english:
        return ranker
    assert ranker.model
    agreement = np.array([column.startswith("consensus") for column in ranker.feature_set.columns])
    ratio, weights = np.array([1, CHRF_SHARE]), ranker.weight_sets.weights.copy()
    alone = (ranker.weight_sets.columns == agreement).all(axis=1)
    weights[np.ix_(alone, agreement)] = ratio * np.linalg.norm(weights[alone]) / np.linalg.norm(ratio)
    ranker.model = ranker.model.changed(weight_sets=replace(ranker.weight_sets, weights=weights))
    return with_mismatch(ranker) if name == "full" else ranker


def with_mismatch(old: Ranker) -> Ranker:
    """Return a ranker with `mismatch` added to its features, at the end."""
    features = FeatureSet.parse(f"{old.feature_set},mismatch").with_states(old.feature_set.states())
    more = len(features.columns) - len(old.feature_set.columns)
    # counts of differences are not standardised
    mean, scale = np.append(old.mean, np.zeros(more)), np.append(old.scale, np.ones(more))
    sets = WeightSets.of(features, by_language=old.weight_sets.by_language)
    place = [(old.weight_sets.used == used).all(axis=1).argmax() for used in sets.used[:, :-1]]
    assert (sets.used[:, :-1] == old.weight_sets.used[place]).all()
    penalties = np.where(sets.used[:, -1:], -MISMATCH, 0.0).repeat(more, axis=1)
    sets = replace(sets, weights=np.concatenate([old.weight_sets.weights[place], penalties], axis=1))
    assert old.model
    old.model = old.model.changed(feature_set=features, mean=mean, scale=scale, weight_sets=sets)
    return old


def with_source(old: Ranker, people: dict[str, Judged], encoders: str) -> Ranker:
    """Return a ranker that compares a candidate with the source where nothing else is left, and print how well.

    The weight makes no difference to ranks. The confidence is learnt from the corpora that an encoder has left out.
    """
    assert old.model
    assert not old.feature_set.needs.source
    added = FeatureSet.parse(SOURCE.format(encoder=MULTILINGUAL))
    made, table_of_all = together([*people.values()]).with_features(added)
    mean, scale = standardiser(table_of_all.columns)
    features = FeatureSet((*old.feature_set.extractors, *made.extractors))
    sets = WeightSets.of(features, by_language=old.weight_sets.by_language)
    weights, confidence, own = np.zeros(sets.weights.shape), [], len(old.feature_set.columns)
    alone, sure = float(f"{np.linalg.norm(old.weight_sets.weights[0]):.3g}"), source_confidence(people, encoders)
    for place, used in enumerate(sets.used):
        former = np.flatnonzero((old.weight_sets.used == used[:-1]).all(axis=1))
        if len(former):
            weights[place, :own] = old.weight_sets.weights[former[0]]
            confidence.append(old.confidence[former[0]])
        else:
            assert not used[:-1].any()
            weights[place, -1] = alone
            slope, tie = (float(f"{value:.6g}") for value in (sure.slope / alone, sure.tie * alone))
            confidence.append(Confidence(slope, sure.lapse, tie))
    old.model = old.model.changed(
        settings=replace(old.settings, features=str(features)),
        feature_set=features,
        mean=np.append(old.mean, mean),
        scale=np.append(old.scale, scale),
        weight_sets=replace(sets, weights=weights),
        sources=np.union1d(old.model.sources, features.pretraining_sources),
        confidence=tuple(confidence),
    )
    return old


def source_confidence(people: dict[str, Judged], encoders: str) -> Confidence:
    """Print how well the source orders two candidates; return the confidence by standardised margins."""
    columns, pairs, rows = {}, {}, []
    for name, each in people.items():
        encoder = encoders.format(corpus=name)
        if not Path(encoder).is_dir():
            continue
        columns[name] = (
            together([each]).with_features(FeatureSet.parse(SOURCE.format(encoder=encoder)))[1].columns[:, -1]
        )
        pairs[name] = JudgedPairs.of(each)
    scale = np.concatenate([*columns.values()]).std()
    margins = []
    for name, judged_pairs in pairs.items():
        margin = (columns[name][judged_pairs.first] - columns[name][judged_pairs.second]) / scale
        margins.append(np.stack([margin, judged_pairs.outcome, np.full(len(margin), 1 / len(margin))]))
        dataset = people[name].dataset
        source = dataset.candidate_source[judged_pairs.first]
        agrees = np.where(judged_pairs.outcome == 0.5, np.nan, np.sign(margin) * np.sign(judged_pairs.outcome - 0.5))
        for lp in dataset.language_pairs:
            inside = (dataset.source_language_pairs[source] == lp) & ~np.isnan(agrees)
            number = np.bincount(source[inside], minlength=len(dataset.sources))
            gain = np.bincount(source[inside], agrees[inside], minlength=len(dataset.sources))[number > 0]
            rho = gain / number[number > 0]
            low, high = bootstrap_interval(rho)
            rows.append([f"{name} {lp}", len(rho), f"{rho.mean():.3f} [{low:.3f} {high:.3f}]"])
    print("\n".join(table(["corpus left out", "sources", "two candidates, rho"], rows)))
    found = fit_confidence(*np.concatenate(margins, axis=1))
    assert found
    return found


def corpus_of(people: dict[str, Judged]) -> Int64Array:
    """Return the number of every candidate's corpus."""
    return np.repeat(np.arange(len(people)), [len(each.dataset) for each in people.values()])


def every_feature(model: Model, encoder: str) -> FeatureSet:
    """Return the features of a model and of those that it is compared with, each once."""
    found: dict[str, Extractor] = {}
    for text in (model.features, *model.others.values()):
        for part in FeatureSet.parse(with_encoder(text, encoder)).extractors:
            if not {*part.columns} <= {*found}:
                found |= dict.fromkeys(part.columns, part)
    return FeatureSet(tuple(dict.fromkeys(found.values())))


def features_of(people: dict[str, Judged], model: Model, encoder: str) -> FloatArray:
    """Return every feature of all candidates, of each corpus by the encoder that is named for it."""
    columns = []
    for name, each in people.items():
        features = every_feature(model, encoder.format(corpus=name))
        columns.append(together([each]).with_features(features)[1].columns)
    return np.concatenate(columns)


def compare(name: str, people: dict[str, Judged], rivals: list[str], encoder: str) -> None:
    """Print the tables."""
    model, included = MODELS[name], f"`{name}`"
    learnt, corpus = together([*people.values()]), corpus_of(people)
    every, columns = every_feature(model, model.encoder), features_of(people, model, encoder)
    mean, scale = standardiser(columns)
    learnt = replace(learnt, columns=(columns - mean) / scale)
    dataset, human = learnt.dataset, np.concatenate([scores_of_people(each) for each in people.values()])
    scores = {CHRF: make_metric("chrf").transform(dataset)[:, 0]}
    similarity = with_encoder(f"{MEANING}.f", model.encoder)
    if similarity in every.columns:
        scores[F] = learnt.columns[:, every.columns.index(similarity)]
    scores |= {f"`{rival}`": Ranker.load(rival).candidate_scores(dataset) for rival in rivals}
    for title, text in {included: model.features, **model.others}.items():
        used = np.isin(every.columns, FeatureSet.parse(with_encoder(text, model.encoder)).columns)
        columns, scores[title] = learnt.columns[:, used], np.empty(len(dataset))
        for place in range(len(people)):
            rows = corpus != place
            fitted = learnt.take(rows).learn(columns[rows], C=PENALTY, loss="squared_hinge", signs=every.signs[used])
            weights = np.array([1, CHRF_SHARE]) if title == "`consensus`" else fitted.coef
            scores[title][~rows] = columns[~rows] @ weights
    rho = {title: source_spearman(dataset, each, human) for title, each in scores.items()}
    lp = dataset.source_language_pairs
    tested = np.array([*people])[corpus[dataset.candidate_offsets[:-1]]]
    into = np.char.endswith(lp.astype(str), "-en")
    sides = {"out of English": ~into, "into English": into}
    lines, means = [], dict[str, list[list[float]]]()
    for each, pair in dict.fromkeys(zip(tested.tolist(), lp.tolist(), strict=True)):
        rows = (tested == each) & (lp == pair)
        figures = [float(np.nanmean(values[rows])) for values in rho.values()]
        means.setdefault("into English" if into[rows].all() else "out of English", []).append(figures)
        lines.append([f"{each} {pair}", rows.sum(), *(f"{value:.3f}" for value in figures)])
    for title, several in means.items():
        lines.append([f"mean {title}", sides[title].sum(), *(f"{value:.3f}" for value in np.mean(several, axis=0))])
    print("\n".join(table(["corpus left out", "sources", *scores], lines)), "")
    changes = []
    for title, inside in sides.items():
        for each in ("all", *people):
            rows = inside & ((tested == each) | (each == "all"))
            if rows.any():
                less = [rho[included][rows] - other[rows] for key, other in rho.items() if key != included]
                changes.append([f"{each}, {title}", rows.sum(), *map(difference, less)])
    print("\n".join(table([f"{included} less", "sources", *(key for key in rho if key != included)], changes)))


if __name__ == "__main__":
    run_main(main)
