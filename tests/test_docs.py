from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import typer

import ranker
from ranker.cli.main import app
from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.ranking.feature_set import feature_set_files
from tests.effort import further
from tests.scripts import module_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("models/*/CARD.md"))
    if path.name != "CHANGELOG.md"
)
INLINE = re.compile(r"`(ranker [^`]+)`")
BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
LINE = re.compile(r"^(?:\$ )?(ranker (?:.*\\\n)*.*)$", flags=re.MULTILINE)
"""A command in a block, with the lines that continue it."""
in_checkout = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="documents are not part of the wheel")


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """The module that makes the reference, which is no part of the wheel."""
    return module_of(ROOT / "docs" / "build.py")


@pytest.fixture(scope="module")
def reference(build) -> dict[str, str]:
    return build.reference_pages()


@in_checkout
def test_everything_registered_is_in_the_reference(reference):
    for name in registry.BUILT_IN:
        assert f"(metrics/{name}.md)" in reference["reference/metrics.md"]
        assert f"\n# `{name}`\n" in "\n" + reference[f"reference/metrics/{name}.md"]
    assert set(re.findall("^## `(.*)`$", reference["reference/feature-sets.md"], re.MULTILINE)) == set(
        feature_set_files()
    )
    assert set(re.findall("^## `(.*)`$", reference["reference/corpora.md"], re.MULTILINE)) == set(catalogue.cards())


@in_checkout
@pytest.mark.parametrize(
    ("bench", "corpus"),
    [
        ("quality.py --features bleu1-4", "wmt12"),
        further("leaderboard.py", "wmt12"),
        further("marked_errors.py", "mqm21.spans.jsonl.gz"),
        further("system_accuracy.py", "wmt12-rr"),
        further("consensus.py --work work", "wmt12"),
        further("consensus.py --crowds --corpora wmt13 wmt14", "wmt13"),
        further("consensus.py --speed", "wmt14"),
    ],
)
def test_commands_for_tables_say_which_corpus_is_missing(bench, corpus, tmp_path):
    """Pages print these commands, and most readers lack the corpora."""
    environment = os.environ | {"RANKER_SHARED": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    script, *options = bench.split()
    command = [sys.executable, str(ROOT / "bench" / script), *options]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert re.search(f"^error: .*'{corpus}' is n", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@in_checkout
def test_every_public_name_is_in_the_reference(reference):
    public = sorted(name for name in ranker.__all__ if not name.startswith("__"))
    page = reference["reference/python.md"]
    assert sorted(re.findall("^## `(.*)`$", page, re.MULTILINE)) == public
    # what a class inherits is there too, methods in order of use
    members = dict(re.findall(r"^::: (\S+)\n(?: .*\n)* +members: (.*)$", page, re.MULTILINE))
    assert json.loads(members["ranker.ranking.ranker.Ranker"])[:6] == [
        "fit",
        "score",
        "rank",
        "explain",
        "save",
        "load",
    ]
    assert {"compute", "signature", "statistics"} <= {*json.loads(members["ranker.extractors.base.Metric"])}


@in_checkout
def test_every_command_and_option_is_in_the_reference(build, reference):
    assert "`-q, --quiet`" in reference["reference/commands.md"]
    for name, command in build.commands(typer.main.get_command(app), "ranker"):
        page = reference[f"reference/commands/{name.split()[1]}.md"]
        assert f"\n{name}" in page
        assert f"[`{name}`]" in reference["reference/commands.md"]
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                # the options of all commands are on the page of the commands
                common = parameter.name in ("quiet", "jobs", "long_signatures")
                where = reference["reference/commands.md"] if common else page
                assert all(opt in where for opt in parameter.opts), (name, parameter.opts)


@in_checkout
def test_all_that_ships_is_on_the_list_of_licences(reference):
    page = reference["reference/licences.md"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [line for line in project["dependencies"] if f"| `{line}` |" not in page] == []
    assert [item for item in (ROOT / "models").glob("*/CARD.md") if f"models/{item.parent.name}/`](" not in page] == []
    parser = next(line for line in page.splitlines() if "`models/parser-en/`" in line)
    assert "CC-BY-SA-4.0" in parser
    assert "NOTICE" in parser


@in_checkout
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem) for page in sorted((ROOT / "docs" / "explanation").glob("*.md"))]
)
def test_the_examples_of_an_explanation_print_what_is_shown(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@in_checkout
def test_options_in_the_changelog_exist_or_are_said_to_be_gone(build):
    program = typer.main.get_command(app)
    commands = [program, *(command for _, command in build.commands(program, "ranker"))]
    known = {option for command in commands for parameter in command.params for option in parameter.opts}
    known |= {option for command in commands for parameter in command.params for option in parameter.secondary_opts}
    for item in re.split(r"\n(?=- )", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")):
        named = {*re.findall(r"(?<![\w-])--[a-z][\w-]*", item)} - {"--help"}
        assert named <= known or re.search(r"\b(gone|removed|before:|are now)", item), item


@in_checkout
@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_commands_on_pages_have_names_and_options_that_exist(page, build):
    every = typer.main.get_command(app)
    known = {**dict(build.commands(every, "ranker")), "ranker": every}
    text = page.read_text(encoding="utf-8")
    commands = INLINE.findall(BLOCK.sub("", text)) + [
        item for block in BLOCK.findall(text) for item in LINE.findall(block)
    ]
    for written in (" ".join(command.replace("\\\n", " ").split()) for command in commands):
        words = re.sub(r"\"[^\"]*\"|'[^']*'", "QUOTED", re.split("[|>;#]", written)[0]).split()
        name = next(" ".join(words[:end]) for end in (3, 2, 1) if " ".join(words[:end]) in known)
        group = any(item.startswith(f"{' '.join(words[:2])} ") for item in known)
        assert name != "ranker" or group or words[1][0] == "-" or words[1].isupper(), written
        if not group:
            options = {
                item for parameter in known[name].params for item in (*parameter.opts, *parameter.secondary_opts)
            }
            used = {word.split("=")[0] for word in words if re.match("--?[A-Za-z]", word)}
            everywhere = {item for parameter in every.params for item in parameter.opts}
            assert used - options - everywhere <= {"--help", "-h", "--json"}, written
