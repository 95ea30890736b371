"""Word alignment of texts and data sets: tokenises, numbers words, and calls `ranker.learning.aligner.training`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.formats.pharaoh import Alignments
from ranker.errors import DataError, ModelError
from ranker.files import display_name
from ranker.learning.aligner.model import AlignmentModel
from ranker.learning.aligner.training import train
from ranker.links import Links
from ranker.text.tokenizers import SPLITTING, TOKENIZERS
from ranker.text.tokens import TokenisedTexts, Tokenizer, source_segments, token_batch, tokenise

_MOST_WORDS_FOR_ONE = 4.0


def learn_aligner(
    dataset: Dataset,
    *,
    references: bool = True,
    candidates: bool = False,
    tokenizer: Tokenizer = "13a",
    lowercase: bool = True,
    files: tuple[str | Path, str | Path] | None = None,
) -> AlignmentModel:
    """Train a word aligner on the sources of a data set and their translations."""
    check_one_pair(dataset)
    batch = token_batch(dataset, tokenizer, lowercase=lowercase)
    sources = source_segments(dataset, tokenizer, lowercase=lowercase)
    lengths = batch.segments.lengths
    parts = []
    if references:
        parts.append((dataset.references["source"].to_numpy(np.int64), batch.reference))
    if candidates:
        # in a data set an empty output is an output; in a file of translations it is a gap
        usable = (lengths[batch.candidate] > 0) | (files is not None)
        parts.append((dataset.candidate_source[usable], batch.candidate[usable]))
    source, translation = (np.concatenate([np.zeros(0, dtype=np.int64), *side]) for side in zip(*parts, strict=True))
    if not len(source):
        raise DataError("no translations to train on, expected at least one", file=dataset.name)
    _refuse_empty(dataset, sources, batch.segments, source, translation, files)
    _refuse_unsplit(dataset, sources.lengths[source].sum() / batch.segments.lengths[translation].sum())
    source, translation = _distinct(source, translation)[0]
    return train(
        *sources.take(source),
        *batch.segments.take(translation),
        source_vocabulary=sources.vocabulary,
        target_vocabulary=batch.segments.vocabulary,
        text={"tokenizer": tokenizer, "lowercase": lowercase},
    )


def check_one_pair(dataset: Dataset) -> None:
    """Refuse a data set of several language pairs."""
    if len(pairs := dataset.language_pairs) > 1:
        what = f"contains the language pairs {', '.join(pairs)}; an aligner is for one pair: choose it with --lp"
        raise DataError(what, file=dataset.name)


def align_texts(model: AlignmentModel, sources: Sequence[str], targets: Sequence[str]) -> Links:
    """Align each source with the target of the same index, tokenised as in the model's training."""
    tokenizer, lowercase = _text(model)
    first, second = (tokenise(texts, tokenizer, lowercase=lowercase) for texts in (sources, targets))
    return _align(model, first, second, np.arange(len(sources)), np.arange(len(targets)))


def align_dataset(model: AlignmentModel, dataset: Dataset) -> Alignments:
    """Align all references and candidates with their sources; each distinct pair of sentences is aligned once."""
    tokenizer, lowercase = _text(model)
    batch = token_batch(dataset, tokenizer, lowercase=lowercase)
    sources = source_segments(dataset, tokenizer, lowercase=lowercase)
    reference_source = dataset.references["source"].to_numpy(np.int64)
    source = np.concatenate([reference_source, dataset.candidate_source])
    pairs, which = _distinct(source, np.concatenate([batch.reference, batch.candidate]))
    links = _align(model, sources, batch.segments, *pairs)
    first, second = which[: len(reference_source)], which[len(reference_source) :]
    return Alignments(links.take(first), links.take(second), np.full(len(first), True), np.full(len(second), True))


def load_aligner(path: str | Path) -> AlignmentModel:
    """Read a word aligner from a file; refuse one that does not record its tokenizer."""
    model = AlignmentModel.load(path)
    try:
        _text(model)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    return model


def _text(model: AlignmentModel) -> tuple[Tokenizer, bool]:
    tokenizer, lowercase = model.text.get("tokenizer"), model.text.get("lowercase")
    for known in (*SPLITTING, *TOKENIZERS):
        if tokenizer == known and isinstance(lowercase, bool):
            return cast(Tokenizer, known), lowercase
    raise ModelError("the aligner does not record its tokenizer; train it again with: ranker align train")


def _align(
    model: AlignmentModel,
    first: TokenisedTexts,
    second: TokenisedTexts,
    source: npt.ArrayLike,
    target: npt.ArrayLike,
) -> Links:
    return model.align(
        *first.take(source),
        *second.take(target),
        source_vocabulary=first.vocabulary,
        target_vocabulary=second.vocabulary,
    )


def _distinct(source: Int64Array, translation: Int64Array) -> tuple[tuple[Int64Array, Int64Array], Int64Array]:
    """Return the distinct (source, translation) pairs, and the index of each pair among them."""
    size = int(translation.max(initial=0)) + 1
    keys, which = np.unique(source * size + translation, return_inverse=True)
    return (keys // size, keys % size), which


def _refuse_empty(
    dataset: Dataset,
    sources: TokenisedTexts,
    segments: TokenisedTexts,
    source: Int64Array,
    translation: Int64Array,
    files: tuple[str | Path, str | Path] | None,
) -> None:
    """Refuse pairs with an empty source or translation; the error names the first such pair."""
    for side, lengths in enumerate((sources.lengths[source], segments.lengths[translation])):
        empty = np.flatnonzero(lengths == 0)
        if len(empty):
            row = int(source[empty[0]])
            what = f"the {('source', 'translation')[side]} has no words, expected at least one; remove the pair"
            if files:
                raise DataError(what, file=display_name(files[side]), line=row + 1)
            raise DataError(what, file=source_place(dataset, row))


def _refuse_unsplit(dataset: Dataset, ratio: float) -> None:
    if not 1 / _MOST_WORDS_FOR_ONE <= ratio <= _MOST_WORDS_FOR_ONE:
        raise DataError(
            f"the sources have {ratio:.2f} words per word of their translations, expected about 1; if a language "
            "is written without spaces, segment it into words first",
            file=dataset.name,
        )
