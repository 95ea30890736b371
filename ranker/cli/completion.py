"""Names that a shell completes as values: metrics, features, models and corpora. Nothing that computes is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ranker import share

Completion = Callable[[str], list[str]]


def completion(metavar: str | None) -> Completion | None:
    """Return what completes the values that a help text calls `metavar`, None for values without names."""
    return _COMPLETIONS.get(metavar or "")


def _metrics(incomplete: str) -> list[str]:
    from ranker.extractors import registry

    return _last_of_list(incomplete, registry.names())


def _features(incomplete: str) -> list[str]:
    from ranker.extractors import registry

    sets = (path.stem for path in share.directory("features").glob("*.toml"))
    return _last_of_list(incomplete, [*registry.names(), *sets])


def _models(incomplete: str) -> list[str]:
    return _unless_file(incomplete, (path.parent.name for path in share.directory("models").glob("*/model.json")))


def _data(incomplete: str) -> list[str]:
    return _unless_file(incomplete, _corpora(incomplete))


def _corpora(incomplete: str) -> list[str]:
    names = (path.stem for path in share.directory("data").glob("*.toml"))
    return sorted(name for name in names if name.startswith(incomplete))


def _last_of_list(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the last name of a list with commas."""
    listed, comma, last = incomplete.rpartition(",")
    return sorted(f"{listed}{comma}{name}" for name in names if name.startswith(last))


def _unless_file(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete a name, or nothing if there is such a file, which the shell completes itself."""
    if any(path.name.startswith(incomplete) for path in Path().iterdir()):
        return []
    return sorted(name for name in names if name.startswith(incomplete))


_COMPLETIONS: dict[str, Completion] = {
    "METRIC": _metrics,
    "FEATURES": _features,
    "FEATURE": _features,
    "FILE|NAME": _models,
    "MODEL": _models,
    "NAME|PATH": _data,
    "DATA": _data,
    "[DATA] [SYSTEM SYSTEM]": _data,
    "CORPUS": _corpora,
}
