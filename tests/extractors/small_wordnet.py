"""Small WordNets in the files of WordNet 3.x, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

INDEX = {
    "noun": "car n 2 1 @ 2 1 00000001 00000002  \nautomobile n 1 1 @ 1 0 00000001  \nboss n 1 0 1 0 00000006  \n"
    "bo n 1 0 1 0 00000001  \nman n 1 0 1 0 00000003  \n",
    "verb": "go v 1 1 @ 1 1 00000001  \npass v 1 0 1 0 00000005  \nmove v 1 0 1 0 00000001  \n",
    "adj": "big a 1 0 1 0 00000001  \nlarge a 1 0 1 0 00000001  \n",
    "adv": "so r 1 0 1 0 00000001  \n",
}
EXCEPTIONS = {"noun": "oxen ox\n", "verb": "went go\n", "adj": "", "adv": ""}
SYNONYMS = {
    "noun": "aid assist help,answer reply,auto automobile car,child kid,country nation,home house,start,run,walk",
    "verb": "aid assist help,answer reply,begin commence start,buy purchase,go run,go start,be,kid,house,walk",
    "adj": "big large,fast quick,home national",
    "adv": "big large,quick quickly",
}
"""The English words of the texts in ``tests/golden``."""
FORMS = {"noun": "", "verb": "is be\nrunning run\nwas be\n", "adj": "", "adv": ""}


def write_wordnet(
    directory: Path, index: Mapping[str, str] = INDEX, exceptions: Mapping[str, str] = EXCEPTIONS
) -> Path:
    """Write the files into `directory` and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    for part, lines in index.items():
        (directory / f"index.{part}").write_text(f"  1 This is the licence of the index.\n{lines}", encoding="utf-8")
        (directory / f"{part}.exc").write_text(exceptions[part], encoding="utf-8")
    return directory


def write_synonyms(directory: Path) -> Path:
    """Write a WordNet of `SYNONYMS` into `directory` and return it."""
    index = {}
    for part, listed in SYNONYMS.items():
        synsets: dict[str, list[str]] = {}
        for number, words in enumerate(listed.split(",")):
            for word in words.split():
                synsets.setdefault(word, []).append(f"{number:08}")
        index[part] = "".join(
            f"{word} {part[0]} {len(of_word)} 0 {len(of_word)} 0 {' '.join(of_word)}  \n"
            for word, of_word in synsets.items()
        )
    return write_wordnet(directory, index, FORMS)
