"""Speed of the n-gram language model beside KenLM, on WMT's references and outputs: ``python bench/ngram_lm.py``.

With ``--model FILE``, an ARPA or KenLM binary file, it times ``perp[model=FILE]`` beside a loop over ``kenlm`` instead.
With ``--train MB`` it prints time and peak memory of ``ranker lm train`` on so much text, those sentences repeated.

Prints the time and the peak memory of estimating a model and writing it, and the sentences a second that our scorer,
the leave-one-source-out scorer and the ``kenlm`` package score, in one run on the same sentences. If ``lmplz`` is on
PATH it is timed too, and every number of its ARPA file compared with ours. Needs the shared data (``RANKER_SHARED``).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kenlm
import numpy as np

from ranker.extractors.text.tokens import tokenise
from ranker.learning.lm import kenlm_files
from ranker.learning.lm.arpa import write_arpa
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.kneser_ney import estimate, log10_scores
from ranker.learning.lm.leave_out import leave_out_scores

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))
TOKEN = re.compile(r"\w+|[^\w\s]")


def read_sentences(limit: int) -> tuple[list[list[str]], list[int]]:
    """Return tokenised references and outputs of WMT 2012-2015, and the number of the source of each."""
    sentences: list[list[str]] = []
    sources: list[int] = []
    for year in range(12, 16):
        with gzip.open(SHARED / "data" / f"wmt{year}-rr.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                texts = record["references"] + [candidate["text"] for candidate in record["candidates"]]
                source = sources[-1] + 1 if sources else 0
                for text in texts:
                    sentences.append(TOKEN.findall(text.lower()))
                    sources.append(source)
                    if len(sentences) == limit:
                        return sentences, sources
    return sentences, sources


def peak_memory() -> float:
    """Return the peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_arpa(path: Path) -> dict[str, tuple[float, float]]:
    """Return the log10 probability and back-off of every n-gram of an ARPA file."""
    entries = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        fields = line.split("\t")
        if len(fields) > 1:
            entries[fields[1]] = float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0
    return entries


def compare_with_lmplz(program: str, text: str, order: int, ours: Path, directory: Path, seconds: float) -> None:
    """Time ``lmplz`` on the same text and print the largest difference between the two ARPA files."""
    theirs = directory / "lmplz.arpa"
    start = time.perf_counter()
    with theirs.open("wb") as stream:
        subprocess.run(
            [program, "-o", str(order), "-S", "1G", "-T", str(directory), "--discount_fallback"],
            input=text.encode(),
            stdout=stream,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    their_seconds = time.perf_counter() - start
    print(f"lmplz      {their_seconds:8.2f} s (its time / ours: {their_seconds / seconds:.2f})")
    expected, result = read_arpa(theirs), read_arpa(ours)
    worst = max(np.abs(np.subtract(expected[ngram], result[ngram])).max() for ngram in expected)
    print(f"           same n-grams: {expected.keys() == result.keys()}, largest difference {worst:.1e}")


def time_model_file(path: str, sentences: list[list[str]], repeats: int = 3) -> None:
    """Print the sentences a second of ``perp[model=FILE]`` and of a loop over ``kenlm``, alternately."""
    texts = [" ".join(sentence) for sentence in sentences]
    config = kenlm.Config()
    config.show_progress = False
    plain = kenlm.Model(path, config)
    ours = kenlm_files.load(path)
    distinct = list(dict.fromkeys(texts))
    for _ in range(repeats):
        start = time.perf_counter()
        expected = np.array([-np.log(10) * plain.score(text) / (len(text.split()) + 1) for text in texts])
        looped = time.perf_counter()
        segments = tokenise(distinct, "none")
        tokenised = time.perf_counter()
        scores = ours.scores(segments.vocabulary, segments.values, segments.offsets, matched=False).log_perplexity
        scored = time.perf_counter()
        rates = [len(texts) / seconds for seconds in (looped - start, scored - looped, scored - tokenised)]
        print("sentences/s: loop over kenlm {:,.0f}, perp {:,.0f} ({:,.0f} without tokenising)".format(*rates))
    number = {text: row for row, text in enumerate(distinct)}
    apart = np.abs(scores[[number[text] for text in texts]] - expected).max()
    print(f"{len(texts):,} sentences, {len(distinct):,} distinct; largest difference {apart:.1e}")


def time_training(sentences: list[list[str]], megabytes: int, order: int) -> None:
    """Print time and peak memory of training on a file, in a process of its own."""
    measured = "import sys\nfrom ranker.cli.main import run\ntry: run(sys.argv[1:])\n"
    measured += "finally: print(*(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    with tempfile.TemporaryDirectory() as directory:
        text, model = Path(directory) / "text", Path(directory) / "model.arpa"
        lines = [" ".join(sentence).encode() + b"\n" for sentence in sentences]
        with text.open("wb") as stream:
            while stream.tell() < megabytes * 1_000_000:
                stream.writelines(lines)
        command = [sys.executable, "-c", measured, "lm", "train", "--text", text, "--tokenizer", "none"]
        start = time.perf_counter()
        subprocess.run([*command, "--order", str(order), "--output", model], check=True)
        seconds = time.perf_counter() - start
        print(f"{text.stat().st_size / 1e6:.0f} MB of text: {seconds:.0f} s; peak memory above")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--model")
    parser.add_argument("--train", type=int, metavar="MB")
    arguments = parser.parse_args()

    sentences, sources = read_sentences(arguments.sentences)
    if arguments.model:
        time_model_file(arguments.model, sentences)
        return
    if arguments.train:
        time_training(sentences, arguments.train, arguments.order)
        return
    vocabulary: dict[str, int] = {}
    values = np.array([vocabulary.setdefault(word, len(vocabulary)) for s in sentences for word in s], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])])
    print(f"{len(sentences):,} sentences, {len(values):,} tokens, {len(vocabulary):,} words, order {arguments.order}")
    before = peak_memory()

    start = time.perf_counter()
    counts = count_ngrams(values, offsets, arguments.order)
    counted = time.perf_counter()
    model = estimate(counts)
    estimated = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ranker.arpa"
        grown = peak_memory() - before
        write_arpa(model, list(vocabulary), path)
        written = time.perf_counter()
        ngrams = len(model.trie.word) - 1
        print(f"count      {counted - start:8.2f} s")
        print(f"estimate   {estimated - counted:8.2f} s   {ngrams:,} n-grams, peak +{grown:.0f} MB")
        print(f"write ARPA {written - estimated:8.2f} s   peak +{peak_memory() - before:.0f} MB")
        print(f"all        {written - start:8.2f} s")
        if program := shutil.which("lmplz"):
            text = "".join(" ".join(sentence) + "\n" for sentence in sentences)
            compare_with_lmplz(program, text, arguments.order, path, Path(directory), written - start)
        start = time.perf_counter()
        reader = kenlm.Model(str(path))
        print(f"kenlm load {time.perf_counter() - start:8.2f} s")

    log10_scores(model, values[: offsets[1]], offsets[:2])  # compiles
    leave_out_scores(counts, model.discounts, sources, values[: offsets[1]], offsets[:2], sources[:1])
    lines = [" ".join(sentence) for sentence in sentences]
    start = time.perf_counter()
    theirs = np.array([reader.score(line) for line in lines])
    kenlm_seconds = time.perf_counter() - start
    start = time.perf_counter()
    ours = log10_scores(model, values, offsets)
    our_seconds = time.perf_counter() - start
    start = time.perf_counter()
    left_out = leave_out_scores(counts, model.discounts, sources, values, offsets, sources)
    leave_out_seconds = time.perf_counter() - start
    for name, seconds in (("kenlm", kenlm_seconds), ("ours", our_seconds), ("leave out", leave_out_seconds)):
        rate = len(sentences) / seconds
        print(f"score with {name:<10}{rate:12,.0f} sentences/s   {kenlm_seconds / seconds:8.2f} x kenlm")
    apart = np.abs(theirs - ours.log10_prob) / (ours.tokens + 1)
    print(f"largest difference a token from kenlm {apart.max():.1e}")
    print(f"mean log perplexity {ours.log_perplexity.mean():.4f}, leaving out {left_out.log_perplexity.mean():.4f}")


if __name__ == "__main__":
    main()
