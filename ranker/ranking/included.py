"""The included rankers, by name, and the choice of a ranker for a data set.

Each is a directory in ``models/``: an unpacked model file, and a card that states its data, figures and limits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ranker import share
from ranker.corpora.dataset import Dataset, target_languages
from ranker.corpora.source_keys import among
from ranker.errors import ModelError, nearest
from ranker.extractors.needs import COMPARABLE
from ranker.extractors.target_language import english_note, looks_english
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.settings import STANDARD, STANDARD_LEXICAL, STANDARD_UNREFERENCED

ENGLISH, ANY, UNREFERENCED = "full", "full-any", "consensus"
_MODEL = "model.json"
_SMALL = ("ye07", "ye07-order", "bleu1-4")


def names() -> list[str]:
    """Return the names of the included rankers."""
    return sorted(path.parent.name for path in share.directory("models").glob(f"*/{_MODEL}"))


def locate(model: str | Path) -> Path:
    """Return the path of the model file or directory `model`, or else of the included ranker of that name."""
    path = Path(model)
    if path.exists():
        return path
    if str(model) in names():
        return share.directory("models") / str(model)
    hint = nearest(str(model), names())
    if hint or (path.name == str(model) and not path.suffix):
        what = f"no such model{hint}; included models are {', '.join(names())}"
        raise ModelError(f"{path}: {what}; to train one: ranker train --data FILE -o {path}")
    return path


def default_model(dataset: Dataset) -> str:
    """Return the name of the included ranker that suits the target languages and references of `dataset`.

    ``full`` for English and ``full-any`` for other languages or several. Without references ``consensus``, unless there
    are other languages and enough candidates of every source for ``full-any``. If the data set does not name its
    language pairs, English is detected by function words in the references.
    """
    targets = {*target_languages(dataset)}
    if not len(dataset.references):
        comparable = np.diff(dataset.candidate_offsets) >= COMPARABLE
        return ANY if targets - {"en", ""} and comparable.all() else UNREFERENCED
    if targets - {"en", ""}:
        return ANY
    return ENGLISH if "" not in targets or looks_english(dataset) else ANY


def standard_features(outputs: Dataset) -> tuple[str, tuple[str, ...]]:
    """Return a standard feature set for training on judged outputs, with notes on the choice and omitted features."""
    if not len(outputs.references):
        return STANDARD_UNREFERENCED, (f"no references: using the feature set {STANDARD_UNREFERENCED}",)
    name, notes = STANDARD, []
    if default_model(outputs) != ENGLISH:
        name = ANY
        targets = sorted({*target_languages(outputs)} - {"en", ""})
        languages = ", ".join(map(repr, targets))
        why = f"translations into {languages}" if targets else "the references do not look English"
        notes.append(f"{why}: using the feature set {name}, for any language")
    features = FeatureSet.parse(name)
    learnt_from = among(outputs, features.pretraining_sources)
    if learnt_from[outputs.candidate_source].all():
        name = STANDARD_LEXICAL
        notes.append(f"the encoder was trained on all of these sources: using the feature set {name}")
        features, learnt_from = FeatureSet.parse(name), np.zeros_like(learnt_from)
    outputs = outputs.select_sources(~learnt_from)
    reason = features.missing_requirement(outputs)
    if not reason:
        return name, tuple(notes)
    left_out = dict.fromkeys(each.name for each in features.extractors if each.needs.missing(outputs))
    notes.append(f"{reason}: using the features of {name} without {', '.join(left_out)}")
    return ",".join(str(each) for each in features.extractors if not each.needs.missing(outputs)), tuple(notes)


def fewer_features(dataset: Dataset, columns: int) -> list[str]:
    """Return the names of up to two feature sets that suit `dataset` and have fewer than `columns` / 2 columns."""
    if not len(dataset.references):
        return []
    small = ((name, FeatureSet.parse(name)) for name in _SMALL)
    return [
        name
        for name, features in small
        if 2 * len(features.columns) < columns
        and not features.missing_requirement(dataset)
        and not english_note(features.members, dataset)
    ][:2]
