"""What a user gets wrong: one line on stderr, exit code 2, nothing on stdout, nothing written.

The commands and their messages are in ``tests/golden/cli/refusals``.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Refused
from tests.golden_examples import Example, examples


@pytest.mark.usefixtures("with_models")
@pytest.mark.parametrize("example", examples("refusals/*"), ids=str)
def test_a_refusal_says_what_is_wrong_in_one_line(example: Example, refused: Refused, folder: Path) -> None:
    line, _, stdin = example.line.partition(" < ")
    message = refused(*shlex.split(line), stdin=(folder / stdin).read_bytes() if stdin else b"")
    example.check(f"ranker: error: {message}")
