"""What errors and notes say is printable, whatever texts are in them."""

from __future__ import annotations

import logging

import pytest

import ranker
from ranker import errors
from ranker.corpora.downloads.transfer import DownloadLimits, fetch

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
    errors.note_logger("ranker.test").warning("ranker: note: %s", HOSTILE)
    assert caplog.messages == [f"ranker: note: {ESCAPED}"]


def test_every_module_notes_by_a_logger_that_escapes():
    import ranker.cli.main  # noqa: F401

    loggers = [name for name in logging.root.manager.loggerDict if name.startswith("ranker.")]
    with_notes = [name for name in loggers if isinstance(logging.root.manager.loggerDict[name], logging.Logger)]
    assert [name for name in with_notes if errors._escape not in logging.getLogger(name).filters] == []
