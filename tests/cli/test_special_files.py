"""Devices are refused in one line; pipes are read once and to their end."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Refused
from tests.command_line import Command

pytestmark = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero on this system")
TEXT = b"a b c d\nb c d e\n"


@pytest.mark.parametrize(
    "words",
    [
        "lm train -o out.arpa --text",
        "align train -t one -o out.align -s",
        "contrast good.json A B -m bleu --parser none --train-text",
        "rank good.json --model",
        "align apply -s two -t two --model",
        "score good.json -m meteor[wordnet={}]",
    ],
)
def test_a_device_is_refused(words: str, refused: Refused) -> None:
    given = words.split() if "{}" in words else [*words.split(), "{}"]
    refused(*(word.format("/dev/zero") for word in given), says="/dev/zero: .*device.*, expected ")


@pytest.mark.parametrize("words", ["lm train --order 2 -o out --text", "score -s one -r one -m bleu -t"])
@pytest.mark.parametrize("content", [TEXT, gzip.compress(TEXT, mtime=0)], ids=["plain", "packed"])
def test_a_pipe_is_read_once_and_to_its_end(words: str, content: bytes, folder: Path, command: Command) -> None:
    Path("one").write_bytes(TEXT)
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(content), daemon=True)
    writer.start()
    command(*words.split(), "pipe")
    writer.join(5)
    assert not writer.is_alive()
