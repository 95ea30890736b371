"""Matrices in files have the values of those in memory, and leave memory alone."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from ranker.errors import DataError
from ranker.learning.svm.judgements import Grades
from ranker.learning.svm.ranksvm import RankSVM
from ranker.storage import kernels
from ranker.storage import mapped as storage
from ranker.storage.mapped import folder_of, mapped, take_columns, take_rows
from ranker.training_data import _filled, standardised, standardiser

ROWS, COLUMNS = 3000, 7


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """A matrix in memory, and the same in a file, of which few rows are in memory at a time."""
    monkeypatch.setattr(storage, "_BLOCK", 1000)
    generator = np.random.default_rng(0)
    plain = generator.normal(size=(ROWS, COLUMNS)) * 10.0 ** np.arange(COLUMNS)
    in_file = mapped(plain.shape, tmp_path)
    in_file[:] = plain
    return plain, in_file


def test_what_is_made_of_a_mapped_matrix_is_mapped_and_the_same(pair, tmp_path):
    plain, in_file = pair
    rows = np.random.default_rng(1).permutation(ROWS)[:2000]
    known = np.random.default_rng(2).random(plain.shape) < 0.7
    for make in (
        lambda item: take_rows(item, rows),
        lambda item: take_columns(item, known[0]),
        lambda item: _filled(item, known),
        lambda item: standardised(item, *standardiser(item)),
        lambda item: Grades(item, np.arange(ROWS) % 5.0, np.arange(ROWS) // 10).select(rows)[0],
    ):
        expected, result = make(plain), make(in_file)
        assert folder_of(result) == tmp_path
        assert folder_of(expected) is None
        assert result.tobytes() == expected.tobytes()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_learnt_from_a_file_are_the_same(pair, loss):
    plain, in_file = (standardised(item, *standardiser(item)) for item in pair)
    grades = np.round(plain @ np.arange(COLUMNS) + np.random.default_rng(3).normal(size=ROWS))
    fits = [
        RankSVM(C="auto", loss=loss, cv=2).fit(item, grades, groups=np.arange(ROWS) // 10) for item in (plain, in_file)
    ]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()
    assert (fits[0].C_, fits[0].objective_, fits[0].duality_gap_) == (
        fits[1].C_,
        fits[1].objective_,
        fits[1].duality_gap_,
    )


def test_learning_from_a_file_takes_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_BLOCK", 1000)
    in_file = mapped((5000, 100), tmp_path)
    in_file[:] = np.random.default_rng(0).normal(size=in_file.shape)
    groups = np.arange(5000) // 10
    # compiled, as for so many rows, and before memory is watched
    with kernels.using("compiled"):
        RankSVM(C=1e-4).fit(in_file[:100], groups[:100] % 3.0, groups=np.arange(100) // 50)
        tracemalloc.start()
        try:
            RankSVM(C=1e-4).fit(standardised(in_file, *standardiser(in_file)), np.arange(5000) % 3.0, groups=groups)
            assert tracemalloc.get_traced_memory()[1] < in_file.nbytes
        finally:
            tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system reserves no room for files")
def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"no room for 16\.0 MB of features \(No space left on device\): free some"):
        mapped((1_000_000, 2), tmp_path)
    assert not [*tmp_path.iterdir()]
    assert mapped((0, 3), tmp_path).shape == (0, 3)


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    code = """
import os, signal, sys
from ranker.storage import mapped
os.posix_fallocate = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
mapped.mapped((3, 4), sys.argv[1])
"""
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert run.returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    matrix = mapped((3, 4), tmp_path)
    assert folder_of(matrix) == tmp_path
    assert list(tmp_path.iterdir()) == []
