"""Location of a parser, and the checks that loading it cannot run code.

A parser is a directory, or the name of an installed spaCy pipeline package. The package itself is never imported: only
its directory of data is read. A pipeline is refused if its configuration asks for functions that are not spaCy's
own, or for layers of other frameworks, whose weights may be pickles.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from ranker.errors import MissingError, ModelError

_CONFIG = "config.cfg"
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_LANGUAGE = re.compile(r"[a-z]{2,3}\Z")
COMPONENTS = {
    **{name: {name} for name in ("tok2vec", "tagger", "morphologizer", "attribute_ruler", "parser")},
    "lemmatizer": {"lemmatizer", "trainable_lemmatizer"},
}
"""Components that are loaded, with their accepted factories; other components are ignored."""
_FACTORIES = {
    *("tok2vec", "tagger", "morphologizer", "parser", "lemmatizer", "trainable_lemmatizer", "attribute_ruler"),
    *("senter", "sentencizer", "ner", "entity_ruler", "token_splitter", "merge_noun_chunks", "merge_entities"),
}
_FUNCTIONS: dict[str, set[str]] = {
    "@architectures": {
        *("spacy.CharacterEmbed.v1", "spacy.CharacterEmbed.v2", "spacy.HashEmbedCNN.v1", "spacy.HashEmbedCNN.v2"),
        *("spacy.MaxoutWindowEncoder.v1", "spacy.MaxoutWindowEncoder.v2", "spacy.MishWindowEncoder.v1"),
        *("spacy.MishWindowEncoder.v2", "spacy.MultiHashEmbed.v1", "spacy.MultiHashEmbed.v2", "spacy.Tagger.v1"),
        *("spacy.Tagger.v2", "spacy.Tok2Vec.v1", "spacy.Tok2Vec.v2", "spacy.Tok2VecListener.v1"),
        *("spacy.TransitionBasedParser.v1", "spacy.TransitionBasedParser.v2"),
    },
    "@scorers": {
        f"spacy.{part}_scorer.v1"
        for part in (
            "attribute_ruler",
            "entity_ruler",
            "lemmatizer",
            "morphologizer",
            "ner",
            "parser",
            "senter",
            "tagger",
        )
    },
    "@tokenizers": {
        "spacy.Tokenizer.v1",
        *(f"spacy.{name}Tokenizer" for name in ("ja.Japanese", "ko.Korean", "th.Thai", "vi.Vietnamese", "zh.Chinese")),
    },
    "@vectors": {"spacy.Vectors.v1"},
}
"""Functions that pipelines of built-in components use; none runs other code, reads files or has pickled weights."""
_CALLBACKS = ("before_creation", "after_creation", "after_pipeline_creation")
_MOST_REFERENCES = 100
_LONGEST_REASON = 300
_MOST_ANYWHERE = 1_000_000
_MOST = {"depth": 64, "window_size": 16, "maxout_pieces": 64, "hidden_width": 10_000, "width": 10_000}


def directory_of(origin: str | Path) -> Path:
    """Return the directory of a parser given as a directory or as the name of an installed spaCy package."""
    directory = Path(origin)
    if directory.is_dir():
        return directory
    name = str(origin)
    if _PACKAGE.match(name):
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            files = []
        # spaCy packages its pipelines as NAME/NAME-VERSION/config.cfg
        folders = [Path(str(file.locate())).parent for file in files if file.name == _CONFIG and len(file.parts) == 3]
        if len(folders) == 1 and folders[0].is_dir():
            return folders[0]
    raise MissingError(
        f"no parser {name!r}: give the directory of a pipeline trained with `spacy train`, or the name of an installed "
        "spaCy pipeline package"
    )


def broken(directory: object, error: Exception | str) -> ModelError:
    """Return the error to raise for a pipeline that does not work."""
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:_LONGEST_REASON]
    return ModelError(f"{directory}: not a working spaCy pipeline ({reason}): restore it or train it again")


def checked_config(directory: Path) -> Mapping[str, Any]:
    """Return the configuration of a pipeline and its components; refuse a configuration that could run code.

    References to other parts of the file are resolved, so that spaCy is given exactly what was checked.
    """
    from thinc.api import Config

    try:
        raw = Config().from_disk(directory / _CONFIG, interpolate=False)
        if sum(_references(raw)) > _MOST_REFERENCES:
            raise ValueError(f"found more than {_MOST_REFERENCES} references to other sections, expected fewer")
        whole = raw.interpolate()
        config = {part: dict(whole[part]) for part in ("nlp", "components")}
        language = config["nlp"]["lang"]
        values = [each for part, inner in config.items() for each in _values(inner, part)]
    except Exception as error:  # the reader raises errors of any type for damaged files
        raise broken(directory, error) from None
    for path, value in values:
        key = path.rpartition(".")[2]
        if path.startswith("components.") and path.count(".") == 2 and key == "factory":
            what, own = "the component", _is_own_component(path.split(".")[1], value)
        elif key.startswith("@"):
            what, own = "the function", value in _FUNCTIONS.get(key, ())
        elif key == "source" or (key in _CALLBACKS and value is not None):
            what, own = "the function", False
        else:
            _check_value(directory, path, value)
            continue
        if not own:
            raise ModelError(
                f"{directory}: {_CONFIG} requests {what} {str(value)[:60]!r} ({path[:60]}), which could execute code; "
                "use a parser with built-in spaCy components only, such as an installed spaCy pipeline package"
            )
    if not (isinstance(language, str) and _LANGUAGE.match(language) and find_spec(f"spacy.lang.{language}")):
        raise ModelError(
            f"{directory}: spaCy has no language {str(language)[:20]!r}: restore {_CONFIG}, or train the pipeline again"
        )
    return config


def _is_own_component(name: str, factory: object) -> bool:
    """True if `factory` is built into spaCy and, for a component that is loaded, is allowed for `name`."""
    return factory in COMPONENTS.get(name, _FACTORIES)


def _check_value(directory: Path, path: str, value: object) -> None:
    """Refuse a number that would make a network larger than any parser's, or an unresolved reference to a value."""
    most = next((most for key, most in _MOST.items() if path.endswith(f".{key}")), _MOST_ANYWHERE)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and ".model." in path and not abs(cast(float, value)) <= most:
        raise ModelError(f"{directory}: {_CONFIG}: {path[:60]} is {value}, expected at most {most:,}")
    if isinstance(value, str) and "${" in value:
        raise ModelError(f"{directory}: {_CONFIG}: {path[:60]} refers to {value[:60]!r}, expected a value")


def _references(config: object) -> Iterator[int]:
    """Yield the number of references to other values in each string of a configuration."""
    for _, value in _values(config, ""):
        if isinstance(value, str):
            yield value.count("${")


def _values(config: object, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each entry in a part of a configuration, at any depth."""
    if isinstance(config, Mapping | list | tuple):
        for key, value in config.items() if isinstance(config, Mapping) else enumerate(config):
            yield from _values(value, f"{path}.{key}")
    else:
        yield path, config
