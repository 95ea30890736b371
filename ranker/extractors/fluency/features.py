"""Log perplexity under a language model of the references (Ye, Zhou and Lin 2007, section 4.2.3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ranker import notation
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.errors import DataError, OptionError
from ranker.extractors import by_language
from ranker.extractors.base import FitScope, FittedExtractor, unfitted
from ranker.extractors.dependency.cache import SHIPPED
from ranker.extractors.dependency.parsed import parser_signature, tag_batch
from ranker.extractors.fluency.included import TOKENIZER, included_digest, included_model
from ranker.extractors.needs import Needs
from ranker.files import display_name
from ranker.learning.lm import kenlm_files
from ranker.learning.lm.counts import NgramCounts, count_ngrams
from ranker.learning.lm.counts_file import CountsModel
from ranker.learning.lm.kneser_ney import NgramModel, SentenceScores, estimate, log10_scores
from ranker.learning.lm.leave_out import leave_out_scores
from ranker.text.tokens import TokenBatch, TokenisedTexts, Tokenizer, language_tokenizers, token_batch

ENOUGH_REFERENCES = 100
FEWEST_KNOWN = 0.5
"""Minimum proportion of in-vocabulary words for a suitable language model."""
MAX_ORDER = 6
Unit = Literal["words", "tags"]


@dataclass(frozen=True)
class Perplexity(FittedExtractor):
    r"""Log perplexity of the candidate under an n-gram model of the data set's references, or a model read from a file.

    .. math:: -\frac{\ln 10 \, \log_{10} P(\text{candidate})}{\text{tokens} + 1}

    with sentence boundaries counted (Ye, Zhou and Lin 2007, section 4.2.3). The reference language model is an
    interpolated modified Kneser-Ney model (Chen and Goodman 1998), learnt anew from the references of the data being
    ranked, for each target language separately. As published, they include the candidate's own references. Lower is
    more fluent.

    The model depends on which sentences the references are, not on their order: they are sorted by their code points
    before they are counted. KenLM's ``lmplz`` estimates slightly different discounts from other orders of the same
    lines, because it counts the last n-gram of its sorting in another way. So the scores equal those of ``lmplz`` on
    the sorted lines, ``LC_ALL=C sort``, tokenised and lower-cased after sorting; on some hundred lines in another order
    they may differ by some hundredths.

    With ``model=shipped`` the language model is the included one of English text, order 3 for words and 5 for parts of
    speech, so that a score depends on nothing but the candidate. With ``model=FILE`` it is read from that file, which
    needs the extra ``kenlm``; ``ranker lm train`` or KenLM write such files, and `tokenizer` and `lowercase` must be
    those of the model's training text. Neither needs references or training. If the file has no probability for unknown
    words, which is SRILM's default, they are left out of the logarithm and of the number of tokens, as SRILM does.

    Parameters
    ----------
    order : int, default 3
        Order of the model, 1 to 6; a model from a file keeps its own order.
    leave_out : bool, default False
        Score every candidate under a model without the references of its own source. The counts are exact; the
        discounts are those of the whole model.
    oov : bool, default False
        Add the column ``perp.oov``: share of the candidate's tokens that the model has not seen.
    match : bool, default False
        Add the column ``perp.match``: mean length of the longest n-gram of the model that ends at each token.
    unit : {"words", "tags"}, default "words"
        Model the words, or the parts of speech that the parser assigns to them. The latter tells how usual the
        structure of the sentence is, regardless of its topic.
    parser : str, default "shipped"
        Parser for ``unit=tags``, as for `ds`.
    tokenizer : {"13a", "none"}, default "13a"
        For ``unit=words``.
    lowercase : bool, default True
        For ``unit=words``.
    model : str, optional
        Model to use instead of one of the references: ``shipped``, an ARPA file (plain or gzip), or a KenLM binary.
    """

    name: ClassVar[str] = "perp"
    family = "fluency"
    order: int = 3
    leave_out: bool = False
    oov: bool = False
    match: bool = False
    unit: Unit = "words"
    parser: str = SHIPPED
    tokenizer: Tokenizer = "13a"
    lowercase: bool = True
    model: str | None = None
    learnt: dict[Hashable, ReferenceModel] | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse options that are out of range or do not go together."""
        if not 1 <= self.order <= MAX_ORDER:
            raise OptionError(f"perp[order={self.order}]: expected 1 to {MAX_ORDER}")
        if self.model is not None:
            if self.leave_out:
                what = f"perp[leave_out=true,model={self.model}]"
                raise OptionError(f"{what}: a fixed model does not learn from references; remove leave_out or model")
            choices = (self.tokenizer, self.lowercase)
            if self.model == SHIPPED and self.unit == "words" and choices != (TOKENIZER, True):
                what = f"perp[model={SHIPPED}]: the included model uses lowercased words of tokenizer {TOKENIZER}"
                raise OptionError(f"{what}; remove tokenizer and lowercase, or give another model file")

    @property
    def needs(self) -> Needs:
        """Needs of the columns: references to learn a model from, unless it is given; English for included models."""
        parser = ("parser",) if self.unit == "tags" and self.parser == SHIPPED else ()
        needs = Needs.english(*(("model",) if self.model == SHIPPED else ()), *parser)
        return dataclasses.replace(needs, references=ENOUGH_REFERENCES if self.model is None else 0)

    @property
    def fit_scope(self) -> FitScope:
        """``ranked`` if the model is learnt from references, ``none`` if it is included or read from a file."""
        return "ranked" if self.model is None else "none"

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``perp``, then the optional columns ``perp.oov`` and ``perp.match``."""
        more = [f"{self}.{column}" for column in ("oov", "match") if getattr(self, column)]
        return (str(self), *more)

    @property
    def lower_is_better(self) -> tuple[str, ...]:
        """Names of all columns except ``perp.match``."""
        return tuple(column for column in self.columns if not column.endswith(".match"))

    def signed(self) -> dict[str, object]:
        """Option values for the signature: digests of the parser and the model file, None for unused options."""
        signed: dict[str, object] = {"parser": None}
        if self.unit == "tags":
            signed = {"parser": parser_signature(self.parser), "tokenizer": None, "lowercase": None}
        if self.model is not None:
            digest = included_digest(self.unit) if self.model == SHIPPED else kenlm_files.digest(self.model)
            signed |= {"order": None, "leave_out": None, "model": digest[:12]}
            signed |= {"unknown": "left-out"} if self._closed else {}
        return signed

    @property
    def _closed(self) -> bool:
        """True if the model is read from a file and has no probability for unknown words."""
        return self.model not in (None, SHIPPED) and kenlm_files.load(str(self.model)).closed

    def check_ready(self) -> None:
        """Raise an error if KenLM is not installed, or if the model in the file is not of order `order`."""
        if self.model is None:
            return
        order = self._frozen().order
        if self.order not in (type(self).order, order):
            what = f"is a model of order {order}, but perp[order={self.order}] requests another: remove order"
            raise DataError(what, file=display_name(self.model))

    def _frozen(self) -> CountsModel | kenlm_files.KenlmModel:
        """Return the pre-trained language model that the option `model` names."""
        assert self.model is not None
        return included_model(self.unit) if self.model == SHIPPED else kenlm_files.load(self.model)

    def note(self, dataset: Dataset) -> str | None:
        """Return a note if a given model knows few words of `dataset` or was trained with other options, else None."""
        if self.model is None:
            return None
        self.check_ready()
        model = self._frozen()
        notes = []
        if self.unit == "words" and isinstance(model, kenlm_files.KenlmModel):
            tokenizers = language_tokenizers(dataset)[0] if self.tokenizer == "auto" else (self.tokenizer,)
            options = {"tokenizer": "+".join(tokenizers), "lowercase": notation.write(self.lowercase)}
            trained = {name: model.header.trained.get(name, value) for name, value in options.items()}
            if trained != options:
                used, wanted = (
                    ",".join(f"{name}={value}" for name, value in fields.items()) for fields in (options, trained)
                )
                notes.append(f"was trained with {wanted}, but perp uses {used}: use the options of the model")
        batch = self._batch(dataset)
        known = model.knows(batch.segments.vocabulary)[batch.segments.take(batch.candidate)[0]]
        unknown, foreign = int((~known).sum()), not notes and len(known) and known.mean() < FEWEST_KNOWN
        if self._closed and unknown:
            notes.append(
                f"has no probability for unknown words (<unk>): {unknown:,} of the candidates' {len(known):,} words "
                f"({unknown / len(known):.1%}) are out of vocabulary and left out, as SRILM does"
            )
        if foreign:
            rate = "all" if not known.any() else f"{1 - known.mean():.0%}"
            notes.append(
                f"{rate} of the candidates' words are out of vocabulary for this language model: "
                "expected a model of their language, trained with the same tokenizer and lowercase as perp"
            )
        return f"{display_name(self.model)}: {'; '.join(notes)}" if notes else None

    def fit(self, dataset: Dataset) -> Perplexity:
        """Estimate a language model from the references in each target language, unless it is read from a file."""
        if self.model is not None:
            return self
        whole = Perplexity(**{**self._options(), "leave_out": False, "oov": False, "match": False})
        return dataclasses.replace(
            self, learnt=by_language.learn(dataset, "target language", lambda part: _language_model(part, whole))
        )

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 1 to 3).

        The option `leave_out` only affects data that the model learnt from.
        """
        if self.model is not None:
            self.check_ready()
            batch = self._batch(dataset)
            sentences, place = np.unique(batch.candidate, return_inverse=True)
            words = batch.segments.take(sentences)
            return self._columns_of(self._frozen().scores(batch.segments.vocabulary, *words, matched=self.match))[place]
        columns = np.zeros((len(dataset), len(self.columns)))
        for part, sources, learnt in by_language.parts(dataset, "target language", self._reference_models):
            columns[sources[dataset.candidate_source]] = self._scores(part, learnt)
        return columns

    def _scores(self, dataset: Dataset, learnt: ReferenceModel) -> FloatArray:
        """Return the columns of candidates in one target language."""
        batch = self._batch(dataset)
        values = learnt.recode(batch.segments)
        if not self.leave_out:
            return self._columns_of(log10_scores(learnt.model, values.values, values.offsets))[batch.candidate]
        own = batch.segments.vocabulary is learnt.vocabulary
        group = dataset.candidate_source if own else np.full(len(dataset), -1)
        return self._left_out(learnt, learnt.source, values, batch.candidate, group)

    def transform_references(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return each reference's columns, from a model of the other references or, with `leave_out`, other sources.

        A model from a file is used as it is.
        """
        if self.model is not None:
            return self.transform(others)
        columns = np.zeros((len(dataset.references), len(self.columns)))
        for part, sources, learnt in by_language.parts(dataset, "target language", self._reference_models):
            batch = self._batch(part)
            number = len(batch.reference)
            groups = (learnt.source, part.references["source"]) if self.leave_out else (learnt.reference, range(number))
            learnt_from, group = map(np.asarray, groups)
            rows = sources[dataset.references["source"].to_numpy()]
            columns[rows] = self._left_out(learnt, learnt_from, learnt.recode(batch.segments), batch.reference, group)
        return columns

    def _batch(self, dataset: Dataset) -> TokenBatch:
        """Return the tokens of `dataset`: words, or the parts of speech that the parser assigns."""
        if self.unit == "tags":
            return tag_batch(dataset, self.parser)
        return token_batch(dataset, self.tokenizer, lowercase=self.lowercase)

    @property
    def _reference_models(self) -> dict[Hashable, ReferenceModel]:
        if self.learnt is None:
            raise unfitted(self)
        return self.learnt

    def _left_out(
        self,
        learnt: ReferenceModel,
        learnt_from: Int64Array,
        values: TokenisedTexts,
        sentences: Int64Array,
        group: Int64Array,
    ) -> FloatArray:
        counts, discounts = learnt.counts, learnt.model.discounts
        return self._columns_of(leave_out_scores(counts, discounts, learnt_from, *values.take(sentences), group))

    def _columns_of(self, scores: SentenceScores) -> FloatArray:
        columns = {
            "perp": scores.log_perplexity,
            "oov": scores.unknown / np.maximum(scores.tokens, 1),
            "match": scores.matched_length,
        }
        wanted = ["perp", *(column for column in ("oov", "match") if getattr(self, column))]
        return np.stack([columns[column] for column in wanted], axis=1)


@dataclass(frozen=True, eq=False)
class ReferenceModel:
    """A language model learnt from all references in a target language of a data set."""

    vocabulary: list[str]
    reference: Int64Array
    source: Int64Array
    counts: NgramCounts
    model: NgramModel

    def recode(self, segments: TokenisedTexts) -> TokenisedTexts:
        """Return sentences with words numbered as in the model's vocabulary."""
        if segments.vocabulary is self.vocabulary:
            return segments
        known = {word: number for number, word in enumerate(self.vocabulary)}
        number = np.array([known.get(word, len(known)) for word in segments.vocabulary], dtype=np.int32)
        return TokenisedTexts(number[segments.values], segments.offsets, [*self.vocabulary, ""])


@view
def _language_model(dataset: Dataset, options: Perplexity) -> ReferenceModel:
    batch = options._batch(dataset)
    # discounts depend on the order of the texts: sorted by code points, the order of the sources does not matter
    rows = np.argsort(dataset.references["text"].to_numpy(object), kind="stable")
    source = dataset.references["source"].to_numpy(np.int64)[rows]
    counts = count_ngrams(*batch.segments.take(batch.reference[rows]), options.order)
    return ReferenceModel(batch.segments.vocabulary, rows, source, counts, estimate(counts))
