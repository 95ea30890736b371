from __future__ import annotations

import shutil
import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker import threads
from ranker.errors import ModelError, OptionError
from ranker.learning.encoder import files as encoder_files
from ranker.learning.encoder.embedding import Encoder, _batches, _windows, load
from tests.effort import examples

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b", "."]
INT = np.int32


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(st.integers(0, 9), max_size=6), st.integers(0, 1), st.integers(0, 2), st.integers(1, 5))
def test_windows_equal_a_plain_loop(counts, before, after, room):
    ids = np.arange(100, 100 + sum(counts), dtype=INT)
    first, last = np.array([1, 2][:before], dtype=INT), np.array([3, 4][:after], dtype=INT)
    result = _windows(ids, ids + 7, np.array(counts, dtype=np.int64), first, last, room + before + after)
    wanted, windows, texts, at = [], [0], [0], 0
    for count in counts:
        for start in range(0, max(count, 1), room):
            wanted += [*first, *ids[at + start : at + min(start + room, count)], *last]
            windows.append(len(wanted))
        texts.append(len(wanted))
        at += count
    assert result.ids.tolist() == wanted
    assert result.windows.tolist() == windows
    assert result.offsets.tolist() == texts
    assert result.word.tolist() == [item + 7 if item >= 100 else -1 for item in wanted]
    if counts:
        chosen = np.array([len(counts) - 1, 0])
        part = result.take(chosen)
        pieces = [result.ids[slice(*result.offsets[text : text + 2])].tolist() for text in chosen]
        assert part.ids.tolist() == [*pieces[0], *pieces[1]]
        assert set(part.offsets) <= set(part.windows)


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 200))
def test_batches_hold_every_window_once_and_little_padding(lengths, pieces):
    example = _batches(np.array(lengths, dtype=np.int64), pieces)
    assert sorted(np.concatenate([np.zeros(0, dtype=int), *example])) == [
        i for i, length in enumerate(lengths) if length
    ]
    for batch in example:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= pieces


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A directory with a BERT of random weights, two layers and twelve places."""
    torch = pytest.importorskip("torch", reason="needs the extra semantic")
    transformers = pytest.importorskip("transformers", reason="needs the extra semantic")
    from tokenizers import BertWordPieceTokenizer

    directory = tmp_path_factory.mktemp("encoder")
    (directory / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    BertWordPieceTokenizer(str(directory / "vocab.txt")).save(str(directory / "tokenizer.json"))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=12,
        initializer_range=1.0,
    )
    transformers.BertModel(config).save_pretrained(directory, safe_serialization=True)
    return directory


TEXTS = ["a", "abba c.", "", "c " * 9, "ab " * 11, "c b a " * 20, "a b c . a"]


def test_vectors_equal_those_of_the_network_run_text_by_text(tiny):
    import torch
    from transformers import BertModel

    encoder, network = load(str(tiny)), BertModel.from_pretrained(tiny).eval()
    pieces = encoder.split(TEXTS)
    counted = []
    example = encoder.embed(pieces, count=counted.append)
    first = encoder.embed(pieces, layer=1)
    assert sum(counted) == len(pieces.windows) - 1 > len(TEXTS)
    for text in range(len(TEXTS)):
        sums, length = np.zeros(16), 0
        for start in pieces.windows[
            (pieces.windows >= pieces.offsets[text]) & (pieces.windows < pieces.offsets[text + 1])
        ]:
            stop = pieces.windows[np.searchsorted(pieces.windows, start) + 1]
            with torch.no_grad():
                ids = torch.tensor(pieces.ids[start:stop].astype(np.int64))[None]
                output = network(input_ids=ids, output_hidden_states=True)
            states, lower = output.last_hidden_state[0].numpy(), output.hidden_states[1][0].numpy()
            for result, wanted in ((example, states), (first, lower)):
                unit = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
                np.testing.assert_allclose(result.pieces[start:stop], unit, atol=1e-5)
            sums, length = sums + states.sum(axis=0), length + len(states)
        np.testing.assert_allclose(example.texts[text], sums / np.linalg.norm(sums), atol=1e-5)
    np.testing.assert_array_equal(example.texts, first.texts)


def test_the_number_of_threads_changes_nothing(tiny, monkeypatch):
    encoder = load(str(tiny))
    monkeypatch.setattr(encoder._network, "batch", 16)
    pieces = encoder.split(TEXTS)
    results = []
    for jobs in (1, 3):
        monkeypatch.setattr(threads, "_jobs", jobs)
        results.append(encoder.embed(pieces).pieces)
    np.testing.assert_array_equal(*results)


def test_words_are_those_of_the_text(tiny):
    encoder = load(str(tiny))
    assert encoder.words("  Abba, c.") == ["Abba", ",", "c", "."]
    assert encoder.words("") == []
    # what looks like a special token is text
    pieces = encoder.split(["a [SEP] b"])
    assert (pieces.word < 0).sum() == 2
    assert (pieces.ids == WORDS.index("[SEP]")).sum() == 1
    assert encoder.split(["\ud800 a"]).word.max() == 1


def test_a_layer_that_is_not_there_is_refused(tiny):
    encoder = load(str(tiny))
    with pytest.raises(OptionError, match="layer=3: this encoder has layers 1 to 2"):
        encoder.embed(encoder.split(["a"]), layer=3)


def test_nothing_asks_the_network(tiny, monkeypatch):
    def refuse(*_arguments, **_options):
        pytest.fail("opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    encoder = Encoder(encoder_files.find(str(tiny)))
    assert encoder.embed(encoder.split(["a b"])).texts.shape == (1, 16)


@pytest.mark.parametrize("damage", ["cut", "lacking", "generator", "tokenizer"])
def test_damaged_encoders_are_refused_in_one_line(tiny, tmp_path, damage):
    from safetensors.torch import load_file, save_file
    from transformers import GPT2Config, GPT2Model

    directory = tmp_path / damage
    shutil.copytree(tiny, directory)
    weights = directory / "model.safetensors"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:5000])
        says = "the encoder cannot be loaded: "
    elif damage == "lacking":
        selected = {name: tensor for name, tensor in load_file(weights).items() if "layer.1." not in name}
        save_file(selected, weights, metadata={"format": "pt"})
        says = "its weights lack 'encoder.layer.1."
    elif damage == "generator":
        GPT2Model(GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=20)).save_pretrained(directory)
        says = "'gpt2' is not an encoder; expected a masked language model"
    else:
        (directory / "tokenizer.json").write_text("{}")
        says = "the encoder cannot be loaded: "
    with pytest.raises(ModelError, match=says) as caught:
        load(str(directory)).embed(load(str(directory)).split(["a"]))
    assert "\n" not in str(caught.value)
