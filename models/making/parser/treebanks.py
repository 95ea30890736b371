"""Finds the files of a treebank and its attribution."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.making.parser.conllu import Sentence, read_conllu
from ranker.errors import DataError
from ranker.files import read_bytes, sha256

_ENDINGS = (".conllu", ".conllu.gz")
_LICENCE_NAMES = ("LICENSE*", "LICENCE*", "COPYING*")

# Attribution that a licence asks for, by the digest of the training file, so that no other release gets it.
_ATTRIBUTIONS = {
    "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b": (
        "Universal Dependencies English Web Treebank (UD English EWT), release 2.15, annotations copyright The Board "
        "of Trustees of The Leland Stanford Junior University, licensed under CC BY-SA 4.0 "
        "(https://creativecommons.org/licenses/by-sa/4.0/). Annotated by Natalia Silveira, Timothy Dozat, Sebastian "
        "Schuster, Miriam Connor, Marie-Catherine de Marneffe, Nathan Schneider, Ethan Chi, Samuel Bowman, Hanzhi Zhu, "
        "Daniel Galbraith, Christopher Manning, John Bauer and others. Reference: Silveira et al. 2014, A Gold "
        "Standard Dependency Corpus for English, LREC. The texts come from the English Web Treebank (LDC2012T13) and "
        "belong to their authors; none of them is contained here."
    ),
}


@dataclass(frozen=True)
class Treebank:
    """The files of one treebank."""

    name: str
    files: dict[str, Path]
    licence: Path | None

    def read(self, part: str) -> list[Sentence]:
        """Read ``train``, ``dev`` or ``test``; a part that does not exist is empty."""
        if part not in self.files:
            return []
        sentences = read_conllu(self.files[part])
        if not sentences:
            raise DataError("contains no sentences, expected CoNLL-U format", file=str(self.files[part]))
        return sentences

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 digest of each file's text, gzip undone, by file name."""
        return {file.name.removesuffix(".gz"): sha256(read_bytes(file)) for file in self.files.values()}

    def attribution(self) -> str:
        """Return to whom the treebank is owed; of an unknown one, its name."""
        return _ATTRIBUTIONS.get(sha256(read_bytes(self.files["train"])), f"Treebank {self.name}.")


def find_treebank(path: str | Path) -> Treebank:
    """Find a treebank by its folder or training file ``*-train.conllu[.gz]``; ``dev`` and ``test`` are next to it."""
    path = Path(path)
    if path.is_dir():
        train_files = sorted(file for file in path.iterdir() if file.name.endswith(_train_endings()))
        if len(train_files) != 1:
            names = ", ".join(file.name for file in train_files) or "none"
            raise DataError(f"expected one file *-train.conllu[.gz] in this directory, found {names}", file=str(path))
        train = train_files[0]
    elif path.is_file():
        train = path
    else:
        raise DataError("no such file or directory, expected a treebank in CoNLL-U format", file=str(path))
    files = {"train": train}
    name = train.name.removesuffix(".gz").removesuffix(".conllu").removesuffix("train").rstrip("-")
    if train.name.endswith(_train_endings()):
        for part in ("dev", "test"):
            for ending in _ENDINGS:
                sibling = train.with_name(f"{name}-{part}{ending}")
                if sibling.is_file():
                    files.setdefault(part, sibling)
    licences = sorted(file for pattern in _LICENCE_NAMES for file in train.parent.glob(pattern) if file.is_file())
    return Treebank(name, files, licences[0] if licences else None)


def _train_endings() -> tuple[str, ...]:
    return tuple(f"-train{ending}" for ending in _ENDINGS)
