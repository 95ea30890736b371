"""Test sets of mteval and WMT, as one file, as several, and beside plain files."""

from __future__ import annotations

import gzip
import html
import json
import logging
from pathlib import Path

import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset, read_parallel
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.corpora.damage import refusal
from tests.golden_messages import check_messages

SOURCES = {"d1": ["Eins & <zwei>", "Drei"], "d2": ["Vier"]}
REFERENCES = {
    "A": {"d1": ["One & <two>", "Three"], "d2": ["Four"]},
    "B": {"d1": ["1 and 2", "3 that is"], "d2": ["4"]},
}
SYSTEMS = {
    "good": {"d1": ["One & two", "Three"], "d2": ["Four"]},
    "bad-1.0": {"d1": ["", "Tree"], "d2": ["Fore"]},
}
Texts = dict[str, list[str]]


def body(lines: list[str]) -> str:
    return "".join(f'<seg id="{number}">{html.escape(line)}</seg>\n' for number, line in enumerate(lines, 1))


def mteval_set(kind: str, texts: dict[str, Texts]) -> str:
    """One set, its documents marked with who translated them."""
    target = "" if kind == "srcset" else ' trglang="en"'
    docs = "".join(
        f'<doc docid="{docid}" sysid="{name}" genre="news">\n<p>\n{body(lines)}</p>\n</doc>\n'
        for name, text in texts.items()
        for docid, lines in text.items()
    )
    return f'<{kind} setid="x" srclang="de"{target}>\n{docs}</{kind}>\n'


def wmt(references: dict[str, Texts], systems: dict[str, Texts]) -> str:
    docs = []
    for docid, lines in SOURCES.items():
        versions = [f'<src lang="de">\n<p>\n{body(lines)}</p>\n</src>\n']
        versions += [
            f'<ref lang="en" translator="{name}"><p>{body(reference[docid])}</p></ref>\n'
            for name, reference in references.items()
        ]
        versions += [
            f'<hyp system="{name}" language="en"><p>{body(system[docid])}</p></hyp>\n'
            for name, system in systems.items()
        ]
        docs.append(f'<doc origlang="de" id="{docid}">\n{"".join(versions)}</doc>\n')
    joined = "".join(docs)
    head = "<?xml version='1.0' encoding='utf-8'?>\n"
    return f'{head}<dataset id="test">\n<collection id="c">\n{joined}</collection>\n</dataset>\n'


MTEVAL = "".join(
    mteval_set(kind, texts)
    for kind, texts in (("srcset", {"src": SOURCES}), ("refset", REFERENCES), ("tstset", SYSTEMS))
)


@pytest.fixture(scope="module")
def expected() -> Dataset:
    return assemble(
        [
            Record(
                text,
                [item[docid][index] for item in REFERENCES.values()],
                [Candidate(system, item[docid][index]) for system, item in SYSTEMS.items()],
                lp="de-en",
                doc=docid,
                seg_id=f"{docid}:{index + 1}",
                reference_names=list(REFERENCES),
            )
            for docid, lines in SOURCES.items()
            for index, text in enumerate(lines)
        ],
        "expected",
    )


@pytest.mark.parametrize(
    "text",
    [
        MTEVAL,
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE mteval SYSTEM "mteval.dtd">\n<mteval>\n{MTEVAL}</mteval>\n',
        wmt(REFERENCES, SYSTEMS),
        wmt(REFERENCES, SYSTEMS).replace("\n", "\r\n"),
        wmt(REFERENCES, SYSTEMS).replace("seg", "SEG").replace("<ref ", "<REF ").replace("</ref>", "</REF>"),
    ],
    ids=["sgml", "xml", "wmt", "wmt, windows", "wmt, upper case"],
)
@pytest.mark.parametrize("name", ["x.xml", "x.sgm", "x.SGML", "x.xml.gz", "x.txt", "x"])
def test_one_file_holds_all(text: str, name: str, expected: Dataset, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    dataset = read_dataset(path)
    assert dataset.fingerprint == expected.fingerprint
    write_dataset(dataset, tmp_path / "again.jsonl")
    assert read_dataset(tmp_path / "again.jsonl").fingerprint == expected.fingerprint


def test_files_of_source_references_and_systems(expected: Dataset, tmp_path: Path) -> None:
    paths = {}
    for name, kind, texts in [
        ("src.sgm", "srcset", {"src": SOURCES}),
        *((f"ref{name}.sgm", "refset", {name: item}) for name, item in REFERENCES.items()),
        *((f"{name}.sgm.gz", "tstset", {name: item}) for name, item in SYSTEMS.items()),
    ]:
        paths[name] = tmp_path / name
        raw = mteval_set(kind, texts).encode()
        paths[name].write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    references, systems = ([item for name, item in paths.items() if part in name] for part in ("ref", ".gz"))
    assert read_parallel(paths["src.sgm"], references, systems).fingerprint == expected.fingerprint
    # everything in one file that is named three times
    (tmp_path / "all.xml").write_text(MTEVAL)
    assert read_parallel(*(tmp_path / "all.xml", *([tmp_path / "all.xml"],) * 2)).fingerprint == expected.fingerprint


def test_wmt_submissions_beside_the_file_with_the_references(expected: Dataset, tmp_path: Path) -> None:
    (tmp_path / "test.xml").write_text(wmt(REFERENCES, {}))
    submissions = []
    for name, item in SYSTEMS.items():
        submissions.append(tmp_path / f"{name}.xml")
        submissions[-1].write_text(wmt({}, {name: item}))
    dataset = read_parallel(tmp_path / "test.xml", [tmp_path / "test.xml"], submissions)
    assert dataset.fingerprint == expected.fingerprint


def test_plain_files_beside_marked_up_ones(expected: Dataset, tmp_path: Path) -> None:
    (tmp_path / "test.xml").write_text(wmt(REFERENCES, {}))
    for name, left in SYSTEMS.items():
        (tmp_path / name).write_text("".join(line + "\n" for lines in left.values() for line in lines))
    (tmp_path / "plain.de").write_text("".join(line + "\n" for lines in SOURCES.values() for line in lines))
    systems = [tmp_path / name for name in SYSTEMS]
    dataset = read_parallel(tmp_path / "test.xml", [tmp_path / "test.xml"], systems)
    assert dataset.fingerprint == expected.fingerprint
    right = read_parallel(tmp_path / "plain.de", [tmp_path / "test.xml"], systems)
    assert right.sources["text"].tolist() == expected.sources["text"].tolist()
    assert right.candidates["text"].tolist() == expected.candidates["text"].tolist()
    assert right.sources["lp"].isna().all()
    (tmp_path / "good").write_text("only\n")
    says = "has 1 line, expected 3 as in .*test.xml"
    refusal(lambda: read_parallel(tmp_path / "test.xml", [], [tmp_path / "good"]), tmp_path / "good", 1, says)


def test_references_of_one_name_stay_apart_and_systems_may_not(tmp_path: Path) -> None:
    for name, text in {
        "src.sgm": mteval_set("srcset", {"src": SOURCES}),
        "r1.sgm": mteval_set("refset", {"ref": REFERENCES["A"]}),
        "r2.sgm": mteval_set("refset", {"REF": REFERENCES["B"]}),
        "t1.sgm": mteval_set("tstset", {"same": SYSTEMS["good"]}),
        "t2.sgm": mteval_set("tstset", {"same": SYSTEMS["bad-1.0"]}),
    }.items():
        (tmp_path / name).write_text(text)
    paths = {path.stem: path for path in tmp_path.iterdir()}
    dataset = read_parallel(paths["src"], [paths["r1"], paths["r2"]], [paths["t1"]])
    assert dataset.references["name"].tolist() == ["ref", "REF2"] * 3
    joined = [paths["t1"], paths["t2"]]
    says = "system 'same' is also in .*t1.sgm; rename or remove one"
    refusal(lambda: read_parallel(paths["src"], [paths["r1"]], joined), paths["t2"], 2, says)


def test_a_system_without_a_name_is_called_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "src.sgm").write_text(mteval_set("srcset", {"src": SOURCES}))
    (tmp_path / "mine.sgm").write_text(mteval_set("tstset", {"x": SYSTEMS["good"]}).replace(' sysid="x"', ""))
    dataset = read_parallel(tmp_path / "src.sgm", [], [tmp_path / "mine.sgm"])
    assert dataset.candidates["system"].tolist() == ["mine.sgm"] * 3


def test_a_system_without_a_name_is_no_reference(tmp_path: Path) -> None:
    parts = [("srcset", SOURCES), ("refset", REFERENCES["A"]), ("tstset", SYSTEMS["good"])]
    texts = [mteval_set(kind, {"x": item}).replace(' sysid="x"', "") for kind, item in parts]
    (tmp_path / "all.sgm").write_text("".join(texts))
    together = read_dataset(tmp_path / "all.sgm")
    paths = [tmp_path / folder / "news" for folder in ("src", "ref", "out")]
    for path, text in zip(paths, texts, strict=True):
        path.parent.mkdir()
        path.write_text(text)
    apart = read_parallel(paths[0], [paths[1]], [paths[2]])
    assert not together.is_reference.any()
    assert not apart.is_reference.any()
    # a name in the tags is of a translator, whichever set it is in
    (tmp_path / "all.sgm").write_text(texts[0] + "".join(mteval_set(kind, {"x": item}) for kind, item in parts[1:]))
    assert read_dataset(tmp_path / "all.sgm").is_reference.all()


def test_what_is_lacking_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lacking = {"d1": ["One", ""]}
    path = tmp_path / "x.xml"
    sets = (("srcset", {"s": SOURCES}), ("refset", {"A": lacking}), ("tstset", {"t": SYSTEMS["good"]}))
    path.write_text("".join(mteval_set(*each) for each in sets))
    with caplog.at_level(logging.WARNING):
        dataset = read_dataset(path)
    assert len(dataset) == 3
    assert len(dataset.references) == 1
    assert "references: empty segments, skipped: 1" in caplog.text
    assert "references: missing segments: 1 (A 1; the first: segment 1 of document d2)" in caplog.text


def test_what_is_refused(tmp_path: Path) -> None:
    """Each question is a test set, a part of it and what stands there instead."""
    path = tmp_path / "x.xml"
    sets = {
        "": "",
        "all of mteval": MTEVAL,
        "all of WMT": wmt(REFERENCES, SYSTEMS),
        "source": mteval_set("srcset", {"s": SOURCES}),
        "systems": mteval_set("tstset", SYSTEMS),
    }

    def ask(asked: str) -> str:
        name, *change = json.loads(asked)
        path.write_text(sets[name].replace(*(change or ("", "")), 1))
        return refusal(lambda: read_dataset(path), path)

    check_messages("test_sets", ask, folder=tmp_path)


def test_the_wrong_kind_of_file_and_bytes_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "src.sgm").write_text(mteval_set("srcset", {"src": SOURCES}))
    (tmp_path / "t.sgm").write_text(mteval_set("tstset", {"t": SYSTEMS["good"]}))
    for arguments, says in {
        ("t.sgm", "t.sgm", "t.sgm"): "t.sgm: expected documents of a source, found only those of a system",
        ("src.sgm", "src.sgm", "t.sgm"): "src.sgm: expected documents of a reference, found only those of a source",
    }.items():
        source, reference, system = (tmp_path / name for name in arguments)
        with pytest.raises(DataError, match=says):
            read_parallel(source, [reference], [system])
    latin = mteval_set("tstset", {"t": {"d1": ["Müll", "x"], "d2": ["y"]}}).encode("latin-1")
    (tmp_path / "t.sgm").write_bytes(latin)
    says = "byte 0xfc is not utf-8: specify the encoding, or convert"
    refusal(lambda: read_parallel(tmp_path / "src.sgm", [], [tmp_path / "t.sgm"]), tmp_path / "t.sgm", 4, says)
    (tmp_path / "t.sgm").write_bytes(b'<?xml version="1.0" encoding="iso-8859-1"?>\n' + latin)
    assert "Müll" in read_parallel(tmp_path / "src.sgm", [], [tmp_path / "t.sgm"]).candidates["text"].tolist()
