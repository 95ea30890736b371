"""One class name is one thing, in all the modules of the package."""

import ast
import functools
from pathlib import Path

import ranker

PACKAGE = Path(ranker.__file__).parent


@functools.cache
def sources() -> dict[str, str]:
    """Return the modules of the package by path."""
    return {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def modules() -> dict[str, str]:
    """Return the modules that are imported; an installed package has other Python files among its data."""
    return {path: source for path, source in sources().items() if not path.startswith("share/")}


def test_no_two_modules_have_a_class_of_the_same_name():
    classes: dict[str, list[str]] = {}
    for path, source in modules().items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(path)
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}
