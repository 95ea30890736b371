"""Weights of marked errors by severity and category, and the penalties that they add up to."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from ranker.corpora.marked_errors import NO_ERROR
from ranker.errors import DataError, OptionError, counted, log_note

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset

WEIGHTS = {
    "major": 5.0,
    "minor": 1.0,
    "critical": 5.0,
    "neutral": 0.0,
    NO_ERROR: 0.0,
    "": 0.0,
    "minor:fluency/punctuation": 0.1,
    "major:non-translation": 25.0,
    "critical:non-translation": 25.0,
}
"""Weights of severities, and of severities in categories that begin with what follows the colon."""
HEAVIEST = 1_000_000
PARTS = ("accuracy", "fluency", "style", "terminology", "other")
"""Parts of a penalty: first levels of categories, and ``other`` for all other categories."""


def weight_of(severity: str, category: str, weights: Mapping[str, float]) -> float | None:
    """Return the weight for an error's severity and the longest listed prefix of its category; None if unknown."""
    levels = plain_category(category)
    keys = [key for key in weights if key.startswith(f"{severity}:") and levels.startswith(key[len(severity) + 1 :])]
    return weights.get(max(keys, key=len) if keys else severity)


def plain_category(category: str) -> str:
    """Return a category in lower case, without spaces around its levels."""
    return "/".join(level.strip().lower() for level in category.split("/"))


def plain_severity(name: str) -> str:
    """Return a severity, or a severity and category joined by a colon, as `WEIGHTS` spells it."""
    return ":".join(map(plain_category, name.split(":", 1)))


def checked_weight(
    severity: str, category: str, weights: Mapping[str, float], file: str, line: int | None = None
) -> float:
    """Return the weight of a marked error; refuse an unknown severity, with advice on giving it a weight."""
    weight = weight_of(severity, category, weights)
    if weight is None:
        known = ", ".join(key for key in weights if key and ":" not in key)
        advice = f"ranker data convert FILE NEW --severity-weights {shlex.quote(f'{severity[:30]}=25')}"
        what = f"severity: expected {known}, found {severity[:30]!r}; give it a weight, as in: {advice}"
        raise DataError(what, file=file, line=line)
    return weight


def all_weights(weights: Mapping[str, float] | None) -> dict[str, float]:
    """Return `WEIGHTS` updated with the given weights, whose names are converted to lower case."""
    expected = f"severity_weights: expected weights from 0 to {HEAVIEST:,} of severities, such as {{'critical': 25}}"
    if weights is not None and not isinstance(weights, Mapping):
        raise OptionError(f"{expected}, found {weights!r:.40}")
    for name, weight in (weights or {}).items():
        if not isinstance(name, str) or not isinstance(weight, Real) or not 0 <= weight <= HEAVIEST:
            raise OptionError(f"{expected}, found {name!r:.40}: {weight!r:.40}")
    return {**WEIGHTS, **{plain_severity(name): weight for name, weight in (weights or {}).items()}}


def penalties(errors: pd.DataFrame, weights: Mapping[str, float] | None = None, name: str = "errors") -> pd.DataFrame:
    """Return penalties of the candidates that raters checked: summed weights of errors, averaged over raters.

    A note counts errors without a severity, whose weight is 0.

    Parameters
    ----------
    errors : DataFrame
        The table ``errors`` of a data set.
    weights : mapping, optional
        Weights such as ``{"critical": 25, "minor:fluency/spelling": 0.5}`` besides `WEIGHTS`.
    name : str
        Name of the data in messages.

    Returns
    -------
    DataFrame
        One row per candidate, with the columns ``mqm_n`` (raters), ``mqm_total``, ``mqm_fluency_style`` and ``mqm_``
        with each of `PARTS`.

    Examples
    --------
    >>> from ranker import from_records
    >>> candidate = {"system": "A", "text": "helo", "errors": [{"start": 0, "end": 4, "severity": "major"}]}
    >>> data = from_records([{"source": "Hallo", "references": ["hello"], "candidates": [candidate]}])
    >>> penalties(data.errors)["mqm_total"].tolist()
    [5.0]
    """
    import numpy as np
    import pandas as pd

    known = all_weights(weights)
    codes, different = pd.factorize(errors["severity"] + "\0" + errors["category"])
    kinds = [text.split("\0") for text in different]
    weight = np.array([checked_weight(severity, category, known, name) for severity, category in kinds])[codes]
    severities = errors["severity"].to_numpy()
    if lacking := int(((severities == "") & (weight == 0)).sum()):
        what = f"{lacking:,} of {counted(int((severities != NO_ERROR).sum()), 'marked error')} without a severity"
        log_note(f"{what}: counted with weight 0; to count these too, add their severities to the data", name)
    firsts = [plain_category(category).split("/")[0] for _, category in kinds]
    part = np.array([PARTS.index(first) if first in PARTS else len(PARTS) - 1 for first in firsts], np.int64)[codes]
    candidates, candidate = np.unique(errors["candidate"].to_numpy(), return_inverse=True)
    raters = pd.factorize(errors["rater"])[0]
    rater, rater_keys = pd.factorize(candidate * (raters.max(initial=0) + 1) + raters)
    cell, cell_keys = pd.factorize(rater * len(PARTS) + part)
    # sums in the order in which raters and parts occur, so that equal errors have equal bits
    sums = np.bincount(cell, weight, len(cell_keys))
    of_cell = cell_keys // len(PARTS)
    of_rater = rater_keys // (raters.max(initial=0) + 1)
    count = np.bincount(of_rater, minlength=len(candidates)).astype(np.float64)

    def mean(summed: npt.NDArray[Any]) -> FloatArray:
        """Return each candidate's mean penalty over raters, from the weights `summed` per rater and kind of error."""
        by_rater = np.bincount(of_cell, summed, len(rater_keys))
        return np.bincount(of_rater, by_rater, len(candidates)) / count

    means = {
        f"mqm_{PARTS[index]}": mean(np.where(cell_keys % len(PARTS) == index, sums, 0.0)) for index in range(len(PARTS))
    }
    columns = {
        "mqm_n": count,
        "mqm_total": mean(sums),
        "mqm_fluency_style": means["mqm_fluency"] + means["mqm_style"],
        **means,
    }
    return pd.DataFrame(columns, index=pd.Index(candidates, name="candidate"))


def with_penalties(dataset: Dataset, weights: Mapping[str, float] | None = None) -> Dataset:
    """Return the data set with penalties of its marked errors as ratings, replacing earlier penalties."""
    import numpy as np
    import pandas as pd

    from ranker.corpora.schema import table

    wide = penalties(dataset.errors, weights, dataset.name)
    made = table(
        "ratings",
        {
            "candidate": np.repeat(wide.index.to_numpy(), len(wide.columns)),
            "kind": [*wide.columns] * len(wide),
            "value": wide.to_numpy().ravel(),
        },
    )
    together = pd.concat([dataset.ratings[~dataset.ratings["kind"].isin([*wide.columns])], made], ignore_index=True)
    order = ["candidate", "kind", "judge"]
    ratings = together.sort_values(order, kind="stable", na_position="first", ignore_index=True)
    return dataclasses.replace(dataset, ratings=ratings)


def weights_of(texts: Iterable[str]) -> dict[str, float]:
    """Return the weights of severities in values of ``--severity-weights``, such as ``critical=25,neutral=0``."""
    from ranker.corpora.records import number_in, shown

    weights: dict[str, float] = {}
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        name, equals, number = text.rpartition("=")
        name = plain_severity(name)
        weight = number_in(number)
        if "" in name.split(":", 1) or "=" in name or not equals or not 0 <= weight <= HEAVIEST:
            what = f"expected SEVERITY=WEIGHT, such as critical=25, with a weight from 0 to {HEAVIEST:,}"
            raise OptionError(f"--severity-weights: {what}, found {shown(text)}")
        if weights.setdefault(name, weight) != weight:
            raise OptionError(
                f"--severity-weights: {shown(name)} has the weights {weights[name]:g} and {weight:g}: give one weight"
            )
    return weights
