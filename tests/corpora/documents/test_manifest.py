"""Corpora that a manifest describes: as simulated in the shape of the licensed ones, and small ones that are wrong."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from data.making import sample as simulation
from data.making.ldc import SHAPES, format_document, main, simulate_ldc
from ranker import share
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.documents.manifest import read_manifest, read_with_notes
from ranker.corpora.documents.manifest_schema import parse_manifest
from ranker.corpora.documents.sgml import Document, Segment
from ranker.corpora.records import assemble
from ranker.errors import DataError
from tests.corpora.stories import FILES, MANIFEST, SCORES, story, write_corpus

SENTENCES = share.directory("data") / "sample" / "sentences.jsonl"


@pytest.fixture(scope="module")
def sentences() -> list[simulation.Sentence]:
    return simulation.read_sentences(SENTENCES)


@pytest.fixture(scope="module", params=sorted(SHAPES))
def shaped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the name of a shape, and a folder of corpora that holds a corpus of it."""
    folder = tmp_path_factory.mktemp("shaped")
    assert main([str(SENTENCES), str(folder / request.param), "--like", request.param]) == 0
    return request.param, folder


def outputs(dataset: Dataset) -> dict[tuple[str, str], str]:
    candidates = dataset.candidates
    ids = dataset.sources["seg_id"].iloc[candidates["source"]]
    return dict(zip(zip(ids, candidates["system"], strict=True), candidates["text"], strict=True))


def test_corpus_by_name_is_what_was_simulated(shaped, sentences, monkeypatch, caplog) -> None:
    name, folder = shaped
    monkeypatch.setenv("RANKER_DATA", str(folder))
    with caplog.at_level(logging.WARNING):
        dataset = catalogue.load(name)
    direct = assemble(simulate_ldc(sentences, name), name)
    assert dataset.name == name
    assert dataset.fingerprint == direct.fingerprint
    messages = [record.getMessage() for record in caplog.records]
    assert any(re.search(r"systems: missing segments: \d \(E\d\d 1", item) for item in messages)
    assert any(re.search(r"references: missing segments: \d \(E0\d 1", item) for item in messages)
    guesses = [item for item in messages if "not in UTF-8, read as" in item]
    assert [re.findall(r"(\w+): files .* as (\w+)", item)[0] for item in guesses] == (
        [("source", "gb18030"), ("references", "cp1252"), ("systems", "gb2312")] if name == "acl05" else []
    )
    assert all(item.startswith(f"ranker: note: {name}: ") for item in messages)


def test_small_corpus(tmp_path) -> None:
    dataset, notes = read_with_notes(write_corpus(tmp_path / "small"))
    assert notes == []
    assert dataset.name == "small"
    assert dataset.sources.to_dict("list") == {
        "lp": ["zh-en"] * 2,
        "doc": ["d1"] * 2,
        "seg_id": ["d1:1", "d1:2"],
        "text": ["图书馆", "市场"],
    }
    assert dataset.references["text"].tolist() == ["the library", "the market"]
    assert set(dataset.references["name"]) == {"E01"}
    assert dataset.candidates["system"].tolist() == ["E05", "E06"] * 2
    assert dataset.candidates["text"].tolist() == ["library", "book house", "market", "market place"]
    assert not dataset.candidates["is_reference"].any()
    assert dataset.ratings.to_dict("list") == {
        "candidate": [0, 1, 2],
        "judge": ["j1"] * 3,
        "kind": ["fluency"] * 3,
        "value": [4.0, 2.0, 5.0],
    }


def test_holes_are_said_and_leave_the_rest(tmp_path) -> None:
    changes = {
        "ref.sgm": story("d1", "E01", "the library", " "),
        "E05/d1.sgm": story("d1", "E05", "library"),
        "E06.sgm": story("d1", "other", "", "market place") + "forgotten",
        "source.sgm": story("d1", None, "图书馆", "市场", ""),
        "scores.txt": "E05\td1\t1\tj1\t4\n",
    }
    dataset, notes = read_with_notes(write_corpus(tmp_path / "small", changes))
    assert outputs(dataset) == {("d1:1", "E05"): "library", ("d1:1", "E06"): "", ("d1:2", "E06"): "market place"}
    assert dataset.references["source"].tolist() == [0]
    folder = tmp_path / "small"
    assert notes == [
        f"source: empty segments: 1 (the first: {folder / 'source.sgm'}:4)",
        f"references: empty segments, skipped: 1 (E01 1; the first: {folder / 'ref.sgm'}:3)",
        "references: missing segments: 1 (E01 1; the first: segment 3 of document d1)",
        "systems: missing segments: 3 (E05 2, E06 1; the first: segment 2 of document d1)",
        "systems: documents with text outside of segments, which is ignored: 1 (E06 1; the first: "
        f"{folder / 'E06.sgm'}:5)",
        "systems: documents with a different name for their system: 1 (E06 1; the first: other in "
        f"{folder / 'E06.sgm'}:1)",
    ]


def test_encodings_named_for_all_or_for_one(tmp_path) -> None:
    manifest = MANIFEST.replace("[systems]", '[systems]\nencoding = "cp1252"').replace(
        '"E06.sgm"', '{ path = "E06.sgm", encoding = "gb2312", undecodable = "replace" }'
    )
    changes = {
        "manifest.toml": manifest,
        "E05/d1.sgm": story("d1", "E05", "café", "market").encode("latin-1"),
        "E06.sgm": story("d1", "E06", "the 图 house", "X place").encode("gb2312").replace(b"X", b"\xd0 "),
    }
    dataset, notes = read_with_notes(write_corpus(tmp_path / "small", changes))
    assert outputs(dataset)["d1:1", "E05"] == "café"
    assert outputs(dataset)["d1:1", "E06"] == "the 图 house"
    assert outputs(dataset)["d1:2", "E06"] == "\ufffd place"
    where = tmp_path / "small" / "E06.sgm"
    assert notes == [f"systems: characters that are not gb2312 and were replaced: 1 (E06 1; the first: {where})"]


def test_what_could_be_two_encodings_is_said(tmp_path) -> None:
    changes = {"E06.sgm": story("d1", "E06", "primary 小学", "x").encode("gb2312")}
    _, notes = read_with_notes(write_corpus(tmp_path / "small", changes))
    assert len(notes) == 1
    assert notes[0].startswith("systems: files read as UTF-8 that could also be GB2312; specify the encoding")
    declared = b'<?xml version="1.0" encoding="GB2312"?>\n' + changes["E06.sgm"]
    dataset, notes = read_with_notes(write_corpus(tmp_path / "small", {"E06.sgm": declared}))
    assert notes == []
    assert outputs(dataset)["d1:1", "E06"] == "primary 小学"


def test_test_sets_of_mteval(tmp_path) -> None:
    def document(sysid: str | None, *texts: str) -> Document:
        return Document("d1", tuple(Segment(str(number), text, 0) for number, text in enumerate(texts, 1)), sysid)

    def in_set(name: str, *documents: Document) -> str:
        languages = 'srclang="zh"' if name == "srcset" else 'srclang="zh" trglang="en"'
        return f'<{name} setid="set" {languages}>\n{"".join(map(format_document, documents))}</{name}>\n'

    source = in_set("srcset", document(None, "图书馆", "市场"))
    references = in_set(
        "refset", document("E01", "the library", "the market"), document("E02", "a library", "a market")
    )
    systems = in_set("tstset", document("E05", "library", "market"), document("E06", "book house", "market place"))
    manifest = MANIFEST.replace('E01 = "ref.sgm"', 'E01 = "all.xml"\nE02 = "all.xml"')
    for old in ('"source.sgm"', '"E05"', '"E06.sgm"'):
        manifest = manifest.replace(old, '"all.xml"')
    # a reference that is ranked too
    manifest = manifest.replace("[systems]", '[systems]\nE02 = "all.xml"')
    whole = f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n{source}{references}{systems}</mteval>\n'
    changes = dict.fromkeys(FILES, None) | {"manifest.toml": manifest, "all.xml": whole, "scores.txt": SCORES}
    dataset, notes = read_with_notes(write_corpus(tmp_path / "one file", changes))
    assert notes == []
    assert dataset.references["name"].tolist() == ["E01", "E02"] * 2
    assert dataset.references["text"].tolist() == ["the library", "a library", "the market", "a market"]
    assert dataset.candidates["system"].tolist() == ["E02", "E05", "E06"] * 2
    assert dataset.candidates["is_reference"].tolist() == [True, False, False] * 2
    assert outputs(dataset)["d1:2", "E02"] == "a market"
    assert outputs(dataset)["d1:2", "E06"] == "market place"
    plain = read_manifest(write_corpus(tmp_path / "several"))
    some = dataset.select_candidates(~dataset.candidates["is_reference"].to_numpy())
    assert outputs(some) == outputs(plain)
    assert some.ratings.equals(plain.ratings)


@pytest.mark.parametrize(
    ("path", "ok"), [("E05/*.sgm", True), ("**/d1.sgm", True), (["E05/d1.sgm", "E05"], True), ("E0*", False)]
)
def test_paths_and_patterns(path, ok, tmp_path) -> None:
    folder = write_corpus(tmp_path / "small", {"manifest.toml": MANIFEST.replace('"E05"', json.dumps(path))})
    (folder / "E05" / ".hidden").write_text("not to be read")
    if ok:
        assert outputs(read_manifest(folder)) == outputs(read_manifest(write_corpus(tmp_path / "plain")))
    else:
        # the pattern takes the file of the other system too
        with pytest.raises(DataError, match="segment '1' of document 'd1' is duplicated"):
            read_manifest(folder)


def test_the_documented_manifest_is_one() -> None:
    document = Path(__file__).resolve().parents[3] / "docs" / "ldc.md"
    if not document.is_file():
        pytest.skip("documents are not part of the wheel")
    (example,) = re.findall(r"```toml\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    manifest = parse_manifest(example, "ldc.md")
    assert [str(part) for part in (*manifest.references, *manifest.systems)] == [
        "reference E01",
        "reference E02",
        "system E05",
        "system E06",
    ]
    assert manifest.systems[0].replace
    assert manifest.source.encoding == "gb18030"
    ((_, layout),) = manifest.assessments
    assert layout.columns == {"judge": 1, "system": 2, "doc": 3, "segment": 4, "fluency": 6, "adequacy": 7}
    assert (layout.delimiter, layout.header, layout.scale, layout.missing) == ("\t", False, (1, 5), {"-1", "NA"})
