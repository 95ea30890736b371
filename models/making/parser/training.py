"""Trains a tagger and dependency parser of any language from a treebank in CoNLL-U.

A small spaCy pipeline: hashed embeddings of each word's norm, first letter, last three letters and shape; a
convolutional encoder shared by both tasks; a linear tagger of universal parts of speech; a greedy arc-eager parser.
Lemmas come from a table (`models.making.parser.lemma_rules`). It learns what machine translations look like: each
sentence is one tree, at times lower-cased or without its final mark, and rare words are at times replaced by invented
ones with the same outline, so that the endings of unknown words are trusted.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.making.parser.conllu import ROOT, Sentence
from models.making.parser.lemma_rules import learn_lemmas
from models.making.parser.package import ParserOptions, write_pipeline
from models.making.parser.scores import ParserScores, score_text, score_words
from models.making.parser.treebanks import find_treebank
from ranker.errors import DataError
from ranker.files import check_folder, display_name
from ranker.learning.parser.parsing import DependencyParser

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example

_CLAUSE_MARKS = frozenset(".!?。！？।")
_LETTERS = "etaoinshrdlu"
_SHORTEST_INVENTED = 5


_DEFAULTS = ParserOptions()


def train(
    treebank: str | Path,
    output: str | Path,
    *,
    language: str = "en",
    seed: int = 0,
    options: ParserOptions = _DEFAULTS,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, dict[str, ParserScores]]:
    """Train a parser and write it to a directory with its card, licence and scores."""
    check_folder(Path(output), "parser", ["meta.json"])
    source = find_treebank(treebank)
    sentences = source.read("train")
    tags = {tag for sentence in sentences for tag in sentence.tags}
    if len(tags) < 2:
        what = f"all words have the tag {next(iter(tags))!r}, expected at least two tags"
        raise DataError(what, file=display_name(source.files["train"]))
    parts = {part: source.read(part) for part in ("dev", "test")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = _new_pipeline(language, sum(len(sentence) for sentence in sentences), options)
        # seeded only now: importing spaCy draws random numbers
        with _seeded(seed):
            _fit(pipeline, sentences, random.Random(seed), options, report)
    table = learn_lemmas(_lemma_words(sentences))
    parser = DependencyParser(pipeline, lemma_table=table)
    scores = {
        part: {
            "words": score_words(parser, held_out),
            "lowercase": score_words(parser, held_out, lowercase=True),
            "text": score_text(parser, held_out),
        }
        for part, held_out in parts.items()
        if held_out
    }
    write_pipeline(
        Path(output), pipeline, table, treebank=source, scores=scores, language=language, seed=seed, options=options
    )
    return scores


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that spaCy draws from, and put the caller's back afterwards."""
    import numpy as np
    from thinc.api import fix_random_seed

    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    fix_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)  # noqa: NPY002


def _fit(
    pipeline: Language,
    sentences: Sequence[Sentence],
    rng: random.Random,
    options: ParserOptions,
    report: Callable[[str], None],
) -> None:
    from thinc.api import Adam

    total = sum(len(sentence) for sentence in sentences)
    gold = [_example(pipeline, sentence) for sentence in sentences]
    pipeline.initialize(lambda: gold)
    vary = _Variation(sentences, rng, options)
    optimizer = Adam(options.learning_rate, L2=0.01, L2_is_weight_decay=True, grad_clip=1.0)
    seen = 0
    for epoch in range(options.epochs):
        losses: dict[str, float] = {}
        for batch in _batches(sentences, rng, options.batch_words):
            done = seen / (total * options.epochs)
            warm_up = min(1.0, 0.05 + 4 * seen / total)
            optimizer.learn_rate = options.learning_rate * warm_up * max(0.03, 1 - done)
            examples = [_example(pipeline, vary(sentence)) for sentence in batch]
            pipeline.update(examples, sgd=optimizer, drop=options.dropout, losses=losses)
            seen += sum(len(sentence) for sentence in batch)
        per_word = ", ".join(f"{name} {losses.get(name, 0) / total:.3f}" for name in ("tagger", "parser"))
        report(f"epoch {epoch + 1} of {options.epochs}: loss per word {per_word}")


def _new_pipeline(language: str, words: int, options: ParserOptions) -> Language:
    import spacy

    try:
        code = str(spacy.blank(language).lang)
    except ImportError:
        # spaCy has no such language, or its tokenizer needs a package that is not installed
        code = "xx"
    pipeline = spacy.blank(code)
    pipeline.add_pipe(
        "tok2vec",
        config={
            "model": {
                "@architectures": "spacy.Tok2Vec.v2",
                "embed": {
                    "@architectures": "spacy.MultiHashEmbed.v2",
                    "width": options.width,
                    "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
                    "rows": list(options.rows),
                    "include_static_vectors": False,
                },
                "encode": {
                    "@architectures": "spacy.MaxoutWindowEncoder.v2",
                    "width": options.width,
                    "depth": options.depth,
                    "window_size": 1,
                    "maxout_pieces": 3,
                },
            }
        },
    )
    shared = {"@architectures": "spacy.Tok2VecListener.v1", "width": options.width}
    pipeline.add_pipe(
        "tagger",
        config={"label_smoothing": 0.05, "model": {"@architectures": "spacy.Tagger.v2", "tok2vec": shared}},
    )
    pipeline.add_pipe(
        "parser",
        config={
            # rarer relations are learnt as "dep": too few examples, and each one slows every decision
            "min_action_freq": max(1, min(10, words // 10_000)),
            "model": {
                "@architectures": "spacy.TransitionBasedParser.v2",
                "state_type": "parser",
                "extra_state_tokens": True,
                "hidden_width": options.hidden,
                "maxout_pieces": 2,
                "use_upper": True,
                "tok2vec": shared,
            },
        },
    )
    _forget_norms(pipeline)
    return pipeline


def _forget_norms(pipeline: Language) -> None:
    """Make tokenised text look like a treebank's words: spaCy's rules give ``n't`` the norm ``not``."""
    tokenizer: Any = pipeline.tokenizer
    if hasattr(tokenizer, "rules"):
        form = pipeline.vocab.strings["ORTH"]
        tokenizer.rules = {text: [{form: token[form]} for token in tokens] for text, tokens in tokenizer.rules.items()}


def _example(pipeline: Language, sentence: Sentence) -> Example:
    from spacy.tokens import Doc
    from spacy.training import Example

    words = list(sentence.forms)
    starts: list[bool | int | None] = [True, *[False] * (len(words) - 1)]
    heads = [place if head == ROOT else head for place, head in enumerate(sentence.heads)]
    relations = [
        "ROOT" if head == ROOT else relation for head, relation in zip(sentence.heads, sentence.relations, strict=True)
    ]
    predicted = Doc(pipeline.vocab, words=words, sent_starts=starts)
    reference = Doc(pipeline.vocab, words=words, tags=list(sentence.tags), heads=heads, deps=relations)
    return Example(predicted, reference)


def _batches(sentences: Sequence[Sentence], rng: random.Random, words: int) -> Iterator[list[Sentence]]:
    batch: list[Sentence] = []
    size = 0
    for sentence in rng.sample(sentences, len(sentences)):
        batch.append(sentence)
        size += len(sentence)
        if size >= words:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Variation:
    """Changes sentences at random the way translations differ from edited text."""

    def __init__(self, sentences: Sequence[Sentence], rng: random.Random, options: ParserOptions) -> None:
        counts = Counter(form.lower() for sentence in sentences for form in sentence.forms)
        self._once = {form for form, count in counts.items() if count == 1}
        self._rng = rng
        self._options = options

    def __call__(self, sentence: Sentence) -> Sentence:
        if self._rng.random() < self._options.unfinished:
            sentence = _without_final_mark(sentence)
        lowercase = self._rng.random() < self._options.lowercase
        forms = [self._varied(form) for form in sentence.forms]
        if lowercase:
            forms = [form.lower() for form in forms]
        return Sentence(tuple(forms), sentence.lemmas, sentence.tags, sentence.heads, sentence.relations, sentence.text)

    def _varied(self, form: str) -> str:
        rare = len(form) >= _SHORTEST_INVENTED and form.isalpha() and form.lower() in self._once
        if not rare or self._rng.random() >= self._options.invented:
            return form
        middle = "".join(self._rng.choice(_LETTERS) for _ in form[1:-3])
        return form[0] + (middle.upper() if form[1:-3].isupper() else middle) + form[-3:]


def _without_final_mark(sentence: Sentence) -> Sentence:
    last = len(sentence) - 1
    if last < 1 or sentence.forms[last] not in _CLAUSE_MARKS or last in sentence.heads or sentence.heads[last] == ROOT:
        return sentence
    return Sentence(
        sentence.forms[:last],
        sentence.lemmas[:last],
        sentence.tags[:last],
        sentence.heads[:last],
        sentence.relations[:last],
        sentence.text,
    )


def _lemma_words(sentences: Sequence[Sentence]) -> Iterator[tuple[str, str, str]]:
    for sentence in sentences:
        # the lemma of a word written apart (goeswith) belongs to all its pieces, not to one form
        apart = {
            head for head, relation in zip(sentence.heads, sentence.relations, strict=True) if relation == "goeswith"
        }
        for place, word in enumerate(zip(sentence.forms, sentence.tags, sentence.lemmas, strict=True)):
            if place not in apart and sentence.relations[place] != "goeswith":
                yield word
