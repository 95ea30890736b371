"""Processes that ranker starts run no file of the current directory."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlsplit

import pytest

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
