"""Where a parser is, and whether loading it can run code.

A parser is a directory, or an installed spaCy pipeline package by its name. The package itself is never imported: only
the directory of data in it is read. A pipeline is refused if its configuration asks for functions that are not spaCy's
own, or for layers of other frameworks, whose weights may be pickles.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ranker.errors import MissingError, ModelError

_CONFIG = "config.cfg"
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_OWN_FUNCTION = re.compile(r"spacy(\.[\w-]+)+\Z")
_FOREIGN = re.compile(r"torch|transformer|tensorflow|mxnet", re.IGNORECASE)
_FACTORIES = {
    *("tok2vec", "tagger", "morphologizer", "parser", "lemmatizer", "trainable_lemmatizer", "attribute_ruler"),
    *("senter", "sentencizer", "ner", "entity_ruler", "token_splitter", "merge_noun_chunks", "merge_entities"),
}


def directory_of(origin: str | Path) -> Path:
    """Return the directory of a parser."""
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
        f"no parser {name!r}: give the directory of a parser trained with `ranker parser train`, or the name of an "
        "installed spaCy pipeline package"
    )


def check_config(directory: Path) -> None:
    """Refuse a pipeline that could run code that is not spaCy's own."""
    from thinc.api import Config

    try:
        config = Config().from_disk(directory / _CONFIG, interpolate=False)
        named = [(path, name) for part in ("nlp", "components") for path, name in _named(config.get(part, {}), part)]
    except Exception as error:  # whatever is damaged, the reader raises as it comes
        raise ModelError(f"{directory}: not a working spaCy pipeline ({error}): restore it or train it again") from None
    for path, name in named:
        is_factory = path.endswith(".factory")
        own = name in _FACTORIES if is_factory else bool(_OWN_FUNCTION.match(name)) and not _FOREIGN.search(name)
        if not own:
            what = "the component" if is_factory else "the function"
            raise ModelError(
                f"{directory}: {_CONFIG} requests {what} {name[:60]!r} ({path}), which could execute code; "
                "use a parser with built-in spaCy components only, such as one trained with `ranker parser train`"
            )


def _named(config: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield place and name of all functions and components that a part of a configuration asks for."""
    if not isinstance(config, Mapping):
        return
    for key, value in config.items():
        if key == "source" or key.startswith("@") or (key == "factory" and path.count(".") == 1):
            yield f"{path}.{key}", str(value)
        else:
            yield from _named(value, f"{path}.{key}")
