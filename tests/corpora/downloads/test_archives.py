"""Archives of strangers are unpacked into their folder and nowhere else."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from ranker.corpora.downloads import archives
from ranker.corpora.downloads.archives import is_archive, unpack
from ranker.errors import DataError


def tar(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as packed:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = 0 if isinstance(content, tarfile.TarInfo) else len(content)
            packed.addfile(info, None if isinstance(content, tarfile.TarInfo) else io.BytesIO(content))
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def special(kind: bytes, name: str = "a/x", link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("make", "name"), [(tar, "x.tar.gz"), (tar, "x.tgz"), (tar, "x.tar"), (zipped, "x.zip")])
def test_what_is_wanted_is_unpacked(make, name, tmp_path):
    assert is_archive(name)
    members = {"./set/a/sources/de-en.txt": b"s\n", "set/a/scores/x": b"1\n", "set/ab/y": b"", "z": b""}
    archive, target = make(tmp_path / name, members), tmp_path / "target"
    assert unpack(archive, target, below="set/a", only=["sources"]) == 1
    assert everything(target) == {"sources/de-en.txt": b"s\n"}
    assert unpack(archive, tmp_path / "all") == 4


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a/b\\..\\..\\x", "C:/x", "a/.. /x", "a/con", "a/\x1b[2J"])
@pytest.mark.parametrize("make", [tar, zipped])
def test_no_name_leads_out_of_the_folder(make, name, tmp_path):
    archive = make(tmp_path / ("x.tar" if make is tar else "x.zip"), {name: b"x"})
    with pytest.raises(DataError, match=r"/x\.(tar|zip): .*is not a valid file name") as refused:
        unpack(archive, tmp_path / "deep" / "target")
    assert "\x1b" not in str(refused.value)
    assert everything(tmp_path).keys() == {archive.name}


@pytest.mark.parametrize(
    "member",
    [
        special(tarfile.SYMTYPE, link="../../x"),
        special(tarfile.LNKTYPE, link="/etc/passwd"),
        special(tarfile.FIFOTYPE),
        special(tarfile.CHRTYPE),
    ],
)
def test_links_and_devices_are_refused(member, tmp_path):
    archive = tar(tmp_path / "x.tar", {"a/x": member})
    with pytest.raises(DataError, match="'a/x' is a link, a device or a sparse file"):
        unpack(archive, tmp_path / "target")
    # elsewhere in the archive they do no harm
    assert unpack(tar(archive, {"a/x": member, "b/y": b""}), tmp_path / "target", below="b") == 1


@pytest.mark.parametrize("kept", [(), ("y",)])
def test_archives_that_expand_as_no_data_do_are_refused(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_FREE", 1000)
    archive = tar(tmp_path / "x.tgz", {"x": bytes(1_000_000), "y": b"y"})
    with pytest.raises(DataError, match="unpacks to more than 100 times its size"):
        unpack(archive, tmp_path / "target", only=kept)


@pytest.mark.parametrize("name", ["x.tgz", "x.zip", "x.tar"])
def test_damaged_archives_are_refused(name, tmp_path):
    make = zipped if name == "x.zip" else tar
    archive = make(tmp_path / name, {f"f{number}": bytes(range(256)) * 40 for number in range(3)})
    raw = archive.read_bytes()
    for damaged in (raw[: len(raw) // 2], raw[:50], b"", b"<html>not found</html>"):
        archive.write_bytes(damaged)
        with pytest.raises(DataError, match=r"damaged or unknown archive|contains no files"):
            unpack(archive, tmp_path / "target" / str(len(damaged)))


def test_an_archive_without_the_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="contains no files in set/wmt30: the archive has changed"):
        unpack(tar(tmp_path / "x.tar", {"set/wmt3": b""}), tmp_path / "target", below="set/wmt30")


def test_a_name_that_is_in_it_twice_is_refused(tmp_path):
    for names in (["a", "./a"], ["a", "a/b"]):
        with pytest.raises(DataError, match="clashes with another entry"):
            unpack(
                tar(tmp_path / "x.tar", dict.fromkeys(names, b"x")), tmp_path / f"target{len(names[1])}{names[1][0]}"
            )


def pax(path: Path, keys: dict[str, str], content: bytes = b"x", kind: bytes = tarfile.XHDTYPE) -> Path:
    """Write an archive of one file with an extended header."""
    lines = b""
    for key, value in keys.items():
        line = f" {key}={value}\n".encode()
        length = len(line) + 1
        while len(str(length)) + len(line) != length:
            length += 1
        lines += str(length).encode() + line
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w", format=tarfile.USTAR_FORMAT) as packed:
        for name, body, what in (("pax", lines, kind), ("a", content, tarfile.REGTYPE)):
            info = tarfile.TarInfo(name)
            info.size, info.type = len(body), what
            packed.addfile(info, io.BytesIO(body))
    return path


@pytest.mark.parametrize("kept", [(), ("b",)])
@pytest.mark.parametrize("size", ["1" + "0" * 20, "1" + "0" * 12, "1" + "0" * 5000, "-512", "x"])
def test_a_declared_size_beyond_the_archive_is_refused_before_any_of_it_is_read(size, kept, tmp_path, monkeypatch):
    archive, asked = pax(tmp_path / "x.tgz", {"size": size}), []

    class Counting(gzip.GzipFile):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    monkeypatch.setattr(gzip, "GzipFile", Counting)
    with pytest.raises(DataError, match=r"x\.tgz: (unpacks to more than 100 times its size|damaged)"):
        unpack(archive, tmp_path / "target", only=kept)
    # the header in whole blocks and the beginning of the entry
    assert min(asked) >= 0
    assert sum(asked) <= len(size) + 4 * tarfile.BLOCKSIZE


def test_more_entries_than_any_corpus_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_MOST_ENTRIES", 20)
    folders = {f"d{number}": special(tarfile.DIRTYPE, f"d{number}") for number in range(30)}
    for archive in (
        tar(tmp_path / "x.tar", {"a": b"x", **folders}),
        zipped(tmp_path / "x.zip", {"a": b"x", **{f"d{number}/": b"" for number in range(30)}}),
    ):
        with pytest.raises(DataError, match="has too many entries, expected at most 20: nothing was unpacked"):
            unpack(archive, tmp_path / "target", only=["nothing"])


@pytest.mark.parametrize(
    "keys",
    [
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a"},
        {"GNU.sparse.map": "x,y", "GNU.sparse.size": "z"},
        {"GNU.sparse.numblocks": "999999999", "GNU.sparse.offset": "-1"},
        {"GNU.sparse.major": "one"},
    ],
)
def test_sparse_files_are_refused(keys, tmp_path):
    with pytest.raises(DataError, match=r"x\.tar: 'a' is a link, a device or a sparse file"):
        unpack(pax(tmp_path / "x.tar", keys), tmp_path / "target")


def test_a_long_name_is_read_and_one_beyond_all_names_is_not(tmp_path):
    name = "/".join(["n" * 100] * 4)
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(tmp_path / "x.tar", "w", format=form) as packed:
            info = tarfile.TarInfo(name)
            info.size = 2
            packed.addfile(info, io.BytesIO(b"ab"))
        assert unpack(tmp_path / "x.tar", tmp_path / f"target{form}") == 1
        assert everything(tmp_path / f"target{form}") == {name: b"ab"}
    for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE):
        archive = pax(tmp_path / "x.tgz", {"path": "n" * (1 << 25)}, kind=kind)
        tracemalloc.start()
        with pytest.raises(DataError, match="damaged or unknown archive"):
            unpack(archive, tmp_path / "target")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 24


def test_names_for_all_files_are_not_followed(tmp_path):
    assert unpack(pax(tmp_path / "x.tar", {"comment": "1"}, kind=tarfile.XGLTYPE), tmp_path / "target") == 1
    with pytest.raises(DataError, match="damaged or unknown archive"):
        unpack(pax(tmp_path / "x.tar", {"path": "b"}, kind=tarfile.XGLTYPE), tmp_path / "target")


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unsupported_compression_is_refused_without_advice_to_download_again(how, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", how) as packed:
        packed.writestr("a", b"x")
    what = r"x\.zip: 'a' uses an unsupported compression method, expected stored or deflated \(repack the archive\)"
    with pytest.raises(DataError, match=what):
        unpack(tmp_path / "x.zip", tmp_path / "target")


def test_damaged_members_of_zip_archives_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a", bytes(range(256)) * 40)
    raw = bytearray((tmp_path / "x.zip").read_bytes())
    raw[40:80] = bytes(40)
    (tmp_path / "x.zip").write_bytes(raw)
    with pytest.raises(DataError, match=r"x\.zip: damaged or unknown archive"):
        unpack(tmp_path / "x.zip", tmp_path / "target")


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress, gzip.compress])
def test_damaged_compressed_archives_are_refused(compress, tmp_path):
    raw = bytearray(compress(tar(tmp_path / "x.tar", {"a": bytes(range(256)) * 400}).read_bytes()))
    (tmp_path / "x.tgz").write_bytes(raw)
    if compress is gzip.compress:
        assert unpack(tmp_path / "x.tgz", tmp_path / "sound") == 1
    for place in range(10, len(raw) - 3, max(len(raw) // 40, 1)):
        damaged = bytearray(raw)
        damaged[place : place + 3] = b"\xff\0\xff"
        (tmp_path / "x.tgz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"x\.tgz: "):
            unpack(tmp_path / "x.tgz", tmp_path / f"target{place}")


@pytest.mark.parametrize("name", ["", ".", "./.", "a/" * 30_000 + "b"])
@pytest.mark.parametrize("make", [tar, zipped])
def test_an_entry_without_a_usable_name_is_refused(make, name, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        # which fails for an empty name
        patched.setattr(zipfile.ZipInfo, "is_dir", lambda _: False)
        archive = make(tmp_path / ("x.tar" if make is tar else "x.zip"), {name: b"x", "a": b"x"})
    with pytest.raises(
        DataError, match=r"x\.(tar|zip): damaged or unknown archive \(an entry has (no name|a name that is too long)\)"
    ):
        unpack(archive, tmp_path / "target")


def test_the_folder_itself_may_be_an_entry(tmp_path):
    archive = tar(tmp_path / "x.tar", {"./": special(tarfile.DIRTYPE, "./"), "./a": b"x"})
    assert unpack(archive, tmp_path / "target") == 1
    assert unpack(zipped(tmp_path / "x.zip", {"./": b"", "./a": b"x"}), tmp_path / "other") == 1


def test_a_list_of_entries_larger_than_of_any_corpus_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_LONGEST_LIST", 1000)
    archive = zipped(tmp_path / "x.zip", {f"name{number}": b"" for number in range(30)})
    with pytest.raises(DataError, match="damaged or unknown archive"):
        unpack(archive, tmp_path / "target")


def test_a_zip_archive_whose_entries_begin_before_it_is_refused(tmp_path):
    path = zipped(tmp_path / "x.zip", {"a.txt": b"x" * 50})
    raw = bytearray(path.read_bytes())
    end = raw.rindex(b"PK\5\6")
    # the list of entries is said to begin much further on than it does
    raw[end + 16 : end + 20] = (2**31).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"x\.zip"):
        unpack(path, tmp_path / "target")


def test_a_path_from_the_root_stays_in_the_folder(tmp_path):
    unpack(tar(tmp_path / "x.tar", {"/etc/x": b"x"}), tmp_path / "target")
    assert everything(tmp_path / "target") == {"etc/x": b"x"}


def test_links_in_zip_archives_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        link = zipfile.ZipInfo("x")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "../x")
    with pytest.raises(DataError, match="is a link, a device"):
        unpack(tmp_path / "x.zip", tmp_path / "target")
