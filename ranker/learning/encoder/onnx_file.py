"""Writes a BERT encoder as an ONNX file with int8 weights, a quarter of the size, and with each layer as an output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.arrays import Float32Array
from ranker.learning.encoder.onnx_network import LAST, LAYER

_OPSET, _IR = 17, 8
_BLOCK = 32


def bert_graph(weights: Mapping[str, Float32Array], layers: int, heads: int, epsilon: float) -> bytes:
    """Return the bytes of an ONNX file of a BERT model whose tensors are named as in Hugging Face's format.

    Matrices are stored as int8 with a scale for each output, embeddings with a scale for each row, or in 4 bits if that
    loses nothing. Matrices become float when the file is loaded, embeddings when they are looked up.
    """
    graph = _Graph()
    ids, mask = "input_ids", "attention_mask"
    # the type of every sub-word is 0
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.node("Gather", graph.node("Shape", ids), graph.constant(np.int64(1)), axis=0)
    positions = graph.node("Range", graph.constant(np.int64(0)), length, graph.constant(np.int64(1)))
    words = graph.subword_rows(weights["embeddings.word_embeddings.weight"], ids)
    state = graph.node("Add", words, graph.rows(places, positions))
    state = graph.normalised(state, weights, "embeddings.LayerNorm", epsilon)
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    size = width // heads
    hidden = graph.node("Sub", graph.constant(np.float32(1)), graph.node("Cast", mask, to=1))
    hidden = graph.node("Mul", hidden, graph.constant(np.float32(-1e9)))
    hidden = graph.node("Unsqueeze", hidden, graph.constant(np.array([1, 2])))
    outputs = []
    for layer in range(layers):
        at = f"encoder.layer.{layer}."
        turned = []
        for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            projected = graph.linear(state, weights, f"{at}attention.self.{name}")
            split = graph.node("Reshape", projected, graph.constant(np.array([0, 0, heads, size])))
            turned.append(graph.node("Transpose", split, perm=order))
        scores = graph.node("MatMul", turned[0], turned[1])
        scores = graph.node("Mul", scores, graph.constant(np.float32(1 / math.sqrt(size))))
        shares = graph.node("Softmax", graph.node("Add", scores, hidden), axis=-1)
        context = graph.node("Transpose", graph.node("MatMul", shares, turned[2]), perm=[0, 2, 1, 3])
        context = graph.node("Reshape", context, graph.constant(np.array([0, 0, width])))
        attended = graph.node("Add", graph.linear(context, weights, f"{at}attention.output.dense"), state)
        attended = graph.normalised(attended, weights, f"{at}attention.output.LayerNorm", epsilon)
        wide = graph.linear(attended, weights, f"{at}intermediate.dense")
        error = graph.node("Erf", graph.node("Div", wide, graph.constant(np.float32(math.sqrt(2)))))
        gelu = graph.node("Mul", wide, graph.node("Add", error, graph.constant(np.float32(1))))
        gelu = graph.node("Mul", gelu, graph.constant(np.float32(0.5)))
        state = graph.node("Add", graph.linear(gelu, weights, f"{at}output.dense"), attended)
        name = LAST if layer == layers - 1 else LAYER.format(layer + 1)
        state = graph.normalised(state, weights, f"{at}output.LayerNorm", epsilon, name)
        outputs.append(name)
    return graph.file([ids, mask], outputs, width)


def four_bits(table: Float32Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float16]] | None:
    """Encode a table with 4 bits per number and a scale for each 32 numbers of a row; None if this loses precision.

    Returns the steps, with a row's first half in the low four bits and its second half in the high ones, and the
    scales; None for other tables. The number farthest from 0 is 8 steps below 0.
    """
    rows, width = table.shape
    if width % (2 * _BLOCK):
        return None
    blocks = table.reshape(rows, -1, _BLOCK)
    farthest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=2, keepdims=True), axis=2)
    with np.errstate(over="ignore", invalid="ignore"):
        scales = (farthest / -8).astype(np.float16)
        steps = np.rint(blocks / np.where(scales != 0, scales, 1).astype(np.float32))
        # 16 steps end 7 above 0
        if not np.array_equal(steps * scales.astype(np.float32), blocks) or steps.max(initial=0) > 7:
            return None
    codes = (steps + 8).astype(np.uint8).reshape(rows, width)
    return codes[:, : width // 2] | (codes[:, width // 2 :] << np.uint8(4)), scales[:, :, 0]


class _Graph:
    """An ONNX graph under construction; methods return the names of the values that they add."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **options: Any) -> str:
        from onnx import helper

        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **options))
        return name

    def rows(self, table: Float32Array, which: str) -> str:
        """Add a look-up of rows in `table`, which is stored as int8; only the rows looked up are converted to float."""
        scales = np.maximum(np.abs(table).max(axis=1), 1e-12) / 127
        whole = self.constant(np.rint(table / scales[:, np.newaxis]).astype(np.int8))
        chosen = self.node("Cast", self.node("Gather", whole, which, axis=0), to=1)
        scale = self.node("Gather", self.constant(scales[:, np.newaxis].astype(np.float32)), which, axis=0)
        return self.node("Mul", chosen, scale)

    def subword_rows(self, table: Float32Array, which: str) -> str:
        """Add a look-up of sub-words' rows in `table`, which is stored in 4 bits per number if this is lossless."""
        small = four_bits(table)
        if small is None:
            return self.rows(table, which)
        codes, blocks = small
        both = self.node("Cast", self.node("Gather", self.constant(codes), which, axis=0), to=1)
        high = self.node("Floor", self.node("Mul", both, self.constant(np.float32(1 / 16))))
        low = self.node("Sub", both, self.node("Mul", high, self.constant(np.float32(16))))
        steps = self.node("Sub", self.node("Concat", low, high, axis=-1), self.constant(np.float32(8)))
        steps = self.node("Reshape", steps, self.constant(np.array([0, 0, blocks.shape[1], _BLOCK])))
        scale = self.node("Cast", self.node("Gather", self.constant(blocks), which, axis=0), to=1)
        values = self.node("Mul", steps, self.node("Unsqueeze", scale, self.constant(np.array([3]))))
        return self.node("Reshape", values, self.constant(np.array([0, 0, table.shape[1]])))

    def linear(self, state: str, weights: Mapping[str, Float32Array], name: str) -> str:
        matrix = weights[f"{name}.weight"].T
        scales = (np.maximum(np.abs(matrix).max(axis=0), 1e-12) / 127).astype(np.float32)
        whole = self.constant(np.rint(matrix / scales).astype(np.int8))
        zeros = self.constant(np.zeros(len(scales), np.int8))
        floats = self.node("DequantizeLinear", whole, self.constant(scales), zeros, axis=1)
        return self.node("Add", self.node("MatMul", state, floats), self.constant(weights[f"{name}.bias"]))

    def normalised(
        self, state: str, weights: Mapping[str, Float32Array], name: str, epsilon: float, output: str = ""
    ) -> str:
        scale, shift = (self.constant(weights[f"{name}.{each}"]) for each in ("weight", "bias"))
        return self.node("LayerNormalization", state, scale, shift, output=output, axis=-1, epsilon=epsilon)

    def file(self, inputs: list[str], outputs: list[str], width: int) -> bytes:
        from onnx import TensorProto, checker, helper, numpy_helper

        shape = ["texts", "subwords"]
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [*shape, width]) for name in outputs],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))
