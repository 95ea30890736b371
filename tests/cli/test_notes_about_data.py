from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from ranker import from_texts
from ranker.corpora.formats.writing import write_dataset
from tests.corpora.test_sanity import CLEAN, REFERENCES, SOURCES, edited
from tests.datasets import dataset_of
from tests.effort import further


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    outputs = {
        "copy": [*REFERENCES[:-1], CLEAN[-1]],
        "lower": [text.lower() for text in CLEAN],
        "empty": [*CLEAN[:-1], ""],
        "short": [text[:5] for text in edited(REFERENCES, 7)],
        "same": CLEAN,
        "again": CLEAN,
        "source": SOURCES,
    }
    for name, lines in {"src": SOURCES, "ref": REFERENCES, **outputs}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_dataset(from_texts(outputs, REFERENCES, SOURCES), tmp_path / "data.json")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("score", "-r", "ref", "-t", "copy", "lower", "empty", "short", "same", "again", "source", "-m", "chrf"),
        ("score", "data.json", "-m", "chrf"),
        ("rank", "data.json", "-m", "chrf"),
        further(("systems", "data.json", "-m", "chrf", "--resamples", "10")),
        ("contrast", "data.json", "lower", "empty", "-m", "chrf"),
    ],
)
def test_a_command_says_five_notes_and_where_the_rest_is(words, folder, command) -> None:
    out, err = command(*words, "-f", "json")
    json.loads(out)
    # what rank does about the copies comes before the notes about the data
    lines = [line for line in err.splitlines() if "ranked behind" not in line]
    assert lines[0].startswith("ranker: note: 59 outputs of copy equal the reference (first: ")
    assert sum("(first: " in line for line in lines) == 5
    # systems names identical ones in its conclusion
    assert sum("more notes about the data: ranker data check" in line for line in lines) == (words[0] != "systems")
    assert sum(text in out + err for text in ("nearly identical systems", '"nearly_identical"')) <= 1
    assert command("--quiet", *words, "-f", "json") == (out, "")


def test_the_rest_of_the_notes_is_where_the_last_line_says(folder, command) -> None:
    Path("data.json").rename("my data.json")
    Path("more.json").write_bytes(Path("my data.json").read_bytes())
    *_, last = command("rank", "-d", "my data.json", "-d", "more.json", "-m", "chrf", "-f", "json").err.splitlines()
    checks = last.removeprefix("ranker: note: more notes about the data: ").split("; ")
    assert checks == ["ranker data check 'my data.json'", "ranker data check more.json"]
    for check in checks:
        assert "note: " in command(*shlex.split(check)[1:]).out


def test_data_check_lists_all_notes_as_part_of_its_result(folder, command) -> None:
    out, err = command("data", "check", "data.json")
    assert not err
    assert len([line for line in out.splitlines() if line.startswith("note: ")]) == 6
    document = json.loads(command("data", "check", "data.json", "-f", "json").out)
    assert document["notes"][0] == {
        "count": 59,
        "first": "data.json:2: data[1], copy",
        "text": "59 outputs of copy equal the reference",
    }


def test_data_check_looks_at_each_shard(folder, command) -> None:
    command("data", "shard", "data.json", "--out", "shards", "--rows", "210")
    out, err = command("data", "check", "shards")
    assert not err
    notes = [line for line in out.splitlines() if line.startswith("note: ")]
    shards = [f"part-0000{number}.parquet" for number in range(2)]
    assert notes[0].startswith(f"note: {shards[0]}: 30 outputs of source are copies of the source (first: ")
    assert [sum(f"note: {shard}: " in line for line in notes) for shard in shards] == [5, 7]
    document = json.loads(command("data", "check", "shards", "-f", "json").out)
    assert [row["shard"] for row in document["rows"]] == shards
    assert len(document["notes"]) == 12


@pytest.mark.parametrize("words", [("rank",), ("evaluate", "--resamples", "0", "--kind", "fluency:higher")])
def test_scores_that_tie_almost_everywhere_are_noted(words, tmp_path, monkeypatch, command) -> None:
    monkeypatch.chdir(tmp_path)
    items = [([f"a word and another, number {row}"], [f"yes it is x{row}", f"no x{row}"]) for row in range(40)]
    write_dataset(dataset_of(items, kind="fluency"), tmp_path / "data.json")
    note = "ranker: note: 40 of 40 pairs of candidates of a source have the same score by precision\n"
    assert command(words[0], "data.json", *words[1:], "-m", "precision", "-f", "json").err.count(note) == 1
    noted = command(words[0], "data.json", *words[1:], "-m", "chrf", "-f", "json").err
    assert "pairs of candidates of a source" not in noted


def test_the_script_chooses_the_tokenizer_and_a_note_says_so(tmp_path, monkeypatch, command) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref").write_text("我很喜欢那只坐在垫子上的猫。\n", encoding="utf-8")
    (tmp_path / "A").write_text("我喜欢坐在垫子上的那只猫。\n", encoding="utf-8")
    scores = []
    for options in ([], ["--lp", "en-zh"], ["--lp", "en-de"]):
        out, err = command("score", "-r", "ref", "-t", "A", "-m", "bleu", *options, "-f", "csv")
        scores.append(float(out.splitlines()[1].split(",")[-1]))
        assert ("tokenizer=zh, because the references are Chinese by their script" in err) == (not options)
    np.testing.assert_allclose(scores[0], scores[1])
    assert scores[0] > scores[2]


def test_agreement_names_a_judge_who_always_gives_the_same_score_and_what_it_leaves_out(tmp_path, command) -> None:
    rows = [
        f"quelle {number},{system},text {system} {number},{judge},{50 if judge == 'j1' else 10 * place + number}"
        for number in range(10)
        for place, system in enumerate("AB")
        for judge in ("j1", "j2")
    ]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["source,system,text,judge,score", *rows, ""]), encoding="utf-8")
    said = command("agreement", str(path), "--kind", "score:higher", "-f", "json").out
    assert json.loads(said)["notes"] == [
        "the judges gave more than 12 different values: only orders of candidates are compared "
        "(kappa of every two judges: --pairs)",
        "10 sources, fewer than 30: intervals are too narrow",
        "rater j1 gave the same score, 50, to all 20 outputs; these ratings are counted",
    ]


@pytest.mark.parametrize("judged", ["fluency", "errors"])
def test_agreement_tells_that_intervals_of_few_sources_are_too_narrow(judged: str, tmp_path, command) -> None:
    def candidate(system: str, number: int) -> dict[str, object]:
        values = {"a": number % 4, "b": number % 3}
        if judged == "fluency":
            return {"system": system, "text": f"{system} {number}", "human": {"fluency": values}}
        errors = [{"start": 0, "end": 1 + values[name], "severity": "minor", "rater": name} for name in values]
        return {"system": system, "text": f"{system} text {number}", "errors": errors}

    records = [
        {
            "lp": lp,
            "seg_id": str(number),
            "source": f"s{number}",
            "candidates": [candidate(name, number) for name in "AB"],
        }
        for lp, size in (("de-en", 30), ("fr-en", 3), ("ru-en", 1))
        for number in range(size)
    ]
    path = tmp_path / "few.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    notes = [
        "fr-en: 3 sources, fewer than 30: intervals are too narrow",
        "ru-en: only 1 source: no intervals; differences may be chance",
    ]
    run = ("agreement", str(path), "--resamples")
    said = command(*run, "20").out
    assert [line.removeprefix("note: ") for line in said.splitlines() if line.startswith("note: ")] == notes
    assert json.loads(command(*run, "20", "-f", "json").out)["notes"] == notes
    # without resamples, and of every two judges, there are no intervals
    assert "note:" not in command(*run, "0").out + command(*run, "20", "--pairs").out
