from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import erf, softmax

from bench.fuzzing.encoders import WORDS, bert_weights
from ranker import threads
from ranker.errors import ModelError, OptionError
from ranker.learning.encoder.embedding import load
from ranker.learning.encoder.onnx_file import bert_graph
from ranker.learning.encoder.onnx_network import LAST, LAYER

TEXTS = ["a", "abba c.", "", "c " * 9, "ab " * 11, "c b a " * 20, "a b c . a"]
WIDTH, HEADS, LAYERS = 8, 2, 3


def _rounded(weights):
    """Every matrix as the file keeps it: 255 steps for each output, or for each row of an embedding."""
    result = dict(weights)
    for name, matrix in weights.items():
        if matrix.ndim == 2 and "position" not in name and "token_type" not in name:
            scales = np.abs(matrix).max(axis=1, keepdims=True) / 127
            result[name] = np.rint(matrix / scales) * scales
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    scales = np.abs(places).max(axis=1, keepdims=True) / 127
    result["places"] = np.rint(places / scales) * scales
    return result


def _by_hand(weights, ids):
    """Return the vectors of every layer of one text (Devlin et al. 2019; Vaswani et al. 2017)."""

    def normalised(state, name):
        centred = state - state.mean(axis=1, keepdims=True)
        centred = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return centred * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def linear(state, name):
        return state @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    state = weights["embeddings.word_embeddings.weight"][ids] + weights["places"][: len(ids)]
    state = normalised(state, "embeddings")
    states = []
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        parts = [np.split(linear(state, f"{at}attention.self.{n}"), HEADS, axis=1) for n in ("query", "key", "value")]
        heads = [softmax(q @ k.T / math.sqrt(WIDTH / HEADS), axis=1) @ v for q, k, v in zip(*parts, strict=True)]
        attended = linear(np.concatenate(heads, axis=1), f"{at}attention.output.dense") + state
        attended = normalised(attended, f"{at}attention.output")
        wide = linear(attended, f"{at}intermediate.dense")
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        state = normalised(linear(wide, f"{at}output.dense") + attended, f"{at}output")
        states.append(state)
    return states


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A directory with a BERT of random weights, three layers and twelve places, in ONNX format."""
    folder = tmp_path_factory.mktemp("encoder")
    from tokenizers import BertWordPieceTokenizer

    BertWordPieceTokenizer({word: i for i, word in enumerate(WORDS)}).save(str(folder / "tokenizer.json"))
    sizes = {"max_position_embeddings": 12, "hidden_size": WIDTH, "num_hidden_layers": LAYERS}
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **sizes, "matched_layer": 2}))
    (folder / "model.onnx").write_bytes(bert_graph(bert_weights(WIDTH, LAYERS), LAYERS, HEADS, 1e-12))
    return folder


def test_vectors_equal_a_network_computed_by_hand(directory):
    encoder, weights = load(str(directory)), _rounded(bert_weights(WIDTH, LAYERS))
    pieces = encoder.split(TEXTS)
    assert len(pieces.windows) - 1 > len(TEXTS)
    found = {layer: encoder.embed(pieces, layer=layer) for layer in (1, 2, 3, None)}
    pooled = np.zeros((len(TEXTS), WIDTH))
    for start, stop in zip(pieces.windows[:-1], pieces.windows[1:], strict=True):
        states = _by_hand(weights, pieces.ids[start:stop])
        for layer, wanted in zip((1, 2, 3, None), [*states, states[-1]], strict=True):
            unit = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
            np.testing.assert_allclose(found[layer].pieces[start:stop], unit, atol=2e-5)
        pooled[np.searchsorted(pieces.offsets, start, side="right") - 1] += states[-1].sum(axis=0)
    np.testing.assert_allclose(found[None].texts, pooled / np.linalg.norm(pooled, axis=1, keepdims=True), atol=2e-5)


def test_threads_and_the_rest_of_a_batch_change_nothing_that_counts(directory, monkeypatch):
    encoder = load(str(directory))
    pieces = encoder.split(TEXTS)
    wanted = encoder.embed(pieces).pieces
    monkeypatch.setattr(encoder._network, "batch", 16)
    results = []
    for jobs in (1, 3):
        with threads.using(jobs):
            results.append(encoder.embed(pieces).pieces)
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], wanted, atol=1e-6)


def test_the_file_is_the_same_whenever_it_is_written_and_says_which_layer_is_matched(directory):
    assert bert_graph(bert_weights(WIDTH, LAYERS), LAYERS, HEADS, 1e-12) == (directory / "model.onnx").read_bytes()
    encoder = load(str(directory))
    assert (encoder.layers, encoder.files.layer) == (3, 2)


def test_what_other_exporters_write_is_read_and_its_missing_layers_are_refused(directory, tmp_path):
    import onnx

    model = onnx.load(directory / "model.onnx")
    for name in (LAYER.format(1), LAYER.format(2)):
        model.graph.output.remove(next(each for each in model.graph.output if each.name == name))
    model.graph.input.append(onnx.helper.make_tensor_value_info("token_type_ids", onnx.TensorProto.INT64, ["t", "s"]))
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    onnx.save(model, tmp_path / "model.onnx")
    encoder, before = load(str(tmp_path)), load(str(directory))
    pieces = encoder.split(TEXTS)
    np.testing.assert_allclose(encoder.embed(pieces).texts, before.embed(pieces).texts, atol=1e-6)
    with pytest.raises(OptionError, match=r"layer=2: this encoder's file gives only its last layer; use layer=3\Z"):
        encoder.embed(pieces, layer=2)


def test_files_that_are_no_encoder_are_refused_in_one_line(directory, tmp_path):
    import onnx

    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    whole = (directory / "model.onnx").read_bytes()
    model = onnx.load(directory / "model.onnx")
    model.graph.output.remove(next(each for each in model.graph.output if each.name == LAST))
    for raw, says in (
        (whole[:3000], "the encoder cannot be loaded: "),
        (model.SerializeToString(), f"at most token_type_ids besides, and the output {LAST}, found the inputs "),
    ):
        (tmp_path / "model.onnx").write_bytes(raw)
        with pytest.raises(ModelError, match=says) as caught:
            load(str(tmp_path)).embed(load(str(tmp_path)).split(["a"]))
        assert "\n" not in str(caught.value)


def test_an_encoder_that_runs_writes_nothing_but_its_cache(tmp_path):
    # recent versions of onnxruntime keep an id of the user in the home directory, and send events, unless told not to
    code = "from ranker import make_metric\nmake_metric('semantic.f')(['It rains.'], ['It rained.'])"
    changed = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "RANKER_CACHE": str(tmp_path / "ranker")}
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"} | changed
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert [path.name for path in tmp_path.iterdir()] == ["ranker"]
