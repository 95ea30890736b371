"""Files of one result, written by runs that write at once and by runs and commands that are killed at every step."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import kills
from ranker.corpora.formats.writing import write_dataset
from ranker.errors import DataError
from ranker.files import read_text, write_bytes, write_together
from tests.effort import thorough
from tests.evaluation.made import preferred

HUMAN = [[1.0, 2.0, 3.0], [2.0, 1.0, 2.0]]
STEPS = range(1, 9)
# the process kills itself at a step of those that change what is in a folder
KILLED = """
import os, signal, sys
step = int(sys.argv[1])
def counted(change):
    def call(*arguments, **named):
        global step
        step -= 1
        if step == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return change(*arguments, **named)
    return call
for name in ("mkdir", "rename", "replace", "rmdir", "unlink", "fsync"):
    setattr(os, name, counted(getattr(os, name)))
"""
WRITE = "from ranker.files import write_together; from pathlib import Path\nfolder = Path(sys.argv[2])\n"


def killed(code: str, step: int, folder: Path) -> bool:
    """Run `code` and kill it at `step`; return whether it came that far."""
    done = subprocess.run([sys.executable, "-c", KILLED + code, str(step), str(folder)], check=False)
    assert done.returncode in (0, -9)
    return done.returncode == -9


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@thorough
def test_every_file_is_old_or_new_whenever_a_run_is_killed(tmp_path):
    names = ["a", "b", "c"]
    seen = set()
    for step in range(1, 20):
        folder = tmp_path / str(step)
        folder.mkdir()
        write_together({folder / name: b"old" for name in names})
        result = not killed(WRITE + f"write_together({{folder / name: b'new' for name in {names}}})", step, folder)
        actual = [read_text(folder / name) for name in names]
        # in the order given
        assert actual == sorted(actual)
        assert {*actual} <= {"old", "new"}
        seen |= {*actual}
        write_together({folder / name: b"newer" for name in names})
        assert {read_text(folder / name) for name in names} == {"newer"}
        assert sorted(path.name for path in folder.iterdir()) == names
        if result:
            break
    assert result
    assert seen == {"old", "new"}


@thorough
def test_a_folder_is_never_lost_to_a_killed_run(tmp_path):
    code = "from ranker.files import replacing_together; from pathlib import Path\n"
    code += "with replacing_together(sys.argv[2]) as made:\n"
    code += " (made / 'parser').mkdir(); (made / 'parser' / 'meta.json').write_text('new')"
    for step in STEPS:
        parser = tmp_path / f"{step}" / "parser"
        parser.mkdir(parents=True)
        (parser / "meta.json").write_text("old")
        killed(code, step, parser.parent)
        kept = parser if parser.exists() else parser.with_name(".ranker-former-parser")
        assert (kept / "meta.json").read_text() in ("old", "new")
        assert not killed(code, 0, parser.parent)
        assert (parser / "meta.json").read_text() == "new"
        assert hidden(parser.parent) == []


def test_temporary_files_of_killed_runs_are_removed_and_those_of_living_runs_are_not(tmp_path):
    code = "from ranker.files import replacing\nwith replacing(sys.argv[2] + '/a') as stream:\n"
    killed(code + " stream.write(b'half'); os.kill(os.getpid(), signal.SIGKILL)", 0, tmp_path)
    assert len(hidden(tmp_path)) == 1
    (tmp_path / ".a.tmp").write_text("of another program")
    (tmp_path / ".ranker-features-x").write_text("of an earlier version")
    living = subprocess.Popen(
        [sys.executable, "-c", f"import sys\n{code} print(flush=True); input(); stream.write(b'whole')", "", tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert living.stdout is not None
    living.stdout.readline()
    write_bytes(tmp_path / "b", b"")
    assert len(hidden(tmp_path)) == 2
    living.communicate(b"\n")
    assert read_text(tmp_path / "a") == "whole"
    assert hidden(tmp_path) == [".a.tmp"]


def test_runs_that_write_the_same_files_at_once_leave_whole_files(tmp_path):
    code = "import sys\n" + WRITE.replace("argv[2]", "argv[1]")
    code += "for _ in range(40): write_together({folder / name: sys.argv[2].encode() * 5 for name in 'abc'})"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "xyz"]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert {read_text(tmp_path / name) for name in "abc"} <= {"x" * 5, "y" * 5, "z" * 5}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_a_pairs_file_that_could_not_be_read_is_not_written(name, tmp_path):
    dataset = preferred(np.array(HUMAN))
    dataset.candidates.loc[0, "system"] = name
    with pytest.raises(
        DataError, match=r"test: sys[AB] 'a.*b' contains a tab or line break, which is not allowed in a pairs file"
    ):
        write_dataset(dataset, tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    kills.prepare(folder)
    return folder


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the copies of this process use none of its threads
@pytest.mark.parametrize("name", ["convert", "campaign"])
@thorough
def test_a_command_that_is_killed_at_any_step(
    name: str, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # once here, so that its copies import nothing
    monkeypatch.chdir(inputs)
    (inputs / "out").mkdir()
    assert kills._in_this_process(kills.CASES[name].words) == 0
    shutil.rmtree(inputs / "out")
    trial = kills.Trial(kills.CASES[name], inputs, tmp_path / "trial")
    assert trial.steps > 2
    assert {step: problem for step in range(1, trial.steps + 1) if (problem := trial.at_step(step))} == {}
