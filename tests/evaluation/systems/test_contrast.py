"""Two systems against each other: every figure against brute force on small invented data, and properties."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import ranker
from ranker import load_dataset
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from ranker.evaluation.resampling.bootstrap import stream
from ranker.evaluation.systems.contrast.result import WORD_F1, WORD_RECALL, Bucket, SystemContrast
from ranker.evaluation.systems.contrast.run import contrast
from ranker.evaluation.systems.contrast.words import FREQUENCIES, LENGTHS, bucket_names, bucket_of
from ranker.evaluation.systems.levels import Units
from ranker.extractors.dependency.parsed import parses_of
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import MetricScorer, RankerScorer
from ranker.text.tokens import distinct_sentences

WORDS = [f"{letter}{number}" for number in range(12) for letter in "abc"]
NAMES = ("A", "B")


def invented(sources: int = 24, references: int = 1, seed: int = 0) -> Dataset:
    """Make a data set of three systems with documents and two language pairs; sentences of 0 to 25 words."""
    draw = random.Random(seed)

    def sentence(shortest: int = 0) -> str:
        return " ".join(draw.choice(WORDS[: draw.choice([2, 6, 36])]) for _ in range(draw.randint(shortest, 25)))

    return assemble(
        [
            Record(
                f"source {number}",
                [sentence(1) for _ in range(references)],
                [Candidate(name, sentence(), []) for name in ("A", "B", "C")],
                lp="de-en" if number % 3 else "fr-en",
                doc=f"doc{number // 5}",
                seg_id=str(number),
            )
            for number in range(sources)
        ],
        "invented",
    )


def texts(dataset: Dataset, system: str) -> list[list[str]]:
    chosen = dataset.candidates[dataset.candidates["system"] == system]
    return [text.split() for text in chosen.sort_values("source")["text"]]


def references_of(dataset: Dataset) -> list[list[list[str]]]:
    return [
        [text.split() for text in dataset.references["text"][dataset.references["source"] == source]]
        for source in range(len(dataset.sources))
    ]


def f_of(candidate: list[str], reference: list[str]) -> float:
    matched = (Counter(candidate) & Counter(reference)).total()
    return 2 * matched / max(len(candidate) + len(reference), 1)


def best_references(dataset: Dataset, system: str) -> list[list[str]]:
    """Return the reference that every translation matches best; the first of equal ones."""
    joined = zip(texts(dataset, system), references_of(dataset), strict=True)
    return [max(several, key=lambda item: f_of(words, item)) for words, several in joined]


def scorer(text: str = "bleu[smoothing=add-one,tokenizer=none]") -> MetricScorer:
    return MetricScorer(make_metric(text))


def run(dataset: Dataset, first: str = "A", second: str = "B", **options: object) -> SystemContrast:
    chosen = {"parser": "none", "tokenizer": "none", "resamples": 40, **options}
    return contrast(dataset, first, second, chosen.pop("scorer", None) or scorer(), **chosen)


def buckets(found: SystemContrast, subject: str, measure: str) -> dict[str, Bucket]:
    (breakdown,) = [each for each in found.breakdowns if (each.subject, each.measure) == (subject, measure)]
    return {bucket.name: bucket for bucket in breakdown.buckets}


@pytest.mark.parametrize("references", [1, 2])
def test_words_by_frequency_are_those_of_brute_force(references: int) -> None:
    dataset = invented(references=references)
    known = Counter(word for several in references_of(dataset) for entry in several for word in entry)
    result = run(dataset)
    names = bucket_names(FREQUENCIES)
    for side, system in zip(("first", "second"), NAMES, strict=True):
        sums = {name: [0, 0, 0] for name in names}
        for words, reference in zip(texts(dataset, system), best_references(dataset, system), strict=True):
            matched = Counter(words) & Counter(reference)
            for place, counts in enumerate((matched, Counter(words), Counter(reference))):
                for word, count in counts.items():
                    sums[names[int(bucket_of(known[word], FREQUENCIES))]][place] += count
        for measure in (WORD_F1, WORD_RECALL):
            shown = buckets(result, "frequency", measure)
            assert {name for name in names if sums[name][2]} <= set(shown)
            assert references > 1 or all(sums[name][2] for name in shown)
            for name, item in shown.items():
                m, c, r = sums[name]
                expected = np.nan if r == 0 else 2 * m / (c + r) if measure == WORD_F1 else m / r
                assert getattr(item, side).value == pytest.approx(expected, abs=1e-12, nan_ok=True)
                if references == 1:
                    assert item.size == r


def test_words_may_be_counted_in_another_text(tmp_path: Path) -> None:
    dataset = invented()
    path = tmp_path / "train.txt"
    path.write_text("a0 b0 zz\na0 a0 a0 a0\n")
    result = run(dataset, train_text=path)
    shown = buckets(result, "frequency", WORD_F1)
    assert list(shown) == ["0", "1", "5-9"]
    known = Counter(word for several in references_of(dataset) for item in several for word in item)
    assert (shown["1"].size, shown["5-9"].size) == (known["b0"], known["a0"])
    assert result.frequencies == str(path)


def test_groups_of_segments_have_their_own_scores() -> None:
    dataset = invented()
    bleu = scorer()
    result = run(dataset)
    statistics = bleu.statistics(dataset)
    systems = dataset.candidates["system"].to_numpy(object)
    lengths = [len(several[0]) for several in references_of(dataset)]
    group = {
        "length": [bucket_names(LENGTHS)[int(bucket_of(length, LENGTHS))] for length in lengths],
        "document": (dataset.sources["lp"] + " " + dataset.sources["doc"]).tolist(),
        "language pair": dataset.source_language_pairs.tolist(),
    }
    for subject, labels in group.items():
        for name, bucket in buckets(result, subject, bleu.name).items():
            sources = [source for source, label in enumerate(labels) if label == name]
            assert bucket.size == len(sources)
            for side, system in zip(("first", "second"), NAMES, strict=True):
                rows = np.isin(dataset.candidate_source, sources) & (systems == system)
                assert getattr(bucket, side).value == pytest.approx(float(bleu.score(statistics[rows].sum(axis=0))))
        total = sum(item.size for item in buckets(result, subject, bleu.name).values())
        assert total == len(dataset.sources)


def test_figures_of_the_whole_are_those_of_the_metrics() -> None:
    dataset = load_dataset("sample")
    result = run(dataset, "sys2", "sys6", tokenizer="13a", scorer=scorer("chrf"))
    shown = buckets(result, "overall", "")
    units = Units.of(dataset, "system")
    systems = units.keys["system"].tolist()
    for name, metric in (("chrf", "chrf"), (WORD_F1, "f1"), (WORD_RECALL, "recall"), ("nkt", "nkt")):
        single = scorer(metric)
        scores = units.score(single, single.statistics(dataset))
        for side, system in (("first", "sys2"), ("second", "sys6")):
            assert getattr(shown[name], side).value == pytest.approx(scores[systems.index(system)], abs=1e-12)
    for single in shown.values():
        assert single.first.low <= single.first.value <= single.first.high
        assert single.difference.low <= single.difference.value <= single.difference.high
        assert single.difference.value == pytest.approx(single.first.value - single.second.value)


def test_length_ratio_takes_the_closest_reference() -> None:
    dataset = assemble(
        [Record("x", ["a b", "a b c d e"], [Candidate("A", "a b c d", []), Candidate("B", "a b c", [])])], "test"
    )
    ratio = buckets(run(dataset), "overall", "")["length ratio"]
    assert (ratio.first.value, ratio.second.value) == (4 / 5, 3 / 2)


def test_intervals_are_those_of_a_loop_over_resamples() -> None:
    dataset = invented()
    result = run(dataset, resamples=30, seed=5)
    size = len(dataset.sources)
    known = Counter(word for several in references_of(dataset) for item in several for word in item)

    def loop(subject: str, figure) -> list[list[float]]:
        weights = stream(5, subject).multinomial(size, np.full(size, 1.0 / size), size=30)
        values = np.array([[figure(system, row) for system in NAMES] for row in weights])
        differences = values[:, 0] - values[:, 1]
        return [np.nanpercentile(column, [2.5, 97.5]).tolist() for column in (*values.T, differences)]

    def f_of_frequent(system: str, weights: np.ndarray) -> float:
        m = c = r = 0
        for weight, words, reference in zip(
            weights, texts(dataset, system), best_references(dataset, system), strict=True
        ):
            selected = [[word for word in side if 5 <= known[word] <= 9] for side in (words, reference)]
            m += weight * (Counter(selected[0]) & Counter(selected[1])).total()
            c, r = c + weight * len(selected[0]), r + weight * len(selected[1])
        return 2 * m / (c + r) if r else np.nan

    single = buckets(result, "frequency", WORD_F1)["5-9"]
    shown = [[each.low, each.high] for each in (single.first, single.second, single.difference)]
    assert np.array(shown) == pytest.approx(np.array(loop("frequency", f_of_frequent)))

    bleu = scorer()
    statistics = bleu.statistics(dataset)
    systems = dataset.candidates["system"].to_numpy(object)
    document = ((dataset.sources["doc"] == "doc1") & (dataset.sources["lp"] == "de-en")).to_numpy()

    def score_of_document(system: str, weights: np.ndarray) -> float:
        rows = statistics[systems == system] * (weights * document)[:, np.newaxis]
        return float(bleu.score(rows.sum(axis=0))) if (weights * document).any() else np.nan

    single = buckets(result, "document", bleu.name)["de-en doc1"]
    shown = [[each.low, each.high] for each in (single.first, single.second, single.difference)]
    assert np.array(shown) == pytest.approx(np.array(loop("document", score_of_document)))


@pytest.mark.parametrize("references", [1, 2])
def test_ngrams_are_ranked_by_their_smoothed_ratio(references: int) -> None:
    dataset = invented(references=references, seed=3)
    matches: dict[tuple[str, ...], list[int]] = {}
    for side, system in enumerate(NAMES):
        for words, reference in zip(texts(dataset, system), best_references(dataset, system), strict=True):
            for n in range(1, 5):
                joined = (
                    Counter(tuple(entry[at : at + n]) for at in range(len(entry) - n + 1))
                    for entry in (words, reference)
                )
                for ngram, count in (next(joined) & next(joined)).items():
                    matches.setdefault(ngram, [0, 0])[side] += count
    result = run(dataset, ngrams=10_000)
    for sign, shown in ((1, result.first_ngrams), (-1, result.second_ngrams)):
        expected = {ngram: tuple(match) for ngram, match in matches.items() if sign * (match[0] - match[1]) > 0}
        assert {tuple(entry.ngram.split()): (entry.first, entry.second) for entry in shown} == expected
        ratios = [entry.ratio.value for entry in shown]
        assert ratios == sorted(ratios, reverse=sign > 0)
        for item in shown:
            assert item.ratio.value == (item.first + 1) / (item.first + item.second + 2)
            assert item.order == len(item.ngram.split())
            assert 0 < item.ratio.low <= item.ratio.high < 1
    few = run(dataset, ngrams=3)
    assert few.first_ngrams == result.first_ngrams[:3]


def test_segments_with_the_largest_difference() -> None:
    dataset = invented()
    bleu = scorer()
    scores = bleu.score(bleu.statistics(dataset))
    systems = dataset.candidates["system"].to_numpy(object)
    apart = scores[systems == "A"] - scores[systems == "B"]
    result = run(dataset, segments=100)
    shown = [int(left.seg_id) for left in (*result.first_segments, *result.second_segments[::-1])]
    assert len(result.first_segments) == (apart > 1e-10).sum()
    assert apart[shown].tolist() == sorted(apart[apart != 0], reverse=True)
    for segment in result.first_segments:
        number = int(segment.seg_id)
        assert segment.difference == pytest.approx(apart[number])
        assert (segment.source, segment.doc) == (f"source {number}", f"doc{number // 5}")
        own, right, reference = (
            Counter(text.split()) for text in (segment.first_text, segment.second_text, *segment.references)
        )
        words = Counter(word for stretch in segment.first_only for word in stretch.split())
        assert words == (own & reference) - (right & reference)
        missed = Counter(word for stretch in segment.missed for word in stretch.split())
        assert missed == reference - (own | right)
    assert run(dataset, segments=2).second_segments == result.second_segments[:2]
    by_ter = run(dataset, scorer=scorer("ter[tokenizer=none]"), segments=100)
    assert not by_ter.higher_is_better
    assert all(item.difference < 0 for item in by_ter.first_segments)
    assert all(item.difference > 0 for item in by_ter.second_segments)


def test_parts_of_speech_are_those_of_the_parser() -> None:
    dataset = load_dataset("sample").select_sources(np.arange(120) < 12)
    result = run(dataset, "sys1", "sys7", parser="shipped", lowercase=True)
    parses, distinct = parses_of(dataset, "shipped"), distinct_sentences(dataset)

    def tagged(sentence: int) -> list[tuple[str, str]]:
        block = slice(*parses.offsets[sentence : sentence + 2])
        words = [word.lower() for word in parses.words[block]]
        return list(zip(words, (parses.tag_names[tag] for tag in parses.tags[block]), strict=True))

    systems = dataset.candidates["system"].to_numpy(object)
    for side, system in (("first", "sys1"), ("second", "sys7")):
        m, c, r = Counter(), Counter(), Counter()
        for source, row in enumerate(np.flatnonzero(systems == system)):
            words = [word.lower() for word in dataset.candidates["text"].iloc[row].split()]
            block = range(*dataset.reference_offsets[source : source + 2])
            best = max(block, key=lambda first: f_of(words, dataset.references["text"].iloc[first].lower().split()))
            own, right = Counter(tagged(distinct.candidate[row])), Counter(tagged(distinct.reference[best]))
            for counts, into in ((own & right, m), (own, c), (right, r)):
                for (_, tag), count in counts.items():
                    into[tag] += count
        shown = buckets(result, "part of speech", WORD_F1)
        assert {"NOUN", "VERB", "DET"} <= set(shown)
        for tag, left in shown.items():
            if r[tag]:
                assert getattr(left, side).value == pytest.approx(2 * m[tag] / (c[tag] + r[tag]))


def test_a_language_without_tagger_is_told_in_a_note() -> None:
    records = [Record("x", ["das Haus"], [Candidate(name, "ein Haus", []) for name in NAMES], lp="en-de")]
    result = run(assemble(records, "test"), parser="shipped")
    assert "part of speech" not in {each.subject for each in result.breakdowns}
    assert result.notes == (
        "no parts of speech: the included parser is for English, but the text is in de; use --parser",
        "only 1 source: no intervals; differences may be chance",
    )
    assert all(np.isnan([figure.first.low, figure.difference.high]).all() for figure in figures(result))
    assert all(np.isnan(ngram.ratio.low) for ngram in result.first_ngrams)


def figures(found: SystemContrast) -> list[Bucket]:
    return [bucket for breakdown in found.breakdowns for bucket in breakdown.buckets]


def test_a_system_does_not_differ_from_itself() -> None:
    result = run(invented(references=2), "A", "A")
    assert figures(result)
    for figure in figures(result):
        assert figure.first == figure.second
        assert (
            np.nan_to_num([figure.difference.value, figure.difference.low, figure.difference.high]).tolist() == [0] * 3
        )
    assert not result.first_ngrams
    assert not result.second_ngrams
    assert not result.first_segments
    assert not result.second_segments


def test_swapped_systems_swap_everything() -> None:
    dataset = invented(references=2, seed=7)
    there, back = run(dataset), run(dataset, "B", "A")
    for figure, right in zip(figures(there), figures(back), strict=True):
        assert (figure.name, figure.size) == (right.name, right.size)
        for left, second in ((figure.first, right.second), (figure.second, right.first)):
            assert [left.value, left.low, left.high] == pytest.approx(
                [second.value, second.low, second.high], nan_ok=True
            )
        apart, back_apart = figure.difference, right.difference
        assert [apart.value, apart.low, apart.high] == pytest.approx(
            [-back_apart.value, -back_apart.high, -back_apart.low], nan_ok=True
        )
    assert [item.ngram for item in there.first_ngrams] == [second_ngram.ngram for second_ngram in back.second_ngrams]
    for ngram, right in zip(there.first_ngrams, back.second_ngrams, strict=True):
        assert ngram.ratio.low == pytest.approx(1 - right.ratio.high)
    assert [segment.seg_id for segment in there.first_segments] == [segment.seg_id for segment in back.second_segments]
    assert [segment.first_only for segment in there.first_segments] == [
        segment.second_only for segment in back.second_segments
    ]


def test_rankers_contrast_systems_by_the_mean_of_their_scores() -> None:
    dataset = load_dataset("sample")
    learnt = Ranker("bleu1-4,length", C=0.01).fit(dataset)
    result = run(dataset, "sys1", "sys5", scorer=RankerScorer(learnt))
    scores = learnt.candidate_scores(dataset)
    systems = dataset.candidates["system"].to_numpy(object)
    shown = buckets(result, "overall", "")["ranker"]
    assert shown.first.value == pytest.approx(scores[systems == "sys1"].mean())


def test_systems_that_cannot_be_contrasted(tmp_path: Path) -> None:
    bare = assemble([Record("x", [], [Candidate(name, "a", []) for name in NAMES])], "bare")
    with pytest.raises(DataError, match=r"bare\[1\] has no reference"):
        run(bare, scorer=scorer())
    path = tmp_path / "train.txt"
    path.write_text("a\n")
    several = [
        Record(f"x{lp}", ["a"], [Candidate(name, "a", []) for name in NAMES], lp=lp) for lp in ("en-zh", "en-de")
    ]
    with pytest.raises(OptionError, match="--train-text is a single text, but test uses the tokenizers 13a, zh"):
        run(assemble(several, "test"), tokenizer="auto", train_text=path)


def test_buckets_have_plain_names() -> None:
    assert bucket_names((0, 1, 2, 5, 10)) == ["0", "1", "2-4", "5-9", "10+"]
    assert bucket_of([0, 1, 4, 5, 99], (0, 1, 2, 5, 10)).tolist() == [0, 1, 2, 3, 4]


def test_from_python_two_systems_need_no_names_and_figures_are_a_table() -> None:
    frame = invented().to_frame()
    frame = frame[frame["system"] != "C"]
    options = {"parser": "none", "resamples": 40}
    result = ranker.contrast(frame, **options)
    named = ranker.contrast(frame, "A", "B", make_metric("chrf"), **options)
    assert result == named
    assert len(result.notes) == 1
    assert ranker.contrast(frame, parser="none", resamples=0).notes == ()
    table = result.to_frame()
    assert len(table) == sum(len(part.buckets) for part in result.breakdowns)
    overall = buckets(result, "overall", "")["chrf"]
    shown = table.loc[table["measure"] == "chrf", ["first", "first_low", "difference_high"]].iloc[0]
    assert shown.tolist() == [overall.first.value, overall.first.low, overall.difference.high]
