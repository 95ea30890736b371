"""Makes the ``sample`` corpus: simulated systems and judges over sentences written for the purpose.

``python -m data.making.sample SENTENCES OUT [--seed 0]`` reads sources with their references and
writes, a JSON object a line, what seven simulated systems made of them and how two simulated judges scored
that. A system starts from the wording of one reference, drawn at random for each source, rewords some of it
and makes known errors at the rates of its profile, times a factor drawn from 0 to 2 for each source, because
no system is always good. A judge's score is

    5 - (20 / words) * (sum of the weights of the errors) + bias + noise * normal deviate,

rounded to a whole number from 1 to 5, for fluency and adequacy apart; ``words`` are those of the wording
before the errors, the weights stand in `data.making.errors.ERROR_TYPES`. Real systems and real
judges are different: the corpus shows how the program is used and proves nothing about quality.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.making.errors import ERROR_TYPES, Vocabulary, detokenise, reword, tokenise
from ranker import files
from ranker.errors import DataError, OptionError, RankerError

KINDS = ("fluency", "adequacy")
_WEIGHTS = {
    "fluency": {error.name: error.fluency for error in ERROR_TYPES},
    "adequacy": {error.name: error.adequacy for error in ERROR_TYPES},
}
_SENTENCE_TYPES = {"doc": str, "seg_id": int, "source": str, "references": list, "glossary": dict}
_JSON_NAMES = {str: "a string", int: "a whole number", list: "an array", dict: "an object"}


@dataclass(frozen=True)
class Sentence:
    """A source sentence to simulate translations of.

    Parameters
    ----------
    doc : str
        Name of its document.
    seg_id : int
        Its number, unique in the corpus.
    source : str
        The Chinese sentence.
    references : tuple of str
        Its English translations, at least one.
    glossary : mapping of str to str
        English content words of the references (lower case) and the Chinese words that they translate.
    """

    doc: str
    seg_id: int
    source: str
    references: tuple[str, ...]
    glossary: Mapping[str, str]


@dataclass(frozen=True)
class System:
    """A simulated translation system: how often it makes which error.

    Parameters
    ----------
    name : str
        Name of the system.
    rates : mapping of str to float
        Expected errors in 20 words, by name of the error type; a type left out never occurs.
    rewording : float
        Expected harmless rewordings in 20 words.
    """

    name: str
    rates: Mapping[str, float]
    rewording: float = 2.0


@dataclass(frozen=True)
class Judge:
    """A simulated judge.

    Parameters
    ----------
    name : str
        Name of the judge.
    bias : mapping of str to float
        Points added to every score, by kind: above 0 is lenient.
    noise : float
        Standard deviation of the judge's random error, in points.
    """

    name: str
    bias: Mapping[str, float]
    noise: float


@dataclass(frozen=True)
class Output:
    """What a simulated system made of one source.

    Parameters
    ----------
    system : str
        Name of the system.
    text : str
        The translation.
    errors : tuple of str
        Names of the error types of the errors it holds, one entry an error.
    words : int
        Words of the wording it started from.
    """

    system: str
    text: str
    errors: tuple[str, ...]
    words: int

    def penalty(self, kind: str) -> float:
        """Return the points of `kind` that the errors cost, relative to a sentence of 20 words."""
        return 20 / self.words * math.fsum(_WEIGHTS[kind][error] for error in self.errors)


def _rates(
    order: float, choice: float, untranslated: float, inflection: float, function: float, dropped: float
) -> dict[str, float]:
    values = (order, choice, untranslated, inflection, function, dropped)
    return dict(zip((error.name for error in ERROR_TYPES), values, strict=True))


# from good to poor by mean score, each weak in its own way
SYSTEMS = (
    System("sys1", _rates(0.35, 0.40, 0.10, 0.25, 0.30, 0.30), rewording=5.0),  # few errors of any kind
    System("sys2", _rates(0.35, 1.10, 0.15, 0.20, 0.25, 0.25), rewording=3.0),  # reads well, means other things
    System("sys3", _rates(0.40, 0.35, 0.10, 0.90, 0.80, 0.90), rewording=4.0),  # right in rough grammar
    System("sys4", _rates(1.40, 0.45, 0.15, 0.35, 0.40, 0.40), rewording=2.0),  # keeps the source's order
    System("sys5", _rates(0.60, 0.60, 1.10, 0.50, 0.60, 0.60), rewording=5.0),  # leaves unknown words
    System("sys6", _rates(0.80, 0.80, 0.40, 1.00, 1.00, 0.90), rewording=3.0),  # weak all round
    System("sys7", _rates(1.30, 1.20, 0.60, 1.10, 1.20, 1.20), rewording=4.0),  # little is left whole
)
JUDGES = (
    Judge("judge1", {"fluency": 0.3, "adequacy": 0.2}, 1.0),
    Judge("judge2", {"fluency": -0.1, "adequacy": 0.1}, 1.1),
)


def _generator(seed: int, *place: int) -> np.random.Generator:
    """Return the generator of one `place` of the simulation, so that a change elsewhere leaves it alone.

    Only its uniform numbers are used: they are the same on every platform, which a normal deviate that goes
    through the logarithm of the C library need not be. For the same reason floats are added by ``math.fsum``,
    because ``sum`` rounds differently from Python 3.12 on.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, *place))))


def _normal(generator: np.random.Generator) -> float:
    """Return a normal deviate, near enough: twelve uniform ones less 6 have mean 0 and variance 1."""
    return math.fsum(float(generator.random()) for _ in range(12)) - 6.0


def _count(generator: np.random.Generator, words: int, rate: float) -> int:
    return sum(float(generator.random()) < rate / 20 for _ in range(words))


def translate(sentences: Sequence[Sentence], systems: Sequence[System], seed: int) -> list[list[Output]]:
    """Return what each of `systems` makes of each sentence, with the errors it made.

    Parameters
    ----------
    sentences : sequence of Sentence
        The sources.
    systems : sequence of System
        The profiles.
    seed : int
        Seed, 0 or more.

    Returns
    -------
    list of list of Output
        A list a sentence, in it an output a system, both in the order given.

    Raises
    ------
    OptionError
        If `seed` is negative, or a profile names an error type that does not exist.
    DataError
        If a sentence has no reference, or one without a word.
    """
    if seed < 0:
        raise OptionError(f"seed {seed} is negative: use 0 or more")
    for system in systems:
        if unknown := set(system.rates) - {error.name for error in ERROR_TYPES}:
            raise OptionError(
                f"system {system.name!r} has rates for {', '.join(sorted(unknown))}; the error types are "
                f"{', '.join(error.name for error in ERROR_TYPES)}"
            )
    documents: dict[str, dict[str, str]] = {}
    for sentence in sentences:
        documents.setdefault(sentence.doc, {}).update(sentence.glossary)
    return [
        [
            _translate(
                sentence,
                system,
                Vocabulary(sentence.glossary, documents[sentence.doc]),
                _generator(seed, 0, row, column),
            )
            for column, system in enumerate(systems)
        ]
        for row, sentence in enumerate(sentences)
    ]


def _translate(sentence: Sentence, system: System, vocabulary: Vocabulary, generator: np.random.Generator) -> Output:
    if not sentence.references:
        raise DataError(f"sentence {sentence.seg_id} has no reference, expected at least one")
    reference = sentence.references[int(generator.random() * len(sentence.references))]
    tokens = tokenise(reference)
    words = sum(token.is_word for token in tokens)
    if not words:
        raise DataError(f"sentence {sentence.seg_id} has a reference without a word: {reference!r}")
    for _ in range(_count(generator, words, system.rewording)):
        tokens = reword(tokens, vocabulary, generator) or tokens
    errors: list[str] = []
    difficulty = 2 * float(generator.random())
    for error in ERROR_TYPES:
        for _ in range(_count(generator, words, difficulty * system.rates.get(error.name, 0.0))):
            spoiled = error.apply(tokens, vocabulary, generator)
            # a sentence that was dropped to its last word has nothing left to lose
            if spoiled:
                tokens = spoiled
                errors.append(error.name)
    return Output(system.name, detokenise(tokens), tuple(errors), words)


def judge(output: Output, by: Judge, kind: str, generator: np.random.Generator) -> int:
    """Return the score from 1 to 5 that judge `by` gives `output` for `kind`, fluency or adequacy."""
    score = 5 - output.penalty(kind) + by.bias[kind] + by.noise * _normal(generator)
    return min(5, max(1, math.floor(score + 0.5)))


def simulate(
    sentences: Sequence[Sentence],
    systems: Sequence[System] = SYSTEMS,
    judges: Sequence[Judge] = JUDGES,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return the records of a judged corpus, one a source.

    Parameters
    ----------
    sentences : sequence of Sentence
        The sources.
    systems : sequence of System
        The simulated systems.
    judges : sequence of Judge
        The simulated judges.
    seed : int
        Seed, 0 or more; equal arguments give equal records.

    Returns
    -------
    list of dict
        Keys ``dataset``, ``year`` (None), ``lp``, ``doc``, ``seg_id``, ``source``, ``references`` and
        ``candidates``, a list of ``system``, ``text`` and ``human``: kind to judge to score from 1 to 5.

    Raises
    ------
    OptionError
        If `seed` is negative, or a profile names an error type that does not exist.
    DataError
        If a sentence has no reference, or one without a word.
    """
    records: list[dict[str, Any]] = []
    for row, (sentence, outputs) in enumerate(zip(sentences, translate(sentences, systems, seed), strict=True)):
        candidates: list[dict[str, Any]] = []
        for column, output in enumerate(outputs):
            generator = _generator(seed, 1, row, column)
            human = {kind: {by.name: judge(output, by, kind, generator) for by in judges} for kind in KINDS}
            candidates.append({"system": output.system, "text": output.text, "human": human})
        records.append(
            {
                "dataset": "sample",
                "year": None,
                "lp": "zh-en",
                "doc": sentence.doc,
                "seg_id": sentence.seg_id,
                "source": sentence.source,
                "references": list(sentence.references),
                "candidates": candidates,
            }
        )
    return records


def read_sentences(path: str | Path) -> list[Sentence]:
    """Read sources with their references and glossaries from JSON lines.

    Parameters
    ----------
    path : str or Path
        One object a line with the keys ``doc``, ``seg_id``, ``source``, ``references`` and ``glossary``;
        gzipped or plain, ``-`` for standard input.

    Raises
    ------
    DataError
        With the line that is not such an object.
    """
    name = files.display_name(path)
    sentences: list[Sentence] = []
    for number, line in enumerate(files.read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            sentences.append(_sentence(json.loads(line)))
        except json.JSONDecodeError as error:
            raise DataError(
                f"not JSON ({error.msg}), expected an object a line",
                file=name,
                line=number,
                column=error.colno,
            ) from None
        except DataError as error:
            raise DataError(error.what, file=name, line=number) from None
    return sentences


def _sentence(record: object) -> Sentence:
    if not isinstance(record, dict) or set(record) != set(_SENTENCE_TYPES):
        actual = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        raise DataError(f"found {actual}, expected an object with the keys {', '.join(_SENTENCE_TYPES)}")
    for key, expected in _SENTENCE_TYPES.items():
        if type(record[key]) is not expected:
            raise DataError(f"{key} is {json.dumps(record[key], ensure_ascii=False)}, expected {_JSON_NAMES[expected]}")
    for key, texts in (("references", record["references"]), ("glossary", record["glossary"].values())):
        if not all(isinstance(text, str) for text in texts):
            raise DataError(f"{key} holds something that is not a string, expected strings only")
    return Sentence(**{**record, "references": tuple(record["references"])})


def json_lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return `records` as UTF-8 JSON lines; equal records give equal bytes."""
    lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    return "".join(line + "\n" for line in lines).encode("utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after an error that it prints to standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m data.making.sample",
        description="Simulate systems and judges over sentences with references. The result is synthetic.",
    )
    parser.add_argument("sentences", help="JSON lines: doc, seg_id, source, references, glossary")
    parser.add_argument("out", help="where to write the JSON lines; gzipped if the name ends in .gz")
    parser.add_argument("--seed", type=int, default=0, help="seed, 0 or more (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        records = simulate(read_sentences(options.sentences), seed=options.seed)
        files.write_bytes(options.out, json_lines(records))
    except RankerError as error:
        print(f"ranker: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
