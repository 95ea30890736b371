"""Feeds damaged files of every format to the command line: `python bench/fuzz.py --inputs 20000 --seed 1`.

Sound files of every format are made from the bundled sample. Each input damages one of them, by a few random edits of
bytes, lines or values, and commands that read it are run. What every command must do: end with exit code 0, or refuse
with exit code 2 and one printable line that names the file; no traceback, no run of more than ten seconds, no more than
2 GB of memory, no score that is not a number. Whatever else happens is a finding. It is made smaller, and kept with the
command in the folder --out. Each input depends on the seed and its number only, so that --only repeats one.

Inputs are read by a process of their own, which is stopped when it takes too long, and is replaced after that. It has
one thread, since small inputs gain nothing by more.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import gzip
import io
import json
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

SECONDS = 10.0
MOST_BYTES = 2 << 30
LONGEST_LINE = 700
_SMALLER = 150
_PATIENCE = 12
_ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_SCORES = ["score", "IN", "-m", "bleu,chrf,ter", "-f", "json"]
_IS_LETTER = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])
_TOKENS = (
    *(b"\0", b"\x1b[2J", b"\r", b"\n", b"\t", b'"', b"'", b",", b";", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"|||"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\\u0000", b"\\ud800", b"\xe2\x80\xae", b"\xc2\xb2"),
    *(
        b"NaN",
        b"Infinity",
        b"-1",
        b"1e999",
        b"0",
        b"-0",
        b"9" * 400,
        b"999999999",
        b"2147483648",
        b"1.5",
        b"null",
        b"true",
    ),
    *(b"../../x", b"/etc/passwd", b"=1+1", b"[" * 2000, b"{" * 300, b"x" * 20_000, b"a b " * 3000, b"%s%n", b" "),
    *(b"&#0;", b"<!--", b"]]>", b"<!ENTITY a 'b'>", b"&a;", b"'''", b"\\", b"--", b"#", b"=", b"inf", b"nan"),
)


@dataclass(frozen=True)
class Format:
    """Sound files, the one to damage, and the commands that read it; ``IN`` is its path."""

    files: dict[str, bytes]
    target: str
    commands: tuple[list[str], ...] = (_SCORES, ["rank", "IN", "-m", "chrf", "-f", "jsonl"])
    read: str = ""
    """What ``IN`` is, if it is not the target: the folder that holds it."""
    signed: bool = False
    """Whether the target is a model file that is damaged in what it says, with valid digests."""


@dataclass
class Outcome:
    """What a command did with an input."""

    finding: str = ""
    detail: str = ""
    refused: bool = False
    words: list[str] = field(default_factory=list)


def formats(folder: Path) -> dict[str, Format]:
    """Make sound files of every format."""
    from ranker import Ranker, load_dataset
    from ranker.corpora.formats.reading import read_dataset
    from ranker.corpora.formats.writing import write_dataset

    folder.mkdir(parents=True, exist_ok=True)
    whole = load_dataset("sample")
    write_dataset(whole, folder / "whole.jsonl")
    first = (folder / "whole.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:3]
    (folder / "corpus.jsonl").write_text("".join(first), encoding="utf-8")
    few = read_dataset(folder / "corpus.jsonl")
    made: dict[str, Format] = {}
    for ending in ("json", "jsonl", "jsonl.gz", "csv", "tsv", "parquet"):
        write_dataset(few, folder / f"corpus.{ending}")
        name = f"corpus.{ending}"
        made[ending] = Format({name: (folder / name).read_bytes()}, name)
    records = json.loads(made["json"].files["corpus.json"])
    convert = ["data", "convert", "IN", "out.jsonl"]
    judged = ["evaluate", "--data", "IN", "-m", "bleu", "--resamples", "10", "-f", "json"]
    made["jsonl"] = Format(made["jsonl"].files, "corpus.jsonl", (_SCORES, convert, judged))
    pairs = "lp\tseg_id\tjudge\tsysA\tsysB\trelation\trankA\trankB\ttask\tprimary\n" + "".join(
        f"{one['lp']}\t{one['seg_id']}\t{judge}\tsys{n}\tsys{n + 1}\t{'><='[n % 3]}\t{n}\t{n + 1}\t{n}\t1\n"
        for one in records
        for n in range(1, 6)
        for judge in ("j1", "j2")
    )
    beside = {"corpus.jsonl": made["jsonl"].files["corpus.jsonl"], "corpus.pairs.tsv": pairs.encode()}
    unjudged = [{**one, "candidates": [{**each, "human": {}} for each in one["candidates"]]} for one in records]
    beside["corpus.jsonl"] = "".join(json.dumps(one) + "\n" for one in unjudged).encode()
    by_pairs = [word if word != "IN" else "corpus.jsonl" for word in judged]
    made["pairs"] = Format(
        beside, "corpus.pairs.tsv", (by_pairs, ["agreement", "--data", "corpus.jsonl", "-f", "json"])
    )
    texts = [f"{line}\n" for line in ("one two three", "four five", "six seven eight nine")]
    lines = {name: "".join(texts).encode() for name in ("src.txt", "ref.txt", "hyp.txt")}
    parallel = ["score", "-s", "src.txt", "-r", "ref.txt", "-t", "IN", "-m", "bleu,ter", "-f", "json"]
    made["parallel"] = Format(lines, "hyp.txt", (parallel,))
    rankings = (
        "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID\n"
        + "".join(
            f"Chinese,English,{one['seg_id']},{one['seg_id']},j1,sys{n},{n},sys{n + 1},{n + 1},{n}\n"
            for one in records
            for n in range(1, 6)
        )
    )
    add = ["data", "convert", "corpus.jsonl", "out.jsonl", "--judgements", "IN"]
    made["rankings"] = Format({**beside, "rr.csv": rankings.encode()}, "rr.csv", (add,))
    del beside
    mqm = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment\n" + "".join(
        f"S{n}\td\t1\t{seg}\tr1\tsource {seg}\tone <v>two</v> {n}\tAccuracy/Mistranslation\tMajor\tx\n"
        f"refA\td\t1\t{seg}\tr1\tsource {seg}\tone two\tNo-error\tNo-error\t\n"
        for seg in range(3)
        for n in range(1)
    )
    made["mqm"] = Format({"mqm.tsv": mqm.encode()}, "mqm.tsv")
    esa = {
        "doc_id": "en-de_DE_#_news_#_d1_#_0",
        "src_text": "one two",
        "tgt_text": {"refA": "eins zwei", "A": "eins", "B": "zwei"},
        "scores": {"A": {"human1": 80, "annotator1": "j1"}, "B": {"human1": 20.5, "annotator1": "j1", "human2": 3}},
    }
    made["wmt-esa"] = Format({"esa.jsonl": (json.dumps(esa) + "\n").encode()}, "esa.jsonl")
    mtme = {
        "set/sources/en-de.txt": b"one\ntwo\nthree\n",
        "set/references/en-de.refA.txt": b"eins\nzwei\ndrei\n",
        "set/system-outputs/en-de/S1.txt": b"ein\nzwo\ndrei\n",
        "set/system-outputs/en-de/S2.txt": b"eins\nzwo\n\n",
        "set/documents/en-de.docs": b"news d1\nnews d1\nsocial d2\n",
        "set/human-scores/en-de.wmt-z.seg.score": b"S1 0.25\nS1 None\nS1 1\nS2 1\nS2 2\nS2 -3\n",
    }
    for name in mtme:
        made[f"mtme:{name.split('/')[1]}"] = Format(mtme, name, read="set")
    for kind, test in (("sgml", _sgml()), ("xml", _xml())):
        made[kind] = Format({f"test.{kind}": test.encode()}, f"test.{kind}")
    made["manifest"] = Format(_manifest(), "ldc/manifest.toml", read="ldc")
    nbest = "".join(
        f"{n} ||| {words} ||| LM0= -{n}.5 TM0= 1 2 ||| -{k}.25\n"
        for n in range(3)
        for k, words in enumerate(("one two", "one three", "two"))
    )
    lists = {"dev.nbest": nbest.encode(), "dev.ref0": "".join(texts).encode(), "w.json": _weights().encode()}
    by_oracle = ["rerank", "dev.nbest", "--oracle", "bleu", "-r", "dev.ref0"]
    by_weights = ["rerank", "dev.nbest", "--weights", "w.json", "-f", "json"]
    made["nbest"] = Format(lists, "dev.nbest", (["nbest", "check", "dev.nbest"], by_oracle, by_weights))
    made["weights"] = Format(lists, "w.json", (by_weights,))
    given = "lp\tseg_id\tsystem\tscore\n" + "".join(
        f"{one['lp']}\t{one['seg_id']}\t{each['system']}\t{len(each['text']) / 7}\n"
        for one in records
        for each in one["candidates"]
    )
    by_given = ["score", "corpus.jsonl", "-m", "given[file=scores.tsv]", "-f", "json"]
    made["given"] = Format({**made["jsonl"].files, "scores.tsv": given.encode()}, "scores.tsv", (by_given,))
    made |= _models(folder, Ranker, whole)
    return made


def _models(folder: Path, ranker: type, whole: object) -> dict[str, Format]:
    candidates = [{"source": "x", "references": ["a b c"], "candidates": {"A": "a b", "B": "c a", "C": "d"}}]
    data = {"c.json": json.dumps(candidates).encode()}
    ranker("bleu1-4,paraphrase", C=0.01).fit(whole).save(folder / "x.model")
    ranker("bleu,paraphrase,combine[paraphrase.f - ter]", C=0.01).fit(whole).save(folder / "y.model")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _run(
            ["compare", "--data", "sample", "-m", "bleu", "-m", "chrf", "--resamples", "5", "-f", "json"],
            folder / "c.json",
        )
        for name in ("s", "t"):
            (folder / name).write_text("a b c\nb c d\na d\n" * 3)
        train = ["align", "train", "-s", str(folder / "s"), "-t", str(folder / "t"), "--model", str(folder / "x.align")]
        _run(train, None)
    plain = {"s": b"a b\nc d\n", "t": b"b a\nd\n"}
    rank = ["rank", "c.json", "--model", "IN", "-f", "jsonl"]
    score = ["score", "c.json", "--model", "IN", "-f", "json"]
    models = {name: (folder / name).read_bytes() for name in ("x.model", "y.model", "x.align")}
    aligned = ["align", "apply", "--model", "IN", "-s", "s", "-t", "t"]
    report = ["report", "--comparison", "IN", "--html", "out.html"]
    return {
        "model": Format({**data, "x.model": models["x.model"]}, "x.model", (rank,)),
        "signed model": Format({**data, "y.model": models["y.model"]}, "y.model", (rank, score), signed=True),
        "aligner": Format({**plain, "x.align": models["x.align"]}, "x.align", (aligned,)),
        "signed aligner": Format({**plain, "x.align": models["x.align"]}, "x.align", (aligned,), signed=True),
        "comparison": Format({"x.json": (folder / "c.json").read_bytes()}, "x.json", (report,)),
    }


def _sgml() -> str:
    def part(kind: str, tag: str, extra: str, lines: list[str]) -> str:
        segments = "".join(f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines, 1))
        head = f'<{kind} setid="t" srclang="German" trglang="English"{extra}>'
        return f'{head}\n<doc docid="d1" sysid="{tag}">\n{segments}</doc>\n</{kind}>\n'

    return (
        part("srcset", "source", "", ["Eins &amp; zwei", "Drei"])
        + part("refset", "ref", ' refid="A"', ["One &amp; two", "Three"])
        + part("tstset", "S1", ' sysid="S1"', ["One and two", "Tree"])
    )


def _xml() -> str:
    def seg(lines: list[str]) -> str:
        return "".join(f'<seg id="{n}">{line}</seg>' for n, line in enumerate(lines, 1))

    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<dataset id="t"><collection id="c"><doc origlang="de" id="d1">\n'
        f'<src lang="de"><p>{seg(["Eins", "Zwei"])}</p></src>\n'
        f'<ref lang="en" translator="A"><p>{seg(["One", "Two"])}</p></ref>\n'
        f'<hyp system="S1" language="en"><p>{seg(["On", "Two"])}</p></hyp>\n</doc></collection></dataset>\n'
    )


def _manifest() -> dict[str, bytes]:
    def document(kind: str, tag: str, lines: list[str]) -> bytes:
        segments = "".join(f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines, 1))
        return f'<{kind} setid="t"><doc docid="d1" sysid="{tag}">\n{segments}</doc></{kind}>\n'.encode()

    text = (
        'language_pair = "de-en"\n\n[source]\npath = "src.sgm"\n\n[references]\nR1 = "ref.sgm"\n\n'
        '[systems]\nencoding = "utf-8"\nundecodable = "replace"\nS1 = "s1.sgm"\n'
    )
    return {
        "ldc/manifest.toml": text.encode(),
        "ldc/src.sgm": document("srcset", "src", ["Eins", "Zwei"]),
        "ldc/ref.sgm": document("refset", "R1", ["One", "Two"]),
        "ldc/s1.sgm": document("tstset", "S1", ["On", "Two"]),
    }


def _weights() -> str:
    return json.dumps({"features": [{"name": "LM0", "weights": [0.5]}, {"name": "TM0", "weights": [0.2, 0.3]}]})


def damage(raw: bytes, choose: random.Random) -> bytes:
    """Return `raw` after one to four random edits; of zip files, often of a file inside."""
    if raw.startswith(b"PK") and choose.random() < 0.8:
        return _damage_zip(raw, choose)
    if raw.startswith(b"\x1f\x8b") and choose.random() < 0.7:
        return gzip.compress(damage(gzip.decompress(raw), choose), mtime=0)
    for _ in range(choose.choice((1, 1, 1, 2, 4))):
        raw = choose.choice(_EDITS)(raw, choose)
    return raw


def _damage_zip(raw: bytes, choose: random.Random) -> bytes:
    """Damage a file of a zip and, if it is a model, make its digests right again."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    name = choose.choice(sorted(files))
    files[name] = damage(files[name], choose)
    if "model.json" in files and choose.random() < 0.7:
        with contextlib.suppress(Exception):
            _sign(files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in files.items():
            archive.writestr(zipfile.ZipInfo(entry), content)
    return buffer.getvalue()


def _sign(files: dict[str, bytes]) -> None:
    from ranker.storage import model_files

    document = json.loads(files["model.json"])
    arrays = {}
    for name in document["arrays"]:
        with np.load(io.BytesIO(files[name]), allow_pickle=False) as found:
            arrays[name] = {key: model_files.array_digest(key, found[key]) for key in sorted(found)}
    body = {"model": document["model"], "arrays": arrays}
    files["model.json"] = json.dumps({**document, **body, "digest": model_files._digest(body)}).encode()


def _flip(raw: bytes, choose: random.Random) -> bytes:
    if not raw:
        return raw
    at = choose.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ 1 << choose.randrange(8)]) + raw[at + 1 :]


def _insert(raw: bytes, choose: random.Random) -> bytes:
    at = choose.randint(0, len(raw))
    return raw[:at] + choose.choice(_TOKENS) + raw[at:]


def _replace_value(raw: bytes, choose: random.Random) -> bytes:
    found = list(re.finditer(rb'-?\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*', raw))
    if not found:
        return _insert(raw, choose)
    one = choose.choice(found)
    return raw[: one.start()] + choose.choice(_TOKENS) + raw[one.end() :]


def _letter(raw: bytes, choose: random.Random) -> bytes:
    # of a large file there are too many for a match each
    places = np.flatnonzero(_IS_LETTER[np.frombuffer(raw, dtype=np.uint8)])
    if not len(places):
        return raw
    at = int(choose.choice(places))
    return raw[:at] + choose.choice((b"a", b"Z", b"7", b"0", b" ", b".")) + raw[at + 1 :]


def _cut(raw: bytes, choose: random.Random) -> bytes:
    return raw[: choose.randint(0, len(raw))]


def _remove(raw: bytes, choose: random.Random) -> bytes:
    at = choose.randint(0, len(raw))
    return raw[:at] + raw[at + choose.choice((1, 2, 10, 100)) :]


def _repeat(raw: bytes, choose: random.Random) -> bytes:
    at = choose.randint(0, len(raw))
    part = raw[at : at + choose.choice((1, 5, 50, 500))]
    return raw[:at] + part * choose.choice((2, 3, 50)) + raw[at + len(part) :]


def _lines(raw: bytes, choose: random.Random) -> bytes:
    lines = raw.split(b"\n")
    first, second = choose.randrange(len(lines)), choose.randrange(len(lines))
    if choose.random() < 0.5:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines.insert(first, lines[second])
    return b"\n".join(lines)


def _swap_values(raw: bytes, choose: random.Random) -> bytes:
    found = list(re.finditer(rb'-?\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"', raw))
    if len(found) < 2:
        return _flip(raw, choose)
    one, other = sorted(choose.sample(found, 2), key=lambda each: each.start())
    return raw[: one.start()] + other[0] + raw[one.end() : other.start()] + one[0] + raw[other.end() :]


_EDITS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(
        _letter,
        _letter,
        _flip,
        _insert,
        _insert,
        _replace_value,
        _replace_value,
        _cut,
        _remove,
        _repeat,
        _lines,
        _swap_values,
    ),
)


def _run(words: list[str], out: Path | None) -> tuple[int, str, str]:
    """Run a command in this process; return exit code, output and messages."""
    from ranker.cli.main import run

    stdout, stderr = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            run(words)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    if out is not None:
        out.write_text(stdout.getvalue(), encoding="utf-8")
    return code, stdout.getvalue(), stderr.getvalue()


def check(form: Format, raw: bytes, folder: Path) -> Outcome:
    """Write the files of a format, the target as `raw`, run its commands, and return the first finding."""
    for name, content in form.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # some file systems wait for the disk when a file is cut to nothing and written again
        path.unlink(missing_ok=True)
        path.write_bytes(raw if name == form.target else content)
    refused, said = False, ""
    before = _forget_peak()
    for command in form.commands:
        words = [(form.read or form.target) if word == "IN" else word for word in command]
        for left in folder.glob("out*"):
            left.unlink()
        try:
            code, printed, messages = _run(words, None)
        except BaseException:  # anything that is no answer is a finding
            frames = traceback.format_exc()
            last = [line.strip() for line in frames.splitlines() if line.strip().startswith("File")][-1]
            return Outcome(f"traceback: {frames.splitlines()[-1][:60]} {last[-80:]}", frames, words=words)
        refused |= code == 2
        said += messages[-500:] if code else ""
        finding = _problem(form, words, code, printed, messages)
        if finding:
            return Outcome(finding, messages[-2000:], words=words)
        if _peak() - before > MOST_BYTES:
            return Outcome("memory above 2 GB", messages[-2000:], words=words)
    return Outcome(detail=said, refused=refused)


def _forget_peak() -> int:
    """Return what this process holds now, in bytes; what ran in it earlier is not the fault of the next input."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Return the most memory that this process held, in bytes; Linux can forget earlier peaks, other systems can't."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _problem(form: Format, words: list[str], code: int, printed: str, messages: str) -> str:
    lines = messages.splitlines()
    if code not in (0, 2):
        return f"exit code {code}"
    for line in lines:
        if not line.isprintable():
            return "a message that is not printable"
        if len(line) > LONGEST_LINE:
            return "a message that is too long"
    errors = [line for line in lines if line.startswith("ranker: error:")]
    if code == 2:
        if len(errors) != 1 or lines[-1:] != errors:
            return "not refused in one line"
        stem = Path(form.target).name.partition(".")[0]
        if stem not in errors[0] and (form.read or stem) not in errors[0]:
            return "a refusal without the file"
    elif errors:
        return "exit code 0 with an error"
    if code == 0 and words[0] == "score":
        rows = json.loads(printed)["rows"]
        if any(row[key] is None or not math.isfinite(row[key]) for row in rows for key in list(row)[3:]):
            return "a score that is no number"
    if code == 0 and words[0] == "rank" and re.search(r'"score": ?(null|NaN)', printed):
        return "a score that is no number"
    return ""


def smaller(form: Format, raw: bytes, finding: str, folder: Path) -> bytes:
    """Return a smaller input with the same finding, by leaving parts out."""
    size, tries = max(len(raw) // 2, 1), 0
    while size and tries < _SMALLER:
        start = 0
        while start < len(raw) and tries < _SMALLER:
            tries += 1
            shorter = raw[:start] + raw[start + size :]
            if check(form, shorter, folder).finding == finding:
                raw = shorter
            else:
                start += size
        size //= 2
    return raw


def input_of(form: Format, name: str, seed: int, number: int) -> bytes:
    """Return input `number` of a format."""
    from bench import signed_models

    return (signed_models.damage if form.signed else damage)(
        form.files[form.target], random.Random(f"{seed} {name} {number}")
    )


def _work(pipe: Connection, made: dict[str, Format], seed: int) -> None:
    """Answer requests (format, number, whether to make it smaller) until the pipe is closed."""
    from ranker.corpora import catalogue

    # the same for all inputs, and read anew by every command
    catalogue.cards = functools.cache(catalogue.cards)  # type: ignore[misc]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.chdir(folder)
    os.environ["RANKER_CACHE"] = str(folder / "cache")
    warned = sys.stderr
    for form in made.values():
        sound = check(form, form.files[form.target], folder)
        if sound.finding or sound.refused:
            print(f"the sound file {form.target}: {sound.finding or 'refused'}\n{sound.detail}", file=warned)
    pipe.send("ready")
    try:
        while True:
            name, number, reduce = pipe.recv()
            raw = input_of(made[name], name, seed, number)
            found = check(made[name], raw, folder)
            if found.finding and reduce and not found.finding.startswith("memory"):
                raw = smaller(made[name], raw, found.finding, folder)
            pipe.send((found, raw if found.finding else b""))
    except EOFError:
        shutil.rmtree(folder, ignore_errors=True)


class Worker:
    """The process that reads inputs; it is replaced when it hangs or dies."""

    def __init__(self, made: dict[str, Format], seed: int) -> None:
        self.made, self.seed = made, seed
        self.start()

    def start(self) -> None:
        """Start a process and wait until it has read all sound files."""
        os.environ.update(_ONE_THREAD)
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, self.made, self.seed), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.recv() == "ready"

    def ask(self, name: str, number: int, *, reduce: bool) -> tuple[Outcome, bytes]:
        """Return what became of an input; one that takes too long, or ends the process, is a finding."""
        try:
            self.pipe.send((name, number, reduce))
            if self._answers(SECONDS * (_SMALLER if reduce else 1)):
                answer: tuple[Outcome, bytes] = self.pipe.recv()
                return answer
            finding = f"more than {SECONDS:.0f} seconds"
        except (EOFError, OSError):
            finding = "the process died"
        self.process.kill()
        self.process.join()
        self.start()
        return Outcome(finding), input_of(self.made[name], name, self.seed, number)

    def _answers(self, seconds: float) -> bool:
        """Wait for an answer: so long, or on a busy machine longer, until the process has worked so long."""
        before = self._worked()
        for _ in range(_PATIENCE):
            if self.pipe.poll(seconds):
                return True
            if not self._worked() - before < seconds / 2:
                return False
        return False

    def _worked(self) -> float:
        """Return the seconds of processor time of the process; NaN where the system does not say them."""
        try:
            spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:
            return math.nan
        return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


def findings(
    made: dict[str, Format], seed: int, numbers: range, out: Path | None
) -> Iterator[tuple[str, int, Outcome]]:
    """Feed inputs to the commands; yield format, number and outcome of each."""
    worker = Worker(made, seed)
    names, seen = sorted(made), set()
    for number in numbers:
        name = names[number % len(names)]
        found, raw = worker.ask(name, number, reduce=False)
        signature = re.sub(r"\d+", "0", f"{name} {found.finding}")
        if found.finding and out is not None and signature not in seen:
            seen.add(signature)
            if not found.finding.startswith(("more than", "the process", "memory")):
                _, raw = worker.ask(name, number, reduce=True)
            out.mkdir(parents=True, exist_ok=True)
            kept = out / f"{seed}-{number}-{made[name].target.replace('/', '_')}"
            kept.write_bytes(raw)
            kept.with_name(kept.name + ".txt").write_text(f"{found.finding}\n{found.words}\n{found.detail}\n")
        yield name, number, found
    worker.pipe.close()
    worker.process.join(10)


def main() -> None:
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", help="formats, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = formats(Path(folder))
    if options.only:
        made = {name: made[name] for name in options.only.split(",")}
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for name, number, found in findings(
        made, options.seed, range(options.first, options.first + options.inputs), options.out
    ):
        counts[name, "refused" if found.refused else "finding" if found.finding else "read"] += 1
        if found.finding:
            print(f"{name} {number}: {found.finding}", flush=True)
    print("\n| format | inputs | read | refused | findings |\n|---|---|---|---|---|")
    for name in sorted(made):
        read, refused, bad = (counts[name, what] for what in ("read", "refused", "finding"))
        print(f"| {name} | {read + refused + bad:,} | {read:,} | {refused:,} | {bad:,} |")
    raise SystemExit(any(what == "finding" for _, what in counts))


if __name__ == "__main__":
    main()
