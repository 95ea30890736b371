"""Texts that people read are plain English: habits of wording that can be searched for do not come back.

Each habit has the wording to use instead. Texts are help, messages, report pages, topics and documents.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

import ranker

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(ranker.__file__).parent
HABITS = {
    r"\bstands? (twice|beside|behind|too)\b|\bBehind a figure stand": "is duplicated, is next to, is followed by",
    r"\bholds? no\b|\bit holds none\b": "contains no, has no",
    r"\bthat ships?\b|\bships with\b|\bgives out\b": "is included, prints",
    r"\blast but one\b": "the name of the row",
    r"\bcompiles its kernels first\b": "kernels are compiled and cached",
    r"\b[Aa]t most so many\b|\bafter so many\b": "maximum number of",
    r"\b(sentence|line|point|row|score|value) an? (line|iteration|round|segment|figure)\b": "per",
    r"\b(References|Source sentences|Lists?) of these\b": "for --test-nbest",
    r"\bfrom which on\b": "at least",
    r"\bless is better\b": "lower is better",
    r"\bis no (file|model|directory|encoder|campaign|corpus|card|parser|WordNet|database|language model)\b": "is not a",
    r"\bexists and is no\b": "already exists and is not",
    r"\b(names|holds|says) no (system|document|language pair)\b": "has no",
    r"\bmake one with\b|\bthe same command goes on\b|\bgoing on without\b": "train one with, resume, continue",
    r"\bthere are: ": "available: ",
    r"\bbesides? the like\b|\band the like\b": "such as",
    r"\bturned round\b|\btold apart\b": "negated, do not differ significantly",
    r"\b95 % ": "95% confidence interval",
    r"\bmay be given several times\b": "may be repeated",
    r"\blower-case[ds]?\b|\bLower-case\b": "lowercase",
    r"\btokenisers?\b": "tokenizer",
    r"\bfigures? of (both|all)\b": "scores, results",
    r"\bcould not be made\b|\bcannot be made\b": "computed, created",
}


@functools.cache
def sources() -> dict[str, str]:
    """Return the modules of the package by path."""
    return {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def modules() -> dict[str, str]:
    """Return the modules that are imported; an installed package has other Python files among its data."""
    return {path: source for path, source in sources().items() if not path.startswith("share/")}


@functools.cache
def texts() -> dict[str, list[str]]:
    """Return the texts for people of every file: strings of modules without internal docstrings, templates, topics."""
    result = {name: _strings(ast.parse(source), name.startswith("cli/")) for name, source in sources().items()}
    for path in (*PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.js"), *PACKAGE.rglob("topics/*.md")):
        result[str(path.relative_to(PACKAGE))] = [path.read_text(encoding="utf-8")]
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("models/*/*.md"),
        *ROOT.glob("data/*.toml"),
    ):
        result[str(path.relative_to(ROOT))] = [path.read_text(encoding="utf-8")]
    return result


def _strings(tree: ast.Module, with_help: bool) -> list[str]:
    """Return the strings of a module with holes for values, and the docstrings that typer shows as help."""
    silent = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            is_help = with_help and isinstance(node, ast.FunctionDef) and node.name.endswith("command")
            silent |= {id(item.value) for item in body if isinstance(item, ast.Expr) and not is_help}
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
    parts = []
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts.append("".join(value.value if isinstance(value, ast.Constant) else "{}" for value in node.values))
    return parts


@pytest.mark.parametrize("habit", HABITS)
def test_no_habit_is_left(habit):
    result = [
        f"{name}: {hit[0]!r} in {' '.join(part.split())[:100]!r}"
        for name, parts in texts().items()
        for part in parts
        for hit in [re.search(habit, part, re.MULTILINE)]
        if hit and part != "95 % interval"
    ]
    assert not result, f"write instead: {HABITS[habit]}\n" + "\n".join(result)


def test_no_two_modules_have_a_class_of_the_same_name():
    classes: dict[str, list[str]] = {}
    for path, source in modules().items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(path)
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}
