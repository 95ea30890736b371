"""Makes n-best lists from corpora: each system's output is a hypothesis, with features that need no reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ranker import notation
from ranker.apps.tuning.hypotheses import distinct_hypotheses, references_of
from ranker.apps.tuning.pairwise import mean_pairwise
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import SEPARATOR, Layout, NBestList, from_columns, nbest_bytes
from ranker.errors import DataError, OptionError, nearest
from ranker.extractors.registry import make_metric
from ranker.files import display_name, without_gz, write_together
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.kneser_ney import NgramModel, estimate, log10_scores
from ranker.text.tokens import tokenise

WITHOUT_LM = "words,chrf,bleu[smoothing=add-one],systems"
WITH_LM = f"lm,{WITHOUT_LM}"
ENOUGH = 100
_LM_ORDER = 3


@dataclass(frozen=True)
class FeatureOptions:
    """Options for the features of hypotheses."""

    features: str = WITHOUT_LM
    lm_text: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Selection:
    """An n-best list made from a corpus, with its references, and the corpus rows of hypotheses and sentences."""

    nbest: NBestList
    references: Dataset
    candidate: Int64Array
    source: Int64Array
    left_out: int


def from_dataset(dataset: Dataset, options: FeatureOptions | None = None) -> Selection:
    """Make the n-best list of a corpus: its sources with outputs, in order; references are not hypotheses."""
    options = options or FeatureOptions()
    outputs = dataset.select_candidates(~dataset.is_reference)
    source = np.unique(outputs.candidate_source)
    if not len(source):
        raise DataError("contains no system outputs, expected at least one", file=dataset.name)
    sentence = np.searchsorted(source, outputs.candidate_source)
    texts = [_one_line(text) for text in outputs.candidates["text"].tolist()]
    plain = from_columns(dataset.name, sentence, texts, np.zeros((len(texts), 0)), ())
    maker = _Maker(outputs, plain, options)
    parts = [maker.make(name) for name in notation.split(options.features)]
    layout: Layout = tuple(group for groups, _ in parts for group in groups)
    nbest = from_columns(dataset.name, sentence, texts, np.concatenate([values for _, values in parts], axis=1), layout)
    keep = np.isin(dataset.references["source"].to_numpy(), source)
    references = references_of(
        dataset.sources["text"].iloc[source].tolist(),
        np.searchsorted(source, dataset.references["source"].to_numpy()[keep]),
        dataset.references["text"][keep].tolist(),
        dataset.name,
    )
    candidate = np.flatnonzero(~dataset.is_reference)
    return Selection(nbest, references, candidate, source, maker.left_out)


def write_selection(selection: Selection, path: str | Path) -> list[Path]:
    """Write an n-best list, reference files ``STEM.ref0``, ... (empty lines if missing), and ``STEM.src``."""
    path = Path(path)
    stem = without_gz(path.name).removesuffix(".nbest")
    references = selection.references.references
    source = references["source"].to_numpy()
    slot = references.groupby("source").cumcount().to_numpy()
    texts = references["text"].tolist()
    columns = [[""] * len(selection.references.sources) for _ in range(int(slot.max(initial=0)) + 1)]
    for row, text in enumerate(texts):
        columns[slot[row]][source[row]] = _one_line(text)
    if not len(references):
        raise DataError("contains no references, which tuning requires", file=selection.references.name)
    sources = [_one_line(text) for text in selection.references.sources["text"].tolist()]
    endings = [*(f"ref{number}" for number in range(len(columns))), "src"]
    written = [path, *(path.with_name(f"{stem}.{ending}") for ending in endings)]
    further = path.with_name(f"{stem}.ref{len(columns)}")
    if further.exists():
        what = f"{display_name(further)} would be read as references of this list: delete it, or choose another name"
        raise DataError(what, file=display_name(path))
    files = {path: nbest_bytes(selection.nbest, path)}
    for target, lines in zip(written[1:], [*columns, sources], strict=True):
        files[target] = "".join(f"{line}\n" for line in lines).encode()
    write_together(files)
    return written


def _one_line(text: str) -> str:
    return (" ".join(text.split()) if "\n" in text or "\r" in text else text).replace(SEPARATOR, "| | |").strip()


class _Maker:
    """Computes features of a corpus's outputs, each feature requested by name."""

    def __init__(self, dataset: Dataset, plain: NBestList, options: FeatureOptions) -> None:
        self.dataset, self.plain, self.options = dataset, plain, options
        self.left_out = 0
        self._named: dict[str, int] = {}

    def make(self, name: str) -> tuple[Layout, FloatArray]:
        """Return the layout and the columns of the feature called `name`."""
        makers: dict[str, Callable[[], tuple[Layout, FloatArray]]] = {
            "words": self._words,
            "lm": self._lm,
            "systems": self._systems,
        }
        if name in makers:
            return makers[name]()
        try:
            metric = make_metric(name)
        except OptionError as error:
            hint = nearest(name, makers)
            what = f"unknown feature {name!r}{hint}" if hint else str(error)
            raise OptionError(f"{what}; expected one of {', '.join(makers)}, or a metric") from None
        number = self._named[metric.name] = self._named.get(metric.name, 0) + 1
        rows, of_row, _ = distinct_hypotheses(self.plain)
        outputs = np.bincount(self.plain.sentence)[self.plain.sentence]
        mass = np.bincount(of_row, minlength=len(rows)).astype(np.float64)
        sums, alone = mean_pairwise(self.plain, rows, metric, mass, self._sources())
        mean = (sums - alone)[of_row] / np.maximum(outputs - 1, 1)
        return ((f"agree_{metric.name}{number if number > 1 else ''}", 1),), mean[:, np.newaxis]

    def _sources(self) -> Dataset:
        used = np.unique(self.dataset.candidate_source)
        return references_of(self.dataset.sources["text"].iloc[used].tolist(), [], [], self.dataset.name)

    def _words(self) -> tuple[Layout, FloatArray]:
        tokens = tokenise(self.dataset.candidates["text"].tolist(), "13a", lowercase=True)
        return (("words", 1),), np.diff(tokens.offsets)[:, np.newaxis].astype(np.float64)

    def _lm(self) -> tuple[Layout, FloatArray]:
        if not len(self.options.lm_text):
            raise OptionError("feature 'lm' requires training text from other data: --lm-text FILE or --lm-data CORPUS")
        own = {" ".join(text.split()) for text in self.dataset.references["text"].tolist()}
        text = [line for line in self.options.lm_text if " ".join(line.split()) not in own]
        self.left_out = len(self.options.lm_text) - len(text)
        if len(text) < ENOUGH:
            raise DataError(
                f"feature 'lm' needs at least {ENOUGH} sentences of training text, found {len(text)} (not counting "
                f"{self.left_out} that are also references of the list): give more text",
                file=self.dataset.name,
            )
        # the training text and the outputs share one vocabulary
        tokens = tokenise([*text, *self.dataset.candidates["text"].tolist()], "13a", lowercase=True)
        model: NgramModel = estimate(count_ngrams(*tokens.take(np.arange(len(text))), _LM_ORDER))
        scores = log10_scores(model, *tokens.take(np.arange(len(text), len(text) + len(self.dataset))))
        return (("lm", 1), ("unknown", 1)), np.stack([scores.log10_prob, scores.unknown], axis=1).astype(np.float64)

    def _systems(self) -> tuple[Layout, FloatArray]:
        system = self.dataset.candidates["system"].to_numpy(object)
        names = sorted(set(system))
        shown: dict[str, str] = {}
        for name in names:
            clean = "".join("_" if character.isspace() or character in "=:|" else character for character in name)
            while f"system_{clean}" in shown.values():
                clean += "_"
            shown[name] = f"system_{clean}"
        columns = (system[:, np.newaxis] == np.array(names, dtype=object)).astype(np.float64)
        return tuple((shown[name], 1) for name in names), columns


def lm_lines(path: str | Path) -> list[str]:
    """Read the training sentences of a language model, one per line."""
    from ranker.files import read_text

    lines = [line for line in read_text(path).split("\n") if line.strip()]
    if not lines:
        raise DataError("contains no sentences, expected one per line", file=display_name(path))
    return lines
