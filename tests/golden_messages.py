"""Messages and notes in golden files: what is asked in lines that begin with ``>``, and below each of them the answer.

``RANKER_UPDATE_GOLDEN=1`` writes the answers of today into the files; read the difference before it is committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ranker.errors import RankerError
from tests.golden_values import INCLUDED


def check_messages(
    name: str, ask: Callable[[str], object], kind: type[Exception] = RankerError, folder: object = None
) -> None:
    """Compare what `ask` returns or raises for each question in ``tests/golden/messages/NAME.txt``.

    Names of files are compared without the `folder` that they are in.
    """
    path = INCLUDED / "messages" / f"{name}.txt"
    written = path.read_text(encoding="utf-8")
    answers = []
    for line in written.splitlines():
        if line.startswith(">"):
            asked = line[1:].removeprefix(" ")
            try:
                said = ask(asked)
                answer = said if isinstance(said, str) else "not refused"
            except kind as error:
                answer = str(error)
            if folder:
                answer = answer.replace(f"{folder}/", "")
            answers.append(f"{line}\n{answer.strip()}\n")
    actual = "\n".join(answers)
    if os.environ.get("RANKER_UPDATE_GOLDEN"):
        path.write_text(actual, encoding="utf-8")
        return
    assert actual == written, f"is {path} to change? RANKER_UPDATE_GOLDEN=1 rewrites it"
