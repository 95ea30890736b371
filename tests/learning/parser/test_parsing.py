"""The shipped parser, and pipelines from elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from models.making.parser.conllu import Sentence, read_conllu
from models.making.parser.scores import score_text, score_words
from ranker import share
from ranker.errors import DataError, MissingError, ModelError, OptionError
from ranker.learning.parser import parsing
from ranker.learning.parser.parsing import DependencyParser, Parses
from tests.effort import thorough

SHIPPED = share.directory("models") / "parser-en"
SENTENCES = [
    "The houses were sold by the old man yesterday.",
    "",
    "He left. She stayed! Who knows?",
    "...",
    '"',
    "the minister say that no one know answer of question",
    "Это предложение написано по-русски.",
    "这是一个中文句子。",
    "  spaces \t and\nlines\u00a0here ",
    "don't can't I'm we'll Peter's",
    "word " * 1000,
    "( [ { ) ] }",
    "(" * 2000,
    "half a pair \ud83d here",
]


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return parsing.load(SHIPPED)


@pytest.fixture(scope="module")
def held_out(shared: Path) -> list[Sentence]:
    return read_conllu(shared / "data" / "ud_en_ewt" / "en_ewt-ud-test.conllu.gz")


def same(first: Parses, second: Parses) -> bool:
    columns = ("offsets", "heads", "relations", "tags")
    return first.words == second.words and all(
        np.array_equal(getattr(first, column), getattr(second, column)) for column in columns
    )


@thorough
def test_the_shipped_parser_is_as_good_as_its_card_says(parser: DependencyParser, held_out: list[Sentence]) -> None:
    on_card = json.loads((SHIPPED / "meta.json").read_text(encoding="utf-8"))["performance"]["test"]
    scores = score_words(parser, held_out)
    assert scores.tags >= 0.93
    assert scores.uas >= 0.828
    assert scores.las >= 0.791
    # another processor may round otherwise and decide a word or two otherwise
    assert scores.las == pytest.approx(on_card["words"]["las"], abs=0.001)
    assert score_text(parser, held_out).las == pytest.approx(on_card["text"]["las"], abs=0.001)
    assert score_words(parser, held_out[:500], lowercase=True).las >= 0.791


@thorough
def test_every_text_is_one_tree(parser: DependencyParser) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parses = parser.parse(SENTENCES)
    assert len(parses) == len(SENTENCES)
    assert parses.offsets[-1] == len(parses.words) == len(parses.heads)
    assert parses.words[parses.offsets[8] : parses.offsets[9]] == ["spaces", "and", "lines", "here"]
    root = parses.relation_names.index("root")
    for start, end in zip(parses.offsets[:-1], parses.offsets[1:], strict=True):
        heads = parses.heads[start:end]
        assert (heads == -1).sum() == (1 if end > start else 0)
        assert np.array_equal(heads == -1, parses.relations[start:end] == root)
        assert (heads < end - start).all()
        assert (heads != np.arange(end - start)).all()
        reached = heads == -1
        for _ in range(len(heads)):
            reached = reached | reached[heads]
            if reached.all():
                break
        assert reached.all()


def test_a_sentence_comes_out_as_expected(parser: DependencyParser) -> None:
    parses = parser.parse(["The houses were sold by the old man ."], lemmas=True)
    assert parses.words == ["The", "houses", "were", "sold", "by", "the", "old", "man", "."]
    assert parses.heads.tolist() == [1, 3, 3, -1, 7, 7, 7, 3, 3]
    assert [parses.relation_names[code] for code in parses.relations] == (
        ["det", "nsubj:pass", "aux:pass", "root", "case", "det", "amod", "obl:agent", "punct"]
    )
    assert [parses.tag_names[code] for code in parses.tags] == (
        ["DET", "NOUN", "AUX", "VERB", "ADP", "DET", "ADJ", "NOUN", "PUNCT"]
    )
    assert parses.lemmas == ["the", "house", "be", "sell", "by", "the", "old", "man", "."]


def test_words_given_are_words_kept(parser: DependencyParser) -> None:
    words = ["well-known", "don't", "."]
    assert parser.parse([words, []]).words == words
    assert parser.parse([" ".join(words)]).words != words


def test_nothing_gives_nothing(parser: DependencyParser) -> None:
    for sentences in ([], [""], [[]]):
        parses = parser.parse(sentences, lemmas=True)
        assert len(parses) == len(sentences)
        assert parses.words == parses.lemmas == []
        assert parses.heads.dtype == parses.relations.dtype == parses.tags.dtype == np.int32


@thorough
def test_batches_and_processes_change_nothing(
    parser: DependencyParser, held_out: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [sentence.text for sentence in held_out[:60]]
    whole = parser.parse(texts)
    for size in (1, 7):
        monkeypatch.setattr(parsing, "_BATCH", size)
        assert same(parser.parse(texts), whole)
    monkeypatch.setattr(parsing, "_CHUNK", 16)
    assert same(parser.parse(texts), whole)
    assert same(parser.parse(texts, processes=2), whole)


def test_empty_words_are_refused(parser: DependencyParser) -> None:
    with pytest.raises(DataError, match=r"an empty word in \['a', ''\]"):
        parser.parse([["a", ""]])


def test_what_is_not_a_parser_is_refused(tmp_path: Path) -> None:
    import spacy

    with pytest.raises(MissingError, match="no parser 'no_such_thing': give the directory"):
        parsing.load("no_such_thing")
    with pytest.raises(MissingError, match="no parser 'no_such_thing'"):
        parsing.digest("no_such_thing")
    with pytest.raises(ModelError, match="not a working spaCy pipeline"):
        parsing.load(tmp_path)
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ModelError, match=r"blank: the pipeline has no component 'parser', found "):
        parsing.load(tmp_path / "blank")


@thorough
def test_a_pipeline_from_elsewhere(tmp_path: Path) -> None:
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example

    pipeline = spacy.blank("en")
    for component in ("tagger", "attribute_ruler", "sentencizer"):
        pipeline.add_pipe(component)
    pipeline.add_pipe("parser", config={"min_action_freq": 1})
    words = ["Dogs", "bark"]
    gold = Doc(pipeline.vocab, words=words, tags=["NNS", "VBP"], heads=[1, 1], deps=["nsubj", "ROOT"])
    pipeline.initialize(lambda: [Example(Doc(pipeline.vocab, words=words), gold)])
    ruler = pipeline.get_pipe("attribute_ruler")
    for tag in ("NNS", "VBP"):
        ruler.add([[{"TAG": tag}]], {"POS": "VERB"})
    pipeline.to_disk(tmp_path / "other")
    parser = parsing.load(tmp_path / "other")
    assert {"nsubj", "dep", "root"} <= set(parser.relation_names)
    assert not parser.has_lemmas
    (tmp_path / "other" / "lemmas.json").write_bytes(b'{"rules": "\xff"}')
    with pytest.raises(DataError, match=r"lemmas\.json:1:12: byte 0xff is not UTF-8"):
        parsing.load(tmp_path / "other")
    parses = parser.parse(["Dogs bark. Cats sleep."])
    assert [parses.tag_names[code] for code in parses.tags] == ["VERB"] * 6
    assert (parses.heads == -1).sum() == 1
    with pytest.raises(OptionError, match="the parser for 'en' has no lemmas"):
        parser.parse(["a"], lemmas=True)


def test_the_digest_is_of_what_computes(tmp_path: Path) -> None:
    (tmp_path / "parser").mkdir()
    (tmp_path / "parser" / "model").write_bytes(b"1")
    (tmp_path / "CARD.md").write_text("a", encoding="utf-8")
    first = parsing.digest(tmp_path)
    (tmp_path / "CARD.md").write_text("b", encoding="utf-8")
    assert parsing.digest(tmp_path) == first
    (tmp_path / "parser" / "model").write_bytes(b"2")
    assert parsing.digest(tmp_path) != first


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a pipeline package as spaCy makes them; importing it would leave a trace."""
    inner = tmp_path / "site" / "xx_tiny" / "xx_tiny-1.0"
    shutil.copytree(share.directory("models") / "parser-en", inner)
    (inner.parent / "__init__.py").write_text("raise SystemExit('imported')\n")
    about = tmp_path / "site" / "xx_tiny-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: xx_tiny\nVersion: 1.0\n")
    (about / "RECORD").write_text("xx_tiny/__init__.py,,\nxx_tiny/xx_tiny-1.0/config.cfg,,\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return inner


def test_a_package_is_read_and_never_imported(package: Path) -> None:
    parser = parsing.load("xx_tiny")
    assert (parser.parse(["Dogs bark."]).heads == -1).sum() == 1
    assert parsing.digest("xx_tiny") == parsing.digest(package)
    assert "xx_tiny" not in sys.modules


@pytest.mark.parametrize("name", ["numpy", "os", "spacy", "../x", "a\0b"])
def test_packages_that_are_no_parsers_are_not_touched(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for ask in (parsing.load, parsing.digest):
        with pytest.raises(MissingError, match="no parser"):
            ask(name)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"spacy.Tok2Vec.v2"', '"spacy-transformers.TransformerModel.v3"', "the function 'spacy-transformers"),
        ('"spacy.MaxoutWindowEncoder.v2"', '"spacy.TorchBiLSTMEncoder.v1"', "the function 'spacy.TorchBiLSTM"),
        ('factory = "tagger"', 'factory = "curated_transformer"', "the component 'curated_transformer'"),
        ('"spacy.Tokenizer.v1"', '"evil.v1"', "the function 'evil.v1'"),
        ("before_creation = null", 'before_creation = {"@callbacks": "evil.v1"}', "the function 'evil.v1'"),
        ('factory = "tagger"', 'source = "other_package"', "the function 'other_package'"),
        ("[nlp]", "[nlp", "not a working spaCy pipeline"),
    ],
)
def test_parsers_that_could_run_code_are_refused(package: Path, old: str, new: str, says: str) -> None:
    config = (package / "config.cfg").read_text(encoding="utf-8")
    assert old in config
    (package / "config.cfg").write_text(config.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError, match=says):
        parsing.load(package)
