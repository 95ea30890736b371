"""The two promises on equal results: the same bytes on one machine, the same ranks and digests on all.

Another processor is imitated: NumPy, OpenBLAS, numba and the C library choose other code if they are told to. The
network of an encoder cannot be told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranker.arrays import FloatArray
from tests.effort import further, thorough

ROOT = Path(__file__).resolve().parents[1]
CANDIDATES = {
    "source": "Der Bus kam zehn Minuten zu spät.",
    "references": ["The bus was ten minutes late."],
    "candidates": ["The bus came ten minutes too late.", "Bus ten minute late come.", "The bus arrived late."],
}
_NO_VECTORS = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    "NUMBA_CPU_NAME": "x86-64",
}
PROCESSORS = {
    "without AVX": {"OPENBLAS_CORETYPE": "Prescott", **_NO_VECTORS},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
}
"""Environments in which libraries take the code for another processor; what they do not know is left as it is."""
SETTINGS = [
    {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
    {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "2", "TZ": "Pacific/Apia"},
]
SINGLE_PRECISION = ("semantic",)


def run(arguments: list[str], environment: dict[str, str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return probe({}, tmp_path_factory.mktemp("here"))


def probe(environment: dict[str, str], folder: Path) -> dict[str, Any]:
    environment = {"RANKER_CACHE": str(folder), "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT), **environment}
    return json.loads(run([str(ROOT / "tests" / "promise_probe.py")], environment, folder))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems choose code for a processor by other settings")
@pytest.mark.parametrize("processor", [*map(further, PROCESSORS)])
def test_other_processors_have_the_same_features_weights_digests_and_ranks(processor, here, tmp_path):
    there = probe(PROCESSORS[processor], tmp_path)
    assert there["digests"] == here["digests"]
    assert there["ranks"] == here["ranks"]
    for name, expected in here["features"].items():
        if isinstance(expected, str):
            assert there["features"][name] == expected
        else:
            tolerance = 1e-5 if name in SINGLE_PRECISION else 1e-12
            np.testing.assert_allclose(there["features"][name], expected, tolerance, tolerance, err_msg=name)
    for name, expected in here["weights"].items():
        np.testing.assert_allclose(numbers(there["weights"][name]), numbers(expected), 1e-9, 1e-9, err_msg=name)


def numbers(rows: list[list[float]]) -> FloatArray:
    return np.concatenate([np.asarray(row) for row in rows])


@pytest.mark.parametrize("data", ["bus.json", "sample"])
@thorough
def test_one_machine_gives_the_same_bytes_whatever_its_settings(data, tmp_path):
    """Threads of every library, order of sets, locale and time zone."""
    written = []
    for number, settings in enumerate(SETTINGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "bus.json").write_text(json.dumps(CANDIDATES))
        settings = {**settings, "RANKER_CACHE": str(folder), "PYTHONPATH": str(ROOT)}
        commands = [
            "train --data sample --features bleu,chrf,perp -o x.model",
            f"rank {data} --model full --format json",
            *(["systems sample --metric chrf,meteor --format json"] if data == "sample" else []),
        ]
        printed = [run(["-m", "ranker", *command.split(), "-q"], settings, folder) for command in commands]
        written.append([(folder / "x.model").read_bytes(), *printed])
    for first, second in zip(*written, strict=True):
        assert first == second
