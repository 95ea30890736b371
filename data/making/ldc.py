"""Makes corpora in the shape of ``acl05`` and ``mtc03``, of which the originals are licensed and cannot ship.

``python -m data.making.ldc SENTENCES FOLDER --like acl05 [--seed 0]`` simulates systems and judges as
`data.making.sample` does and writes what they made as the LDC delivers it: a folder of SGML stories for the
source, for each reference and for each system, an assessment table, and the manifest that describes all this. Beside
the texts it simulates what makes such corpora hard to read: three encodings, segments that a system lost or left empty,
a reference with a hole, missing scores, ids in another case, a third judge for some sources only. The result is
synthetic and proves nothing about quality.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.making import sample as simulation
from ranker import files
from ranker.corpora.documents import sgml
from ranker.corpora.documents.manifest_schema import FILE_NAME
from ranker.corpora.records import Candidate, Record
from ranker.errors import DataError, RankerError

LANGUAGE_PAIR = "zh-en"
_THIRD_JUDGE = simulation.Judge("judge3", {"fluency": 0.0, "adequacy": -0.2}, 1.2)
_REFERENCES = ("E01", "E02", "E03", "E04")
_SYSTEMS = ("E05", "E06", "E07", "E08", "E09", "E10", "E11")
_NO_SCORE = "-1"


@dataclass(frozen=True)
class Shape:
    """How a simulated corpus differs from another.

    Parameters
    ----------
    even : bool
        It has the documents of even numbers, else those of odd ones, so that two shapes share no source.
    assessed : tuple of str
        The systems that were judged.
    windows : bool
        Lines end as on Windows, tags are lower case with unquoted attributes, the assessments are CSV with a title line
        and documents in upper case, and the manifest names every encoding. Else the assessments are tab-separated and
        the encodings are left to be found out.
    """

    even: bool
    assessed: tuple[str, ...]
    windows: bool


SHAPES = {
    "acl05": Shape(even=False, assessed=_SYSTEMS, windows=False),
    "mtc03": Shape(even=True, assessed=("E05", "E08", "E11"), windows=True),
}


def simulate_ldc(sentences: Sequence[simulation.Sentence], like: str, seed: int = 0) -> list[Record]:
    """Return what a reader should make of the corpus that `write_ldc` writes of it.

    Parameters
    ----------
    sentences : sequence of Sentence
        The sources; half of their documents are used. Every one needs four references.
    like : str
        One of `SHAPES`.
    seed : int
        Seed, 0 or more; equal arguments give equal records.

    Raises
    ------
    DataError
        If a sentence has another number of references.
    """
    shape = SHAPES[like]
    documents = list(dict.fromkeys(sentence.doc for sentence in sentences))[1 if shape.even else 0 :: 2]
    chosen = [sentence for sentence in sentences if sentence.doc in documents]
    judges = (*simulation.JUDGES, _THIRD_JUDGE)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, 2, int(shape.even)))))
    records = []
    numbers = dict.fromkeys(documents, 0)
    for example in simulation.simulate(chosen, judges=judges, seed=seed):
        if len(example["references"]) != len(_REFERENCES):
            count = len(example["references"])
            raise DataError(f"sentence {example['seg_id']} has {count} references, expected {len(_REFERENCES)}")
        numbers[example["doc"]] += 1
        record = Record(example["source"], [], [], lp=LANGUAGE_PAIR, doc=example["doc"], reference_names=[])
        record.seg_id = f"{example['doc']}:{numbers[example['doc']]}"
        for name, text in zip(_REFERENCES, example["references"], strict=True):
            if _happens(generator, 0.01):
                continue
            record.reference_names = [*(record.reference_names or []), name]
            # as typesetters write it, which CP1252 has and ASCII has not
            record.references.append(text.replace("'", "\u2019"))
        third = _happens(generator, 0.3)
        for name, output in zip(_SYSTEMS, example["candidates"], strict=True):
            fate = float(generator.random())
            if fate < 0.01:
                continue
            candidate = Candidate(name, "" if fate > 0.99 else output["text"])
            if name in shape.assessed:
                candidate.ratings = [
                    (kind, judge, float(score))
                    for kind, scores in output["human"].items()
                    for judge, score in scores.items()
                    if (third or judge != _THIRD_JUDGE.name) and not _happens(generator, 0.01)
                ]
            record.candidates.append(candidate)
        records.append(record)
    return records


def _happens(generator: np.random.Generator, probability: float) -> bool:
    return float(generator.random()) < probability


def write_ldc(records: Sequence[Record], folder: str | Path, like: str) -> None:
    """Write `records`, as `simulate_ldc` returns them, in the shape `like` into `folder`, which is made.

    Raises
    ------
    DataError
        If the folder exists and holds something, or cannot be written to.
    """
    folder, shape = Path(folder), SHAPES[like]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError("is not empty; choose another folder", file=files.display_name(folder))
        _write_stories(records, folder / "source", None, shape)
        for name in (*_REFERENCES, *_SYSTEMS):
            _write_stories(records, folder / "translation" / name, name, shape)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise DataError(what, file=files.display_name(error.filename or folder)) from None
    files.write_bytes(folder / "assessment.txt", _assessments(records, shape))
    files.write_bytes(folder / FILE_NAME, _manifest(shape).encode())


def _text(record: Record, name: str | None) -> str | None:
    """Return the source (None), or what a reference or a system has for it, or None."""
    if name is None:
        return record.source
    texts = dict(zip(record.reference_names or (), record.references, strict=True))
    texts.update((candidate.system, candidate.text) for candidate in record.candidates)
    return texts.get(name)


def _write_stories(records: Sequence[Record], folder: Path, name: str | None, shape: Shape) -> None:
    folder.mkdir(parents=True)
    encoding = "cp1252" if name in _REFERENCES else "gb2312"
    for doc in dict.fromkeys(record.doc or "" for record in records):
        segments = tuple(
            sgml.Segment((record.seg_id or "").rpartition(":")[2], text, 0)
            for record in records
            if record.doc == doc and (text := _text(record, name)) is not None
        )
        story = format_document(sgml.Document(doc, segments, name))
        if shape.windows:
            tag = re.compile("</?(?:DOC|seg)[^>]*>")
            story = tag.sub(lambda match: match[0].lower().replace('"', ""), story).replace("\n", "\r\n")
        files.write_bytes(folder / f"{doc}.sgm", story.encode(encoding))


def format_document(document: sgml.Document) -> str:
    """Write a document as `sgml.parse_documents` reads it, its first segment as the headline."""
    sysid = f" sysid={_quoted(document.sysid)}" if document.sysid else ""
    lines = [f"<DOC docid={_quoted(document.docid)}{sysid}>"]
    for index, segment in enumerate(document.segments):
        around = "hl" if index == 0 else "p"
        # in the LDC's stories blanks set the text off from the tags
        body = f"<seg id={_quoted(segment.id)}> {html.escape(segment.text, quote=False)} </seg>"
        lines += [f"<{around}>", body, f"</{around}>"]
    return "\n".join([*lines, "</DOC>", ""])


def _quoted(value: str) -> str:
    return f'"{html.escape(value)}"'


def _assessments(records: Sequence[Record], shape: Shape) -> bytes:
    """Return the assessment table: a row a judge and output, ordered by judge."""
    rows: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for record in records:
        doc, _, segment = (record.seg_id or "").rpartition(":")
        for candidate in record.candidates:
            for kind, judge, score in candidate.ratings:
                rows.setdefault((judge or "", candidate.system, doc, segment), {})[kind] = score
    lines = []
    for (judge, system, doc, segment), scores in sorted(rows.items()):
        fluency, adequacy = (f"{scores[kind]:g}" if kind in scores else _NO_SCORE for kind in ("fluency", "adequacy"))
        if shape.windows:
            lines.append(",".join((judge, f'"{doc.upper()}"', segment, system.lower(), adequacy, fluency, "")))
        else:
            lines.append("\t".join((judge, system, doc, segment, fluency, adequacy)))
    if shape.windows:
        lines.insert(0, "Judge,Document,Segment,System,Adequacy,Fluency,Remark")
    end = "\r\n" if shape.windows else "\n"
    return "".join(line + end for line in lines).encode("ascii")


def _manifest(shape: Shape) -> str:
    encoding = '"gb2312"' if shape.windows else None
    assessment = (
        [
            'delimiter = ","',
            "columns = { judge = 'Judge', doc = 'Document', segment = 'Segment', system = 'System',"
            " fluency = 'Fluency', adequacy = 'Adequacy' }",
        ]
        if shape.windows
        else ['delimiter = "tab"', 'columns = ["judge", "system", "doc", "segment", "fluency", "adequacy"]']
    )
    lines = [
        f'language_pair = "{LANGUAGE_PAIR}"',
        "",
        "[source]",
        'path = "source"',
        *([f"encoding = {encoding}"] if encoding else []),
        "",
        "[references]",
        *(['encoding = "cp1252"'] if encoding else []),
        *(f'{name} = "translation/{name}/*.sgm"' for name in _REFERENCES),
        "",
        "[systems]",
        *([f"encoding = {encoding}"] if encoding else []),
        *(f'{name} = "translation/{name}"' for name in _SYSTEMS),
        "",
        "[assessment]",
        'path = "assessment.txt"',
        *assessment,
        "scale = [1, 5]",
        f'missing = ["{_NO_SCORE}"]',
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after an error that it prints to standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m data.making.ldc",
        description="Simulate a corpus in the shape of a licensed one. The result is synthetic.",
    )
    parser.add_argument("sentences", help="JSON lines: doc, seg_id, source, references, glossary")
    parser.add_argument("folder", help="folder to make, such as acl05 in $RANKER_DATA")
    parser.add_argument("--like", choices=sorted(SHAPES), default="acl05", help="shape (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed, 0 or more (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        records = simulate_ldc(simulation.read_sentences(options.sentences), options.like, options.seed)
        write_ldc(records, options.folder, options.like)
    except RankerError as error:
        print(f"ranker: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
