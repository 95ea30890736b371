"""Small encoders in ONNX format, sound ones and what strangers could put into their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b", "."]
WIDTH = 4
Node = tuple[str, list[str], list[str], dict[str, Any]]

FLOATS: Node = ("Cast", ["input_ids"], ["floats"], {"to": 1})
WIDER: Node = ("Unsqueeze", ["floats", "two"], ["column"], {})
VECTORS: Node = ("Add", ["column", "row"], ["vectors"], {})
SOUND: Sequence[Node] = (FLOATS, WIDER, VECTORS)
LARGEST: Node = ("ReduceMax", ["input_ids"], ["largest"], {"keepdims": 0})


def tokenizer() -> dict[str, Any]:
    """Return the settings of a sound tokenizer."""
    ends = [{"SpecialToken": {"id": word, "type_id": 0}} for word in ("[CLS]", "[SEP]")]
    special = {word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]} for word in ("[CLS]", "[SEP]")}
    single = [ends[0], {"Sequence": {"id": "A", "type_id": 0}}, ends[1]]
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                **{"id": number, "content": word, "special": True},
                **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
            }
            for number, word in enumerate(WORDS[:5])
        ],
        "normalizer": {**normalizer, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special},
        "decoder": None,
        "model": {
            **{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"},
            **{"max_input_chars_per_word": 100, "vocab": {word: number for number, word in enumerate(WORDS)}},
        },
    }


def network(
    nodes: Sequence[Node] = SOUND,
    output: str = "vectors",
    constants: Mapping[str, Any] | None = None,
    functions: Sequence[Any] = (),
    size: Sequence[str | int] = ("texts", "subwords"),
) -> bytes:
    """Return an ONNX file whose vectors are the number of a sub-word, plus 0 to 3, or what other nodes compute."""
    from onnx import TensorProto, helper, numpy_helper

    values = {"two": np.array([2]), "row": np.arange(WIDTH, dtype=np.float32)} | dict(constants or {})
    made = [helper.make_node(kind, inputs, outputs, **options) for kind, inputs, outputs, options in nodes]
    made.append(helper.make_node("Identity", [output], ["last_hidden_state"]))
    graph = helper.make_graph(
        made,
        "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, size) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()],
    )
    domains = [helper.make_opsetid("", 17), *(helper.make_opsetid(each.domain, 1) for each in functions)]
    return bytes(helper.make_model(graph, opset_imports=domains, functions=functions, ir_version=8).SerializeToString())


def write(folder: Path, *, config: Mapping[str, Any] | None = None, made: bytes = b"", settings: Any = None) -> Path:
    """Write an encoder, sound where nothing else is given."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"max_position_embeddings": 12, "hidden_size": WIDTH, "num_hidden_layers": 1}
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **(sizes if config is None else config)}))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer() if settings is None else settings))
    (folder / "model.onnx").write_bytes(made or network())
    return folder


def bert() -> bytes:
    """Return the ONNX file of a BERT of random weights, with one layer."""
    from ranker.learning.encoder.onnx_file import bert_graph

    return bert_graph(bert_weights(WIDTH, 1), 1, 2, 1e-12)


def bert_weights(width: int, layers: int) -> dict[str, npt.NDArray[np.float32]]:
    """Draw the weights of a BERT for the words of `tokenizer` and 12 places."""
    generator = np.random.default_rng(0)
    sizes = {"word": len(WORDS), "position": 12, "token_type": 2}
    shapes: dict[str, tuple[int, ...]] = {
        f"embeddings.{name}_embeddings.weight": (size, width) for name, size in sizes.items()
    }
    norms = ["embeddings"]
    for at in (f"encoder.layer.{layer}." for layer in range(layers)):
        dense = {f"attention.self.{name}": (width, width) for name in ("query", "key", "value")}
        dense |= {"attention.output.dense": (width, width)}
        dense |= {"intermediate.dense": (4 * width, width), "output.dense": (width, 4 * width)}
        for name, shape in dense.items():
            shapes |= {f"{at}{name}.weight": shape, f"{at}{name}.bias": shape[:1]}
        norms += [f"{at}attention.output", f"{at}output"]
    shapes |= {f"{name}.LayerNorm.{part}": (width,) for name in norms for part in ("weight", "bias")}
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
