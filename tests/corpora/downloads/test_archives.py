"""Archives of strangers are unpacked into their folder and nowhere else."""

from __future__ import annotations

import io
import tarfile
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
            packed.writestr(name, content)
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


def test_other_files_are_left_alone():
    assert not any(map(is_archive, ["x.tsv", "x.gz", "x.jsonl.gz"]))


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a/b\\..\\..\\x", "C:/x", "a/.. /x", "a/con", "a/\x1b[2J"])
@pytest.mark.parametrize("make", [tar, zipped])
def test_no_name_leads_out_of_the_folder(make, name, tmp_path):
    archive = make(tmp_path / ("x.tar" if make is tar else "x.zip"), {name: b"x"})
    with pytest.raises(DataError, match="is not a valid file name") as refused:
        unpack(archive, tmp_path / "deep" / "target")
    assert "\x1b" not in str(refused.value)
    assert everything(tmp_path).keys() == {archive.name}


def test_a_path_from_the_root_stays_in_the_folder(tmp_path):
    unpack(tar(tmp_path / "x.tar", {"/etc/x": b"x"}), tmp_path / "target")
    assert everything(tmp_path / "target") == {"etc/x": b"x"}


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
    with pytest.raises(DataError, match="'a/x' is a link or a device, expected regular files"):
        unpack(archive, tmp_path / "target")
    # elsewhere in the archive they do no harm
    assert unpack(tar(archive, {"a/x": member, "b/y": b""}), tmp_path / "target", below="b") == 1


def test_links_in_zip_archives_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        link = zipfile.ZipInfo("x")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "../x")
    with pytest.raises(DataError, match="is a link or a device"):
        unpack(tmp_path / "x.zip", tmp_path / "target")


def test_archives_that_expand_as_no_data_do_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_FREE", 1000)
    archive = tar(tmp_path / "x.tgz", {"x": bytes(1_000_000)})
    with pytest.raises(DataError, match="unpacks to far more than its size"):
        unpack(archive, tmp_path / "target")


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
        with pytest.raises(DataError, match="is duplicated"):
            unpack(
                tar(tmp_path / "x.tar", dict.fromkeys(names, b"x")), tmp_path / f"target{len(names[1])}{names[1][0]}"
            )
