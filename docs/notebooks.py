"""Makes notebooks of pages: text becomes cells of text, blocks of ``pycon`` cells of code, without what they print."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

STORIES = Path(__file__).with_name("stories")
_BLOCK = re.compile(r"^```pycon\n(.*?)^```\n?", flags=re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^(?:>>>|\.\.\.)(?: (.*))?$")


def suited() -> list[Path]:
    """Return the stories that a notebook can tell: they have Python at a prompt, and no commands."""
    pages = {page: page.read_text(encoding="utf-8") for page in sorted(STORIES.glob("*.md"))}
    return [page for page, text in pages.items() if _BLOCK.search(text) and "```console" not in text]


def notebook(text: str) -> dict[str, Any]:
    """Return the notebook of a page, as nbformat 4.5 has it.

    Cells have their numbers and digests of their content for names, so that the same page makes the same bytes.
    """
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(_BLOCK.split(text)):
        # what is split by comes at odd places
        source = code(part) if number % 2 else part.strip()
        if not source:
            continue
        name = f"{len(cells)}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"
        cell = {"cell_type": "code" if number % 2 else "markdown", "id": name, "metadata": {}, "source": source}
        cells.append(cell | ({"execution_count": None, "outputs": []} if number % 2 else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def code(block: str) -> str:
    """Return what was typed at the prompt of a block."""
    return "\n".join(line[1] or "" for line in map(_CODE.match, block.splitlines()) if line)
