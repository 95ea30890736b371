"""Files of strangers that reach commands in other ways: downloads, encoders, shards, plug-ins."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import socketserver
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np

from bench.fuzzing.formats import Format
from bench.processes import captured
from ranker.corpora.catalogue import Card, Download, card_files
from ranker.extractors import registry
from ranker.extractors.base import Metric
from ranker.learning.encoder import files as encoder_files

_DATA = b'[{"source": "x", "references": ["a b c"], "candidates": {"A": "a b", "B": "c a", "C": "d"}}]'


def formats(folder: Path) -> dict[str, Format]:
    """Make sound files of every kind."""
    return _downloads() | _encoders() | _shards(folder) | _plug_in()


class _Replies(socketserver.StreamRequestHandler):
    """Answers a request with the bytes of a file: head and content, or content alone if it is an archive."""

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            path = self.rfile.readline().split(b" ")[1].decode().lstrip("/")
            while self.rfile.readline().strip():
                pass
            raw = Path(path).read_bytes()
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(raw)
            self.wfile.write(raw if path.endswith(".http") else head + raw)


@contextlib.contextmanager
def _serving(file: str) -> Iterator[None]:
    """Serve a file of the current folder on this computer, and have a corpus of it."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Replies) as server, tempfile.TemporaryDirectory() as data:
        thread = threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True)
        thread.start()
        part = Download(f"http://127.0.0.1:{server.server_address[1]}/{file}")
        card = Card("fuzzed", "Fuzzed", "Fuzzed.", "de-en", "None", ("a.txt",), obtain="Make it.", download=(part,))
        environment = {"RANKER_DATA": data, "no_proxy": "*"}
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(card_files, "cards", return_value={"fuzzed": card}),
            mock.patch.object(time, "sleep"),
        ):
            yield
        server.shutdown()
        thread.join()


def _downloads() -> dict[str, Format]:
    members = {"a.txt": b"one\n", "b/c.txt": bytes(range(256)) * 9, "n" * 120: b"", "pax/é" + "x" * 90: b"x"}
    made = {}
    for kind, how in (("pax", tarfile.PAX_FORMAT), ("gnu", tarfile.GNU_FORMAT)):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=how) as archive:
            for name, content in members.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.pax_headers = len(content), {"comment": "x", "mtime": "1.5"}
                archive.addfile(entry, io.BytesIO(content))
        made[f"{kind}.tar"] = buffer.getvalue()
    made["zipped.tgz"] = gzip.compress(made["pax.tar"], mtime=0)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    made["packed.zip"] = buffer.getvalue()
    made["whole.http"] = b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: "1"\r\n\r\none\n'
    made["chunked.http"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\non\r\n2\r\ne\n\r\n0\r\n\r\n"
    made["moved.http"] = b"HTTP/1.1 302 Found\r\nLocation: /whole.http\r\nContent-Length: 0\r\n\r\n"
    command = ["data", "get", "fuzzed", "--unverified", "--again"]
    return {f"download:{name}": Format(made, name, (command,), around=_Serving(name)) for name, raw in made.items()}


@dataclass(frozen=True)
class _Serving:
    """`_serving` of a file, which can be sent to a process."""

    file: str

    def __call__(self) -> contextlib.AbstractContextManager[None]:
        return _serving(self.file)


@contextlib.contextmanager
def _without_network() -> Iterator[None]:
    """Only find and check the files of encoders, which needs nothing that is not installed everywhere."""
    from ranker.extractors.semantic.features import Semantic

    def zeros(extractor: Any, dataset: Any) -> Any:
        encoder_files.find(extractor.encoder)
        return np.zeros((len(dataset), 4))

    with (
        mock.patch.object(Semantic, "transform", zeros),
        mock.patch.object(Semantic, "check_ready", lambda extractor: encoder_files.find(extractor.encoder)),
    ):
        yield


def _encoders() -> dict[str, Format]:
    files = {
        "enc/config.json": {"model_type": "bert", "max_position_embeddings": 64, "pad_token_id": 0, "hidden_size": 8},
        "enc/tokenizer.json": {},
        "enc/tokenizer_config.json": {"model_max_length": 32},
        "enc/1_Pooling/config.json": {"pooling_mode_cls_token": True},
        "enc/model.safetensors.index.json": {"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}},
    }
    content = {name: json.dumps(value).encode() for name, value in files.items()}
    content |= {"c.json": _DATA, "enc/a.safetensors": b"x", "enc/b.safetensors": b"y"}
    score = ["score", "c.json", "-m", "semantic[encoder=enc].f", "-f", "json"]
    return {
        f"encoder:{name.removeprefix('enc/')}": Format(content, name, (score,), read="enc", around=_without_network)
        for name in files
    }


def _run_in(folder: Path, *commands: list[str]) -> None:
    """Run commands in a folder, all of which must succeed."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for command in commands:
            code, _, messages = captured(command)
            assert code == 0, messages
    finally:
        os.chdir(before)


def _shards(folder: Path) -> dict[str, Format]:
    rank = ["rank", "IN", "-m", "chrf", "--out", "finished", "-f", "json"]
    divide = [
        ["data", "shard", "corpus.jsonl", "--rows", "14", "--out", out, *more]
        for out, *more in (["p"], ["j", "--jsonl"])
    ]
    for name in ("p", "j", "finished"):
        shutil.rmtree(folder / name, ignore_errors=True)
    _run_in(folder, *divide, [word.replace("IN", "p") for word in rank])
    files = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in sorted(folder.glob("[pjf]*/*"))}
    of = {kind: {name: raw for name, raw in files.items() if name[0] in kind} for kind in ("p", "j", "pf")}
    commands = (
        ["evaluate", "--data", "IN", "-m", "chrf", "--resamples", "10", "-f", "json"],
        [*rank[:-3], "outs", *rank[-2:]],
    )
    made = {}
    for kind, ending in (("p", "parquet"), ("j", "jsonl.gz")):
        part = f"{kind}/part-00000.{ending}"
        made[f"shards:{ending} list"] = Format(of[kind], f"{kind}/shards.json", commands, read=kind)
        made[f"shards:{ending} part"] = Format(of[kind], part, commands, read=kind)
        # without a list nothing is known of the content
        made[f"shards:{ending} pattern"] = Format({part: files[part]}, part, commands, read=f"{kind}/part-*.{ending}")
    finished = next(name for name in files if name.startswith("finished/part-"))
    return made | {"shards:finished part": Format(of["pf"], finished, (rank,), read="p")}


@dataclass(frozen=True)
class Plugged(Metric):
    """A metric of somebody else, whose methods return what the file ``plugged.json`` says."""

    tokenizer: str = "none"  # type: ignore[assignment]
    lowercase: bool = False
    name: ClassVar[str] = "plugged"
    width: ClassVar[int] = 1

    def statistics(self, dataset: Any) -> Any:
        """Return anything."""
        return _returned("statistics")

    def score(self, statistics: Any) -> Any:
        """Return anything."""
        returned = _returned("score")
        return np.asarray(statistics)[..., 0] if returned is None else returned


def _returned(method: str) -> Any:
    what = json.loads(Path("plugged.json").read_text())[method]
    if isinstance(what, dict):
        errors: dict[str, type[BaseException]] = {
            kind.__name__: kind for kind in (OSError, MemoryError, ValueError, KeyError)
        }
        raise errors[what["raise"]](what["text"])
    return what


@contextlib.contextmanager
def _plugged_in() -> Iterator[None]:
    point = EntryPoint("plugged", f"{__name__}:Plugged", registry.ENTRY_POINTS)
    with mock.patch.object(registry, "_plug_ins", return_value=(point,)):
        yield


def _plug_in() -> dict[str, Format]:
    sound = {"statistics": [[1.0], [0.5], [2]], "score": None}
    commands = (["score", "c.json", "-m", "plugged", "-f", "json"], ["rank", "c.json", "-m", "plugged", "-f", "jsonl"])
    files = {"c.json": _DATA, "plugged.json": json.dumps(sound).encode()}
    return {"plug-in": Format(files, "plugged.json", commands, around=_plugged_in)}
