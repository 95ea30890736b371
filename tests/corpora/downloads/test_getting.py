"""`ranker data get` and what it leaves on disk."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from pathlib import Path

import msgspec
import pytest

from ranker.corpora import catalogue
from ranker.corpora.catalogue import Download
from ranker.corpora.downloads.getting import get
from ranker.corpora.judgements import human_scores
from ranker.errors import DataError, FetchError, OptionError
from tests.corpora.downloads.conftest import CONTENT, DIGEST, HASTY

FORMATS = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
PARTS = {
    "sets/one/sources/de-en.txt": b"a\nb\n",
    "sets/one/system-outputs/de-en/A.txt": b"x\ny\n",
    "sets/one/human-scores/de-en.da.seg.score": b"A\t1\nA\t2\n",
    "sets/one/references/de-en.refA.txt": b"r\ns\n",
    "sets/one/references/de-en_x.refA.txt": b"z",
    "sets/one/metric-scores/big": b"big",
    "sets/two/sources/de-en.txt": b"",
}


def archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in PARTS.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def written(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file_is_put_where_the_corpus_is_looked_for(server, card, corpora, caplog):
    example = card(Download(f"{server.url}/data.txt", sha256=DIGEST, size=len(CONTENT)))
    [row] = get("made", limits=HASTY)
    assert (row.file, row.size, row.sha256, row.checked) == ("data.txt", len(CONTENT), DIGEST, "card")
    assert row.written == example.find() == corpora / "made" / "data.txt"
    assert written(corpora) == ["made/data.txt"]
    server.files.clear()
    assert get("made", limits=HASTY) == []
    assert "(use --again to download it again)" in caplog.text
    with pytest.raises(FetchError, match="answered 404"):
        get("made", again=True, limits=HASTY)
    assert example.find()


def test_a_digest_that_is_given_accepts_a_version_of_another_size(server, card, corpora):
    card(Download(f"{server.url}/data.txt", sha256=DIGEST, size=len(CONTENT)))
    server.files["/data.txt"] = new = CONTENT + b"more\n"
    with pytest.raises(FetchError, match="it has changed; give the digest of this version with --sha256"):
        get("made", limits=HASTY)
    [row] = get("made", sha256={"": hashlib.sha256(new).hexdigest()}, limits=HASTY)
    assert (row.size, row.checked) == (len(new), "--sha256")
    server.files["/data.txt"] = CONTENT
    with pytest.raises(FetchError, match="has the SHA-256 digest"):
        get("made", sha256={"": "0" * 64}, again=True, limits=HASTY)
    assert (corpora / "made" / "data.txt").read_bytes() == new


def test_what_cannot_be_fetched_leaves_no_empty_folder(server, card, corpora):
    card(Download(f"{server.url}/not-there.txt", sha256=DIGEST))
    with pytest.raises(FetchError, match="answered 404"):
        get("made", limits=HASTY)
    assert not (corpora / "made").exists()
    (corpora / "made").mkdir()
    with pytest.raises(FetchError, match="answered 404"):
        get("made", limits=HASTY)
    assert (corpora / "made").is_dir()


def test_an_archive_is_unpacked_and_kept_for_other_cards(server, card, corpora):
    server.files["/sets.tgz"] = archive()
    part = Download(
        f"{server.url}/sets.tgz", below="sets/one", into="one", only=("sources", "system-outputs", "human-scores")
    )
    card(part, files=("one/",))
    [row] = get("made", unverified=True, limits=HASTY)
    assert (row.checked, row.written) == ("nothing", corpora / "made" / "one")
    assert written(corpora) == [
        "downloads/sets.tgz",
        "downloads/sets.tgz.sha256",
        "made/one/human-scores/de-en.da.seg.score",
        "made/one/sources/de-en.txt",
        "made/one/system-outputs/de-en/A.txt",
    ]
    dataset = catalogue.load("made")
    assert (dataset.name, dataset.ratings["value"].tolist()) == ("made", [1.0, 2.0])
    (corpora / "made" / "one" / "old").touch()
    get("made", again=True, limits=HASTY)
    assert "made/one/old" not in written(corpora)
    server.files.clear()
    card(msgspec.structs.replace(part, below="sets/two", into="two"), files=("two/",))
    [row] = get("made", limits=HASTY)
    assert row.checked == "first download"
    assert (corpora / "made" / "two" / "sources" / "de-en.txt").is_file()


def test_the_digest_of_the_first_download_is_checked_from_then_on(server, card, corpora):
    card(Download(f"{server.url}/data.txt"))
    with pytest.raises(
        OptionError, match=r"no SHA-256 digest is known for data\.txt: give it with --sha256, or .*--unverified"
    ):
        get("made", limits=HASTY)
    assert server.requests == []
    assert not corpora.exists()
    get("made", unverified=True, limits=HASTY)
    record = corpora / "downloads" / "data.txt.sha256"
    assert record.read_text() == f"{DIGEST}  data.txt\n"
    assert get("made", again=True, limits=HASTY)[0].checked == "first download"
    server.files["/data.txt"] = b"new"
    with pytest.raises(FetchError, match=f"expected {DIGEST}: .*; to accept the changed file, delete {record}"):
        get("made", again=True, unverified=True, limits=HASTY)
    digest = hashlib.sha256(b"new").hexdigest()
    assert get("made", again=True, sha256={"": digest.upper()}, limits=HASTY)[0].checked == "--sha256"
    assert record.read_text() == f"{digest}  data.txt\n"
    assert (corpora / "made" / "data.txt").read_bytes() == b"new"


def test_files_that_belong_together_come_together(server, card, corpora):
    server.files["/b.txt"] = b"b"
    card(Download(f"{server.url}/data.txt", sha256=DIGEST), Download(f"{server.url}/b.txt", sha256=DIGEST))
    with pytest.raises(FetchError, match=r"/b\.txt: has the SHA-256 digest"):
        get("made", limits=HASTY)
    assert written(corpora) == ["downloads/data.txt"]
    server.requests.clear()
    get("made", sha256={"b.txt": hashlib.sha256(b"b").hexdigest()}, limits=HASTY)
    assert [path for path, _ in server.requests] == ["/b.txt"]
    assert written(corpora) == ["downloads/b.txt.sha256", "made/b.txt", "made/data.txt"]


def test_a_file_that_the_user_brought_is_checked_and_taken(server, card, corpora, caplog):
    card(Download(f"{server.url}/data.txt", sha256=DIGEST))
    (corpora / "downloads").mkdir(parents=True)
    (corpora / "downloads" / "data.txt").write_bytes(b"other")
    with pytest.raises(FetchError, match=rf"data\.txt: has the SHA-256 digest .*, expected {DIGEST} \(card\): delete"):
        get("made", limits=HASTY)
    (corpora / "downloads" / "data.txt").write_bytes(CONTENT)
    get("made", limits=HASTY)
    assert server.requests == []
    assert "using data.txt, which is already downloaded" in caplog.text


@pytest.mark.skipif(not FORMATS.is_file(), reason="documents are not part of the wheel")
def test_direct_assessment_in_csv_becomes_a_corpus_as_the_documents_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("da").mkdir()
    Path("da/2017-da.csv").write_text(
        "lp,src,mt,ref,score,raw,annotators\n"
        'de-en,"a, b",x,r,0.5,80,2\nde-en,"a, b",y,r,-1.5,10,1\nde-en,"a, b",x,r,0.75,90,1\nen-de,c,z,s,,,1\n'
    )
    [code] = re.findall(r"^```py\n(.*?)^```", FORMATS.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    exec(code, {})
    dataset = catalogue.load("wmt17.jsonl")
    assert dataset.sources[["lp", "text"]].to_numpy().tolist() == [["de-en", "a, b"], ["en-de", "c"]]
    assert dataset.candidates["text"].tolist() == ["x", "y", "z"]
    assert human_scores(dataset, "score")[:2].tolist() == [0.625, -1.5]


def test_sources_and_references_of_a_language_pair_come_alone(server, card, corpora, command):
    server.files["/sets.tgz"] = archive()
    only = ("sources", "references", "system-outputs", "human-scores")
    card(Download(f"{server.url}/sets.tgz", below="sets/one", into="one", only=only), files=("one/",))
    out = command("data", "get", "made", "--lp", "de-en", "--sources", "--unverified").out
    folder = corpora / "made" / "de-en"
    paths = [folder / "references" / "de-en.refA.txt", folder / "sources" / "de-en.txt"]
    assert out.splitlines()[1:] == [str(path) for path in paths]
    assert written(corpora / "made") == [str(path.relative_to(corpora / "made")) for path in paths]
    # the rest is still to come, without another download
    server.files.clear()
    get("made", sources=[], limits=HASTY)
    assert "made/sources/references/de-en_x.refA.txt" in written(corpora)
    get("made", limits=HASTY)
    assert "made/one/system-outputs/de-en/A.txt" in written(corpora)
    with pytest.raises(DataError, match="contains no sources/xx-en or references/xx-en in sets/one"):
        get("made", sources=["xx-en"], limits=HASTY)


def test_the_command_says_what_it_fetched(server, card, corpora, command, caplog):
    card(Download(f"{server.url}/data.txt", sha256=DIGEST))
    assert (
        command("data", "get", "made", "--max-gb", "0.001").out
        == f"data.txt: 12.0 kB, SHA-256 {DIGEST} (verified against: card); in {corpora}/made/data.txt\n"
    )
    assert "downloading data.txt: 12.0 kB from 127.0.0.1" in caplog.text


def test_the_command_says_in_one_line_what_is_wrong(server, card, command):
    card(Download(f"{server.url}/data.txt"))
    for options, says in (
        ([], "no SHA-256 digest is known"),
        (["--sha256", "x"], "expected 64"),
        (["--unverified", "--max-gb", "0.00001"], "more than the limit of 10.0 kB"),
    ):
        (line,) = command("data", "get", "made", *options, code=2).err.splitlines()
        assert says in line
