"""What pyproject.toml promises to run with is what the tests are run with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.effort import thorough

ROOT = Path(__file__).resolve().parents[1]
OLDEST = ROOT / ".ci" / "oldest.txt"


@pytest.mark.skipif(not OLDEST.is_file(), reason="only in a checkout")
def test_the_oldest_versions_tested_are_the_oldest_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [Requirement(line) for line in project["dependencies"] + extras["test"] + extras["test-thorough"]]
    pinned = [Requirement(line) for line in OLDEST.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    oldest = {item.name: Version(next(iter(item.specifier)).version) for item in pinned}
    lowest = {
        item.name: Version(bound.version) for item in declared for bound in item.specifier if bound.operator == ">="
    }
    assert oldest == lowest


@pytest.mark.skipif(not OLDEST.is_file(), reason="only in a checkout")
def test_all_tests_that_the_complete_run_names_exist():
    for words in re.findall(r"(?<=\s)tests/\S+", (ROOT / ".ci" / "run").read_text(encoding="utf-8")):
        expanded = subprocess.run(["bash", "-c", f"printf '%s\n' {words}"], cwd=ROOT, capture_output=True, text=True)
        missing = [path for path in expanded.stdout.split() if not (ROOT / path).exists()]
        assert not missing, words


@pytest.mark.skipif(not (ROOT / "CONTRIBUTING.md").is_file(), reason="only in a checkout")
def test_each_dependency_has_a_purpose():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    first_column = " ".join(re.findall(r"^\| (.*?) \| \d+ MB \|", text, re.MULTILINE))
    assert {Requirement(line).name for line in project["dependencies"]} <= {*re.split(r"[ ,]+", first_column)}


@thorough
def test_simple_metrics_and_training_import_neither_parser_nor_scikit_learn_nor_anything_optional():
    code = (
        "import json, sys\n"
        "from ranker.extractors import registry\n"
        "from ranker.corpora import catalogue\n"
        "from ranker.ranking.ranker import Ranker\n"
        "made = [registry.make(name) for name in ('bleu', 'chrf', 'ter')]\n"
        "texts = ('the cat sat', 'a cat sat', 'cat')\n"
        "rows = [dict(source=s, reference='the cat sat', system=str(i), translation=t, score=-i)\n"
        "    for s in 'ab' for i, t in enumerate(texts)]\n"
        "assert Ranker('bleu, chrf', C='auto').fit(rows).weights.any()\n"
        "print(json.dumps(sorted(name for name in sys.modules if '.' not in name)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"spacy", "thinc", "sklearn", "torch", "transformers", "onnxruntime", "tokenizers", "kenlm", "jinja2"}
    heavy |= {"matplotlib", "starlette"}
    assert heavy & set(json.loads(result.stdout)) == set()


@pytest.mark.skipif(not (ROOT / "Makefile").is_file(), reason="only in a checkout")
@thorough
def test_a_ranker_is_learnt_from_the_sample_without_what_the_demonstration_installs_later(tmp_path):
    [later] = re.findall("^LATER = (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    modules = {"scikit-learn": "sklearn", "spacy": "spacy"}
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "ranker",
        "train",
        "--data",
        "sample",
        "-o",
        tmp_path / "model",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "pandas" in imported
    assert {modules[name] for name in later.split()} & imported == set()
    assert not any(name.startswith(("matplotlib", "jinja2")) for name in imported)


@thorough
def test_numba_has_what_kernels_take_from_its_inside(tmp_path, monkeypatch):
    (tmp_path / "with_kernel.py").write_text(
        "from ranker.storage.kernels import kernel\n\n@kernel(elements=1000)\ndef twice(n):\n    return n + n\n"
    )
    code = (
        "import numba\n"
        "from ranker.storage import compiled_kernels\n"
        "from with_kernel import twice\n"
        "assert isinstance(twice.compiled, numba.core.registry.CPUDispatcher)\n"
        "assert not twice.signatures and twice.py_func(2) == 4\n"
        "print(twice.compiled._cache._cache_file is not None, twice.compiled.is_on_disk(), compiled_kernels.number)\n"
        "types = (twice.compiled.typeof_pyval(1),)\n"
        "twice.compiled.compile(types)\n"
        "assert twice.signatures == [types] and twice(3) == 6\n"
        "print(twice.compiled.is_on_disk(), compiled_kernels.number)\n"
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
