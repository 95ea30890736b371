"""Notebooks made of pages run from top to bottom in a kernel of their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.scripts import module_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="documents are not part of the wheel")

PAGE = """# Ties

Neighbours tie:

```pycon
>>> import pandas as pd
>>> from ranker.ranks import merge_ties
>>> for scores in ([0.5, 0.1 + 0.2, 0.3],):
...     merged = merge_ties(scores)
...
>>> pd.DataFrame({"score": merged})
   score
0    0.5
```

That is all.
"""


@pytest.fixture(scope="module")
def notebooks() -> ModuleType:
    """The module that makes notebooks, which is no part of the wheel."""
    return module_of(DOCS / "notebooks.py")


def run(notebook: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Run a notebook in `folder`, and return its cells with their outputs; an error in a cell is raised."""
    nbclient = pytest.importorskip("nbclient", reason="mt-ranker[docs] is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    example = nbformat.from_dict(notebook)
    nbformat.validate(example)
    nbclient.NotebookClient(example, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return example["cells"]


def test_a_page_becomes_cells_of_text_and_code(notebooks):
    example = notebooks.notebook(PAGE)
    assert [cell["cell_type"] for cell in example["cells"]] == ["markdown", "code", "markdown"]
    assert example["cells"][0]["source"] == "# Ties\n\nNeighbours tie:"
    typed = example["cells"][1]["source"].splitlines()
    assert typed[2:5] == ["for scores in ([0.5, 0.1 + 0.2, 0.3],):", "    merged = merge_ties(scores)", ""]
    assert typed[5] == 'pd.DataFrame({"score": merged})'
    assert len({cell["id"] for cell in example["cells"]}) == 3
    assert json.dumps(example) == json.dumps(notebooks.notebook(PAGE))


def test_a_notebook_runs_and_shows_a_table(notebooks, tmp_path):
    _, cell, _ = run(notebooks.notebook(PAGE), tmp_path)
    assert "<table" in cell["outputs"][-1]["data"]["text/html"]


def test_the_notebooks_of_stories_run(notebooks, tmp_path):
    for story in notebooks.suited():
        folder = tmp_path / story.stem
        shutil.copytree(story.parent, folder)
        run(notebooks.notebook(story.read_text(encoding="utf-8")), folder)
