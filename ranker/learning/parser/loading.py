"""Loads the pipeline of a parser from an untrusted directory.

Its configuration is checked by `ranker.learning.parser.origin`, and spaCy is given what was checked. In other files,
the tokenizer's patterns, the sizes of weights, and everything else that spaCy's compiled code trusts are checked here,
before they are used.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ranker.errors import ModelError
from ranker.learning.parser.origin import COMPONENTS, broken, checked_config

if TYPE_CHECKING:
    from spacy.language import Language

_PATTERNS = ("prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match")
_LONGEST_PATTERN, _MOST_CHOICES, _FEW = 200_000, 4, 32
_MOST_WILDCARDS, _MOST_BEAMS = 3, 64
_NO_TREE = 2**32 - 1
_SHAPES: dict[str, dict[str, tuple[str | int, ...]]] = {
    "thinc.layers.embed": {"E": ("nV", "nO")},
    "thinc.layers.hashembed": {"E": ("nV", "nO")},
    "thinc.layers.layernorm": {"G": ("nO",), "b": ("nO",)},
    "thinc.layers.linear": {"W": ("nO", "nI"), "b": ("nO",)},
    "thinc.layers.maxout": {"W": ("nO", "nP", "nI"), "b": ("nO", "nP")},
    "thinc.layers.mish": {"W": ("nO", "nI"), "b": ("nO",)},
    "thinc.layers.softmax": {"W": ("nO", "nI"), "b": ("nO",)},
    "spacy.ml._character_embed": {"E": ("nC", "nV", "nM")},
    "spacy.ml._precomputable_affine": {"W": ("nF", "nO", "nP", "nI"), "b": ("nO", "nP"), "pad": (1, "nF", "nO", "nP")},
    "spacy.ml.staticvectors": {"W": ("nO", "nM")},
}
"""Dimensions of the weights of every layer, by the module that computes the layer."""


def load_pipeline(directory: Path) -> Language:
    """Load the pipeline in `directory`, with only the components needed for tags, trees and lemmas."""
    odd = next((path for path in directory.rglob("*") if not path.is_file() and not path.is_dir()), None)
    if odd is not None:
        raise broken(directory, f"{odd.name} is not a regular file")
    config = checked_config(directory)
    # spaCy warns about versions and about GPU libraries that are not used here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _load(directory, config)
        except ModelError:
            raise
        except Exception as error:  # spaCy's readers raise errors of any type for damaged files
            raise broken(directory, error) from error


def _load(directory: Path, config: Mapping[str, Any]) -> Language:
    from spacy.util import get_model_meta, load_model_from_config

    idle = [name for name in config["components"] if name not in COMPONENTS]
    pipeline = load_model_from_config(dict(config), meta=get_model_meta(directory), exclude=idle)
    made = {name: [_settings(layer) for layer in part.model.walk()] for name, part in _networks(pipeline)}
    for problem in (*_tokenizer_problems(directory, pipeline), *_rule_problems(directory)):
        raise broken(directory, problem)
    pipeline.from_disk(directory, exclude=["config.cfg", *idle])
    for problem in _weight_problems(pipeline, made):
        raise broken(directory, problem)
    return pipeline


def _networks(pipeline: Language) -> list[tuple[str, Any]]:
    return [(name, part) for name, part in pipeline.components if hasattr(part, "model")]


def _tokenizer_problems(directory: Path, pipeline: Language) -> Iterator[str]:
    """Yield problems with the tokenizer's patterns, which must be simple or spaCy's defaults for the language."""
    file = directory / "tokenizer"
    if not file.is_file():
        return
    found = msgspec.msgpack.decode(file.read_bytes())
    if not isinstance(found, dict):
        yield "the file tokenizer has no settings"
        return
    for name in _PATTERNS:
        pattern, usual = found.get(name), getattr(getattr(pipeline.tokenizer, name, None), "__self__", None)
        if isinstance(pattern, str) and pattern != getattr(usual, "pattern", None) and not ends_soon(pattern):
            yield f"the tokenizer's pattern {name} is not that of the installed spaCy, and could take for ever"


def ends_soon(pattern: str) -> bool:
    """True if a search cannot take long: the pattern repeats at most one part, and that part contains no choices."""
    parser: Any = importlib.import_module("re._parser")
    if len(pattern) > _LONGEST_PATTERN:
        return False
    try:
        repeats, choices = _effort(parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        return False
    return repeats <= 1 and choices <= _MOST_CHOICES


def _effort(parsed: Any) -> tuple[float, float]:
    """Return the numbers of unbounded repetitions and of choices in a pattern.

    Both are infinite if a repetition contains another repetition or a choice.
    """
    repeats = choices = 0.0
    for operator, value in parsed:
        name = str(operator)
        if name == "BRANCH":
            inner = [_effort(part) for part in value[1]]
            repeats += max(part[0] for part in inner)
            choices += 1 + max(part[1] for part in inner)
        elif name.endswith("_REPEAT"):
            least, most, part = value
            within = sum(_effort(part))
            if most <= 1:
                repeats, choices = repeats + _effort(part)[0], choices + 1 + _effort(part)[1]
            elif within:
                return np.inf, np.inf
            elif most > _FEW:
                repeats += 1
            else:
                choices += most > least
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            more = _effort(value if name == "ATOMIC_GROUP" else value[-1])
            repeats, choices = repeats + more[0], choices + more[1]
        elif name.startswith("GROUPREF"):
            return np.inf, np.inf
    return repeats, choices


def _rule_problems(directory: Path) -> Iterator[str]:
    """Yield problems with the rules for tags and lemmas."""
    rules, trees = directory / "attribute_ruler" / "patterns", directory / "lemmatizer" / "trees"
    if rules.is_file():
        for rule in _dictionaries(msgspec.msgpack.decode(rules.read_bytes())):
            for pattern in _texts(_named(rule, "REGEX")):
                if not ends_soon(pattern):
                    yield f"attribute_ruler searches for {pattern[:60]!r}, which could take for ever"
            for times in _texts(_named(rule, "OP")):
                if any(len(number) > len(str(_FEW)) or int(number) > _FEW for number in re.findall("[0-9]+", times)):
                    what = f"repeats a word {times[:60]!r}, expected at most {_FEW} times"
                    yield f"a pattern of attribute_ruler {what}"
            for tokens in rule.get("patterns") or ():
                wild = [token for token in tokens if isinstance(token, dict) and {*_named(token, "OP")} - {"!"}]
                if len(wild) > _MOST_WILDCARDS:
                    yield f"a pattern of attribute_ruler repeats {len(wild)} words, expected at most {_MOST_WILDCARDS}"
    if trees.is_file():
        nodes = msgspec.msgpack.decode(trees.read_bytes())["trees"]
        for place, node in enumerate(nodes):
            below = [node.get(side, _NO_TREE) for side in ("prefix_tree", "suffix_tree")]
            if any(child != _NO_TREE and not 0 <= child < place for child in below):
                yield "the lemmatizer has a tree that contains itself"


def _dictionaries(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _dictionaries(inner)


def _named(settings: Mapping[Any, Any], name: str) -> list[Any]:
    """Return the values of the keys that equal `name` if case is ignored, as spaCy does."""
    return [value for key, value in settings.items() if str(key).upper() == name]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def _is_text(label: object) -> bool:
    """True if a label is text without lone surrogates, which JSON may contain but UTF-8 cannot encode."""
    return isinstance(label, str) and not any("\ud800" <= character <= "\udfff" for character in label)


def _settings(layer: Any) -> dict[str, Any]:
    """Return the settings of a layer that come from its configuration and not from its weights."""
    return {name: value for name, value in layer.attrs.items() if name != "dropout_rate"}


def _weight_problems(pipeline: Language, made: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield problems with weights whose shape, type or settings differ from those that compiled code expects."""
    widths = {name: part.model.maybe_get_dim("nO") for name, part in _networks(pipeline)}
    for name, part in _networks(pipeline):
        for layer, settings in zip(part.model.walk(), made[name], strict=True):
            kind = layer._func.__module__
            for weights in layer.param_names:
                sizes = _SHAPES.get(kind, {}).get(weights)
                values = layer.get_param(weights) if layer.has_param(weights) else None
                expected = sizes and tuple(
                    size if isinstance(size, int) else layer.maybe_get_dim(size) for size in sizes
                )
                if values is None or values.shape != expected or values.dtype != np.float32:
                    yield f"{name}: the layer {kind} has no float32 weights {weights} of shape {expected}"
                elif not np.isfinite(values).all():
                    yield f"{name}: the weights {weights} of {kind} contain NaN or infinity"
            if any(layer.attrs.get(key) != value for key, value in settings.items()):
                yield f"{name}: the settings of the layer {kind} differ from the configuration"
            if kind == "spacy.pipeline.tok2vec" and layer.get_dim("nO") not in widths.values():
                yield f"{name}: expects vectors of width {layer.get_dim('nO')}, which no component makes"
        if part.model.has_ref("upper") and part.model.attrs.get("has_upper"):
            lower, upper = (part.model.get_ref(side) for side in ("lower", "upper"))
            if upper.maybe_get_dim("nI") != lower.maybe_get_dim("nO"):
                yield f"{name}: the last layer expects vectors of another width than the layer before makes"
        labels = getattr(part, "cfg", {}).get("labels")
        if name == "tagger" and not (isinstance(labels, list) and all(map(_is_text, labels))):
            yield f"{name}: has labels that are not text"
        if isinstance(labels, list) and widths[name] not in (None, len(labels)):
            yield f"{name}: has {len(labels)} labels, but its network computes {widths[name]} scores"
        if getattr(part, "cfg", {}).get("beam_width", 1) not in range(1, _MOST_BEAMS + 1):
            yield f"{name}: beam_width is not a number from 1 to {_MOST_BEAMS}"
