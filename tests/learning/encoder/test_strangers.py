"""Encoders of others: sound ones are read whatever their settings leave out, all others refused in one line."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.fuzzing import encoders
from bench.fuzzing.encoders import FLOATS, LARGEST, SOUND, WIDER, network, tokenizer, write
from bench.processes import captured
from ranker import share
from ranker.errors import ModelError
from ranker.learning.encoder import onnx_network
from ranker.learning.encoder.embedding import Encoder, load
from ranker.learning.encoder.files import INCLUDED
from ranker.learning.encoder.onnx_check import check_network
from tests.effort import thorough

TEXTS = ["a", "abba c.", "", "c b a " * 20]


def _embed(folder: Path) -> Any:
    encoder = load(str(folder))
    return encoder.embed(encoder.split(TEXTS))


def _refused(folder: Path, says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        _embed(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("config", [{}, {"hidden_size": 768}, {"hidden_size": 3, "num_hidden_layers": 12}])
def test_the_width_is_that_of_the_output_whatever_the_settings_say(tmp_path: Path, config: dict[str, int]) -> None:
    wanted = _embed(write(tmp_path / "sound"))
    found = _embed(write(tmp_path / "other", config={"max_position_embeddings": 12, **config}))
    np.testing.assert_array_equal(found.pieces, wanted.pieces)
    np.testing.assert_array_equal(found.texts, wanted.texts)
    assert found.pieces.shape[1] == encoders.WIDTH


def _loop() -> Any:
    from onnx import TensorProto, helper

    scalar = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", TensorProto.INT64), ("go", 9))]
    going = helper.make_tensor_value_info("on", TensorProto.BOOL, [])
    return helper.make_graph([helper.make_node("Identity", ["go"], ["on"])], "body", scalar, [going])


def _function(operator: str, **options: Any) -> Any:
    from onnx import helper

    node = helper.make_node(operator, ["x"], ["y"], **options)
    return helper.make_function("mine", "F", ["x"], ["y"], [node], [helper.make_opsetid("", 17)])


NETWORKS: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": ({"constants": {"row": np.full(4, np.nan, np.float32)}}, "returns NaN or infinity"),
    "infinity": ({"constants": {"row": np.full(4, np.inf, np.float32)}}, "returns NaN or infinity"),
    "one vector for a text": (
        {"nodes": [*SOUND, ("ReduceMean", ["vectors"], ["mean"], {"axes": [1]})], "output": "mean"},
        r"returns float32 of shape \(1, 1, 4\) for 1 texts of 3 sub-words, expected numbers of shape \(1, 3, ",
    ),
    "no vectors": ({"nodes": [FLOATS], "output": "floats"}, r"returns float32 of shape \(1, 3\)"),
    "whole numbers": (
        {"nodes": [*SOUND, ("Cast", ["vectors"], ["whole"], {"to": 7})], "output": "whole"},
        "Type Error|returns int64",
    ),
    "another width for longer texts": (
        {
            "nodes": [
                *(FLOATS, WIDER, ("Shape", ["input_ids"], ["shape"], {})),
                *(("Gather", ["shape", "one"], ["length"], {}), ("Max", ["length", "three"], ["width"], {})),
                *(("Concat", ["ones", "width"], ["wanted"], {"axis": 0}), ("Expand", ["column", "wanted"], ["v"], {})),
            ],
            "output": "v",
            "constants": {"one": np.array([1]), "three": np.array([3]), "ones": np.array([1, 1])},
        },
        r"expected numbers of shape \(6, 12, 3\)",
    ),
    "a number that the network does not know": (
        {
            "nodes": [("Gather", ["table", "input_ids"], ["v"], {})],
            "output": "v",
            "constants": {"table": np.ones((6, 4), np.float32)},
        },
        "encoder cannot be loaded: .*indices element out of data bounds",
    ),
    "a loop": ({"nodes": [*SOUND, ("Loop", ["", "true"], ["end"], {"body": _loop})]}, "requests the operator 'Loop'"),
    "a branch": (
        {"nodes": [*SOUND, ("If", ["true"], ["end"], {"then_branch": _loop, "else_branch": _loop})]},
        "requests the operator 'If'",
    ),
    "random numbers": (
        {"nodes": [*SOUND, ("RandomNormalLike", ["vectors"], ["drawn"], {})], "output": "drawn"},
        "requests the operator 'RandomNormalLike', which no encoder needs",
    ),
    "a library": ({"nodes": [*SOUND, ("Run", ["vectors"], ["v"], {"domain": "x"})]}, r"operator 'x\.Run'"),
    "a graph where none belongs": (
        {"nodes": [FLOATS, WIDER, ("Add", ["column", "row"], ["vectors"], {"body": _loop})]},
        "has a graph inside Add",
    ),
    "a function": ({"functions": [lambda: _function("Identity")]}, "has functions of its own"),
    "a loop in a function": ({"functions": [lambda: _function("Loop", body=_loop())]}, "operator 'Loop'"),
}


def _made(parts: dict[str, Any]) -> bytes:
    nodes = [
        (kind, inputs, outputs, {key: value() if callable(value) else value for key, value in options.items()})
        for kind, inputs, outputs, options in parts.get("nodes", SOUND)
    ]
    functions = [make() for make in parts.get("functions", ())]
    return network(**{**parts, "nodes": nodes, "functions": functions})


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_that_are_no_encoders_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    parts, says = NETWORKS[name]
    folder = write(tmp_path, made=_made(parts))
    _refused(folder, says)
    if name not in ("another width for longer texts", "a number that the network does not know"):
        with pytest.raises(ModelError, match=says):
            load(str(folder))


def _grown(*nodes: Any, constants: dict[str, Any], size: Any = ("texts", "subwords")) -> bytes:
    """Return a network that adds the last number of something large to its vectors."""
    more = (("ReduceMax", ["large"], ["most"], {"keepdims": 0}), ("Add", ["vectors", "most"], ["sum"], {}))
    return network([*SOUND, LARGEST, *nodes, *more], "sum", constants, size=size)


_MANY = np.array([1 << 29])
LARGE = {
    "made when it runs": lambda: _grown(
        ("Mul", ["largest", "many"], ["size"], {}),
        ("ConstantOfShape", ["size"], ["large"], {}),
        constants={"many": _MANY},
    ),
    "a constant": lambda: _grown(("ConstantOfShape", ["many"], ["large"], {}), constants={"many": _MANY}),
    "constants, many": lambda: _grown(
        *(("Expand", [f"c{at}", "many"], [f"e{at}"], {}) for at in range(40)),
        *(("Gather", [f"e{at}", "largest"], [f"g{at}"], {}) for at in range(40)),
        ("Max", [f"g{at}" for at in range(40)], ["large"], {}),
        constants={"many": np.array([20_000_000]), **{f"c{at}": np.float32([at]) for at in range(40)}},
    ),
    "a sum of a row and a column": lambda: _grown(
        ("Range", ["zero", "many", "one"], ["line"], {}),
        ("Unsqueeze", ["line", "last"], ["upright"], {}),
        ("Add", ["line", "upright"], ["whole"], {}),
        ("Cast", ["whole"], ["large"], {"to": 1}),
        constants={"zero": np.array(0), "many": np.array(40_000), "one": np.array(1), "last": np.array([1])},
    ),
    "the shape of a constant": lambda: _grown(
        ("Reshape", ["bits", "many"], ["empty"], {}),
        ("Shape", ["empty"], ["shape"], {}),
        ("Mul", ["shape", "times"], ["size"], {}),
        ("Tile", ["half", "size"], ["large"], {}),
        constants={
            **{"bits": np.zeros(1000, np.float32), "many": np.array([1000])},
            **{"times": np.array([1 << 20]), "half": np.float32([0.5])},
        },
    ),
    "doubled again and again": lambda: _grown(
        ("Cast", ["input_ids"], ["d0"], {"to": 1}),
        *(("Concat", [f"d{at}", f"d{at}"], [f"d{at + 1}"], {"axis": 1}) for at in range(31)),
        ("Identity", ["d31"], ["large"], {}),
        constants={},
    ),
}
_MEASURE = """
import resource, sys
from ranker.errors import ModelError
from ranker.learning.encoder.embedding import load
load(sys.argv[1])._width
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for folder in sys.argv[2:]:
    try:
        encoder = load(folder)
        encoder.embed(encoder.split(["a", "b c"]))
        print("read")
    except ModelError as error:
        print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@thorough
def test_small_files_do_not_take_much_memory(tmp_path: Path) -> None:
    folders = [write(tmp_path / str(number), made=make()) for number, make in enumerate(LARGE.values())]
    folders.insert(0, write(tmp_path / "sound"))
    assert all((folder / "model.onnx").stat().st_size < 10_000 for folder in folders)
    found = subprocess.run(
        [sys.executable, "-c", _MEASURE, *map(str, folders)], capture_output=True, text=True, check=True, timeout=300
    )
    *lines, more = found.stdout.splitlines()
    for name, line in zip(LARGE, lines, strict=True):
        assert "its network takes over 1,024 MB" in line or line == "read", f"{name}: {line}"
    assert found.stderr == ""
    # the system counts in kilobytes, or on macOS in bytes
    assert int(more) < (1 << 21) * (1 if sys.platform == "linux" else 1 << 10)


@thorough
def test_a_network_that_computes_for_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = {"zero": np.array(0), "many": np.array(1000), "one": np.array(1), "last": np.array([1])}
    matrix = [
        ("Range", ["zero", "many", "one"], ["line"], {}),
        ("Unsqueeze", ["line", "last"], ["upright"], {}),
        ("Sub", ["line", "upright"], ["whole"], {}),
        ("Cast", ["whole"], ["m0"], {"to": 1}),
        *(("MatMul", ["m0", f"m{at}"], [f"m{at + 1}"], {}) for at in range(2000)),
    ]
    monkeypatch.setattr(onnx_network, "_SECONDS", 0.5)
    made = _grown(*matrix, ("Identity", ["m2000"], ["large"], {}), constants=size)
    _refused(write(tmp_path, made=made), "its network takes over")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx"])
def test_files_that_never_end_are_not_opened(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    _refused(folder, "expected a regular file|has no tokenizer.json|model.onnx or model.safetensors is missing")


def test_tensors_elsewhere_or_larger_than_their_bytes_are_refused(tmp_path: Path) -> None:
    import onnx

    model = onnx.load_from_string(network())
    tensor = model.graph.initializer[1]
    sound = tensor.SerializeToString()
    tensor.dims[0] = 1 << 40
    _refused(write(tmp_path / "large", made=model.SerializeToString()), "has a tensor of 1099511627776 values in")
    tensor.ParseFromString(sound)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"
    _refused(write(tmp_path / "elsewhere", made=model.SerializeToString()), "has weights in another file")


def test_constants_of_sound_networks_are_computed_when_they_are_loaded() -> None:
    path = share.directory("models") / INCLUDED / "model.onnx"
    assert check_network(path.read_bytes(), path)
    assert check_network(network(), path)
    assert not check_network(LARGE["a constant"](), path)
    assert not check_network(LARGE["the shape of a constant"](), path)
    # a network of a given size knows the shapes of its inputs
    grown = [
        ("Shape", ["input_ids"], ["shape"], {}),
        ("Mul", ["shape", "many"], ["size"], {}),
        ("ConstantOfShape", ["size"], ["large"], {}),
    ]
    for size, computed in ((("texts", "subwords"), True), ((1, "subwords"), False)):
        assert check_network(_grown(*grown, constants={"many": np.array([1 << 20])}, size=size), path) == computed


def _changed(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(tokenizer()), **changes}


def _model(**changes: Any) -> dict[str, Any]:
    return _changed(model={**tokenizer()["model"], **changes})


def _replace(pattern: Any, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _charsmap(raw: bytes) -> dict[str, Any]:
    import base64

    return _changed(normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(raw).decode()})


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s+"}, "behavior": "Removed", "invert": False}
ADDED = {**tokenizer()["added_tokens"][0], "id": 50}
TOKENIZERS: dict[str, tuple[Any, str]] = {
    "no object": ([], "tokenizer.json: expected a JSON object"),
    "nothing": ({}, "its model is not one of BPE"),
    "a pattern that takes for ever": (
        _changed(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a|a)*$"}, "behavior": "Isolated", "invert": False}
        ),
        r"searches for the pattern '\(a\|a\)\*\$', which may take for ever",
    ),
    "one in a sequence": (
        _changed(normalizer={"type": "Sequence", "normalizers": [_replace({"Regex": "(?:a+)+b"}, "")]}),
        "searches for the pattern",
    ),
    "one in the decoder": (
        _changed(decoder=_replace({"Regex": "((a{999}){999}){999}"}, "")),
        "searches for the pattern",
    ),
    "texts that grow": (
        _changed(normalizer={"type": "Sequence", "normalizers": [_replace({"String": "a"}, "aa")] * 30}),
        "makes texts up to [0-9,]+ times as long",
    ),
    "a long text instead of a letter": (
        _changed(normalizer=_replace({"String": "a"}, "b" * 9999)),
        "inserts [0-9,]+ characters, expected at most 256",
    ),
    "nothing searched for": (_changed(normalizer=_replace({"String": ""}, "b")), "searches for an empty text"),
    **{
        f"a search that finds nothing, {pattern}": (
            _changed(normalizer={"type": "Sequence", "normalizers": [_replace({"Regex": pattern}, "a")] * 30}),
            "searches for an empty text",
        )
        for pattern in ("q*", r"\s?", "[qx]{0,3}")
    },
    "bytes of bytes": (
        _changed(pre_tokenizer={"type": "Sequence", "pretokenizers": [BYTES] * 4}),
        "its pre_tokenizer makes texts up to 256 times as long",
    ),
    "steps without end": (
        _changed(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}] * 500}),
        "has 501 steps, expected at most 32",
    ),
    "a step nobody knows": (_changed(normalizer={"type": "Python"}), "has the step 'Python', which is not supported"),
    "a damaged table of characters": (_charsmap(b"\xff\xff\xff\xff\0"), "has a damaged table of characters"),
    "a table that inserts pages": (_charsmap(b"\4\0\0\0\0\0\0\0" + b"a" * 9999 + b"\0"), "damaged table of characters"),
    "an added token without text": (_changed(added_tokens=[{**ADDED, "content": ""}]), "added token has no text"),
    "merges dropped at random": (_model(type="BPE", merges=[], dropout=0.5), "drops merges at random"),
    "long words": (
        _model(max_input_chars_per_word=10**9),
        "max_input_chars_per_word is 1,000,000,000, expected at most",
    ),
    "no vocabulary": (_model(vocab={}), "."),
    "no unknown word": (_model(vocab={"a": 5}), "."),
    "no unknown word, Unigram": (_model(type="Unigram", unk_id=None, vocab=[["a", -1.0]]), "."),
    "an unknown word that is not there": (_model(type="Unigram", unk_id=9, vocab=[["a", -1.0]]), "."),
    "a number of four bytes": (_model(vocab={**tokenizer()["model"]["vocab"], "a": 4294967290}), "."),
    "text where a number belongs": (_model(vocab={"a": "b"}), "."),
    "special words that are not there": (
        _changed(
            post_processor={
                **tokenizer()["post_processor"],
                "special_tokens": {},
            }
        ),
        ".",
    ),
    "special words without end": (
        _changed(
            post_processor={
                **tokenizer()["post_processor"],
                "single": tokenizer()["post_processor"]["single"][:1] * 999
                + tokenizer()["post_processor"]["single"][1:],
            }
        ),
        "the letter a into 1 sub-words and 1000 special tokens",
    ),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_damaged_tokenizers_are_refused_in_one_line(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings, says = TOKENIZERS[name]
    _refused(write(tmp_path, settings=settings), says)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        _replace({"Regex": " {2,}"}, "▁"),
        _replace({"Regex": r"[\s\p{Zs}]+"}, " "),
        {
            "type": "Sequence",
            "normalizers": [{"type": "NFKC"}, _replace({"Regex": "\\s+"}, " "), {"type": "Lowercase"}],
        },
    ],
)
def test_tokenizers_of_other_kinds_are_read(tmp_path: Path, normalizer: Any) -> None:
    pre = {"type": "Sequence", "pretokenizers": [SPLIT, {"type": "Punctuation", "behavior": "Isolated"}]}
    found = _embed(write(tmp_path / "other", settings=_changed(normalizer=normalizer, pre_tokenizer=pre)))
    np.testing.assert_array_equal(found.pieces, _embed(write(tmp_path / "sound")).pieces)


def test_code_in_rust_that_breaks_off_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        def encode_batch(self, *_: object, **__: object) -> None:
            raise PanicException("index out of bounds\nat line 7")

    encoder = Encoder(load(str(write(tmp_path))).files)
    monkeypatch.setattr(encoder, "_tokenizer", Broken())
    with pytest.raises(ModelError, match=r"index out of bounds; copy it again if it is damaged, or choose another\Z"):
        encoder.split(["a"])


def test_commands_refuse_such_encoders_with_exit_code_2(tmp_path: Path) -> None:
    folder = write(tmp_path / "enc", made=_made(NETWORKS["NaN"][0]))
    data = [{"source": "x", "references": ["a"], "candidates": {"A": "a", "B": "b"}}]
    (tmp_path / "c.json").write_text(json.dumps(data))
    command = ["score", str(tmp_path / "c.json"), "-m", f"semantic[encoder={folder}].f"]
    code, printed, messages = captured(command)
    assert (code, printed) == (2, "")
    assert messages.endswith(
        "NaN or infinity, expected finite numbers; copy it again if it is damaged, or choose another\n"
    )
