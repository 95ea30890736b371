"""Tokenisers that need a dictionary or a model: MeCab through sacreBLEU, and SentencePiece."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ranker.errors import MissingError

_MECAB = {
    "ja-mecab": ("tokenizer_ja_mecab", "TokenizerJaMecab", "sacrebleu[ja]"),
    "ko-mecab": ("tokenizer_ko_mecab", "TokenizerKoMecab", "sacrebleu[ko]"),
}
_FLORES101 = ("sacrebleu_tokenizer_spm.model", "https://dl.fbaipublicfiles.com/fairseq/models/flores/")
SENTENCEPIECE_MODELS = {
    "spm": _FLORES101,
    "flores101": _FLORES101,
    "flores200": ("flores200sacrebleuspm", "https://tinyurl.com/"),
}
"""File name and address of each tokenizer's model; sacreBLEU keeps the file in its own directory."""


def tokenize_mecab(name: str, sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise Japanese (``ja-mecab``) or Korean (``ko-mecab``) with MeCab as sacreBLEU does."""
    tokenize = _mecab(name)
    return [tokenize(sentence.rstrip()).split() for sentence in sentences]


def tokenize_pieces(name: str, sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise with a SentencePiece model of FLORES, as sacreBLEU does for spBLEU."""
    encode = _pieces(name, _sacrebleu_directory())
    return [line.split() for line in map(" ".join, encode([sentence.rstrip() for sentence in sentences]))]


def mecab_signature(name: str) -> str:
    """Return the version and dictionary of a MeCab tokeniser as written in sacreBLEU's signature."""
    return str(_mecab(name).signature())


@functools.cache
def _mecab(name: str) -> Any:
    module, kind, package = _MECAB[name]
    try:
        import importlib

        tokenizer: Callable[[str], str] = getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), kind)()
    except (ImportError, RuntimeError, AssertionError):
        raise MissingError(
            f"tokenizer {name!r} needs {package}, which is not installed: run pip install 'mt-ranker[tokenizers]', or "
            "use tokenizer=char, which has no requirements"
        ) from None
    return tokenizer


def _sacrebleu_directory() -> Path:
    return Path(os.environ.get("SACREBLEU") or Path.home() / ".sacrebleu")


@functools.cache
def _pieces(name: str, directory: Path) -> Callable[[list[str]], list[list[str]]]:
    try:
        import sentencepiece
    except ImportError:
        raise MissingError(
            f"tokenizer {name!r} needs the package sentencepiece, which is not installed: run "
            "pip install 'mt-ranker[tokenizers]'"
        ) from None
    file, address = SENTENCEPIECE_MODELS[name]
    path = directory / "models" / file
    if not path.is_file():
        raise MissingError(
            f"tokenizer {name!r} needs the model {path}, which is missing and not downloaded automatically: download "
            f"{address}{file} and save it as {path}"
        )
    try:
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError):
        raise MissingError(f"{path}: not a SentencePiece model; download {address}{file} again") from None
    return functools.partial(model.encode, out_type=str)
