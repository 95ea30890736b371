from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import from_frame, load_dataset
from ranker.corpora.selection import without_references
from ranker.corpora.source_keys import among
from ranker.errors import DataError, ModelError, OptionError
from ranker.extractors import registry
from ranker.learning.encoder import training
from ranker.learning.encoder.embedding import Encoder, load
from ranker.learning.encoder.training import Example, Trainer, TrainingSettings, batches, draw, examples, mixture, train
from ranker.ranking.ranker import Ranker
from tests.datasets import dataset_of, equally_judged

SETTINGS = TrainingSettings(layer=1, batch=200, rate=1e-3, check_every=20)
WORDS = [*"abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A directory with a BERT of random weights and two layers, whose sub-words are letters."""
    torch = pytest.importorskip("torch", reason="needs the extra semantic-train")
    transformers = pytest.importorskip("transformers", reason="needs the extra semantic-train")
    from tokenizers import BertWordPieceTokenizer

    folder = tmp_path_factory.mktemp("start")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(f"##{word}" for word in WORDS)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    BertWordPieceTokenizer(str(folder / "vocab.txt")).save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(folder, safe_serialization=True)
    return str(folder)


@pytest.fixture(scope="module")
def judged():
    sample = load_dataset("sample")
    return sample.select_sources(np.arange(len(sample.sources)) < 60)


@given(st.lists(st.lists(st.integers(1, 9), min_size=2, max_size=4), max_size=30), st.integers(0, 9))
def test_batches_hold_every_source_once(lengths, seed):
    items = [Example([[1] * n for n in item], np.array([0]), np.array([0]), np.ones(1)) for item in lengths]
    found = batches(items, 40, random.Random(seed))
    assert sorted(id(item) for batch in found for item in batch) == sorted(map(id, items))
    assert all(len(batch) == 1 or sum(item.size for item in batch) <= 40 for batch in found)


@pytest.mark.parametrize("against", [("references",), ("references", "source")])
def test_columns_are_those_of_the_extractor(start, against):
    generator = random.Random(0)

    def text():
        return " ".join("".join(generator.choices(WORDS, k=3)) for _ in range(generator.randint(1, 9)))

    rows = [
        {"source": source, "reference": reference, "system": system, "translation": text(), "score": ord(system)}
        for source, reference in [(text(), text()) for _ in range(5)]
        for system in "ABC"
    ]
    data = from_frame(pd.DataFrame(rows))
    encoder, settings = Encoder(load(start).files), dataclasses.replace(SETTINGS, against_source="source" in against)
    columns = Trainer(encoder, settings, 1).columns(examples(data, encoder, "auto", settings))
    wanted = [registry.make(f"semantic[encoder={start},layer=1,against={each}]").transform(data) for each in against]
    np.testing.assert_allclose(columns.detach().numpy(), np.hstack(wanted), atol=1e-5)


def few_of_z(kind, number, lp):
    """A data set of which people prefer candidates with few words z, whatever else they have."""
    generator, items, sources = random.Random(number), [], []
    for _ in range(number):
        drawn = generator.sample(WORDS[:20], 6)
        sources.append(" ".join(reversed(drawn)))
        others = [[*"z" * each, *generator.sample(WORDS[20:-1], 4 - each)] for each in range(4)]
        items.append(([" ".join(drawn)], [" ".join(drawn[:2] + each) for each in others]))
    return dataset_of(
        items, sources=[" ".join(reversed(reference.split())) for (reference,), _ in items], lp=lp, kind=kind
    )


def test_scores_by_reference_source_and_both_are_learnt_and_a_frozen_embedding_stays(start):
    settings = dataclasses.replace(SETTINGS, balanced=True, against_source=True, freeze=True, layer=2)
    items, _ = mixture([few_of_z("fluency", 40, "en-de")], load(start), "auto", settings)
    trainer = Trainer(Encoder(load(start).files), settings, 60)

    def agreement():
        found = [own[item.better] > own[item.worse] for item, own in trainer._scores(items)]
        return np.concatenate([each.numpy() for each in found]).mean(axis=0)

    table, layer = "embeddings.word_embeddings.weight", "encoder.layer.0.output.dense.weight"
    before, untrained = trainer.result(trainer.weights()), agreement()
    for _, batch in zip(range(60), itertools.cycle(batches(items, 200)), strict=False):
        trainer.step(batch)
    assert (agreement() > 0.9).all()
    assert (untrained < 0.8).all()
    after = trainer.result(trainer.weights())
    np.testing.assert_array_equal(after[table], before[table])
    assert not np.array_equal(after[layer], before[layer])
    assert table not in trainer.weights()


def test_every_corpus_and_every_language_pair_of_it_counts_the_same_whatever_its_size_and_kind(start):
    first, second = few_of_z("fluency", 33, ["en-de"] * 30 + ["en-cs"] * 3), few_of_z("esa", 7, "zh-en")
    settings = dataclasses.replace(SETTINGS, balanced=True)
    items, keys = mixture([first, second], load(start), "auto", settings)
    assert (len(items), len(keys)) == (40, 40)
    counts = [sum(float(item.share.sum()) for item in part) for part in (items[:3], items[3:33], items[33:])]
    np.testing.assert_allclose(counts, [0.25, 0.25, 0.5])
    # pairs of a source count by the difference of their scores
    np.testing.assert_allclose(items[0].weight / items[0].weight.min(), items[0].worse - items[0].better)
    drawn, _ = mixture([first, second], load(start), "auto", settings, 12)
    assert len(drawn) == 3 + 3 + 6


def test_what_people_did_not_order_has_no_say_in_a_mixture_and_a_corpus_without_order_is_refused(start):
    ordered = few_of_z("fluency", 4, ["en-de", "en-de", "en-cs", "en-fr"])
    lp = ordered.sources["lp"].to_numpy(object)[ordered.candidate_source[ordered.ratings["candidate"]]]
    scores = np.where((lp == "en-cs") | (ordered.ratings["candidate"] < 4), 1.0, ordered.ratings["value"])
    partly = dataclasses.replace(ordered, ratings=ordered.ratings.assign(value=scores))
    settings = dataclasses.replace(SETTINGS, balanced=True)
    items, _ = mixture([partly], load(start), "auto", settings, 2)
    np.testing.assert_allclose([float(item.share.sum()) for item in items], [0.5, 0.5])
    alone = without_references(ordered)
    with pytest.raises(DataError, match="no source has a reference and two candidates that people ordered"):
        mixture([ordered, alone], load(start), "auto", settings)


def test_rounding_of_judgements_is_nothing_to_learn_from():
    assert not len(training._pairs(equally_judged(), "fluency").better)


def test_what_is_written_is_the_mean_of_the_weights_before_and_after(start, judged, tmp_path):
    made = {}
    for keep in (0.0, 0.5, 1.0):
        settings = dataclasses.replace(SETTINGS, keep=keep)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(training, "bert_graph", lambda weights, *_, keep=keep: made.update({keep: weights}) or b"")
            train([judged], start, tmp_path / str(keep), kind="fluency", settings=settings)
    untrained = dict(load(start)._network._model.named_parameters())
    name = "encoder.layer.0.output.dense.weight"
    np.testing.assert_array_equal(made[1.0][name], untrained[name].detach().numpy())
    np.testing.assert_allclose(made[0.5][name], (made[0.0][name] + made[1.0][name]) / 2, atol=1e-7)
    assert not np.array_equal(made[0.0][name], made[1.0][name])


def test_training_agrees_better_with_the_judges(start, judged, tmp_path):
    encoder = load(start)
    items = examples(judged, encoder, "fluency", SETTINGS)
    before = Trainer(Encoder(encoder.files), SETTINGS, 1).tau(items)
    checks = train(
        [judged], start, tmp_path, kind="fluency", aside=[judged], settings=dataclasses.replace(SETTINGS, epochs=3)
    )
    assert max(check.tau for check in checks) > before + 0.05
    trained = registry.make(f"semantic[encoder={tmp_path}]")
    assert trained.transform(judged).shape == (len(judged), 4)
    assert load(str(tmp_path)).files.layer == 1


@pytest.mark.parametrize("more", [{}, {"balanced": True, "against_source": True, "freeze": True, "keep": 0.5}])
def test_an_interrupted_training_goes_on_to_the_same_weights(start, judged, tmp_path, monkeypatch, more):
    settings = dataclasses.replace(SETTINGS, **more)
    train([judged], start, tmp_path / "whole", kind="fluency", settings=settings)
    step, steps = Trainer.step, []

    def stop(trainer, batch):
        if len(steps) == 4:
            raise KeyboardInterrupt
        steps.append(batch)
        return step(trainer, batch)

    monkeypatch.setattr(Trainer, "step", stop)
    with pytest.raises(KeyboardInterrupt):
        train([judged], start, tmp_path / "cut", kind="fluency", settings=settings, minutes=0)
    monkeypatch.setattr(Trainer, "step", lambda trainer, batch: steps.append(batch) or step(trainer, batch))
    checks = train([judged], start, tmp_path / "cut", kind="fluency", settings=settings)
    assert checks[-1].sources == sum(map(len, steps))
    files = {path.name for path in (tmp_path / "cut").iterdir()}
    assert files == {"model.onnx", "config.json", "tokenizer.json", "sources.npy"}
    for name in files:
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=20), st.integers(1, 25), st.integers(0, 9))
def test_sources_with_one_reference_are_drawn_together(references, number, seed):
    data = dataset_of(([text], ["x", "y"]) for text in references)
    drawn = draw(data, number, seed).references["text"].tolist()
    assert len(drawn) >= min(number, len(references))
    assert Counter(drawn) == Counter(text for text in references if text in drawn)
    # without the last text that was drawn there were too few
    assert len(drawn) - max(Counter(drawn).values()) < number


def test_a_ranker_does_not_learn_from_the_sources_that_its_encoder_saw(start, judged, tmp_path):
    train([judged], start, tmp_path, kind="fluency", settings=dataclasses.replace(SETTINGS, sources=20))
    features = f"semantic[encoder={tmp_path}],bleu,consensus[metric=semantic[encoder={tmp_path}]].weighted"
    ranker = Ranker(features, C=1.0, kind="fluency").fit(judged)
    seen = int(among(judged, load(str(tmp_path)).files.training_sources).sum())
    assert 20 <= seen < 30
    assert ranker.training.sources == 60 - seen
    assert ranker.training_notes[0] == f"{seen} of 60 sources left out: the encoder was trained on them"
    assert ranker.learnt_from(judged).all()
    train([judged], start, tmp_path, kind="fluency", settings=SETTINGS)
    with pytest.raises(DataError, match="the encoder was trained on 60 of 60 sources: give other data"):
        Ranker(features, kind="fluency").fit(judged)
    np.save(tmp_path / "sources.npy", np.zeros(3))
    with pytest.raises(ModelError, match=r"the encoder cannot be loaded: sources\.npy is 1-dimensional float64"):
        Ranker(features, kind="fluency").fit(judged)


@pytest.mark.parametrize("left", [b"", b"x" * 99, "other seed"])
def test_a_checkpoint_that_is_damaged_or_of_another_training_is_not_used(start, judged, tmp_path, monkeypatch, left):
    train([judged], start, tmp_path / "whole", kind="fluency", settings=SETTINGS)
    if left == "other seed":
        other = dataclasses.replace(SETTINGS, seed=1)
        with monkeypatch.context() as patch:
            patch.delattr(training, "_write")
            with pytest.raises(NameError):
                train([judged], start, tmp_path / "cut", kind="fluency", settings=other, minutes=0)
    else:
        (tmp_path / "cut").mkdir()
        (tmp_path / "cut" / training._STATE).write_bytes(left)
    assert (tmp_path / "cut" / training._STATE).exists()
    train([judged], start, tmp_path / "cut", kind="fluency", settings=SETTINGS)
    assert (tmp_path / "cut" / "model.onnx").read_bytes() == (tmp_path / "whole" / "model.onnx").read_bytes()


def test_what_cannot_be_learnt_from_is_refused(start, judged, tmp_path):
    alone = without_references(judged)
    with pytest.raises(DataError, match="no source has a reference and two candidates that people ordered"):
        train([alone], start, tmp_path, kind="fluency")
    with pytest.raises(OptionError, match="layer=3: this encoder has layers 1 to 2"):
        train([judged], start, tmp_path, kind="fluency", settings=TrainingSettings(layer=3))
    train([judged], start, tmp_path, kind="fluency", settings=SETTINGS)
    with pytest.raises(ModelError, match="expected a BERT model in Hugging Face's format"):
        train([judged], str(tmp_path), tmp_path, kind="fluency", settings=SETTINGS)
