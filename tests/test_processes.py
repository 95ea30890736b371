"""Processes that ranker starts run no file of the current directory, and end with it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import ranker
from tests.apps.collect.conftest import Client, free_port, settings, small
from tests.effort import thorough

NAMES = ("bz2", "copy", "pickle", "random", "secrets", "selectors", "socket", "struct", "subprocess", "tempfile")
NAMES += ("threading", "multiprocessing", "numpy", "ranker", "typing", "joblib", "concurrent", "signal", "weakref")


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Be in a directory whose modules leave a trace when they are run."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'a').write('{name} ')\n")
    yield folder
    assert not (tmp_path / "trace").exists(), (tmp_path / "trace").read_text()


def python(tmp_path, code):
    """Run code as the command `ranker` runs: a file that lies in another directory."""
    program = tmp_path / "program.py"
    program.write_text(code)
    subprocess.run([sys.executable, program], check=True, timeout=120)


@thorough
def test_the_server_of_a_campaign(hostile, tmp_path):
    pytest.importorskip("uvicorn", reason="mt-ranker[collect] is not installed")
    from ranker.apps.collect.making import make_campaign

    path, port = tmp_path / "x.campaign", free_port()
    created = make_campaign(path, small(sources=4), settings("ranking"), ["judge1"])
    command = [sys.executable, "-P", "-m", "ranker", "collect", "serve", str(path), "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        assert "serving" in server.stderr.readline()
        for link in created.links.values():
            assert Client(f"http://127.0.0.1:{port}").get(urlsplit(link).path).status == 200
    finally:
        server.terminate()
        server.communicate()


@thorough
def test_processes_that_parse(hostile, tmp_path):
    """As `ranker.learning.parser` starts them."""
    python(
        tmp_path,
        "from joblib import Parallel, delayed\n"
        "from ranker.threads import process_environment\n"
        "with process_environment():\n"
        "    assert Parallel(n_jobs=2)(delayed(abs)(number) for number in (-1, -2)) == [1, 2]",
    )


def processes_of(session: int) -> list[str]:
    """Return the command lines of the processes of a session that have not ended."""
    running = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, own = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(own) == session and state != "Z":
                running.append((entry / "cmdline").read_text())
    return running


@thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not list its processes")
def test_ctrl_c_ends_processes_that_parse_in_one_line(tmp_path):
    texts = [f"The {number} houses stood on hill {number + 7}." for number in range(3000)]
    records = [{"source": "x", "references": [text], "candidates": [text.lower(), "No."]} for text in texts]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    # where tests run in the background, Ctrl-C is ignored
    code = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "runpy.run_module('ranker', run_name='__main__')"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "rank", "data.jsonl", "-M", "full-lexical", "-q", "-j", "2"],
        cwd=tmp_path,
        env={
            **os.environ,
            "RANKER_CACHE": str(tmp_path / "cache"),
            "PYTHONPATH": str(Path(ranker.__file__).parents[1]),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while sum("popen_loky" in running for running in processes_of(process.pid)) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[1] == "ranker: interrupted\n"
    assert process.returncode == 130
    ending = time.monotonic() + 60
    while (left := processes_of(process.pid)) and time.monotonic() < ending:
        time.sleep(0.01)
    assert not left


@thorough
def test_processes_of_dask(hostile, tmp_path):
    pytest.importorskip("distributed", reason="mt-ranker[dask] is not installed")
    python(
        tmp_path,
        "from ranker.apps.scaling.cluster import dask_client\n"
        "if __name__ == '__main__':\n"
        "    with dask_client('1') as client:\n"
        "        assert client.submit(abs, -1).result() == 1",
    )
