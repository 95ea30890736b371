"""Output that cannot be written: refused by every command in one line that names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from ranker import Ranker, load_dataset
from ranker.cli.main import app, run
from tests.cli.conftest import RATED, Refused

NBEST = "0 ||| a b ||| F= 1 ||| 1\n0 ||| b ||| F= 2 ||| 2\n1 ||| b ||| F= 2 ||| 2\n"
TREE = "1\ta\ta\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\tb\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
TUNE = "tune --nbest x.nbest -r two -m bleu"

# a command, whose last word takes the name of what it writes -> the ending that the name must have
COMMANDS: dict[str, str] = {
    "score good.json -m bleu -o": "",
    "score good.json -m bleu -f mtme -o": "",
    "rank good.json -m bleu -o": "",
    "explain good.json --model x.model -o": "",
    "systems good.json -m bleu --resamples 5 -o": "",
    "systems good.json -m bleu --resamples 5 --html": ".html",
    "contrast good.json A B --metric bleu --parser none -o": "",
    "contrast good.json A B --metric bleu --parser none --html": ".html",
    "train -d good.json -F bleu -o": "",
    "train -d good.json -F bleu --model": "",
    "evaluate good.json -m bleu -o": "",
    "compare good.json -m bleu -o": "",
    "report good.json --model x.model --html": ".html",
    "report good.json --model x.model --plots": "",
    "agreement good.json -o": "",
    "rerank x.nbest -w w.json -o": "",
    f"{TUNE} -o": "",
    f"{TUNE} --weights": "",
    f"{TUNE} --decoder true --state": "",
    "features -o": "",
    "warm-up -o": "",
    "collect new x.campaign -d good.json --kind fluency -o": "",
    "collect new -d good.json --kind fluency": "",
    "collect status x.campaign -o": "",
    "collect export x.campaign -o": ".jsonl",
    "experiment ye07 --train good.json -o": ".json",
    "experiment birch11 --train good.json -o": ".json",
    "experiment stanojevic14 good.json -o": ".json",
    "experiment stanojevic14 good.json --plot": ".svg",
    "experiment isozaki10 good.json -o": ".json",
    "experiment cer10 good.json -o": ".json",
    "nbest from-dataset x.nbest -d good.json -F words -o": "",
    "nbest from-dataset -d good.json -F words": "",
    "nbest check x.nbest -o": "",
    "nbest merge x.nbest x.nbest -o": "",
    "data list -o": "",
    "data show sample -o": "",
    "data get sample -o": "",
    "data check good.json -o": "",
    "data convert good.json x.jsonl -o": "",
    "data shard good.json --out": "",
    "data shard good.json --out x.shards -o": "",
    "data convert good.json": ".jsonl",
    "lm train --text two -o": "",
    "parser train x.conllu --output": "",
    "encoder train -d good.json --output": "",
    "align train -s two -t two -M x.align -o": "",
    "align train -s two -t two --model": "",
}


# these make directories that are missing, or write into one that is there
MADE = {
    "score good.json -m bleu -f mtme -o": ("none", "taken"),
    "report good.json --model x.model --plots": ("taken",),
    f"{TUNE} --decoder true --state": ("none",),
    "parser train x.conllu --output": ("none",),
    "encoder train -d good.json --output": ("none",),
    "data shard good.json --out": ("none", "taken"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "good.json").write_text(json.dumps(RATED), encoding="utf-8")
    Ranker("bleu", C=0.01).fit(load_dataset(folder / "good.json")).save(folder / "x.model")
    with pytest.raises(SystemExit):
        run(["collect", "new", str(folder / "x.campaign"), "-d", str(folder / "good.json"), "--kind", "fluency"])
    (folder / "x.nbest").write_text(NBEST)
    (folder / "w.json").write_text(json.dumps({"features": [{"name": "F", "weights": [1]}]}))
    (folder / "x.conllu").write_text(TREE)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("words", COMMANDS)
def test_output_that_cannot_be_written_is_named(
    words: str, refused: Refused, inputs: dict[str, bytes], folder: Path
) -> None:
    ending = COMMANDS[words]
    for name, content in inputs.items():
        (folder / name).write_bytes(content)
    for end in {"", ".json", ending}:
        (folder / f"taken{end}").mkdir()
        (folder / f"taken{end}" / "other").touch()
    for target in (f"none/x{ending}", f"notes.txt/x{ending}", f"taken{ending}"):
        start = target.partition("/")[0].removesuffix(ending)
        if start not in MADE.get(words, ()):
            assert target in refused(*words.split(), target)


def _with_output(command: object, words: tuple[str, ...] = ()) -> Iterator[str]:
    inner = getattr(command, "commands", {})
    for name, item in inner.items():
        yield from _with_output(item, (*words, name))
    if not inner and any("--output" in param.opts for param in command.params):
        yield " ".join(words)


def test_every_command_that_writes_a_file_is_tried() -> None:
    tried = {words for words in COMMANDS if words.endswith(("-o", "--output"))}
    for name in _with_output(typer.main.get_command(app)):
        assert any(words.startswith(f"{name} ") for words in tried), name


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no /dev/null on this system")
@pytest.mark.parametrize("words", ["train -d good.json -F bleu --model", "systems good.json -m bleu --html"])
def test_a_device_is_not_read_to_see_what_would_be_replaced(words: str, refused: Refused) -> None:
    refused(*words.split(), "/dev/null", says="/dev/null: .*not a regular file; choose another name")
