"""A WordNet of six synsets in the files of WordNet 3.x, for tests."""

from __future__ import annotations

from pathlib import Path

INDEX = {
    "noun": "car n 2 1 @ 2 1 00000001 00000002  \nautomobile n 1 1 @ 1 0 00000001  \nboss n 1 0 1 0 00000006  \n"
    "bo n 1 0 1 0 00000001  \nman n 1 0 1 0 00000003  \n",
    "verb": "go v 1 1 @ 1 1 00000001  \npass v 1 0 1 0 00000005  \nmove v 1 0 1 0 00000001  \n",
    "adj": "big a 1 0 1 0 00000001  \nlarge a 1 0 1 0 00000001  \n",
    "adv": "so r 1 0 1 0 00000001  \n",
}
EXCEPTIONS = {"noun": "oxen ox\n", "verb": "went go\n", "adj": "", "adv": ""}


def write_wordnet(directory: Path) -> Path:
    """Write the files into `directory` and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    for part, lines in INDEX.items():
        (directory / f"index.{part}").write_text(f"  1 This is the licence of the index.\n{lines}", encoding="utf-8")
        (directory / f"{part}.exc").write_text(EXCEPTIONS[part], encoding="utf-8")
    return directory
