"""``ranker score``: levels, forms of output and inputs, as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranker.cli.main import run
from ranker.corpora.catalogue import load
from ranker.corpora.formats.mtme_scores import parse_scores
from ranker.errors import MissingError
from ranker.extractors.ngram.bleu import Bleu
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from tests.cli.conftest import Refused
from tests.command_line import Command

Score = Callable[..., str]

SOURCES = ["eins", "zwei", "drei", "vier"]
DOCUMENTS = ["d2", "d2", "d1", "d1"]
REFERENCES = [["the cat sat on the mat", "a cat"], ["it rains"], ["two words here", "two"], ["the end of it"]]
SYSTEMS = {
    "B": ["the cat sat on a mat", "rain", "two words", "end"],
    "A": ["cat", "it rains", "", "the end of it"],
}


def corpus(*, documents: bool = True, lacking: str = "") -> list[dict[str, Any]]:
    return [
        {
            "lp": "de-en",
            **({"doc": DOCUMENTS[index]} if documents else {}),
            "seg_id": index + 1,
            "source": source,
            "references": REFERENCES[index],
            "candidates": {
                name: texts[index] for name, texts in SYSTEMS.items() if not (index == 2 and name == lacking)
            },
        }
        for index, source in enumerate(SOURCES)
    ]


@pytest.fixture
def score(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Score:
    """Run ``ranker score`` on the corpus above, in a directory of its own; return what it printed."""
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text(json.dumps(corpus()))

    def call(*arguments: str, data: str = "c.json") -> str:
        with pytest.raises(SystemExit) as exit_info:
            run(["score", *([data] if data else []), *arguments])
        out, err = capsys.readouterr()
        assert exit_info.value.code == 0, err
        return out

    return call


def rows(printed: str) -> list[dict[str, Any]]:
    return json.loads(printed)["rows"]


def statistics(metric: str) -> tuple[Any, Any]:
    """The metric and its statistics of the corpus above, candidates of one source side by side."""
    from ranker.corpora.formats.reading import read_dataset

    example = make_metric(metric)
    return example, example.statistics(read_dataset("c.json"))


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf", "kendall"])
def test_documents_and_systems_score_summed_statistics(metric: str, score: Score) -> None:
    example, table = statistics(metric)
    systems = rows(score("-m", metric, "--level", "system", "-f", "json"))
    assert [(row["lp"], row["system"], row["segments"]) for row in systems] == [("de-en", "A", 4), ("de-en", "B", 4)]
    for row, own in zip(systems, (table[1::2], table[0::2]), strict=True):
        assert row[metric] == pytest.approx(float(example.score(own.sum(axis=0))), abs=1e-12)
    documents = rows(score("-m", metric, "--level", "document", "-f", "json"))
    # documents as they come, not sorted
    assert [(row["doc"], row["system"]) for row in documents] == [("d2", "A"), ("d2", "B"), ("d1", "A"), ("d1", "B")]
    for row, own in zip(documents, (table[1:4:2], table[0:4:2], table[5::2], table[4::2]), strict=True):
        assert row["segments"] == 2
        assert row[metric] == pytest.approx(float(example.score(own.sum(axis=0))), abs=1e-12)
    segments = rows(score("-m", metric, "-f", "json"))
    assert [(row["seg_id"], row["system"]) for row in segments[:3]] == [("1", "B"), ("1", "A"), ("2", "B")]
    assert [row[metric] for row in segments] == pytest.approx(example.score(table).tolist(), abs=1e-12)


def test_a_ranker_scores_the_mean_of_its_segments(score: Score) -> None:
    Ranker("bleu1-4").fit(load("sample")).save("m")
    segments = rows(score("-M", "m", "-m", "bleu", "-f", "json"))
    assert list(segments[0]) == ["lp", "seg_id", "system", "bleu", "m"]
    for row in rows(score("-M", "m", "--level", "document", "-f", "json")):
        own = [
            segment["m"]
            for segment in segments
            if segment["system"] == row["system"] and DOCUMENTS[int(segment["seg_id"]) - 1] == row["doc"]
        ]
        assert row["m"] == pytest.approx(sum(own) / len(own), abs=1e-12)


def test_signatures_and_the_direction_of_scores_are_said(score: Score) -> None:
    printed = json.loads(score("-m", "bleu,ter", "--level", "document", "-f", "json"))
    first, second = printed["signature"].split("\n")
    assert "|metric:bleu[order=4,smoothing=exp" in first
    assert "|metric:ter[search=sacrebleu" in second
    assert first.endswith("|level:document|sacrebleu:BLEU|nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0")
    assert json.loads(score("-m", "bleu", "-f", "json"))["signature"].count("|eff:yes|") == 1
    assert printed["lower_is_better"] == ["ter"]
    table = score("-m", "bleu,ter", "--level", "document", "--long-signatures").splitlines()
    assert table[-3] == "lower is better: ter"
    assert table[-2:] == [first, second]
    assert "lower is better" not in score("-m", "bleu")


def test_several_target_languages_are_signed(score: Score) -> None:
    joined = [{**item, "lp": lp, "seg_id": f"{lp}{item['seg_id']}"} for lp in ("en-de", "en-zh") for item in corpus()]
    Path("both.json").write_text(json.dumps(joined))
    signature = json.loads(score("-m", "bleu", "-f", "json", data="both.json"))["signature"]
    assert "tokenizer=auto,lowercase=false]|auto:13a+zh|" in signature
    assert "sacrebleu" not in signature


def read_scores(path: Path) -> dict[str, list[float | None]]:
    return {
        system: [value for value, _ in values] for system, values in parse_scores(path.read_text(), str(path)).items()
    }


@pytest.mark.usefixtures("score")
def test_a_default_metric_without_its_tokenizer_is_left_out(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(self: Bleu, *_: object) -> None:
        raise MissingError("tokenizer 'ja-mecab' needs sacrebleu[ja]")

    monkeypatch.setattr(Bleu, "statistics", lacking)
    printed = command("score", "c.json", "-f", "csv")
    assert printed.out.splitlines()[0].endswith("system,chrf,full")
    assert "bleu was left out: tokenizer 'ja-mecab' needs sacrebleu[ja]" in printed.err


def test_score_files_hold_what_json_holds(score: Score) -> None:
    printed = score("-m", "bleu,ter", "-f", "mtme", "--output", "new/scores")
    folder = Path("new/scores/de-en")
    names = [f"{metric}-all.{level}.score" for metric in ("bleu", "ter") for level in ("seg", "doc", "sys")]
    assert [line.removeprefix(f"written: {folder}/") for line in printed.splitlines()[:6]] == names
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "bleu-all.signature", "ter-all.signature"])
    assert "|metric:ter[" in (folder / "ter-all.signature").read_text()
    for level, suffix in {"segment": "seg", "document": "doc", "system": "sys"}.items():
        plain = rows(score("-m", "bleu,ter", "--level", level, "-f", "json"))
        for metric, sign in {"bleu": 1, "ter": -1}.items():
            expected: dict[str, list[float]] = {"A": [], "B": []}
            for row in plain:
                expected[row["system"]].append(sign * row[metric])
            assert read_scores(folder / f"{metric}-all.{suffix}.score") == expected
    assert (folder / "bleu-all.sys.score").read_text().startswith("A\t0.")


def test_score_files_of_one_level_and_with_what_is_missing(score: Score) -> None:
    bare = {**corpus()[0], "lp": "de-fr", "candidates": []}
    Path("c.json").write_text(json.dumps([*corpus(documents=False, lacking="A"), bare]))
    score("-m", "bleu", "-f", "mtme", "--output", "all")
    assert not Path("all/de-fr").exists()
    assert sorted(path.name for path in Path("all/de-en").glob("*.score")) == [
        "bleu-all.seg.score",
        "bleu-all.sys.score",
    ]
    scores = read_scores(Path("all/de-en/bleu-all.seg.score"))
    assert scores["A"][2] is None
    assert len(scores["A"]) == len(scores["B"]) == 4
    assert "A\tNone\n" in Path("all/de-en/bleu-all.seg.score").read_text()
    score("-m", "bleu", "-f", "mtme", "--output", "one", "--level", "system")
    assert [path.name for path in Path("one/de-en").glob("*.score")] == ["bleu-all.sys.score"]


def test_score_files_are_named_after_references_and_without_slashes(score: Score) -> None:
    data = corpus()
    for item in data:
        item["references"] = item["references"][:1]
        item["reference_names"] = ["refA"]
    Path("named.json").write_text(json.dumps(data))
    score("-m", "bleu", "-f", "mtme", "--output", "x", "--level", "system", data="named.json")
    assert [path.name for path in Path("x/de-en").glob("*.score")] == ["bleu-refA.sys.score"]
    Path("s").write_text("a\nb\n")
    score("-s", "s", "-r", "s", "-t", "s", "-m", "bleu", "-f", "mtme", "--output", "y", data="")
    # the language pair is not known
    assert sorted(path.name for path in Path("y").glob("*.score")) == ["bleu-all.seg.score", "bleu-all.sys.score"]


@pytest.mark.parametrize("pair", ["../../../up", "/absolute", "..", "a/b", "a\\b", "nul", "a\tb", "a\0b", "x" * 300])
def test_score_files_never_leave_their_directory(refused: Refused, folder: Path, pair: str) -> None:
    single = {"lp": pair, "seg_id": 1, "source": "x", "references": ["r"], "candidates": {"A": "t"}}
    (folder / "evil.json").write_text(json.dumps([single]))
    before = sorted(folder.parent.rglob("*"))
    words = "score evil.json -m bleu -f mtme -o safe --level system"
    refused(*words.split(), says="is not a valid file name|NUL|lp has more than 100 characters")
    assert sorted(folder.parent.rglob("*")) == before


def test_several_references_and_systems_in_parallel_files(score: Score) -> None:
    first, last = ([item[side] for item in REFERENCES] for side in (0, -1))
    for name, lines in {"src": SOURCES, **SYSTEMS, "r1": first, "r2": last}.items():
        Path(name).write_text("".join(line + "\n" for line in lines))
    arguments = ["-s", "src", "-r", "r1", "r2", "-t", "B", "A", "-m", "bleu,ter"]
    parallel = rows(score(*arguments, "--level", "system", "-f", "json", data=""))
    assert [row["system"] for row in parallel] == ["A", "B"]
    doubled = rows(score("-m", "bleu", "--level", "system", "-f", "json"))
    # a reference that is duplicated changes no clipped count
    assert [row["bleu"] for row in parallel] == pytest.approx([row["bleu"] for row in doubled], abs=1e-12)


@pytest.mark.parametrize("model", ["full", "own.model"])
def test_a_model_given_as_a_metric_is_refused_with_the_option_that_takes_it(refused, model: str) -> None:
    Path("own.model").touch()
    says = f"'{model}': this is a model; give it with --model, as in: ranker rank --model {model} "
    says += rf"\(in Python: Ranker\.load\({model!r}\)\)"
    refused("score", "sample", "-m", model, says=says)


def test_half_of_a_surrogate_pair_in_the_name_of_a_column_is_refused_with_its_line(refused) -> None:
    rows = [{"source": "x", "reference": "a", name: "a", "B": "b"} for name in ("A", "A\ud800")]
    Path("x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    refused("data", "check", "x.jsonl", says=r"^ranker: error: x\.jsonl:2: expected text that can be encoded in UTF-8")


def test_documents_of_the_same_name_in_two_files_are_scored_apart(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(json.dumps(corpus()), encoding="utf-8")
    Path("b.json").write_text(json.dumps(corpus()[:1]), encoding="utf-8")

    def documents(*files: str) -> list[dict[str, Any]]:
        return rows(command("score", "-m", "chrf", "--level", "document", "-f", "json", *files).out)

    apart = [row | {"doc": f"{name}/{row['doc']}"} for name in "ab" for row in documents(f"{name}.json")]
    shared = {row["doc"] for row in documents("b.json")}
    together = documents("a.json", "b.json")
    assert {row["doc"] for row in together} >= {f"{name}/{doc}" for name in "ab" for doc in shared}
    assert [row | {"doc": row["doc"].split("/")[-1]} for row in together] == [
        row | {"doc": row["doc"].split("/")[-1]} for row in apart
    ]
