from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.corpora.formats.nbest import NBestList, from_columns, merge, write_nbest
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.errors import DataError
from tests.effort import examples
from tests.golden_examples import file_examples

MOSES = """\
0 ||| the  house  ||| d= 0 -1.5 LM0= -12.5 TM0= 1e-3 +2 ||| -3.75 ||| 0-0 1-1
0 ||| a house ||| d= 0 0 LM0= -12 TM0= -0.5 2 ||| -4 |||
2 |||  ||| d= -1 0 LM0= -1 TM0= 0 0 ||| 0.5 ||| 0-0
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "x.nbest"
    path.write_text(text, encoding="utf-8")
    return str(path)


def columns_of(nbest: NBestList) -> tuple:
    score = None if nbest.score is None else nbest.score.tolist()
    alignment = None if nbest.alignment is None else nbest.alignment.to_pylist()
    texts = nbest.text_of(np.arange(len(nbest)))
    return nbest.sentence.tolist(), texts, nbest.features.tolist(), nbest.layout, score, alignment


def test_moses_lists(tmp_path):
    nbest = read_nbest(written(tmp_path, MOSES))
    assert nbest.sentence.tolist() == [0, 0, 2]
    assert nbest.text_of([0, 1, 2]) == ["the  house", "a house", ""]
    assert nbest.layout == (("d", 2), ("LM0", 1), ("TM0", 2))
    assert nbest.columns == ("d.1", "d.2", "LM0", "TM0.1", "TM0.2")
    assert nbest.features.tolist() == [[0, -1.5, -12.5, 0.001, 2], [0, 0, -12, -0.5, 2], [-1, 0, -1, 0, 0]]
    assert nbest.score.tolist() == [-3.75, -4, 0.5]
    assert nbest.alignment.to_pylist() == ["0-0 1-1", "", "0-0"]
    assert nbest.sentences == 2
    assert nbest.offsets(4).tolist() == [0, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("features", "layout"),
    [
        ("d: 0 1 lm: 2", (("d", 2), ("lm", 1))),
        ("LM=1 TM=2  3", (("LM", 1), ("TM", 2))),
        ("0.5 1\t2", (("", 3),)),
        ("7 LM0= 1 2", (("", 1), ("LM0", 2))),
    ],
)
def test_other_ways_to_write_features(features, layout, tmp_path):
    nbest = read_nbest(written(tmp_path, f"0 ||| a ||| {features}\n0|||b|||{features}"))
    assert nbest.layout == layout
    assert nbest.text_of([0, 1]) == ["a", "b"]
    assert nbest.features[0].tolist() == nbest.features[1].tolist()
    assert nbest.score is None


def test_gzip_stdin_and_line_ends(tmp_path, monkeypatch):
    plain = columns_of(read_nbest(written(tmp_path, MOSES)))
    path = tmp_path / "x.nbest.gz"
    path.write_bytes(gzip.compress(MOSES.replace("\n", "\r\n").encode("utf-8-sig")))
    assert columns_of(read_nbest(path)) == plain
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MOSES.encode())))
    assert columns_of(read_nbest("-")) == plain


@pytest.mark.parametrize("example", file_examples("corpora/nbest"), ids=str)
def test_a_fault_is_reported_with_its_line(example, tmp_path):
    with pytest.raises(DataError) as error:
        read_nbest(written(tmp_path, example.content))
    example.check(str(error.value).removeprefix(f"{tmp_path}/"))


def test_an_empty_list_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"x\.nbest: is empty; expected: sentence \|\|\|"):
        read_nbest(written(tmp_path, ""))


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(exclude_characters="|\n\r\0", exclude_categories=("Cs",)), max_size=8)


@st.composite
def lists(draw):
    size = draw(st.integers(1, 6))
    names = draw(st.lists(st.sampled_from(["LM0", "d", "TM_ü", "x:y"]), unique=True, max_size=3))
    layout = [(name, draw(st.integers(1, 3))) for name in names]
    if not layout or draw(st.booleans()):
        layout.insert(0, ("", draw(st.integers(1, 3))))
    width = sum(count for _, count in layout)
    return from_columns(
        "x",
        sorted(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))),
        draw(st.lists(WORDS, min_size=size, max_size=size)),
        np.array(draw(st.lists(NUMBERS, min_size=size * width, max_size=size * width))).reshape(size, width),
        tuple(layout),
        score=draw(st.lists(NUMBERS, min_size=size, max_size=size)) if draw(st.booleans()) else None,
    )


@settings(max_examples=examples(40), deadline=None)
@given(nbest=lists(), compressed=st.booleans())
def test_what_is_written_reads_back_equal(nbest, compressed, tmp_path_factory):
    path = tmp_path_factory.mktemp("nbest") / ("x.gz" if compressed else "x")
    write_nbest(nbest, path)
    again = read_nbest(path)
    assert columns_of(again) == columns_of(nbest)
    first = path.read_bytes()
    write_nbest(again, path)
    assert path.read_bytes() == first


def test_alignments_are_written_with_and_without_scores(tmp_path):
    nbest = read_nbest(written(tmp_path, MOSES))
    for item in (nbest, replace(nbest, score=None), nbest.select([False, True, True])):
        write_nbest(item, tmp_path / "y")
        assert columns_of(read_nbest(tmp_path / "y")) == columns_of(item)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"texts": ["a ||| b", "c"]}, "replace '|||', not allowed"),
        ({"texts": ["a\nb", "c"]}, "replace '\\n', not allowed"),
        ({"sentence": [1, 0]}, "numbers are negative or decrease"),
        ({"sentence": [-1, 0]}, "expected ascending numbers from 0"),
        ({"features": [[1.0], [np.nan]]}, "feature LM0 of hypothesis 2 is nan"),
        ({"layout": (("L M", 1),)}, "feature 'L M': expected a name without white space"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(change, says):
    good = {"sentence": [0, 0], "texts": ["a", "b"], "features": [[1.0], [2.0]], "layout": (("LM0", 1),)}
    with pytest.raises(DataError, match="x: ") as error:
        from_columns("x", **{**good, **change})
    assert says in str(error.value)


def merged_plainly(first, second):
    rows = {}
    for item in (first, second):
        texts = item.text_of(np.arange(len(item)))
        for sentence, text, features in zip(item.sentence.tolist(), texts, item.features.tolist(), strict=True):
            rows.setdefault((sentence, text, tuple(features)), None)
    return sorted(rows, key=lambda row: row[0])


def test_merging_keeps_the_first_of_equal_hypotheses_in_order():
    random = np.random.default_rng(3)

    def drawn(size):
        texts = random.choice(["a", "b", "c d", ""], size).tolist()
        return from_columns(
            "x", np.sort(random.integers(0, 4, size)), texts, random.integers(0, 2, (size, 2)), (("f", 2),)
        )

    together = drawn(0 + 5)
    for size in (3, 30, 40):
        other = drawn(size)
        expected = merged_plainly(together, other)
        before = {text: code for code, text in enumerate(together.texts.to_pylist())}
        together = merge(together, other)
        result = zip(together.sentence.tolist(), together.text_of(np.arange(len(together))), strict=True)
        rows = [
            (sentence, text, tuple(row))
            for (sentence, text), row in zip(result, together.features.tolist(), strict=True)
        ]
        assert rows == expected
        assert {text: together.texts.to_pylist().index(text) for text in before} == before
    assert len(merge(together, together)) == len(together)


def test_merging_lists_of_other_features_is_refused():
    left = from_columns("one", [0], ["a"], [[1.0]], (("f", 1),))
    right = from_columns("two", [0], ["a"], [[1.0, 2.0]], (("f", 2),))
    with pytest.raises(DataError, match=r"two: has the features f \(2 values\); expected f, as in one"):
        merge(left, right)


@pytest.mark.parametrize("breakdown", ["F0= {} F1= -2", "F0={}"])
def test_lists_of_marian_with_alignments_and_word_scores(breakdown, tmp_path, caplog):
    aligned, scored = ["0-0 1-1", "", "0-0"], ["WordScores= -0.1 -0.2", "WordScores=", "WordScores= -1e-05"]
    soft = ["0.9,0.1 0.2,0.8", "1", "1,0"]
    texts = ["The bus", "", "Bus"]

    def lines(*more):
        fields = zip((0, 0, 1), texts, *more, strict=True)
        features = [breakdown.format(number) for number in (-0.3, -0.5, -0.7)]
        return "".join(
            " ||| ".join([*map(str, line), feature, "-0.15"]) + "\n"
            for line, feature in zip(fields, features, strict=True)
        )

    plain = read_nbest(written(tmp_path, lines()))
    for more, alignment in (([aligned], aligned), ([scored], None), ([aligned, scored], aligned), ([soft], None)):
        caplog.clear()
        nbest = read_nbest(written(tmp_path, lines(*more)))
        assert columns_of(replace(nbest, alignment=None)) == columns_of(plain)
        assert (nbest.alignment and nbest.alignment.to_pylist()) == alignment
        left_out = "scores of words" if scored in more else "alignments with probabilities" if soft in more else ""
        assert [message.split(" before the features: ")[1] for message in caplog.messages] == [left_out] * bool(
            left_out
        )
    for field, line in ((["0-0", "x", ""], 2), (["x"] * 3, 1), (["WordScores= 1", "WordScores= 1", "x"], 3)):
        says = rf"x\.nbest:{line}: found 'x' before the features, expected a word alignment such as"
        with pytest.raises(DataError, match=says):
            read_nbest(written(tmp_path, lines(field)))
    with pytest.raises(DataError, match=r"x\.nbest:1: found two word alignments before the features, expected one"):
        read_nbest(written(tmp_path, lines(aligned, aligned)))


def test_segmentations_into_phrases_are_ignored_with_a_note(tmp_path, caplog):
    line = "{} ||| {} ||| LM0= -1 TM0= -1 -2 ||| -3.75{}\n"

    def read(*more):
        lines = zip((0, 0, 1), ("a b", "", "c"), more, strict=True)
        return read_nbest(written(tmp_path, "".join(line.format(*each) for each in lines)))

    plain = read("", "", "")
    spans, alignments = ["0-1=0 2=1-2", "", "0=0"], ["0-0 1-1", "", "0-0"]
    for alignment in (None, alignments):
        caplog.clear()
        more = [f" ||| {each}" + (f" ||| {alignment[at]}" if alignment else "") for at, each in enumerate(spans)]
        nbest = read(*more)
        assert columns_of(replace(nbest, alignment=None)) == columns_of(plain)
        assert (nbest.alignment and nbest.alignment.to_pylist()) == alignment
        assert caplog.messages[0].endswith("ignored a field after the score: segmentations into phrases")
    says = r"x\.nbest:3: found '0-0', expected a segmentation into phrases such as '0=0', as in line 1"
    with pytest.raises(DataError, match=says):
        read(" ||| 0=0", " ||| 0=0", " ||| 0-0")
