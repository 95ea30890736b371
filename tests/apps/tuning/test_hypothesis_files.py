from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ranker.apps.tuning.hypothesis_files import read_hypotheses
from ranker.apps.tuning.reranking import expected_gains
from ranker.errors import DataError, RankerError
from ranker.extractors.registry import make, make_metric, names
from tests.effort import thorough
from tests.golden_messages import check_messages

TEXTS = [["the cat sat", "a cat sat", "the cat sat down"], ["it rains", "rain falls", "it rains now"]]
SOURCES, REFERENCES = ["一", "二"], ["a cat sat", "it rains now"]
FORMATS = {
    "x.nbest": "".join(f"{i} ||| {text} ||| f= 1\n" for i, texts in enumerate(TEXTS) for text in texts),
    "x.txt": "".join(f"{text}\n" for texts in TEXTS for text in texts),
    "x.jsonl": "".join(
        json.dumps({"source": source, "refs": [reference], "candidates": texts}) + "\n"
        for source, reference, texts in zip(SOURCES, REFERENCES, TEXTS, strict=True)
    ),
    "x.csv": "src;mt;ref\n"
    + "".join(f"{SOURCES[i]};{text};{REFERENCES[i]}\n" for i, texts in enumerate(TEXTS) for text in texts),
}
FORMATS["x.json"] = json.dumps([json.loads(line) for line in FORMATS["x.jsonl"].splitlines()])
FORMATS["noending"] = FORMATS["x.jsonl"]


@pytest.fixture
def call(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name, text in {**FORMATS, "src": "一\n二\n", "ref": "a cat sat\nit rains now\n"}.items():
        Path(name).write_text(text, encoding="utf-8")

    def call(*words: str, code: int = 0, stdin: str = "") -> tuple[str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return command(*words, code=code)

    return call


@pytest.mark.parametrize("name", FORMATS)
def test_all_formats_hold_the_same_hypotheses(call, name):
    result, dataset = read_hypotheses(name, each=3)
    assert result.sentence.tolist() == [0, 0, 0, 1, 1, 1]
    assert result.text_of(range(6)) == [text for texts in TEXTS for text in texts]
    assert (dataset is None) == (name in ("x.nbest", "x.txt"))
    expected = call("rerank", "x.nbest", "--mbr", "chrf", "-r", "ref", "--report", "BLEU,chrf")
    assert call("rerank", name, "--mbr", "chrf", "-r", "ref", "--report", "BLEU,chrf") == expected
    read = call("rerank", "-", "--mbr", "chrf", "--per-source", "3", stdin=FORMATS[name])
    assert read[0] == expected[0]
    rows = json.loads(call("nbest", "check", name, "--per-source", "3", "--json")[0])["rows"]
    assert (rows[0]["sentences"], rows[0]["hypotheses"]) == (2, 6)


GERMAN = ["Der Bus kam zehn Minuten zu spät.", "Es regnet heute schon den ganzen Tag."]
ENGLISH = ["The bus was ten minutes late.", "It has been raining all day."]


@pytest.mark.parametrize("own", [(), ("source",), ("refs",), ("source", "refs")], ids="+".join)
@pytest.mark.parametrize("given", [(), ("-s", "de"), ("-r", "en"), ("-s", "de", "-r", "en")], ids=" ".join)
def test_sources_and_references_come_from_files_or_from_the_data(call, own, given):
    """A copy of the source wins only if neither source nor reference tells that it is no translation."""
    for name, lines in (("de", GERMAN), ("en", ENGLISH)):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    hypotheses = [[source, source, translation] for source, translation in zip(GERMAN, ENGLISH, strict=True)]
    texts = {"source": GERMAN, "refs": [[text] for text in ENGLISH]}
    records = [
        {key: texts[key][at] for key in own} | {"candidates": several}
        if own
        else [{"translation_text": text} for text in several]
        for at, several in enumerate(hypotheses)
    ]
    Path("own.json").write_text(json.dumps(records), encoding="utf-8")
    source, reference = "source" in own or "-s" in given, "refs" in own or "-r" in given
    printed, notes = call("rerank", "own.json", "--mbr", "chrf", *given)
    assert printed.splitlines() == (ENGLISH if source or reference else GERMAN)
    assert ("copy" in notes) == source


def test_given_sources_must_be_those_of_the_data(call):
    Path("one").write_text("一\n", encoding="utf-8")
    assert (
        "x: has 2 sources, but one has 1 line: give files"
        in call("rerank", "x.jsonl", "--mbr", "chrf", "-s", "one", code=2)[1]
    )
    Path("other").write_text("一\n三\n", encoding="utf-8")
    what = "other: the source in line 2 is '三', but x has '二': leave out -s, or give the sources of this list"
    assert what in call("rerank", "x.jsonl", "--mbr", "chrf", "-s", "other", code=2)[1]


def test_results_of_a_batch_that_are_out_of_order_are_not_matched_with_lines(call):
    rows = [json.loads(line) | {"seg_id": str(1 - at)} for at, line in enumerate(FORMATS["x.jsonl"].splitlines())]
    Path("batch.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    what = "batch: record 1 has the id 1, not 0, so lines of ref do not match: sort the records by their ids"
    assert what in call("rerank", "batch.jsonl", "--oracle", "chrf", "-r", "ref", code=2)[1]
    printed = json.loads(call("rerank", "batch.jsonl", "--mbr", "chrf", "--json")[0])
    assert [(row["sentence"], row["seg_id"]) for row in printed] == [(0, "1"), (1, "0")]


def test_the_lines_of_sources_or_references_say_how_many_hypotheses_a_sentence_has(call):
    by_number = call("rerank", "x.txt", "--mbr", "chrf", "--per-source", "3")[0]
    assert call("rerank", "x.txt", "--mbr", "chrf", "-s", "src")[0] == by_number
    assert call("rerank", "x.txt", "--oracle", "chrf", "-r", "ref")[0] == "a cat sat\nit rains now\n"


def test_records_of_single_outputs_without_sources_are_grouped_as_lines_are(call):
    Path("single.json").write_text(json.dumps([{"translation_text": text} for texts in TEXTS for text in texts]))
    expected = call("rerank", "x.txt", "--mbr", "chrf", "--per-source", "3")
    assert call("rerank", "single.json", "--mbr", "chrf", "--per-source", "3") == expected
    assert call("rerank", "single.json", "--mbr", "chrf", "--per-source", "3", "-s", "src") == expected
    printed, notes = call("rerank", "single.json", "--mbr", "chrf")
    assert len(printed.splitlines()) == 6
    assert "note: no source has more than one hypothesis, so there is nothing to choose; if N records belong" in notes
    said = call("rerank", "single.json", "--mbr", "chrf", "--per-source", "4", code=2)[1]
    assert "single: has 6 records, expected a multiple of 4 (--per-source)" in said


@pytest.mark.parametrize("name", ["x.nbest", "x.jsonl", "x.csv"])
def test_a_number_of_lines_that_contradicts_the_sentences_of_a_file_is_refused(call, name):
    said = call("rerank", name, "--mbr", "chrf", "--per-source", "2", code=2)[1]
    assert "sentence 0, numbered from 0, has 3 of the hypotheses, not 2: leave out --per-source, as this file" in said


@pytest.mark.parametrize("first", ["[Applause] the cat sat", "{laughs} the cat sat", "["])
def test_a_sentence_in_brackets_is_text(call, first):
    texts = [first, *TEXTS[0][1:], *TEXTS[1]]
    Path("brackets.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    nbest, dataset = read_hypotheses("brackets.txt", each=3)
    assert (nbest.text_of(range(6)), dataset) == (texts, None)


def test_a_data_set_brings_its_references(call):
    for name in ("x.jsonl", "x.csv"):
        assert call("rerank", name, "--oracle", "chrf")[0] == "a cat sat\nit rains now\n"
        assert call("rerank", name, "--oracle", "chrf", "-s", "src")[0] == "a cat sat\nit rains now\n"
        assert call("rerank", name, "--model", "full-any", "-q")[0] == "a cat sat\nit rains now\n"


@thorough
def test_any_extractor_with_one_feature_is_a_gain(call):
    nbest, _ = read_hypotheses("x.jsonl")
    refused = {}
    for name in names():
        extractor = make(name)
        try:
            gains = expected_gains(nbest, make_metric(name if len(extractor.columns) == 1 else extractor.columns[0]))
        except RankerError as error:
            refused[name] = str(error)
            continue
        assert gains.shape == (6,)
    # these need more than the texts of a few hypotheses, or compare no two texts
    assert (
        {"consensus", "given", "perp"}
        <= {*refused}
        <= {"consensus", "given", "lrscore", "paraphrase", "perp", "semantic"}
    )


FAIRSEQ = (
    "2024-05-01 12:00:00 | INFO | fairseq_cli.generate | loading\n"
    "S-1\t二\nT-1\tit rains now\n"
    "H-1\t-0.5\tit rains\nP-1\t-0.5 -0.5\nH-1\t-0.75\train falls\nP-1\t-0.5 -1\nH-1\t-1e0\tit rains now\nP-1\t-1\n"
    "S-0\t一\nT-0\ta cat sat\n"
    "H-0\t-0.25\tthe cat sat\nP-0\t-0.25\nH-0\t-0.5\ta cat sat\nP-0\t-0.5\nH-0\t-2\tthe cat sat down\nP-0\t-2\n"
    "Generate test with beam=5: BLEU4 = 27.2\n"
)


@thorough
def test_output_of_fairseq_is_an_n_best_list(call):
    Path("gen.out").write_text(FAIRSEQ, encoding="utf-8")
    nbest, dataset = read_hypotheses("gen.out")
    assert nbest.sentence.tolist() == [0, 0, 0, 1, 1, 1]
    assert nbest.text_of(range(6)) == [text for texts in TEXTS for text in texts]
    assert nbest.score.tolist() == [-0.25, -0.5, -2, -0.5, -0.75, -1]
    assert dataset.sources["text"].tolist() == SOURCES
    for more in (("-r", "ref", "--report", "BLEU,chrf"), ()):
        for choose in (("--mbr", "chrf"), ("--model", "consensus", "-q")):
            assert call("rerank", "gen.out", *choose, *more)[0] == call("rerank", "x.nbest", *choose, *more)[0]
    assert call("rerank", "gen.out", "--oracle", "chrf", "-r", "ref")[0] == "a cat sat\nit rains now\n"
    likely = call("rerank", "gen.out", "--mbr", "chrf", "--scale", "50")[0]
    assert likely == "the cat sat\nit rains\n"
    assert call("rerank", "-", "--mbr", "chrf", stdin=FAIRSEQ)[0] == call("rerank", "x.nbest", "--mbr", "chrf")[0]


def test_detokenised_hypotheses_of_fairseq_come_first(call):
    Path("gen.out").write_text("S-0\tx\nH-0\t-1\tit &apos;s\nD-0\t-1\tit's\n", encoding="utf-8")
    assert read_hypotheses("gen.out")[0].text_of([0]) == ["it's"]


def test_a_hypothesis_of_fairseq_is_not_lost_for_want_of_its_detokenised_form(call):
    Path("gen.out").write_text("S-0\tx\nH-0\t-1\ta\nD-0\t-1\ta\nH-0\t-2\tb\nS-1\ty\nH-1\t-1\tc\nD-1\t-1\tc\n")
    with pytest.raises(DataError, match=r"gen\.out:4: H-0 has no D-0, expected one .*\(is the file cut off\?\)"):
        read_hypotheses("gen.out")


def test_a_line_like_one_of_fairseq_is_text(call):
    Path("x.txt").write_text("H-0\t-1\nT-34\ttanks\nS-0 x\n", encoding="utf-8")
    assert read_hypotheses("x.txt", each=3)[0].text_of([0, 1]) == ["H-0\t-1", "T-34\ttanks"]


def test_what_is_missing_and_what_cannot_be_done_with_output_of_fairseq_is_said(call):
    Path("gen.out").write_text(FAIRSEQ, encoding="utf-8")
    Path("bad.out").write_text("S-0\tx\nH-0\thigh\tit is\n", encoding="utf-8")
    check_messages("rerank", lambda words: call(*words.split(), code=2)[1])


def test_a_model_for_another_language_is_noted(call):
    Path("zh.nbest").write_text("0 ||| 雨 在 下 ||| x= 1 ||| 1\n0 ||| 雪 ||| x= 1 ||| 1\n", encoding="utf-8")
    assert "this model is for translations into en" in call("rerank", "zh.nbest", "--mbr", "full")[1]
