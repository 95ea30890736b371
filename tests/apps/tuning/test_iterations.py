from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ranker.apps.tuning.decoder import Decoder
from ranker.apps.tuning.iterations import IterationPlan, tune
from ranker.apps.tuning.mert import MertSearch
from ranker.apps.tuning.state import State
from ranker.apps.tuning.weights import Weights
from ranker.corpora.formats.nbest import write_nbest
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.errors import DataError, OptionError, ProcessError
from ranker.extractors.registry import make_metric
from ranker.ranking.scorers import MetricScorer
from tests.apps.tuning import decoders
from tests.apps.tuning.lists import random_list
from tests.effort import further, thorough

OBJECTIVE = MetricScorer(make_metric("bleu"))
START = Weights((("f", 4),), (0.25, 0.25, 0.25, 0.25))
PLAN = IterationPlan(search=MertSearch(restarts=3), iterations=6)


@pytest.fixture
def pool(tmp_path: Path):
    """A pool to decode from, and references of its sentences."""
    nbest, references = random_list(0, sentences=12, hypotheses=25, columns=4)
    write_nbest(nbest, tmp_path / "pool")
    return tmp_path, references


def decoder(folder: Path, fault: str = "sound") -> Decoder:
    words = [sys.executable, "-S", decoders.__file__, str(folder / "pool"), fault]
    return Decoder(shlex.join(words))


def run(pool, fault="sound", state="state", plan=PLAN, **more):
    folder, references = pool
    options = {"start": START, "decoder": decoder(folder, fault), "state": State(folder / state), "plan": plan, **more}
    return tune(OBJECTIVE, references, **options)


def test_a_given_list_is_no_reason_to_end_before_the_decoder_was_called(pool):
    first = read_nbest(pool[0] / "pool")
    alone = first.select(np.diff(first.sentence, prepend=-1) > 0)
    result = run(pool, nbest=alone)
    assert len(result.steps) > 1
    assert result.steps[1].new > 0


def test_lists_grow_until_nothing_is_new(pool):
    lines: list[str] = []
    result = run(pool, report=lines.append)
    assert result.stopped in ("no new hypothesis", "weights no longer change")
    sizes = [step.hypotheses for step in result.steps]
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(result.nbest) == sum(step.new for step in result.steps)
    assert all(step.score >= step.start for step in result.steps)
    assert lines[0] == "iteration 1: decoding"
    for step in result.steps:
        folder = pool[0] / "state"
        assert read_nbest(folder / f"iteration{step.iteration}.nbest").sentences == 12
        assert (folder / f"iteration{step.iteration}.ini").read_text().startswith("[weight]\nf= ")
    assert not list(pool[0].glob("state/*.new"))


def test_the_same_seed_gives_the_same_weights_and_a_first_list_saves_a_call(pool):
    first = run(pool)
    again = run(pool, state="other", nbest=read_nbest(pool[0] / "state" / "iteration1.nbest"))
    assert again.weights == first.weights
    assert not (pool[0] / "other" / "iteration1.nbest").exists()


@thorough
def test_a_finished_run_decodes_nothing_again_and_may_get_more_iterations(pool):
    whole = run(pool)
    assert len(whole.steps) > 1
    started = run(pool, state="other", plan=IterationPlan(search=PLAN.search, iterations=1))
    assert started.stopped == "all iterations done"
    more = run(pool, state="other")
    assert more.weights == whole.weights
    stamps = {path: path.stat().st_mtime_ns for path in (pool[0] / "other").iterdir()}
    assert run(pool, state="other").weights == whole.weights
    assert {path: path.stat().st_mtime_ns for path in (pool[0] / "other").iterdir()} == stamps


@thorough
def test_only_lists_of_the_same_weights_are_used_again(pool):
    run(pool, plan=IterationPlan(search=MertSearch(restarts=3, seed=1), iterations=6))
    run(pool, start=Weights(START.layout, (0.7, 0.1, 0.1, 0.1)))
    assert run(pool).weights == run(pool, state="other").weights


def test_a_directory_of_another_decoder_or_of_other_files_is_refused(pool):
    run(pool)
    with pytest.raises(OptionError, match=r"state: holds lists of another decoder, see decoder\.txt; choose another"):
        run(pool, "fails")
    # one of which no list was kept may be corrected
    with pytest.raises(ProcessError, match="cannot be started"):
        run(pool, state="typo", decoder=Decoder("nowhere/decode"))
    assert run(pool, state="typo").weights == run(pool).weights
    (pool[0] / "mine").mkdir()
    (pool[0] / "mine" / "notes.txt").touch()
    with pytest.raises(OptionError, match="mine: contains other files, expected an empty directory"):
        run(pool, state="mine")


def test_a_kept_list_of_other_features_or_sentences_is_refused(pool):
    run(pool)
    path = pool[0] / "state" / "iteration2.nbest"
    whole = path.read_text()
    for text in (whole.replace(" ||| ", " ||| other"), whole.splitlines()[0] + "\n"):
        path.write_text(text)
        with pytest.raises((DataError, OptionError), match=r"iteration2\.nbest") as refused:
            run(pool)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        ("fails", ProcessError, r"failed with exit code 3: out of memory; see .*iteration2\.log"),
        ("silent", ProcessError, r"did not write .*iteration2\.nbest\.new; expected an n-best list in this file"),
        (
            "short",
            DataError,
            r"has hypotheses for 10 of 12 sentences, .*; the first missing sentence, counted from 0, is 10",
        ),
        ("nan", DataError, r"iteration2\.nbest\.new:5: feature f is 'nan', expected a finite number"),
        ("other", DataError, r"has the features g \(4 values\), but the weights are for f \(4 values\)"),
    ],
)
def test_a_decoder_that_fails_is_reported_and_nothing_is_lost(fault, error, says, pool):
    with pytest.raises(error, match=says) as raised:
        run(pool, fault)
    assert "\n" not in str(raised.value)
    assert (pool[0] / "state" / "iteration1.nbest").exists()
    assert not (pool[0] / "state" / "iteration2.nbest").exists()


@thorough
def test_after_a_failure_the_run_goes_on_with_equal_result(pool):
    whole = run(pool)
    broken = pool[0] / "broken"
    broken.write_text(Path(decoders.__file__).read_text().replace("sys.exit(3)", "raise RuntimeError"))
    script = pool[0] / "decoder.py"
    command = shlex.join([sys.executable, "-S", str(script), str(pool[0] / "pool"), "fails"])
    script.write_text(broken.read_text())
    with pytest.raises(ProcessError, match="RuntimeError"):
        run(pool, state="other", decoder=Decoder(command))
    script.write_text(Path(decoders.__file__).read_text().replace('fault == "fails"', "False"))
    assert run(pool, state="other", decoder=Decoder(command)).weights == whole.weights


def test_a_command_that_is_not_there(pool):
    with pytest.raises(ProcessError, match="decoder 'nowhere/decode' cannot be started: No such file or directory"):
        run(pool, decoder=Decoder("nowhere/decode"))


def test_a_decoder_needs_weights_to_begin_with(pool):
    with pytest.raises(OptionError, match="no input: give an n-best list"):
        run(pool, start=None)


@pytest.mark.parametrize("number", [signal.SIGINT, further(signal.SIGTERM), further(signal.SIGHUP)])
@thorough
def test_a_run_that_is_stopped_ends_its_decoder_and_meanwhile_no_other_uses_its_state(pool, number):
    folder, references = pool
    (folder / "refs").write_text("".join(f"{text}\n" for text in references.references["text"]))
    (folder / "start").write_text(START.moses())
    # a runner in the background may have had interrupts and hang-ups switched off
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "signal.signal(signal.SIGHUP, signal.SIG_DFL); signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
    code += "from ranker.__main__ import run; run()"
    command = [sys.executable, "-c", code, "tune", "--references", str(folder / "refs"), "-m", "bleu"]
    command += ["--start", str(folder / "start"), "--restarts", "3", "--iterations", "6"]
    command += ["--decoder", decoder(folder, "hangs").command, "--weights", str(folder / "w")]
    pid = folder / "w.state" / "decoder.pid"
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while started.poll() is None and not (pid.exists() and pid.read_text()):
            time.sleep(0.05)
        if number == signal.SIGTERM:
            other = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            assert other.returncode == 2
            assert (
                "w.state: another process is using it; wait until it finishes, or choose another directory"
                in other.stderr
            )
        started.send_signal(number)
        out, err = started.communicate(timeout=60)
    finally:
        started.kill()
    what = "interrupted" if number == signal.SIGINT else f"terminated by {number.name}"
    assert (started.returncode, out, err) == (128 + number, "", f"ranker: {what}\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
