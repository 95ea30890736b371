"""Reading and writing files."""

from __future__ import annotations

import gzip
import os
import stat
import sys
from pathlib import Path

import pytest

import ranker
from ranker import errors, files
from ranker.corpora.downloads.transfer import DownloadLimits, fetch
from ranker.errors import DataError
from ranker.storage.model_files import check_target


def test_what_expands_as_no_text_does_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "UNPACKED_FREE", 1 << 16)
    bomb, text = tmp_path / "bomb.gz", tmp_path / "text.gz"
    bomb.write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(DataError, match=r"bomb\.gz: unpacks to more than 200 times its size.*unpack it first"):
        files.read_bytes(bomb)
    # several members, as of concatenated files
    written = b"".join(b"line %d\n" % number for number in range(50_000))
    text.write_bytes(gzip.compress(written) + gzip.compress(b"end\n"))
    assert files.read_bytes(text) == written + b"end\n"


@pytest.mark.parametrize("name", ["de-en", "bleu-refA.seg.score", "combine[bleu,ter]-src.signature", "über", "名前"])
def test_plain_names_lie_in_their_folder(tmp_path, name):
    assert files.safe_join(tmp_path, "a", name) == tmp_path / "a" / name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/", "a/b", "a\\b", "C:x", "a\0", "a\n", "\u202e", "x" * 201, "NUL", "com1.txt"]
)
def test_other_names_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="is not a valid file name"):
        files.safe_join(tmp_path, name)


@pytest.mark.skipif(sys.platform == "win32", reason="drives have roots")
def test_the_root_of_all_folders_is_refused_for_what_it_holds():
    with pytest.raises(DataError, match="/: exists and is not an encoder"):
        files.check_folder(Path("/"), "encoder", ["model.onnx"])


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_files_get_the_mode_that_the_user_wants_and_the_umask_is_never_changed(umask, tmp_path, monkeypatch):
    before = os.umask(umask)
    try:
        with monkeypatch.context() as patched:
            patched.delattr(os, "umask")
            files.write_bytes(tmp_path / "one", b"1")
            with files.replacing(tmp_path / "mine", mode=0o600) as stream:
                stream.write(b"2")
            with files.replacing_together(tmp_path) as folder:
                (folder / "part").mkdir()
                (folder / "part" / "file").write_bytes(b"3")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"one": 0o666 & ~umask, "mine": 0o600, "part": 0o777 & ~umask, "file": 0o666 & ~umask}


HOSTILE = "a\x1b[2Jb\u202e\u2028\x9b"
ESCAPED = r"a\x1b[2Jb\u202e\u2028\x9b"


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ranker.RankerError)]
)
def test_errors_are_printable(kind):
    assert str(kind(f"{HOSTILE}: no")) == f"{ESCAPED}: no"
    lines = str(kind("one\ntwo")).split("\n")
    assert lines == (["one", "two"] if kind is errors.MissingError else [r"one\ntwo"])


def test_errors_of_the_library_are_printable(tmp_path):
    for call in (
        lambda: ranker.make_metric(f"bleu[{HOSTILE}=1]"),
        lambda: ranker.make_metric(HOSTILE),
        lambda: ranker.Ranker(HOSTILE),
        lambda: ranker.load_dataset(tmp_path / HOSTILE),
        lambda: ranker.Ranker.load(tmp_path / HOSTILE),
        lambda: fetch(f"http://{HOSTILE}/x", tmp_path / "x", sha256=None, limits=DownloadLimits()),
    ):
        with pytest.raises(ranker.RankerError) as raised:
            call()
        assert all(line.isprintable() for line in str(raised.value).split("\n"))


def test_notes_of_the_library_are_printable(caplog):
    errors.log_note(HOSTILE)
    errors.log_note("b", HOSTILE)
    assert caplog.messages == [f"ranker: note: {ESCAPED}", f"ranker: note: {ESCAPED}: b"]
    assert caplog.records[0].filename == "test_files.py"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="only where there is such a directory")
def test_a_directory_in_which_no_file_can_be_made_is_refused():
    with pytest.raises(DataError, match="cannot be written"), files.replacing("/proc/self/made"):
        pass
    with pytest.raises(DataError, match="cannot be written"), files.replacing_together("/proc/self"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_the_file_that_a_link_names_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("there/old").write_text("old")
    Path("there/near").symlink_to("old")
    for link, target in {"far": "there/near", "new": "there/new", "lost": "none/x", "loop": "loop"}.items():
        Path(link).symlink_to(target)
    for link, written in (("far", "there/old"), ("new", "there/new")):
        files.write_bytes(link, b"text")
        assert Path(link).is_symlink()
        assert not Path(written).is_symlink()
        assert Path(written).read_text() == "text"
    with pytest.raises(DataError, match=r"lost: cannot be written: the directory .*none does not exist"):
        files.check_target("lost")
    with pytest.raises(DataError, match=r"loop: cannot be written: .*links"):
        files.check_target("loop")
    assert sorted(path.name for path in Path("there").iterdir()) == ["near", "new", "old"]


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_the_file_behind_a_stream_of_the_system_is_not_replaced(tmp_path, monkeypatch):
    devices = tmp_path / "dev"
    (devices / "fd").mkdir(parents=True)
    (devices / "shm").mkdir()
    monkeypatch.setattr(files, "_STREAMS", (devices,))
    monkeypatch.setattr(files, "_NO_STREAMS", devices / "shm")
    output = tmp_path / "output"
    output.write_text("so far")
    for link, target in {"stdout": "fd/1", "fd/1": output, "shm/made": output, "../own": "dev/stdout"}.items():
        (devices / link).symlink_to(target)
    for name in ("stdout", "fd/1", "../own"):
        with pytest.raises(DataError, match="not a regular file"):
            files.write_bytes(devices / name, b"text")
        with pytest.raises(DataError, match="not a regular file"):
            check_target(devices / name)
    assert output.read_text() == "so far"
    files.write_bytes(devices / "shm" / "made", b"text")
    assert output.read_text() == "text"
