"""What is said of a system does not depend on which other systems there are, what they are called, or their order."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.selection import select_language_pairs
from ranker.errors import OptionError
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.systems.contrast.run import contrast
from ranker.evaluation.systems.run import compare_systems
from ranker.ranking import included as included_models
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import RankerScorer, Scorer, make_scorer
from tests.effort import further, thorough

FEATURES = "chrf,ngrams[order=1],length,length[against=candidates],consensus,consensus[trust=source,neighbours=2].near"
WORDS = [f"{start}{end}" for start in ("wa", "ki", "sor", "el") for end in ("n", "t", "mo", "rd")]
SOURCES = 8
Outputs = dict[str, list[str]]
"""Translations of all sources, by system."""


def sentence(generator: np.random.Generator) -> str:
    return " ".join(generator.choice(WORDS, size=generator.integers(4, 9)))


def damaged(text: str, share: float, generator: np.random.Generator) -> str:
    return " ".join(str(generator.choice(WORDS)) if generator.random() < share else word for word in text.split())


REFERENCES = [sentence(np.random.default_rng(number)) for number in range(SOURCES)]


@functools.cache
def output(seed: int, share: float) -> tuple[str, ...]:
    generator = np.random.default_rng(seed)
    return tuple(damaged(text, share, generator) for text in REFERENCES)


def dataset_of(outputs: Outputs, lp: str = "de-en") -> Dataset:
    return assemble(
        [
            Record(
                f"Quelle {row}",
                [reference],
                [
                    Candidate(name, texts[row], [("fluency", None, float(-place))])
                    for place, (name, texts) in enumerate(outputs.items())
                ],
                lp=lp,
                doc=f"d{row % 2}",
            )
            for row, reference in enumerate(REFERENCES)
        ],
        "made",
    )


@functools.cache
def scorer(name: str) -> Scorer:
    if name == "trained":
        train = {f"t{place}": list(output(50 + place, 0.1 * place)) for place in range(6)}
        return RankerScorer(Ranker(FEATURES, C=0.01).fit(dataset_of(train)))
    return make_scorer(None, name) if name in included_models.names() else make_scorer(name, None)


def said(
    outputs: Outputs | Dataset, name: str, test: str = "bs", resamples: int = 60
) -> dict[object, tuple[float, ...]]:
    """Return the score and interval of every system by its texts, and difference and p of every two."""
    dataset = outputs if isinstance(outputs, Dataset) else dataset_of(outputs)
    result = compare_systems(dataset, {"m": scorer(name)}, test=test, resamples=resamples)  # type: ignore[arg-type]
    (comparison,) = result.comparisons
    found: dict[object, tuple[float, ...]] = {}
    for each in comparison.systems:
        found[each.system] = (each.score.value, each.score.low, each.score.high)
    for pair in comparison.pairs:
        apart = pair.difference
        sign = 1 if pair.better < pair.worse else -1
        bounds = sorted([sign * apart.low, sign * apart.high])
        found[frozenset([pair.better, pair.worse])] = (sign * apart.value, *bounds, pair.p)
    return found


def agree(one: dict[object, tuple[float, ...]], other: dict[object, tuple[float, ...]], names: set[str]) -> None:
    """What both say of the `names` is the same: to the last bit, but for bounds of a difference that changed sides."""
    for key, values in one.items():
        if (key if isinstance(key, frozenset) else {key}) <= names:
            assert other[key] == pytest.approx(values, abs=1e-9), key
            assert (other[key][0], other[key][-1]) == (values[0], values[-1]), key


systems = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.2, 0.6, 1.0])),
    min_size=2,
    max_size=6,
)


@given(systems, st.data())
@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("trained", "bs"),
        ("nist", "ar"),
        *(further(name, "bs") for name in ("chrf", "bleu", "nist")),
        *(further(name, "ar") for name in ("trained", "chrf", "bleu")),
    ],
)
@thorough
def test_other_systems_change_no_score_interval_or_p(name, test, drawn, data):
    outputs = {key: list(output(*value)) for key, value in drawn.items()}
    before = said(outputs, name, test)
    kept = sorted(data.draw(st.sets(st.sampled_from(sorted(outputs)), min_size=2)))
    agree(said({key: outputs[key] for key in kept}, name, test), before, set(kept))
    copied = data.draw(st.sampled_from(sorted(outputs)))
    more = {"A copy": outputs[copied], **dict(reversed(outputs.items())), "z copy": outputs[copied]}
    agree(before, said(more, name, test), set(outputs))
    renamed = {f"{'z' if key < 'd' else 'A'}{key}": texts for key, texts in outputs.items()}
    after = said(renamed, name, test)
    for key in outputs:
        assert after[next(new for new in renamed if new[1:] == key)] == pytest.approx(before[key], abs=1e-9)


@pytest.mark.parametrize("name", ["consensus", "consensus.weighted", "combine[chrf+consensus.mean]"])
def test_what_compares_candidates_scores_no_system(name):
    data = dataset_of({key: list(output(place, 0.2)) for place, key in enumerate("abc")})
    what = "the model" if name == "consensus" else str(scorer(name).name)
    for score in (
        lambda: compare_systems(data, {"m": scorer(name)}, resamples=9),
        lambda: contrast(data, "a", "b", scorer(name), parser="none"),
        lambda: CandidateScores.of(scorer(name), data, levels=["system"]),
    ):
        with pytest.raises(OptionError) as refused:
            score()
        assert str(refused.value).startswith(f"{what} compares candidates with one another, which is evidence about a")
        assert "or rank systems by human judgements with ranker agreement" in str(refused.value)
        assert "use a metric or model that compares with references, such as chrf or full" in str(refused.value)
    assert len(CandidateScores.of(scorer(name), data, levels=["segment"]).scores) == len(data)


def test_signature_and_one_note_say_what_systems_are_scored_without():
    data = dataset_of({key: list(output(place, 0.2)) for place, key in enumerate("abcd")})
    (metric,) = compare_systems(data, {"m": scorer("trained")}, resamples=9).metrics
    left_out = "length[against=candidates], consensus"
    assert metric.signature == scorer("trained").signature(data) + f"|systems:without {left_out}"
    assert metric.notes == (
        f"systems are scored without {left_out}: comparing candidates with one another says nothing about a system",
        "m was trained on all sources of made",
    )
    (metric,) = compare_systems(data, {"m": scorer("chrf")}, resamples=9).metrics
    assert "systems:" not in metric.signature
    assert metric.notes == ()


def test_the_system_score_is_the_mean_by_the_weights_learnt_without_comparing():
    data = dataset_of({key: list(output(place, 0.2)) for place, key in enumerate("abcd")})
    ranker = scorer("trained").ranker
    sets, columns = ranker.weight_sets, ranker.feature_set.transform(data)
    (place,) = [at for at, used in enumerate(sets.used) if used.tolist() == [True, True, True, False, False, False]]
    scores = ((columns - ranker.mean) / ranker.scale * sets.weights[place]).sum(axis=1)
    wanted = scores.reshape(SOURCES, 4).mean(axis=0)
    values = said({key: list(output(place, 0.2)) for place, key in enumerate("abcd")}, "trained")
    assert [values[key][0] for key in "abcd"] == pytest.approx(wanted, abs=1e-12)
    of_systems = CandidateScores.of(scorer("trained"), data)
    assert of_systems.system_scores == pytest.approx(scores, abs=1e-12)
    assert of_systems.scores == pytest.approx(ranker.candidate_scores(data), abs=1e-12)


@pytest.mark.parametrize(
    ("corpus", "lp", "name", "sources"),
    [
        ("wmt21-mqm", "zh-en", "chrf", 100),
        further("wmt15-rr", "cs-en", "chrf", 500),
        further("wmt21-mqm", "zh-en", "full", 60),
        further("wmt15-rr", "cs-en", "full", 60),
    ],
)
@thorough
def test_each_real_system_left_out_in_turn_changes_nothing(shared, corpus, lp, name, sources):
    path = shared / "data" / f"{corpus}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in $RANKER_SHARED")
    whole = select_language_pairs(catalogue.load(str(path)), [lp])
    names = whole.candidates["system"].to_numpy(object)
    complete = np.diff(whole.candidate_offsets) == len(set(names))
    whole = whole.select_sources(complete & (np.cumsum(complete) <= sources))
    names = whole.candidates["system"].to_numpy(object)
    before = said(whole, name)
    for left_out in sorted(set(names)):
        agree(said(whole.select_candidates(names != left_out), name), before, set(names) - {left_out})
