"""Refuses networks in ONNX format that could run for ever, read other files, or declare more values than they contain.

Only the nodes and tensor sizes are read, from the bytes of the file; nothing is run, and the package onnx is
not needed. Other faults are left to onnxruntime to refuse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ranker.errors import ModelError
from ranker.files import printable


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPERATORS = _names(
    # arithmetic and comparison
    "Abs Add And Cast CastLike Ceil Clip Cos Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid "
    "HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log LogSoftmax Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow "
    "Reciprocal Relu Round Selu Sigmoid Sign Sin Softmax Softplus Softsign Sqrt Sub Sum Swish Tan Tanh Where Xor "
    # shapes and positions
    "ArgMax ArgMin Concat Constant ConstantOfShape CumSum Dropout Expand EyeLike Flatten Gather GatherElements "
    "GatherND Identity NonZero OneHot Pad Range Reshape ScatterElements ScatterND Shape Size Slice Split Squeeze Tile "
    "TopK Transpose Trilu Unsqueeze "
    # sums, products and normalisation
    "Attention BatchNormalization Conv Einsum Gemm LayerNormalization LpNormalization MatMul RMSNormalization ReduceL1 "
    "ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RotaryEmbedding "
    "SimplifiedLayerNormalization "
    # weights as whole numbers
    "DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearMatMul QuantizeLinear "
    # operators that onnxruntime makes of several others
    "BiasGelu BiasSoftmax DynamicQuantizeMatMul EmbedLayerNormalization FastGelu FusedGemm FusedMatMul "
    "GatedRelativePositionBias GatherBlockQuantized GroupQueryAttention MatMulIntegerToFloat MatMulNBits "
    "MultiHeadAttention QAttention QEmbedLayerNormalization QGemm QuickGelu RelativePositionBias "
    "SkipLayerNormalization SkipSimplifiedLayerNormalization"
)
"""Operators of encoders: each terminates, and none has subgraphs, draws random numbers or reads files."""
_DOMAINS = ("", "ai.onnx", "com.microsoft")

# operators that onnxruntime applies to constants when it loads a file, with results that are no larger than an input
_NO_LARGER = _names(
    "Cast CastLike DequantizeLinear Flatten Identity QuantizeLinear Reshape Slice Split Squeeze Transpose Unsqueeze"
)
_BROADCAST = _names("Add And Div Equal Greater Less Max Min Mul Or Pow Sub Where")
_FEW = 16
_BYTES, _FREE = 8, 1 << 24

# numbers of the fields that are read, in messages of onnx.proto
_GRAPH, _FUNCTION = 7, 25
_NODE, _INITIALIZER, _GRAPH_INPUT, _SPARSE = 1, 5, 11, 15
_FUNCTION_NODE = 7
_INPUT, _OUTPUT, _OPERATOR, _ATTRIBUTE, _DOMAIN = 1, 2, 4, 5, 7
_TENSOR_VALUE, _TENSORS, _GRAPH_VALUES, _SPARSE_VALUES = 5, 10, (6, 11), (22, 23)
_DIMENSION, _NAME, _EXTERNAL, _LOCATION = 1, 8, 13, 14
_VALUE_NAME, _GIVEN_SIZE = 1, (2, 1, 2, 1, 1)

Field = tuple[int, int | memoryview]


def check_network(raw: bytes, path: Path) -> bool:
    """Refuse a network that could do harm; return True if the values that it computes from constants stay small.

    A network is refused if it uses operators that encoders do not need, or has tensors outside the file. Values are
    small if they are not much larger than the file.
    """
    parts: dict[int, list[memoryview]] = {_NODE: [], _INITIALIZER: [], _GRAPH_INPUT: []}
    try:
        for number, model in _fields(memoryview(raw)):
            if number == _FUNCTION:
                for part, node in _fields(_bytes(model)):
                    if part == _FUNCTION_NODE:
                        _check_node(_bytes(node), path)
                raise _refused(path, "has functions of its own", "export it without functions, or inline them")
            if number == _GRAPH:
                for part, value in _fields(_bytes(model)):
                    if part == _SPARSE:
                        raise _refused(path, "has sparse weights", "export it with dense weights")
                    if part in parts:
                        parts[part].append(_bytes(value))
        sizes = dict(_check_tensor(tensor, path) for tensor in parts[_INITIALIZER])
        nodes = [_check_node(node, path) for node in parts[_NODE]]
        inputs = {_text(part, _VALUE_NAME): _has_size(part, _GIVEN_SIZE) for part in parts[_GRAPH_INPUT]}
        return _constants(nodes, sizes, inputs) * _BYTES <= _BYTES * len(raw) + _FREE
    except (IndexError, _NotProtobufError):
        what = "not an ONNX file, or incomplete: copy it again"
        raise ModelError(f"{path}: the encoder cannot be loaded: {what}") from None


@dataclass(frozen=True)
class _Node:
    operator: str
    inputs: list[str]
    outputs: list[str]
    values: int
    """Number of values in its attributes."""


def _check_node(node: memoryview, path: Path) -> _Node:
    operator, domain, values = _text(node, _OPERATOR), _text(node, _DOMAIN), 0
    if operator not in OPERATORS or domain not in _DOMAINS:
        name = operator if domain in _DOMAINS else f"{domain}.{operator}"
        what = f"requests the operator {printable(name)[:60]!r}, which no encoder needs"
        raise _refused(path, what, "export it again, for inference and without control flow")
    for attribute in _messages(node, _ATTRIBUTE):
        for kind, value in _fields(attribute):
            if kind in _GRAPH_VALUES or kind in _SPARSE_VALUES:
                raise _refused(path, f"has a graph inside {operator}", "export it without control flow")
            if kind in (_TENSOR_VALUE, _TENSORS):
                values += _check_tensor(_bytes(value), path)[1]
        values += len(attribute)
    return _Node(operator, _texts(node, _INPUT), _texts(node, _OUTPUT), values)


def _check_tensor(tensor: memoryview, path: Path) -> tuple[str, int]:
    """Refuse a tensor in another file or with too little data for its shape; return its name and number of values."""
    sizes: list[int] = []
    for number, value in _fields(tensor):
        if number == _EXTERNAL or (number == _LOCATION and value):
            raise _refused(path, "has weights in another file", "export it as one file")
        if number == _DIMENSION:
            sizes += [value] if isinstance(value, int) else _packed(value)
    # two values of four bits share a byte
    if math.prod(sizes) > 2 * len(tensor):
        shape = " x ".join(map(str, sizes[:6]))
        raise _refused(path, f"has a tensor of {shape} values in {len(tensor):,} bytes", "copy or export it again")
    return _text(tensor, _NAME), math.prod(sizes)


def _constants(nodes: list[_Node], sizes: dict[str, int], inputs: dict[str, bool]) -> float:
    """Return an upper bound on the number of values that a network computes from constants alone.

    The bound is infinity if a size is unknown. `sizes` has the number of values of each weight; `inputs` is True for
    each network input whose size is given.
    """
    known: dict[str, float] = {**sizes, "": 0}
    varying, total = {*inputs} - {*sizes}, 0.0
    size: float
    for node in nodes:
        # the shape of an input of any size is not known before the network runs; the shape of another value may be
        if node.operator == "Shape" and not inputs.get(node.inputs[0] if node.inputs else "", True):
            varying.update(node.outputs)
            continue
        if node.operator in ("Constant", "Shape", "Size"):
            size = node.values if node.operator == "Constant" else _FEW
        elif varying.intersection(node.inputs):
            varying.update(node.outputs)
            continue
        else:
            size = _size(node, [known.get(name, math.inf) for name in node.inputs])
            total += size * len(node.outputs)
        known.update(dict.fromkeys(node.outputs, size))
    return total


def _size(node: _Node, sizes: list[float]) -> float:
    if node.operator in _NO_LARGER:
        return max(sizes, default=0)
    if node.operator in _BROADCAST or node.operator == "Gather":
        return math.prod(max(size, 1) for size in sizes)
    return sum(sizes) if node.operator == "Concat" else math.inf


def _refused(path: Path, what: str, advice: str) -> ModelError:
    return ModelError(f"{path}: the encoder cannot be loaded: it {what}: {advice}")


def _has_size(message: memoryview, numbers: tuple[int, ...]) -> bool:
    """True if a protobuf message contains the nested field whose path is `numbers`."""
    if len(numbers) == 1:
        return any(number == numbers[0] for number, _ in _fields(message))
    return any(_has_size(inner, numbers[1:]) for inner in _messages(message, numbers[0]))


def _messages(message: memoryview, wanted: int) -> list[memoryview]:
    return [_bytes(value) for number, value in _fields(message) if number == wanted]


def _text(message: memoryview, wanted: int) -> str:
    """Return the text in the field numbered `wanted` (the last if repeated), or an empty string if there is none."""
    return next(reversed(_texts(message, wanted)), "")


def _texts(message: memoryview, wanted: int) -> list[str]:
    return [bytes(value).decode("utf-8", "replace") for value in _messages(message, wanted)]


class _NotProtobufError(ValueError):
    pass


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise _NotProtobufError
    return value


def _fields(message: memoryview) -> Iterator[Field]:
    """Yield the number and value (a whole number or bytes) of each field of a message in protobuf's wire format."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise _NotProtobufError
        if at + size > len(message):
            raise _NotProtobufError
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise _NotProtobufError


def _packed(message: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(message):
        value, at = _varint(message, at)
        values.append(value)
    return values
