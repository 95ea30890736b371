"""Scores from elsewhere and columns of extractors on the command line, as a user gives them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ranker.corpora.catalogue import load
from tests.cli.conftest import Refused
from tests.command_line import Command
from tests.effort import further, thorough

Run = Callable[..., str]


@pytest.fixture
def ranker(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder with scores of the sample: the length of every candidate, and an n-best list.

    Notes on the direction of the scores are left out.
    """
    monkeypatch.chdir(tmp_path)
    sample = load("sample")
    facts = zip(sample.candidate_source, sample.candidates["system"], sample.candidates["text"], strict=True)
    rows = [("zh-en", sample.sources["seg_id"][source], system, len(text)) for source, system, text in facts]
    lines = ["\t".join(map(str, row)) for row in rows]
    Path("llm.tsv").write_text("\n".join(["lp\tseg_id\tsystem\tscore", *lines, ""]))
    Path("x.nbest").write_text("0 ||| a b ||| f= 1 ||| 1\n0 ||| c d ||| f= 2 ||| 2\n1 ||| e ||| f= 1 ||| 1\n")
    Path("x.ref").write_text("c d\ne\n")
    Path("x.scores").write_text("0.5\n0.25\n1\n")

    def call(*arguments: str, code: int = 0) -> str:
        out, err = command(*arguments, code=code)
        assert "llm.tsv" not in out
        return out + "".join(line for line in err.splitlines(True) if not line.startswith("ranker: note: given["))

    return call


@pytest.mark.parametrize(
    "command_line", ["score sample", "evaluate --data sample --resamples 0", further("systems sample")]
)
def test_scores_in_the_wrong_direction_are_refused_until_it_is_stated(
    command_line: str, ranker: Run, command: Command
) -> None:
    def notes(metric: str) -> list[str]:
        err = command(*command_line.split(), "-m", metric)[1]
        return [line.removeprefix("ranker: note: ") for line in err.splitlines() if "given[" in line]

    assumed = "scores are taken to be better, as the name does not tell; otherwise add direction=lower"
    assert notes("given[file=llm.tsv]") == [f"given[name=llm]: higher {assumed}"]
    opposed = "prefers candidates with lower chrF in 74% of the sources"
    given = "given[name=llm,direction=lower]"
    assert notes("given[file=llm.tsv,direction=lower]") == [f"{given}: {opposed}: check the direction"]
    Path("llm.tsv").rename("errors.tsv")
    stated = "given[file=errors.tsv,direction=higher]"
    says = (
        f"sample: given[name=errors]: {opposed}, so its direction is in doubt: state it, as {stated} or direction=lower"
    )
    assert ranker(*command_line.split(), "-m", "given[file=errors.tsv]", code=2) == f"ranker: error: {says}\n"
    assert notes(stated) == []


@thorough
def test_a_file_of_scores_is_a_metric_everywhere(ranker: Run) -> None:
    metric = "given[file=llm.tsv,direction=lower]"
    name = "given[name=llm,direction=lower]"
    scored = json.loads(ranker("score", "sample", "-m", f"bleu,{metric}", "--level", "system", "-f", "json"))
    sample = load("sample")
    lengths = sample.candidates["text"].str.len().groupby(sample.candidates["system"]).mean()
    assert {row["system"]: row[name] for row in scored["rows"]} == pytest.approx(lengths.to_dict())
    assert scored["lower_is_better"] == [name]
    assert "|metric:given[name=llm,direction=lower,file=" in scored["signature"]
    ranked = [json.loads(line) for line in ranker("rank", "sample", "-m", metric, "-f", "jsonl").splitlines()]
    best = [item["ranking"][0]["text"] for item in ranked]
    assert all(len(item["ranking"][-1]["text"]) >= len(text) for item, text in zip(ranked, best, strict=True))
    result = ranker("evaluate", "--data", "sample", "-m", metric, "--resamples", "0", "--long-signatures")
    assert "metric:given[name=llm,direction=lower,file=" in result
    compared = ranker(
        "evaluate", "--data", "sample", "-m", metric, "-m", "perp", "--resamples", "10", "--long-signatures"
    )
    assert f"\n{name}: given[name=llm,direction=lower,file=" in compared
    paired = ranker("systems", "sample", "-m", metric, "--test", "ar", "--resamples", "10")
    assert name in paired


@thorough
def test_a_model_is_given_the_scores_of_new_data(ranker: Run) -> None:
    features = "bleu[smoothing=add-one],given[file=llm.tsv]"
    ranker("train", "--data", "sample", "-F", features, "-o", "m", "--C", "1", "--folds", "0")
    requested = ranker("rank", "sample", "-M", "m", code=2)
    assert requested == (
        "ranker: error: sample: given[name=llm]: the data has no column 'llm' (there are 'adequacy', 'fluency'): give "
        "a file, as in: ranker rank --given llm=FILE\n"
    )
    given = ("-M", "m", "--given", "llm=llm.tsv")
    assert "1     sys" in ranker("rank", "sample", *given)
    assert "given[name=llm,direction=higher,file=" in ranker(
        "score", "sample", *given, "--level", "system", "--long-signatures"
    )
    assert "fluency" in ranker("evaluate", "--data", "sample", *given, "--resamples", "0")
    assert "given[name=llm," in ranker(
        "evaluate", "--data", "sample", *given, "--resamples", "0", "--level", "segment", "--long-signatures"
    )
    assert "given[name=llm]" in ranker("explain", "sample", *given, "--by", "feature")
    ranker("report", "--data", "sample", *given, "--resamples", "0", "--examples", "1")
    page = Path("report.html").read_text()
    assert "given[name=llm]" in page
    assert "llm.tsv" not in page


def test_scores_of_one_of_two_data_sets_are_asked_for_in_columns(ranker: Run, refused: Refused) -> None:
    Path("more.csv").write_text("lp,seg_id,source,system,text,reference\nzh-en,1,x,E01,a,b\n")
    refused(
        *["score", "-d", "sample,more.csv", "-m", "given[file=llm.tsv]", "--level", "system"],
        says="matches 2 segments of sample.more: give the scores in a column of each data file, or score the files",
    )


def test_scores_of_hypotheses_choose_from_an_n_best_list(ranker: Run) -> None:
    assert ranker("rerank", "x.nbest", "--oracle", "given[file=x.scores]") == "a b\ne\n"
    assert ranker("rerank", "x.nbest", "--oracle", "given[file=x.scores,direction=lower]") == "c d\ne\n"
    chosen = ranker(
        "rerank", "x.nbest", "--oracle", "given[file=x.scores]", "--references", "x.ref", "--report", "ngrams.1.f1"
    )
    assert chosen == "a b\ne\nngrams.1.f1 0.500000\n"
    assert ranker("rerank", "x.nbest", "--mbr", "ngrams.1.recall") == "a b\ne\n"
    assert ranker("rerank", "x.nbest", "--oracle", "length.longer", "--references", "x.ref") == "a b\ne\n"


LIST = "0 ||| a b ||| f= 1\n0 ||| c d ||| f= 2\n1 ||| e f ||| f= 1\n1 ||| g h ||| f= 1\n"
BY_SYSTEM = {
    "x.seg.score": "A\t.9\nA\t.1\nB\t.3\nB\t.2\n",
    "x.csv": "seg_id,system,score\n1,A,.9\n2,A,.1\n1,B,.3\n2,B,.2\n",
    "x.json": json.dumps(
        {
            "out/A.txt": [{"mt": "a b", "COMET": 0.9}, {"mt": "e f", "COMET": 0.1}],
            "B": [{"mt": "c d", "COMET": 0.3}, {"mt": "g h", "COMET": 0.2}],
        }
    ),
}


@pytest.mark.parametrize("name", BY_SYSTEM)
def test_scores_of_the_systems_of_a_data_set_choose_among_its_candidates(name: str, ranker: Run) -> None:
    records = [("x", {"A": "a b", "B": "c d"}), ("y", {"A": "e f", "B": "g h"})]
    Path("two.json").write_text(json.dumps([{"source": source, "candidates": each} for source, each in records]))
    Path(name).write_text(BY_SYSTEM[name])
    assert ranker("rerank", "two.json", "--oracle", f"given[file={name}]", "--no-checks") == "a b\ng h\n"


@pytest.mark.parametrize(
    "rows",
    [
        *["seg_id,score\n0,.1\n0,.2\n1,.1\n1,.2\n", "seg_id,score\n1,.1\n1,.2\n2,.1\n2,.2\n"],
        *["seg_id,score\nd:9,.1\nd:9,.2\nd:3,.1\nd:3,.2\n", "seg_id,score\n1,.1\n2,.2\n3,.1\n4,.2\n"],
        *["system,score\nfirst,.1\nsecond,.2\nfirst,.1\nsecond,.2\n", "system,score\nx,.1\nx,.2\nx,.1\nx,.2\n"],
        "src,mt,score\nx,a b,.1\nx,c d,.2\ny,e f,.1\ny,g h,.2\n",
    ],
)
def test_scores_that_agree_with_the_order_of_an_n_best_list_choose_from_it(rows: str, ranker: Run) -> None:
    Path("y.nbest").write_text(LIST)
    Path("y.src").write_text("x\ny\n")
    Path("y.csv").write_text(rows)
    assert ranker("rerank", "y.nbest", "-s", "y.src", "--oracle", "given[file=y.csv]", "--no-checks") == "c d\ng h\n"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("mt,score\na b,.1\nc d,.2\ng h,.1\ne f,.2\n", "y.csv:4: this score belongs to the translation 'g h', but"),
        ("src,score\nx,.1\ny,.2\nx,.1\ny,.2\n", "y.csv:3: this score belongs to the source 'y', but y.nbest[0]"),
        ("seg_id,score\n1,.1\n1,.2\n0,.1\n0,.2\n", "y.csv:2: seg_id '1' is in the place of a score for y.nbest[0]"),
        ("seg_id,score\na,.1\nb,.2\na,.1\nb,.2\n", "y.csv:3: seg_id 'b' is in the place of a score for y.nbest[0]"),
        ("system,score\nA,.1\nA,.2\nB,.1\nB,.2\n", "y.csv:3: system 'A' has a second score for y.nbest[0]: expected"),
    ],
)
def test_scores_that_contradict_the_order_of_an_n_best_list_are_refused(
    rows: str, says: str, ranker: Run, refused: Refused
) -> None:
    Path("y.nbest").write_text(LIST)
    Path("y.src").write_text("x\ny\n")
    Path("y.csv").write_text(rows)
    command_line = ["rerank", "y.nbest", "-s", "y.src", "--oracle", "given[file=y.csv,direction=higher]", "--no-checks"]
    refused(*command_line, says=re.escape(says))


def test_features_that_are_metrics_are_marked(ranker: Run) -> None:
    rows = json.loads(ranker("features", "-f", "json"))
    marked = {row["name"]: row["metric"] for row in rows}
    assert marked["bleu"] == marked["perp"] == marked["given"] == "yes"
    assert marked["semantic"] == marked["ds"] == "a column"
    assert marked["paraphrase"] == "no, must be trained"
    assert {"group": "length", "name": "  columns", "metric": "", "what": "length.shorter, length.longer"} in rows
