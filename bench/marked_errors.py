"""Errors that `ranker explain --spans` marks, beside those that people marked, by characters.

python -m bench.marked_errors          # tables in Markdown, on one half of the documents
python -m bench.marked_errors learn    # weights for word_weights.toml, from the other half
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bench.common import run_main, say, shared_records, table
from ranker import Ranker, from_records
from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.severity_weights import WEIGHTS
from ranker.evaluation.explanations.spans import CandidateWords, candidate_words
from ranker.evaluation.explanations.word_evidence import COLUMNS, FORM, OTHERS, REFERENCE, WordEvidence
from ranker.ranking.included import default_model

SOURCES = 100
"""Sources of each corpus, part and language pair, half of them to learn from."""
LEFT_OUT = "mtcarousel"
"""A system whose training data held the references."""
MINOR, MAJOR = 1, 2
SETS = {
    "both": (*REFERENCE, *OTHERS, *FORM),
    "references": (*REFERENCE, *FORM),
    "others": (*OTHERS, *FORM),
}
"""Evidence by which words are marked, where there is all, no other candidate, or no reference."""
RESAMPLED = 1000


@dataclass(frozen=True, eq=False)
class Output:
    """A judged output: the marks of its raters by character, its document, and whether it is to learn from."""

    part: str
    document: str
    learnt: bool
    row: int
    text: str
    people: list[FloatArray]


@dataclass(frozen=True, eq=False)
class Part:
    """The outputs of one language pair of a corpus."""

    outputs: list[Output]
    words: list[CandidateWords]

    @property
    def evidence(self) -> list[WordEvidence]:
        """Evidence against the words of every output."""
        return [words.evidence for words in self.words]


def read(corpus: str) -> Iterator[Part]:
    """Read samples of a corpus with its marks, a part for each name and language pair; documents in a random order."""
    marks: dict[tuple[str, object], dict[str, dict[str, Any]]] = {}
    for record in shared_records(f"{corpus}.spans"):
        marks[record["lp"], record["seg_id"]] = {each["system"]: each for each in record["candidates"]}
    groups: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in shared_records(corpus):
        if (record["lp"], record["seg_id"]) in marks and any(map(str.strip, record["references"])):
            groups[record["dataset"], record["lp"]][record["doc"]].append(record)
    for (name, lp), documents in sorted(groups.items()):
        chosen, left = [], [SOURCES // 2, SOURCES // 2]
        for document in sorted(documents, key=lambda document: zlib.crc32(document[::-1].encode())):
            half = zlib.crc32(document.encode()) % 2
            taken = documents[document][: left[half]]
            left[half] -= len(taken)
            chosen += taken
        records: list[dict[str, Any]] = []
        outputs: list[Output] = []
        for record in chosen:
            judged = marks[lp, record["seg_id"]]
            kept = [each for each in record["candidates"] if each["system"] != LEFT_OUT and each["text"].strip()]
            for each in kept:
                people = judged.get(each["system"], {"raters": []})
                if people["raters"] and people["text"] == each["text"]:
                    marked = [_marks(each["text"], people["errors"], rater) for rater in people["raters"]]
                    learnt = zlib.crc32(record["doc"].encode()) % 2 == 0
                    row = sum(len(done["candidates"]) for done in records) + kept.index(each)
                    outputs.append(Output(f"{name} {lp}", record["doc"], learnt, row, each["text"], marked))
            records.append(
                {
                    "lp": lp,
                    "seg_id": str(record["seg_id"]),
                    "source": record["source"],
                    "references": [text for text in record["references"] if text.strip()],
                    "candidates": [{"system": each["system"], "text": each["text"]} for each in kept],
                }
            )
        dataset = from_records(records)
        say(f"{name} {lp}: {len(records):,} sources, {len(outputs):,} outputs")
        wanted = np.isin(range(len(dataset)), [output.row for output in outputs])
        outputs.sort(key=lambda output: output.row)
        ranker = Ranker.load(default_model(dataset))
        matrix = ranker.votes.values(dataset, ranker.contributions)
        yield Part(outputs, [*candidate_words(ranker, dataset, matrix, wanted, ranker.votes)])


def _marks(text: str, errors: Sequence[Mapping[str, Any]], rater: str) -> FloatArray:
    """Severity of every character by one rater; what has no weight is no error."""
    marks = np.zeros(len(text))
    for error in errors:
        if error["rater"] == rater and error["start"] is not None and WEIGHTS[error["severity"]]:
            part = slice(error["start"], error["end"])
            marks[part] = np.maximum(marks[part], MINOR if error["severity"] == "minor" else MAJOR)
    return marks


def counts(marks: FloatArray, people: FloatArray) -> FloatArray:
    """Characters: matched with the same severity, matched, marked, marked by people, and of majors right and all."""
    both = (marks > 0) & (people > 0)
    major = marks == MAJOR
    same = both & (marks == people)
    return np.array([same.sum(), both.sum(), (marks > 0).sum(), (people > 0).sum(), (same & major).sum(), major.sum()])


def f1(sums: FloatArray, *, severity: bool = True) -> FloatArray:
    """Character F1 of summed `counts` (..., 6), with half credit for another severity."""
    matched = (sums[..., 0] + sums[..., 1]) / 2 if severity else sums[..., 1]
    marked = sums[..., 2] + sums[..., 3]
    return np.asarray(np.divide(2 * matched, marked, out=np.ones(marked.shape), where=marked > 0))


def unmatched(output: Output, evidence: WordEvidence) -> FloatArray:
    """Marks on all words that no reference has, by form or stem, and the spaces between them."""
    return _on_words(output.text, evidence, evidence.column("unmatched") > 0)


def _on_words(text: str, evidence: WordEvidence, chosen: BoolArray) -> FloatArray:
    marks = np.zeros(len(text))
    for at, (start, end) in enumerate(evidence.places):
        if chosen[at]:
            marks[start:end] = MAJOR
            if at and chosen[at - 1]:
                marks[evidence.places[at - 1][1] : start] = MAJOR
    return marks


def explained(part: Part, major: float | None = None) -> list[FloatArray]:
    """Marks of the included ranker for the language."""
    found = []
    for output, words in zip(part.outputs, part.words, strict=True):
        marks = np.zeros(len(output.text))
        for span in words.spans(major).spans:
            if span.start is not None and span.side == "target":
                marks[span.start : span.end] = MAJOR if span.severity == "major" else MINOR
        found.append(marks)
    return found


def learn(parts: Sequence[Part]) -> None:
    """Print the weights and cuts that the half to learn from gives."""
    chosen = [
        (output, evidence)
        for part in parts
        for output, evidence in zip(part.outputs, part.evidence, strict=True)
        if output.learnt and evidence.places and all(evidence.against)
    ]
    columns = np.concatenate([evidence.columns for _, evidence in chosen])
    marked = np.concatenate([_by_word(output, evidence) for output, evidence in chosen])
    _learn_sets(columns, marked)


def _by_word(output: Output, evidence: WordEvidence) -> FloatArray:
    """Characters that people marked and all characters of every word with what follows it, shape (words, 2)."""
    starts = [start for start, _ in evidence.places]
    flags = np.sum([marks > 0 for marks in output.people], axis=0).astype(np.float64)
    inside = np.array([*starts[1:], len(output.text)]) - starts
    return np.stack([np.add.reduceat(flags, starts), inside * len(output.people)], axis=1)


def _learn_sets(columns: FloatArray, marked: FloatArray) -> None:
    """Print the weights for each kind of evidence, and the cut from which words are best marked."""
    share, weight = marked[:, 0] / marked[:, 1], marked[:, 1] / marked[:, 1].sum()
    for name in SETS:
        used = [COLUMNS.index(column) for column in SETS[name]]
        some = columns[:, used]
        mean, scale = some.mean(axis=0), some.std(axis=0)
        inputs = np.column_stack([(some - mean) / scale, np.ones(len(some))])

        def loss(at: FloatArray, inputs: FloatArray = inputs) -> tuple[float, FloatArray]:
            score = inputs @ at
            penalty = 1e-4 * np.append(at[:-1], 0.0)
            value = weight @ (np.logaddexp(0, score) - share * score) + penalty @ at
            return float(value), inputs.T @ (weight * (1 / (1 + np.exp(-score)) - share)) + 2 * penalty

        # no evidence speaks for a word
        bounds = [(0, None)] * len(used) + [(None, None)]
        at = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
        lines = [f"{COLUMNS[column]} = {value:.3f}" for column, value in zip(used, at[:-1] / scale, strict=True)]
        probability = 1 / (1 + np.exp(-(inputs @ at)))

        def fit(least: float, probability: FloatArray = probability) -> float:
            flags = probability >= least
            return float(2 * marked[flags, 0].sum() / (marked[flags, 1].sum() + marked[:, 0].sum()))

        best = max(np.arange(0.05, 0.4, 0.01).tolist(), key=fit)
        say(f"{name}: F1 without severity {fit(best):.3f}")
        intercept = at[-1] - at[:-1] @ (mean / scale)
        print("\n".join(["", f"[{name}]", f"cut = {best:.2f}", f"intercept = {intercept:.3f}", *lines]))


def learn_major(parts: Sequence[Part]) -> None:
    """Print F1 on the half to learn from, by the cost from which spans are major."""
    for least in (0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.02, 0.05):
        sums = np.zeros(6)
        for part in parts:
            for output, marks in zip(part.outputs, explained(part, least), strict=True):
                sums += np.sum([counts(marks, each) for each in output.people if output.learnt], axis=0)
        print(f"major = {least}: F1 {f1(sums):.4f}, precision of major {sums[4] / sums[5]:.3f}")


def report(parts: Sequence[Part]) -> list[str]:
    """Tables of the half that nothing was learnt from."""
    methods: dict[str, Callable[[Part], list[FloatArray]]] = {
        "`explain --spans`": explained,
        "(a) words not in a reference": lambda part: [*map(unmatched, part.outputs, part.evidence)],
        "(c) everything": lambda part: [np.full(len(output.text), MAJOR) for output in part.outputs],
        "(c) nothing": lambda part: [np.zeros(len(output.text)) for output in part.outputs],
    }
    found: dict[tuple[str, str], list[tuple[str, FloatArray]]] = defaultdict(list)
    outputs: Counter[str] = Counter()
    for part in parts:
        say(f"measuring {part.outputs[0].part}")
        for output in part.outputs:
            if not output.learnt:
                pairs = permutations(output.people, 2)
                found["(b) another rater", output.part] += [(output.document, counts(*pair)) for pair in pairs]
                outputs[output.part] += 1
        for name, method in methods.items():
            for output, marks in zip(part.outputs, method(part), strict=True):
                if not output.learnt:
                    found[name, output.part] += [(output.document, counts(marks, each)) for each in output.people]
    names = [*[*methods][:2], "(b) another rater", *[*methods][2:]]
    wholes = {"mqm21": [name for name in outputs if name.startswith("mqm21")]}
    wholes["bio21"] = [name for name in outputs if name not in wholes["mqm21"]]
    lines = []
    for whole, chosen in wholes.items():
        size = f"{sum(outputs[name] for name in chosen):,} outputs"
        rows = [[name, *_figures([each for part in chosen for each in found[name, part]])] for name in names]
        lines += ["", f"{whole}, {size}:", "", *table(HEAD, [row for row in rows if row[1] != "-"])]
    head = ["part", "outputs", *names[:3], "ratio to (a)"]
    body = []
    for part_name, number in outputs.items():
        sums = [np.sum([each for _, each in found[name, part_name]], axis=0) for name in names[:3]]
        values = [f1(np.asarray(each)) if np.ndim(each) else np.array(np.nan) for each in sums]
        cells = ["-" if np.isnan(value) else f"{value:.3f}" for value in values]
        body.append([part_name, f"{number:,}", *cells, f"{values[0] / values[1]:.2f}"])
    ratios = [_ratio(found, names[:2], chosen) for chosen in wholes.values()]
    return [
        *lines,
        "",
        *table(head, body),
        "",
        *(f"{name}: {ratio}" for name, ratio in zip(wholes, ratios, strict=True)),
    ]


HEAD = ("marks", "F1", "F1 without severity", "precision", "recall", "mean F1 per output", "precision of major")


def _resampled(rows: Sequence[tuple[str, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Sums of counts, and of 1,000 samples of documents drawn with replacement."""
    documents: dict[str, FloatArray] = defaultdict(lambda: np.zeros(6))
    for document, each in rows:
        documents[document] = documents[document] + each
    sums = np.stack([documents[name] for name in sorted(documents)])
    drawn = np.random.default_rng(0).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLED)
    return sums.sum(axis=0), drawn @ sums


def _figures(rows: Sequence[tuple[str, FloatArray]]) -> list[str]:
    if not rows:
        return ["-"] * 6
    sums, samples = _resampled(rows)
    low, high = np.quantile(f1(samples), [0.025, 0.975])
    mean = np.mean([f1(each) for _, each in rows])
    shares = [part / whole if whole else np.nan for part, whole in (sums[[1, 2]], sums[[1, 3]])]
    major = sums[4] / sums[5] if sums[5] else np.nan
    values = [f1(sums, severity=False), *shares, mean, major]
    return [f"{f1(sums):.3f} [{low:.3f} {high:.3f}]", *("-" if np.isnan(value) else f"{value:.3f}" for value in values)]


def _ratio(
    found: Mapping[tuple[str, str], list[tuple[str, FloatArray]]], names: Sequence[str], parts: Sequence[str]
) -> str:
    (own, own_samples), (other, other_samples) = (
        _resampled([each for part in parts for each in found[name, part]]) for name in names
    )
    low, high = np.quantile(f1(own_samples) / f1(other_samples), [0.025, 0.975])
    return f"F1 is {f1(own) / f1(other):.2f} [{low:.2f} {high:.2f}] times that of (a)"


def main() -> int:
    """Print tables, or weights."""
    parts = [part for corpus in ("mqm21", "bio21-mqm") for part in read(corpus)]
    if sys.argv[1:] == ["learn"]:
        learn(parts)
    elif sys.argv[1:] == ["major"]:
        learn_major(parts)
    else:
        print("\n".join(report(parts)))
    return 0


if __name__ == "__main__":
    run_main(main)
