"""Parsers of others: whatever their files ask for, spaCy's own parts are all that runs, and for a bounded time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import srsly

from bench.processes import captured
from ranker import share
from ranker.errors import ModelError
from ranker.learning.parser import parsing
from ranker.learning.parser.loading import ends_soon

SHIPPED = share.directory("models") / "parser-en"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copytree(SHIPPED, tmp_path / "parser-x")
    return tmp_path / "parser-x"


def _refused(directory: Path, says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        parsing.load(directory).parse(["Dogs bark.", "a" * 60])
    assert str(directory) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


TAGGER = 'factory = "tagger"'
EVIL = '"evil.v1"'


@pytest.mark.parametrize(
    ("changes", "more", "says"),
    [
        (
            {
                "[components.tagger]": "[custom]\n\n[components.tagger]",
                "[components.tagger.model": "[custom.model",
                TAGGER: f"{TAGGER}\nmodel = ${{custom.model}}",
                '"spacy.Tagger.v2"': EVIL,
            },
            "",
            r"the function 'evil\.v1' \(components\.tagger\.model\.@architectures\)",
        ),
        ({TAGGER: f"{TAGGER}\n@misc = ${{custom.name}}"}, f"[custom]\nname = {EVIL}", r"the function 'evil\.v1'"),
        ({TAGGER: 'source = "spacy.nested"'}, "", r"the function 'spacy\.nested' \(components\.tagger\.source\)"),
        ({TAGGER: "source = ${custom.name}"}, '[custom]\nname = "spacy.x"', r"the function 'spacy\.x'"),
        ({TAGGER: "factory = ${custom.name}"}, f"[custom]\nname = {EVIL}", r"the component 'evil\.v1'"),
        ({TAGGER: 'factory = "entity_ruler"'}, "", "the component 'entity_ruler'"),
        ({'"spacy.Tagger.v2"': '"spacy.PretrainVectors.v1"'}, "", r"the function 'spacy\.PretrainVectors\.v1'"),
        ({'"spacy.Tagger.v2"': '"spacy.KBFromFile.v1"'}, "", r"the function 'spacy\.KBFromFile\.v1'"),
        ({"after_creation = null": 'after_creation = "x"'}, "", r"the function 'x' \(nlp\.after_creation\)"),
        ({'lang = "en"': 'lang = "en.lex_attrs"'}, "", r"spaCy has no language 'en\.lex_attrs'"),
        ({'lang = "en"': 'lang = "zzz"'}, "", "spaCy has no language 'zzz'"),
        ({"depth = 4": "depth = 100000000"}, "", r"encode\.depth is 100000000, expected at most 64"),
        ({"depth = 4": "depth = ${custom.d}"}, "[custom]\nd = 1e300", r"encode\.depth is 1e\+300, expected at most 64"),
        ({"window_size = 1": "window_size = 4000"}, "", "window_size is 4000, expected at most 16"),
        ({"700]": "999999999]"}, "", "rows.3 is 999999999, expected at most 1,000,000"),
        ({"depth = 4": "depth = $${custom.d}"}, "[custom]\nd = 4", "encode.depth|not a working spaCy pipeline"),
        (
            {TAGGER: f"{TAGGER}\nmany = ${{s0}}"},
            "\n".join(f"[s{at}]\na = ${{s{at + 1}}}\nb = ${{s{at + 1}}}" for at in range(60)) + "\n[s60]\na = 1\n",
            "more than 100 references to other sections",
        ),
        ({TAGGER: f"{TAGGER}\nmany = {'${custom.a}' * 101}"}, "[custom]\na = 1", "more than 100 references"),
    ],
)
def test_configurations_that_ask_for_more_than_parsers_need_are_refused(
    directory: Path, changes: dict[str, str], more: str, says: str
) -> None:
    config = (directory / "config.cfg").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in config
        config = config.replace(old, new)
    (directory / "config.cfg").write_text(f"{config}\n\n{more}\n", encoding="utf-8")
    _refused(directory, says)


def test_references_of_sound_configurations_are_followed(directory: Path) -> None:
    config = (directory / "config.cfg").read_text(encoding="utf-8")
    config = config.replace("depth = 4", "depth = ${custom.depth}").replace(
        "[components.tagger.scorer]", "[custom]\ndepth = 4\n\n[custom.scorer]"
    )
    config = config.replace(TAGGER, f"{TAGGER}\nscorer = ${{custom.scorer}}")
    (directory / "config.cfg").write_text(config, encoding="utf-8")
    wanted, found = (parsing.load(each).parse(["The dog barked."]) for each in (SHIPPED, directory))
    assert found.heads.tolist() == wanted.heads.tolist()


def test_components_that_are_not_needed_are_not_loaded(directory: Path) -> None:
    config = (directory / "config.cfg").read_text(encoding="utf-8")
    config = config.replace('"parser"]', '"parser", "entity_ruler"]')
    config = config.replace("[pretraining]", '[components.entity_ruler]\nfactory = "entity_ruler"\n\n[pretraining]')
    (directory / "config.cfg").write_text(config, encoding="utf-8")
    (directory / "entity_ruler").mkdir()
    (directory / "entity_ruler" / "patterns.jsonl").write_text("[" * 5000)
    assert (parsing.load(directory).parse(["Dogs bark."]).heads == -1).sum() == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize("name", ["config.cfg", "tokenizer", "vocab/strings.json", "parser/model"])
def test_files_that_never_end_are_not_opened(directory: Path, name: str) -> None:
    (directory / name).unlink()
    os.mkfifo(directory / name)
    _refused(directory, f"{Path(name).name} is not a regular file")


@pytest.mark.parametrize(
    ("pattern", "soon"),
    [
        ("(a+)+$", False),
        ("(a|a)*b", False),
        ("(a|ab)(b|c)*d", True),
        ("(a?){30}a{30}", False),
        ("a?" * 30 + "a" * 30, False),
        ("a*a*b", False),
        (r"(a)\1", False),
        (r"(?=(a+))+b", False),
        ("(?:a{1,900}){1,900}", False),
        ("(", False),
        (r"^\(|^\[|^\$|^https?://", True),
        (r"(?<=[0-9])\+$|\.\.+$|(?<=[a-z])(?:km|m|cm)$", True),
        (r"(?<=[a-z]),(?=[a-z])", True),
        (r"\w+", True),
    ],
)
def test_patterns_whose_search_ends_soon(pattern: str, soon: bool) -> None:
    assert ends_soon(pattern) == soon


@pytest.mark.parametrize("field", ["prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match"])
def test_tokenizers_that_could_take_for_ever_are_refused(directory: Path, field: str) -> None:
    settings = srsly.msgpack_loads((directory / "tokenizer").read_bytes())
    settings[field] = "(a|a)*b"
    (directory / "tokenizer").write_bytes(srsly.msgpack_dumps(settings))
    _refused(directory, f"the tokenizer's pattern {field} is not that of the installed spaCy")
    settings[field] = r"\.\.+$"
    (directory / "tokenizer").write_bytes(srsly.msgpack_dumps(settings))
    assert len(parsing.load(directory).parse(["Dogs bark."])) == 1


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ([{"TEXT": {"REGEX": "(a|a)*b"}}], r"attribute_ruler searches for '\(a\|a\)\*b'"),
        ([{"TEXT": {"REGEX": {"IN": ["x", "(a+)+b"]}}}], r"attribute_ruler searches for '\(a\+\)\+b'"),
        ([{"TEXT": {"regex": "(a+)+b"}}], r"attribute_ruler searches for '\(a\+\)\+b'"),
        ([{"TEXT": {"REGEX": {"IN": ["x"], "not_in": ["(a+)+b"]}}}], r"attribute_ruler searches for '\(a\+\)\+b'"),
        ([{"TEXT": {"FUZZY": {"REGEX": "(a+)+b"}}}], r"attribute_ruler searches for '\(a\+\)\+b'"),
        ([{"OP": "*"}] * 40, "repeats 40 words, expected at most 3"),
        ([{"op": "*"}] * 40, "repeats 40 words, expected at most 3"),
        (
            [{"OP": "{0,900000000}"}],
            r"a pattern of attribute_ruler repeats a word '\{0,900000000\}', expected at most 32 times",
        ),
        ([{"op": "{900000000}"}], r"repeats a word '\{900000000\}', expected at most 32 times"),
    ],
)
def test_rules_that_could_take_for_ever_are_refused(directory: Path, pattern: Any, says: str) -> None:
    (directory / "attribute_ruler").mkdir()
    rules = [{"patterns": [pattern], "attrs": {"TAG": "X"}, "index": 0}]
    (directory / "attribute_ruler" / "patterns").write_bytes(srsly.msgpack_dumps(rules))
    _refused(directory, says)


def _weights(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def rewrite(directory: Path) -> None:
        file = directory / "parser" / "model"
        content = srsly.msgpack_loads(file.read_bytes())
        change(content)
        file.write_bytes(srsly.msgpack_dumps(content))

    return rewrite


def _last(content: dict[str, Any], name: str) -> tuple[int, Any]:
    return next((at, part[name]) for at, part in reversed([*enumerate(content["params"])]) if name in part)


def _cut(content: dict[str, Any]) -> None:
    at, values = _last(content, "pad")
    content["params"][at]["pad"] = values[:, :1]


def _nan(content: dict[str, Any]) -> None:
    at, values = _last(content, "W")
    content["params"][at]["W"] = np.full_like(values, np.nan)


def _doubles(content: dict[str, Any]) -> None:
    at, values = _last(content, "W")
    content["params"][at]["W"] = values.astype(np.float64)


def _wider(content: dict[str, Any]) -> None:
    at = next(at for at, node in enumerate(content["nodes"]) if node["dims"].get("nO") == 81)
    content["nodes"][at]["dims"]["nI"] = 32
    content["params"][at]["W"] = content["params"][at]["W"][:, :32].copy()


def _beams(directory: Path) -> None:
    file = directory / "parser" / "cfg"
    file.write_text(json.dumps({**json.loads(file.read_text()), "beam_width": 10**9}))


def _half_label(directory: Path) -> None:
    """One label has half of a surrogate pair."""
    file = directory / "tagger" / "cfg"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "labels": ["\ud800", *settings["labels"][1:]]}))


def _labels(directory: Path) -> None:
    file = directory / "tagger" / "cfg"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "labels": settings["labels"][:3]}))


def _odd_label(directory: Path) -> None:
    file = directory / "tagger" / "cfg"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "labels": [1.5, *settings["labels"][1:]]}))


def _windows(directory: Path) -> None:
    file = directory / "tok2vec" / "model"
    content = srsly.msgpack_loads(file.read_bytes())
    at = next(at for at, part in enumerate(content["attrs"]) if "window_size" in part)
    content["attrs"][at]["window_size"] = srsly.msgpack_dumps(10**8)
    file.write_bytes(srsly.msgpack_dumps(content))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            _weights(_cut),
            r"parser: the layer spacy\.ml\._precomputable_affine has no float32 weights pad of shape \(1, 13, 64, 2\)",
        ),
        (_weights(_nan), "contain NaN or infinity"),
        (_weights(_doubles), "has no float32 weights W of shape"),
        (_weights(_wider), "expects vectors of another width"),
        (_beams, "beam_width is not a number from 1 to 64"),
        (_labels, "tagger: has 3 labels, but its network computes 17 scores"),
        (_odd_label, "tagger: has labels that are not text"),
        (_half_label, "tagger: has labels that are not text"),
        (_windows, "the settings of the layer .* differ from the configuration"),
        (lambda directory: (directory / "parser" / "moves").write_bytes(b"\xdf\xff\xff\xff\xff"), "not a working"),
        (lambda directory: (directory / "vocab" / "strings.json").write_text("[" * 3000), "not a working"),
    ],
)
def test_weights_and_settings_that_do_not_fit_are_refused(
    directory: Path, damage: Callable[[Path], None], says: str
) -> None:
    damage(directory)
    _refused(directory, says)


def test_commands_refuse_such_parsers_with_exit_code_2(directory: Path, tmp_path: Path) -> None:
    _labels(directory)
    data = [{"source": "x", "references": ["a dog barks"], "candidates": {"A": "the dog barks", "B": "b"}}]
    (tmp_path / "c.json").write_text(json.dumps(data))
    command = ["rank", str(tmp_path / "c.json"), "-m", f"ds[parser={directory}].agent-verb.full"]
    code, printed, messages = captured(command)
    assert (code, printed) == (2, "")
    assert messages.splitlines()[-1].startswith(f"ranker: error: {directory}: not a working spaCy pipeline (tagger: ")
