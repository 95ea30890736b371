"""Output that cannot be written: refused in one line that names it, by every way to write.

A result is written in one way by all commands that have ``--output`` for it, of which ``rank`` is tried.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Refused

TUNE = "tune --nbest good.nbest -r two -m bleu"

# a command, whose last word takes the name of what it writes -> the ending that the name must have
COMMANDS: dict[str, str] = {
    "score good.json -m bleu -f mtme -o": "",
    "rank good.json -m bleu -o": "",
    "systems good.json -m bleu --resamples 5 --html": ".html",
    "contrast good.json A B --metric bleu --parser none --html": ".html",
    "train -d good.json -F bleu -o": "",
    "report good.json --model good.model --html": ".html",
    "report good.json --model good.model --plots": "",
    f"{TUNE} --weights": "",
    f"{TUNE} --decoder true --state": "",
    "collect new -d good.json --kind fluency": "",
    "collect export test.campaign -o": ".jsonl",
    "nbest from-dataset -d good.json -F words": "",
    "nbest merge good.nbest good.nbest -o": "",
    "data shard good.json --out": "",
    "data convert good.json": ".jsonl",
    "lm train --text two -o": "",
    "encoder train -d good.json --output": "",
    "align train -s two -t two -o": "",
}


# these make directories that are missing, or write into one that is there
MADE = {
    "score good.json -m bleu -f mtme -o": ("none", "taken"),
    "report good.json --model good.model --plots": ("taken",),
    f"{TUNE} --decoder true --state": ("none",),
    "encoder train -d good.json --output": ("none",),
    "data shard good.json --out": ("none", "taken"),
}


@pytest.mark.parametrize("words", COMMANDS)
def test_output_that_cannot_be_written_is_named(words: str, refused: Refused, with_models: Path) -> None:
    ending, folder = COMMANDS[words], with_models
    for end in {"", ".json", ending}:
        (folder / f"taken{end}").mkdir()
        (folder / f"taken{end}" / "other").touch()
    for target in (f"none/x{ending}", f"notes.txt/x{ending}", f"taken{ending}"):
        start = target.partition("/")[0].removesuffix(ending)
        if start not in MADE.get(words, ()):
            assert target in refused(*words.split(), target)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no /dev/null on this system")
@pytest.mark.parametrize("words", ["train -d good.json -F bleu -o", "systems good.json -m bleu --html"])
def test_a_device_is_not_read_to_see_what_would_be_replaced(words: str, refused: Refused) -> None:
    refused(*words.split(), "/dev/null", says="/dev/null: .*not a regular file; choose another name")


def test_a_file_that_is_read_is_not_replaced_through_links_and_other_names(refused: Refused, folder: Path) -> None:
    (folder / "link.json").symlink_to("good.json")
    (folder / "pairs.pairs.tsv").write_text("lp\tseg_id\tsysA\tsysB\trelation\n")
    for words in (
        "rank link.json -m chrf -o good.json",
        "rank good.json -m chrf -o link.json",
        f"rank {folder}/good.json -m chrf -o directory/../good.json",
        "rank good.json -m chrf -r two -o two",
        "rank pairs.json -m chrf -o pairs.pairs.tsv -f csv",
        "data convert good.json rankings.csv --judgements rankings.csv",
    ):
        refused(*words.split(), says="is read by this command, which would replace it: write to another file")
