"""What commands print, notes first; those of one file run one after the other in one folder.

The commands and their output are in ``tests/golden/cli/output``.
"""

from __future__ import annotations

import shlex

import pytest

from tests.command_line import Command, check_named_options
from tests.golden_examples import FOLDER, examples


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", sorted(path.stem for path in (FOLDER / "output").glob("*.txt")))
def test_commands_print_what_they_printed(
    name: str, command: Command, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    for example in examples(f"output/{name}"):
        caplog.clear()
        printed = command(*(words := shlex.split(example.line)))
        check_named_options(words, "\n".join(caplog.messages))
        example.check("\n".join([*caplog.messages, printed.err + printed.out]))
