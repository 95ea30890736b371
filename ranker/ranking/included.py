"""The included rankers, by name, and the choice of a ranker for a data set.

Each is a directory in ``models/``: an unpacked model file, and a card that states its data, figures and limits.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ranker import share
from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged
from ranker.corpora.source_keys import among
from ranker.errors import ModelError, OptionError, counted, nearest
from ranker.extractors.base import Extractor
from ranker.extractors.english_only import english_note
from ranker.extractors.needs import COMPARABLE
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.settings import (
    SOURCES_PER_FEATURE,
    STANDARD,
    STANDARD_LEXICAL,
    STANDARD_LEXICAL_ANY,
    STANDARD_UNREFERENCED,
    STANDARD_UNREFERENCED_ANY,
)
from ranker.text.target_languages import looks_english, other_language

ENGLISH, ANY, UNREFERENCED = "full", "full-any", "consensus"
_WITHOUT_ENCODER = {STANDARD: STANDARD_LEXICAL, ANY: STANDARD_LEXICAL_ANY}
_MODEL = "model.json"
_SMALL = ("ye07", "ye07-order", "bleu1-4")


def names() -> list[str]:
    """Return the names of the included rankers."""
    return sorted(path.parent.name for path in share.directory("models").glob(f"*/{_MODEL}"))


def locate(model: str | Path) -> Path:
    """Return the path of the model file or directory `model`, or else of the included ranker of that name."""
    if not isinstance(model, str | PathLike):
        what = "expected the name of an included ranker or the path of a model file"
        raise OptionError(f"model: {what}, found {type(model).__name__}")
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

    ``full`` for English and ``full-any`` for other languages or several. Without references ``consensus``, or
    ``full-any`` where there are other languages. If the data set does not name its language pairs, English is detected
    by function words in the references or candidates.
    """
    if not len(dataset.references):
        return ANY if other_language(dataset) else UNREFERENCED
    targets = {*dataset.target_languages}
    if targets - {"en", ""}:
        return ANY
    # in doubt, the model for all languages
    return ENGLISH if "" not in targets or looks_english(dataset) else ANY


def standard_features(people: Judged) -> tuple[FeatureSet, tuple[str, ...]]:
    """Return the standard features for training on judgements, with notes on the choice and on omitted features."""
    outputs = people.dataset
    name, reasons = _standard_set(outputs)
    features, using = FeatureSet.parse(name), f"the feature set {name}"
    known = among(outputs, features.pretraining_sources)
    if _too_few_unknown(people, known, len(features.columns)):
        reasons.append(f"the encoder was trained on {int(known.sum()):,} of {counted(len(known), 'source')}")
        if name in _WITHOUT_ENCODER:
            name = _WITHOUT_ENCODER[name]
            features, using = FeatureSet.parse(name), f"the feature set {name}"
        else:
            features = FeatureSet(tuple(each for each in features.extractors if not _has_encoder(each)))
            using = f"the features of {name} that need no encoder"
    else:
        outputs = outputs.select_sources(~known)
    notes = [f"{', '.join(reasons)}: using {using}"] if reasons else []
    if missing := features.missing_requirement(outputs):
        left_out = dict.fromkeys(each.name for each in features.extractors if each.needs.missing(outputs))
        notes.append(f"{missing}: using the features of {name} without {', '.join(left_out)}")
        features = FeatureSet(tuple(each for each in features.extractors if not each.needs.missing(outputs)))
    return features, tuple(notes)


def _standard_set(outputs: Dataset) -> tuple[str, list[str]]:
    """Return the name of the standard feature set for the references and languages of `outputs`, and the reasons."""
    if default_model(outputs) == ENGLISH:
        return STANDARD, []
    others = sorted({*outputs.target_languages} - {"en", ""})
    reasons = [f"translations into {', '.join(map(repr, others))}"] if others else []
    if len(outputs.references):
        return ANY, reasons or ["the references do not look English"]
    if not others and other_language(outputs):
        reasons.append("translations that do not look English")
    if _comparable(outputs).mean() < 0.5:
        reasons.append(f"most sources have fewer than {COMPARABLE} candidates")
    return STANDARD_UNREFERENCED_ANY if reasons else STANDARD_UNREFERENCED, ["no references", *reasons]


def _comparable(dataset: Dataset) -> BoolArray:
    """True for each source with candidates that has enough of them, judged or not, to compare them with each other."""
    sizes = np.diff(dataset.context.candidate_offsets)[np.unique(dataset.candidate_source)]
    return np.asarray(sizes >= COMPARABLE)


def _too_few_unknown(people: Judged, known: BoolArray, columns: int) -> bool:
    """True if an encoder knows so many of the judged sources that the others are too few to learn from."""
    if not known.any():
        return False
    ordered = np.unique(people.dataset.candidate_source[people.pairs.better])
    unknown = int((~known[ordered]).sum())
    return unknown < SOURCES_PER_FEATURE * columns and 2 * unknown < len(ordered)


def _has_encoder(extractor: Extractor) -> bool:
    return any(part.pretraining_sources is not None for part in extractor.members)


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
