"""Weights of a linear model: their files, and the space in which they are searched for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.formats.nbest import NAMELESS, Layout, column_names, describe_layout
from ranker.corpora.records import first_repeated, shown
from ranker.errors import DataError, OptionError, nearest
from ranker.files import check_target, display_name, read_text, write_together
from ranker.storage.plain_data import parse_json

_EXPECTED = 'expected lines such as "LM0= 0.5", or JSON as written by ranker tune'


@dataclass(frozen=True)
class Weights:
    """A weight for every column of an n-best list."""

    layout: Layout
    values: tuple[float, ...]

    def groups(self) -> list[tuple[str, list[float]]]:
        """Return the name and the weights of every feature."""
        left = list(self.values)
        return [(name or NAMELESS, [left.pop(0) for _ in range(size)]) for name, size in self.layout]

    def moses(self) -> str:
        """Return the weights as a section of a Moses configuration file, with a line for every feature."""
        lines = [f"{name}= " + " ".join(map(_short, values)) for name, values in self.groups()]
        return "\n".join(["[weight]", *lines]) + "\n"

    def json(self, **facts: Any) -> str:
        """Return the weights and additional `facts` as JSON text."""
        features = [{"name": name, "weights": values} for name, values in self.groups()]
        return json.dumps({"features": features, **facts}, ensure_ascii=False, indent=1) + "\n"

    def fit(self, layout: Layout, of: str) -> FloatArray:
        """Return the weights for the columns of another `layout`, matched by feature name."""
        group_weights = dict(self.groups())
        wanted = {name or NAMELESS: size for name, size in layout}
        if {name: len(values) for name, values in group_weights.items()} != wanted:
            raise DataError(
                f"has the features {describe_layout(layout)}, but the weights are for {describe_layout(self.layout)}: "
                "use weights for the features of this list",
                file=of,
            )
        return np.array([value for name in wanted for value in group_weights[name]], dtype=np.float64)


def _short(value: float) -> str:
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def weights_files(prefix: str | Path) -> list[Path]:
    """Return the paths that `write_weights` writes, after checking that they can be written."""
    if Path(prefix).name in ("", ".."):
        raise DataError("expected a file name, to which .json and .ini are added", file=display_name(prefix))
    paths = [Path(f"{prefix}.json"), Path(f"{prefix}.ini")]
    for path in paths:
        check_target(path)
    return paths


def write_weights(weights: Weights, prefix: str | Path, **facts: Any) -> list[Path]:
    """Write ``PREFIX.json``, with `facts`, and ``PREFIX.ini``, in Moses' form; return both paths."""
    paths = weights_files(prefix)
    texts = weights.json(**facts), weights.moses()
    write_together({path: text.encode() for path, text in zip(paths, texts, strict=True)})
    return paths


def check_names(layout: Layout, of: str) -> None:
    """Refuse features whose weights could not be read back from the files that `write_weights` writes."""
    names = [name or NAMELESS for name, _ in layout]
    if (twice := first_repeated(names)) is not None:
        what = f"feature {shown(twice)} is duplicated (nameless values are called {NAMELESS})"
        raise DataError(f"{what}; rename or remove one feature", file=of)
    for name in names:
        if name.startswith("#"):
            what = f"feature {shown(name)}: expected a name that does not begin with #, the mark of comments"
            raise DataError(f"{what}; rename it", file=of)


def read_weights(path: str | Path) -> Weights:
    """Read weights from JSON, a Moses configuration's section ``[weight]``, or a file of lines as in that section."""
    text = read_text(path)
    file = display_name(path)
    groups = _from_json(text, file) if text.lstrip().startswith("{") else _from_lines(text, file)
    names = [name for name, _ in groups]
    if (twice := first_repeated(names)) is not None:
        raise DataError(f"feature {shown(twice)} is duplicated; keep one", file=file)
    if not groups:
        raise DataError(f"contains no weights; {_EXPECTED}", file=file)
    return Weights(
        tuple((name, len(values)) for name, values in groups), tuple(value for _, values in groups for value in values)
    )


def _from_json(text: str, file: str) -> list[tuple[str, list[float]]]:
    document = parse_json(text, file)
    try:
        groups = [(feature["name"], [float(value) for value in feature["weights"]]) for feature in document["features"]]
    except (ValueError, KeyError, TypeError, OverflowError):
        raise DataError(f"contains no weights; {_EXPECTED}", file=file) from None
    for name, values in groups:
        if not isinstance(name, str) or not values or not np.isfinite(values).all():
            raise DataError(f"feature {shown(name)}: expected finite weights", file=file)
    return groups


def _from_lines(text: str, file: str) -> list[tuple[str, list[float]]]:
    groups = []
    inside = re.search(r"^\s*\[weight\]", text, re.MULTILINE) is None
    for number, raw in enumerate(text.split("\n"), 1):
        # names of features may contain #
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        name, equals, values = line.partition("=")
        if line.startswith("[") and not equals:
            inside = line == "[weight]"
        elif line and inside:
            try:
                weights = [float(value) for value in values.partition("#")[0].split()]
            except ValueError:
                weights = []
            if not equals or len(name.split()) != 1 or not weights or not np.isfinite(weights).all():
                raise DataError(f"found {shown(line)}; {_EXPECTED}", file=file, line=number)
            groups.append((name.strip(), weights))
    return groups


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """The region of weights to search: the starting point, the bounds, and a mask of the weights that are not fixed."""

    start: FloatArray
    lower: FloatArray
    upper: FloatArray
    free: BoolArray

    @property
    def scalable(self) -> bool:
        """True if scaling weights by a positive number changes no choice: all weights are free and unbounded."""
        return bool(self.free.all() and np.isinf(self.lower).all() and np.isinf(self.upper).all())

    def normal(self, weights: FloatArray) -> FloatArray:
        """Scale the weights so that their absolute values add up to 1, if scaling is allowed."""
        total = np.abs(weights).sum()
        return weights / total if self.scalable and total > 0 else weights

    def steps(self, weights: FloatArray, direction: FloatArray) -> tuple[float, float]:
        """Return the lowest and the highest step from `weights` along `direction` within the bounds."""
        moving = direction != 0
        with np.errstate(over="ignore"):
            ends = np.stack([(bound - weights)[moving] / direction[moving] for bound in (self.lower, self.upper)])
        return float(ends.min(axis=0).max(initial=-np.inf)), float(ends.max(axis=0).min(initial=np.inf))

    def restarts(self, number: int, seed: int, iteration: int) -> FloatArray:
        """Draw random points within the bounds (by default -1 and 1), determined by space, seed and iteration alone."""
        low = np.where(np.isfinite(self.lower), self.lower, np.minimum(-1.0, self.upper - 2.0))
        high = np.where(np.isfinite(self.upper), self.upper, np.maximum(1.0, low + 2.0))
        drawn = np.random.default_rng([seed, iteration]).uniform(size=(number, len(self.start)))
        return np.where(self.free, low + drawn * (high - low), self.start)


def weight_space(
    layout: Layout, start: npt.ArrayLike, *, fixed: Sequence[str] = (), bounds: Sequence[str] = ()
) -> WeightSpace:
    """Make the space of weights to search for the features in `layout`, from a start, fixed weights and bounds."""
    values = np.array(start, dtype=np.float64)
    free = np.ones(len(values), dtype=bool)
    lower, upper = np.full(len(values), -np.inf), np.full(len(values), np.inf)
    for text in fixed:
        name, equals, value = text.partition("=")
        chosen = _columns_of(layout, name, f"--fix {text}")
        free[chosen] = False
        if equals:
            values[chosen] = _number(value, f"--fix {text}")
    for text in bounds:
        name, _, limits = text.partition("=")
        chosen = _columns_of(layout, name, f"--bounds {text}")
        low, colon, high = limits.partition(":")
        if not colon:
            raise OptionError(f"--bounds {text}: expected NAME=LOW:HIGH, such as {name}=0:1 or {name}=0:")
        lower[chosen] = _number(low, f"--bounds {text}") if low.strip() else -np.inf
        upper[chosen] = _number(high, f"--bounds {text}") if high.strip() else np.inf
        if (lower >= upper).any():
            raise OptionError(
                f"--bounds {text}: expected a lower bound below the upper bound; use --fix to fix a weight"
            )
    if not free.any():
        raise OptionError("all weights are fixed, so nothing can be tuned: fix fewer weights")
    # a start outside the bounds is moved to the nearest bound; fixed weights have no bounds
    lower, upper = np.where(free, lower, -np.inf), np.where(free, upper, np.inf)
    return WeightSpace(np.clip(values, lower, upper), lower, upper, free)


def _columns_of(layout: Layout, name: str, option: str) -> list[int]:
    columns = column_names(layout)
    owners = [feature or NAMELESS for feature, size in layout for _ in range(size)]
    indices = [index for index, names in enumerate(zip(columns, owners, strict=True)) if name in names]
    if not indices:
        known = list(dict.fromkeys([*owners, *columns]))
        raise OptionError(
            f"{option}: unknown feature {name!r}{nearest(name, known)}; available: {', '.join(dict.fromkeys(owners))}"
        )
    return indices


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise OptionError(f"{option}: expected a finite number, found {text!r}")
    return value
