"""Lines of large files."""

from __future__ import annotations

import pytest

from ranker.errors import DataError
from ranker.storage import text_lines


def test_lines_of_a_large_file_come_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "_PART", 7)
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n\n" + "é".encode() * 10 + b"\nlast")
    batches = list(text_lines.line_batches(path))
    assert len(batches) > 1
    assert [line for batch in batches for line in batch] == ["one", "two three", "", "é" * 10, "last"]
    path.write_bytes(b"one\ntwo\nthree\nf\xffour\n")
    with pytest.raises(DataError, match="text:4:2: byte 0xff is not UTF-8"):
        list(text_lines.line_batches(path))
    path.write_bytes(b"one\ntwo\nthree\nfou\0r\n")
    with pytest.raises(DataError, match="text:4:4: byte 0x00 is not text"):
        list(text_lines.line_batches(path))
    monkeypatch.setattr(text_lines, "_LONGEST_LINE", 20)
    path.write_bytes(b"one\n" + b"x" * 100)
    with pytest.raises(DataError, match="text:2: this line is longer than 20 bytes, expected one sentence per line"):
        list(text_lines.line_batches(path))
