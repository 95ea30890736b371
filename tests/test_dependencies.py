"""What pyproject.toml promises to run with is what the tests are run with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
OLDEST = ROOT / ".ci" / "oldest.txt"


@pytest.mark.skipif(not OLDEST.is_file(), reason="only in a checkout")
def test_the_oldest_versions_tested_are_the_oldest_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["test"]]
    pinned = [Requirement(line) for line in OLDEST.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    oldest = {item.name: Version(next(iter(item.specifier)).version) for item in pinned}
    lowest = {
        item.name: Version(bound.version) for item in declared for bound in item.specifier if bound.operator == ">="
    }
    assert oldest == lowest


def test_simple_metrics_and_training_import_neither_parser_nor_scikit_learn_nor_anything_optional():
    code = (
        "import json, sys\n"
        "from ranker.extractors import registry\n"
        "from ranker.corpora import catalogue\n"
        "from ranker.ranking import Ranker\n"
        "made = [registry.make(name) for name in ('bleu', 'chrf', 'ter')]\n"
        "texts = ('the cat sat', 'a cat sat', 'cat')\n"
        "rows = [dict(source=s, reference='the cat sat', system=str(i), translation=t, score=-i)\n"
        "    for s in 'ab' for i, t in enumerate(texts)]\n"
        "assert Ranker('bleu, chrf', C='auto').fit(rows).weights.any()\n"
        "print(json.dumps(sorted(name for name in sys.modules if '.' not in name)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "spacy",
        "thinc",
        "sklearn",
        "torch",
        "transformers",
        "onnxruntime",
        "tokenizers",
        "kenlm",
        "matplotlib",
        "jinja2",
        "starlette",
    }
    assert heavy & set(json.loads(result.stdout)) == set()


@pytest.mark.parametrize("name", ["numba", "typer"])
def test_libraries_that_are_used_beyond_their_documentation_are_bounded_and_tested_with_the_newest_allowed(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [bounds] = [Requirement(line).specifier for line in project["dependencies"] if Requirement(line).name == name]
    assert "<" in {bound.operator for bound in bounds}
    assert bounds.contains(version(name)), f"raise the bound of {name} in pyproject.toml if the tests here pass"


def test_numba_has_what_kernels_take_from_its_inside(tmp_path, monkeypatch):
    (tmp_path / "with_kernel.py").write_text(
        "from ranker.storage.kernels import kernel\n\n@kernel(elements=1000)\ndef twice(n):\n    return n + n\n"
    )
    code = (
        "import numba\n"
        "from ranker.storage import kernels\n"
        "from with_kernel import twice\n"
        "assert isinstance(twice, numba.core.registry.CPUDispatcher)\n"
        "assert not twice.overloads and twice.py_func(2) == 4\n"
        "print(twice._cache._cache_file is not None, twice._is_on_disk(), kernels.compiled())\n"
        "types = (twice.typeof_pyval(1),)\n"
        "twice.compile(types)\n"
        "assert list(twice.overloads) == [types] and twice(3) == 6\n"
        "print(twice._is_on_disk(), kernels.compiled())\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    run = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    ]
    assert [result.stdout.split() for result in run] == [
        ["True", "False", "0", "True", "1"],
        ["True", "True", "0", "True", "0"],
    ]


def test_typer_has_what_the_command_line_takes_from_its_inside():
    from typer.core import TyperCommand, TyperGroup
    from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

    from ranker.cli import main
    from ranker.cli.commands import help_record

    assert main._UsageError.__name__ == "UsageError"
    assert main._ClickException.__name__ == "ClickException"
    assert issubclass(main._UsageError, main._ClickException)
    assert issubclass(ArgumentInfo, ParameterInfo)
    assert issubclass(OptionInfo, ParameterInfo)
    assert hasattr(OptionInfo(default=None, metavar="X"), "autocompletion")
    command = main._command_line()
    assert isinstance(command, TyperGroup)
    assert isinstance(command.commands["score"], TyperCommand)
    context = command.make_context("ranker", [], resilient_parsing=True)
    records = [help_record(parameter, context) for parameter in command.get_params(context)]
    [record] = [record for record in records if record is not None and "--quiet" in record[0]]
    assert record[1].startswith("Print no notes")
