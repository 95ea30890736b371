"""What commands read that `bench/kills.py` kills: the bundled sample, parts of it, and files made for the purpose."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import json
import os
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

CORPUS = "fetched"
_ADDRESSES = "addresses.json"
_START = {"features": [{"name": "LM0", "weights": [0.5]}, {"name": "TM0", "weights": [0.2, 0.3]}]}


def prepare(folder: Path) -> None:
    """Write what the commands read: the bundled sample, and parts of it; ``old/`` has other files of the same names."""
    import numpy as np

    from ranker import load_dataset
    from ranker.corpora.formats.writing import write_dataset

    whole = load_dataset("sample")
    folder.mkdir(parents=True, exist_ok=True)
    write_dataset(whole, folder / "whole.jsonl")
    records = [json.loads(line) for line in (folder / "whole.jsonl").read_text(encoding="utf-8").splitlines()]
    (folder / "whole.jsonl").unlink()
    for place, first in ((folder, 0), (folder / "old", 6)):
        place.mkdir(exist_ok=True)
        some = records[first : first + 6]
        (place / "d.jsonl").write_text("".join(json.dumps(record) + "\n" for record in some), encoding="utf-8")
        _write_pairs(place, some)
        texts = [f"{word} two three {first}" for word in ("one", "four", "six")]
        (place / "dev.ref0").write_text("".join(f"{text}\n" for text in texts))
        generator = np.random.default_rng(first)
        (place / "dev.nbest").write_text(
            "".join(
                f"{n} ||| {text.rsplit(' ', k)[0]} ||| LM0= {value[0]:.2f} TM0= {value[1]:.2f} 1 ||| 0\n"
                for n, text in enumerate(texts)
                for k, value in enumerate(generator.normal(size=(3, 2)))
            )
        )
        (place / "text").write_text("".join(f"a b c {n + first}\n" for n in range(30)))
        (place / "s").write_text("a b c\nb c d\n" * (3 + first))
        (place / "t").write_text("x y z\ny z w\n" * (3 + first))
        (place / "decode.sh").write_text('cp dev.nbest "$2"\n')
        (place / "start.json").write_text(json.dumps(_START))
        _write_campaign(place)
        _write_served(place)


def _write_pairs(place: Path, records: list[dict]) -> None:
    unjudged = [
        {**record, "candidates": [{**each, "human": {}} for each in record["candidates"]]} for record in records
    ]
    (place / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in unjudged), encoding="utf-8")
    rows = "".join(
        f"{record['lp']}\t{record['seg_id']}\tj\tsys{n}\tsys{n + 1}\t{'><='[n % 3]}\n"
        for record in records
        for n in range(1, 6)
    )
    (place / "pairs.pairs.tsv").write_text(f"lp\tseg_id\tjudge\tsysA\tsysB\trelation\n{rows}")


def _write_campaign(place: Path) -> None:
    """Make a campaign in which somebody judged everything."""
    from ranker.apps.collect import assigning, campaign
    from ranker.apps.collect.making import make_campaign
    from ranker.apps.collect.settings import CampaignSettings
    from ranker.corpora.formats.reading import read_dataset

    settings = CampaignSettings(id="x", title="x", kind="pairwise", show="reference", repeat=0.0, degraded=0.0)
    path = place / "judged.campaign"
    make_campaign(path, read_dataset(place / "d.jsonl"), settings, ["judge"])
    with closing(campaign.connect(path)) as connection, campaign.transaction(connection):
        judge = connection.execute("SELECT id FROM person WHERE role = 'judge'").fetchone()["id"]
        while (key := assigning.next_assignment(connection, settings, judge, 0.0)) is not None:
            assigning.save(connection, judge, key, [1, 2], 1, 1.0)


def _write_served(place: Path) -> None:
    """Write the files of a corpus as a server gives them: an archive and a plain file."""
    served = place / "served"
    served.mkdir()
    with tarfile.open(served / "texts.tar", "w") as packed:
        for name in ("one.txt", "two.txt"):
            content = f"{name} of {place.name}\n".encode() * 1000
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    (served / "scores.txt").write_text(f"scores of {place.name}\n" * 1000)


@contextmanager
def serving(inputs: Path) -> Iterator[None]:
    """Serve the files of the corpus on this computer, and say in every folder of inputs where they are."""
    handler = functools.partial(_Quiet, directory=str(inputs))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for place in (inputs, inputs / "old"):
            below = (place / "served").relative_to(inputs).as_posix()
            address = f"http://127.0.0.1:{server.server_port}/{below}"
            digests = {
                f"{address}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted((place / "served").iterdir())
            }
            (place / _ADDRESSES).write_text(json.dumps(digests))
        yield
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: clients are killed."""


def use_served() -> None:
    """Let the catalogue of this process have the corpus that is served, and nothing else."""
    from ranker.corpora.catalogue import Card, Download, card_files

    digests = json.loads(Path(_ADDRESSES).read_text())
    parts = tuple(Download(address, sha256=digest) for address, digest in digests.items())
    card = Card(CORPUS, "", "", "", "", ("one.txt",), download=parts)
    card_files.cards = lambda: {CORPUS: card}
    os.environ["RANKER_DATA"] = "out"
