"""Sound files of every format that commands read, made from the bundled sample, and the commands."""

from __future__ import annotations

import contextlib
import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import signed_models
from bench.fuzzing import damaging
from bench.processes import captured

_PARTS = ("noun", "verb", "adj", "adv")
_SCORES = ["score", "IN", "-m", "bleu,chrf,ter", "-f", "json"]


@dataclass(frozen=True)
class Format:
    """Sound files, the one to damage, and the commands that read it; ``IN`` is its path."""

    files: dict[str, bytes]
    target: str
    commands: tuple[list[str], ...] = (_SCORES, ["rank", "IN", "-m", "chrf", "-f", "jsonl"])
    read: str = ""
    """What ``IN`` is, if it is not the target: the folder that holds it."""
    damage: Callable[[bytes, random.Random], bytes] = damaging.damage
    around: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    """What the commands run in."""


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
    by_name: dict[str, Format] = {}
    for ending in ("json", "jsonl", "jsonl.gz", "csv", "tsv", "parquet"):
        write_dataset(few, folder / f"corpus.{ending}")
        name = f"corpus.{ending}"
        by_name[ending] = Format({name: (folder / name).read_bytes()}, name)
    records = json.loads(by_name["json"].files["corpus.json"])
    convert = ["data", "convert", "IN", "out.jsonl"]
    judged = ["evaluate", "--data", "IN", "-m", "bleu", "--resamples", "10", "-f", "json"]
    by_name["jsonl"] = Format(by_name["jsonl"].files, "corpus.jsonl", (_SCORES, convert, judged))
    pairs = "lp\tseg_id\tjudge\tsysA\tsysB\trelation\trankA\trankB\ttask\tprimary\n" + "".join(
        f"{record['lp']}\t{record['seg_id']}\t{judge}\tsys{n}\tsys{n + 1}\t{'><='[n % 3]}\t{n}\t{n + 1}\t{n}\t1\n"
        for record in records
        for n in range(1, 6)
        for judge in ("j1", "j2")
    )
    beside = {"corpus.jsonl": by_name["jsonl"].files["corpus.jsonl"], "corpus.pairs.tsv": pairs.encode()}
    unjudged = [
        {**record, "candidates": [{**each, "human": {}} for each in record["candidates"]]} for record in records
    ]
    beside["corpus.jsonl"] = "".join(json.dumps(record) + "\n" for record in unjudged).encode()
    by_pairs = [word if word != "IN" else "corpus.jsonl" for word in judged]
    by_name["pairs"] = Format(
        beside, "corpus.pairs.tsv", (by_pairs, ["agreement", "--data", "corpus.jsonl", "-f", "json"])
    )
    texts = [f"{line}\n" for line in ("one two three", "four five", "six seven eight nine")]
    lines = {name: "".join(texts).encode() for name in ("src.txt", "ref.txt", "hyp.txt")}
    parallel = ["score", "-s", "src.txt", "-r", "ref.txt", "-t", "IN", "-m", "bleu,ter", "-f", "json"]
    by_name["parallel"] = Format(lines, "hyp.txt", (parallel,))
    rankings = (
        "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID\n"
        + "".join(
            f"Chinese,English,{record['seg_id']},{record['seg_id']},j1,sys{n},{n},sys{n + 1},{n + 1},{n}\n"
            for record in records
            for n in range(1, 6)
        )
    )
    add = ["data", "convert", "corpus.jsonl", "out.jsonl", "--judgements", "IN"]
    by_name["rankings"] = Format({**beside, "rr.csv": rankings.encode()}, "rr.csv", (add,))
    del beside
    mqm = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment\n" + "".join(
        f"S{n}\td\t1\t{seg}\tr1\tsource {seg}\tone <v>two</v> {n}\tAccuracy/Mistranslation\tMajor\tx\n"
        f"refA\td\t1\t{seg}\tr1\tsource {seg}\tone two\tNo-error\tNo-error\t\n"
        for seg in range(3)
        for n in range(1)
    )
    by_name["mqm"] = Format({"mqm.tsv": mqm.encode()}, "mqm.tsv")
    esa = {
        "doc_id": "en-de_DE_#_news_#_d1_#_0",
        "src_text": "one two",
        "tgt_text": {"refA": "eins zwei", "A": "eins", "B": "zwei"},
        "scores": {"A": {"human1": 80, "annotator1": "j1"}, "B": {"human1": 20.5, "annotator1": "j1", "human2": 3}},
    }
    by_name["wmt-esa"] = Format({"esa.jsonl": (json.dumps(esa) + "\n").encode()}, "esa.jsonl")
    mtme = {
        "set/sources/en-de.txt": b"one\ntwo\nthree\n",
        "set/references/en-de.refA.txt": b"eins\nzwei\ndrei\n",
        "set/system-outputs/en-de/S1.txt": b"ein\nzwo\ndrei\n",
        "set/system-outputs/en-de/S2.txt": b"eins\nzwo\n\n",
        "set/documents/en-de.docs": b"news d1\nnews d1\nsocial d2\n",
        "set/human-scores/en-de.wmt-z.seg.score": b"S1 0.25\nS1 None\nS1 1\nS2 1\nS2 2\nS2 -3\n",
    }
    for name in mtme:
        by_name[f"mtme:{name.split('/')[1]}"] = Format(mtme, name, read="set")
    for kind, test in (("sgml", _sgml()), ("xml", _xml())):
        by_name[kind] = Format({f"test.{kind}": test.encode()}, f"test.{kind}")
    by_name["manifest"] = Format(_manifest(), "ldc/manifest.toml", read="ldc")
    nbest = "".join(
        f"{n} ||| {words} ||| LM0= -{n}.5 TM0= 1 2 ||| -{k}.25\n"
        for n in range(3)
        for k, words in enumerate(("one two", "one three", "two"))
    )
    lists = {"dev.nbest": nbest.encode(), "dev.ref0": "".join(texts).encode(), "w.json": _weights().encode()}
    by_oracle = ["rerank", "dev.nbest", "--oracle", "bleu", "-r", "dev.ref0"]
    by_weights = ["rerank", "dev.nbest", "--weights", "w.json", "-f", "json"]
    by_name["nbest"] = Format(lists, "dev.nbest", (["nbest", "check", "dev.nbest"], by_oracle, by_weights))
    by_name["weights"] = Format(lists, "w.json", (by_weights,))
    given = "lp\tseg_id\tsystem\tscore\n" + "".join(
        f"{record['lp']}\t{record['seg_id']}\t{each['system']}\t{len(each['text']) / 7}\n"
        for record in records
        for each in record["candidates"]
    )
    by_given = ["score", "corpus.jsonl", "-m", "given[file=scores.tsv]", "-f", "json"]
    by_name["given"] = Format({**by_name["jsonl"].files, "scores.tsv": given.encode()}, "scores.tsv", (by_given,))
    by_name |= _comparisons() | _marked(folder, records) | _models(folder, Ranker, whole)
    by_name["campaign"] = _campaign(folder)
    by_name |= _wordnet()
    return by_name


def _comparisons() -> dict[str, Format]:
    """Return tables and exports of other shapes, and output of fairseq."""
    pair = {"source": "eins", "text1": "one", "text2": "on"}
    result = [{"from_name": "better", "type": "pairwise", "value": {"selected": "left"}}]
    item = {"src": "eins", "ref": "one", "item_id": "1", "tgt": {"A": "one", "B": "on"}}
    log = [{"user_id": "j1", "item_i": 0, "item": [item], "annotation": [{"A": {"score": 90}, "B": {"score": 40.5}}]}]
    check, systems = ["data", "check", "IN"], ["systems", "IN", "-f", "json"]
    files = {
        "votes.csv": ("model_a,model_b,winner\nA,B,A\nB,A,tie\nA,C,C\nC,B,model_b\n", systems),
        "chosen.csv": ("prompt,chosen,rejected,judge\neins,one,on,j1\nzwei,two,too,j2\n", check),
        "wide.csv": ("source,reference,A,B\neins,one,one,on\nzwei,two,to,two\n", check),
        "studio.json": (json.dumps([{"data": pair, "annotations": [{"completed_by": 1, "result": result}]}]), check),
        "pearmut.json": (json.dumps({"campaign": log}), check),
        "gen.out": ("S-0\teins\nT-0\tone\nH-0\t-0.5\tone\nD-0\t-0.5\tone\nD-0\t-0.75\ton\n", check),
    }
    return {name: Format({name: text.encode()}, name, (words,)) for name, (text, words) in files.items()}


def _marked(folder: Path, records: list[dict[str, Any]]) -> dict[str, Format]:
    """Return a data set with marked errors, and the same errors as other programs have them."""
    from ranker import from_records
    from ranker.corpora.formats.error_spans import FORMS
    from ranker.corpora.formats.writing import write_dataset

    place = {"start": 0, "end": 1, "severity": "minor", "category": "Accuracy/Mistranslation", "rater": "r1"}
    errors = [place, {"severity": "major", "rater": "r1"}]
    for record in records:
        record["candidates"] = [
            {"system": each["system"], "text": each["text"], "errors": errors, "raters": ["r1", "r2"]}
            for each in record["candidates"][:3]
        ]
    agreement = ["agreement", "IN", "--spans", "--resamples", "10", "-f", "json"]
    convert = ["data", "convert", "IN", "out.jsonl", "--severity-weights", "major=5"]
    made = {}
    for form in (None, *FORMS):
        name = f"marked.{form or 'corpus'}.{'tsv' if form == 'mqm' else 'json'}"
        write_dataset(from_records(records), folder / name, form)
        made[f"marked:{form or 'json'}"] = Format({name: (folder / name).read_bytes()}, name, (agreement, convert))
    return made


def _campaign(folder: Path) -> Format:
    """Return a campaign with items of every role, judged."""
    from ranker.apps.collect import assigning
    from ranker.apps.collect.campaign import connect, settings_of, transaction

    path = folder / "x.campaign"
    new = ["collect", "new", str(path), "-d", str(folder / "corpus.jsonl"), "--kind", "fluency", "--judges", "2"]
    more = ["--gold", str(folder / "corpus.jsonl"), "--gold-share", "0.3", "--degraded-share", "0.3"]
    captured([*new, *more, "--repeat-share", "0.3"])
    with contextlib.closing(connect(path)) as connection:
        settings = settings_of(connection)
        people = [row[0] for row in connection.execute("SELECT id FROM person WHERE role = 'judge'")]
        with transaction(connection):
            # the same bytes whenever it is made
            connection.execute("UPDATE person SET token = printf('%064d', id), expires = 1e10")
            connection.execute("UPDATE settings SET id = 'test'")
            for number in range(12):
                for person in people:
                    assignment = assigning.next_assignment(connection, settings, person, 9.0 * number)
                    if assignment is not None:
                        assigning.save(connection, person, assignment, [1 + number % 5], number, 9.0 * number + 5)
    commands = (["collect", "status", "IN", "-f", "json"], ["collect", "export", "IN", "-o", "out.jsonl"])
    return Format({"x.campaign": path.read_bytes()}, "x.campaign", commands)


def _wordnet() -> dict[str, Format]:
    files = {f"index.{part}": f"  1 licence\nbig {part[0]} 2 1 @ 2 1 00000001 00000002\n" for part in _PARTS}
    files |= {f"{part}.exc": "bigger big\n" for part in _PARTS}
    content = {name: text.encode() for name, text in files.items()}
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(f"wordnet/{name}"), text, zipfile.ZIP_DEFLATED)
    data = {"c.json": b'[{"source": "x", "references": ["a big b"], "candidates": {"A": "bigger a", "B": "big"}}]'}
    score = ["score", "c.json", "-m", "meteor[wordnet=IN]", "-f", "json"]
    folder = {f"wordnet/{name}": text for name, text in content.items()}
    return {
        "wordnet": Format({**data, **folder}, "wordnet/index.adj", (score,), read="wordnet"),
        "wordnet.zip": Format({**data, "wordnet.zip": zipped.getvalue()}, "wordnet.zip", (score,)),
    }


def _models(folder: Path, ranker: type, whole: object) -> dict[str, Format]:
    from ranker.ranking.confidence import Confidence

    candidates = [{"source": "x", "references": ["a b c"], "candidates": {"A": "a b", "B": "c a", "C": "d"}}]
    data = {"c.json": json.dumps(candidates).encode()}
    ranker("bleu1-4,paraphrase", C=0.01).fit(whole).save(folder / "x.model")
    learnt = ranker("bleu,paraphrase,combine[paraphrase.f - ter]", C=0.01).fit(whole)
    sure = [Confidence(2.0, 0.3, 0.01) for _ in learnt.weight_sets.weights]
    learnt.with_confidence(sure).save(folder / "y.model")
    compare = ["evaluate", "sample", "-m", "bleu,chrf", "--level", "segment", "--resamples", "5", "-f", "json"]
    (folder / "c.json").write_text(captured(compare)[1], encoding="utf-8")
    for name in ("s", "t"):
        (folder / name).write_text("a b c\nb c d\na d\n" * 3)
    captured(["align", "train", "-s", str(folder / "s"), "-t", str(folder / "t"), "-o", str(folder / "x.align")])
    plain = {"s": b"a b\nc d\n", "t": b"b a\nd\n"}
    rank = ["rank", "c.json", "--model", "IN", "-f", "jsonl"]
    score = ["score", "c.json", "--model", "IN", "-f", "json"]
    models = {name: (folder / name).read_bytes() for name in ("x.model", "y.model", "x.align")}
    aligned = ["align", "apply", "--model", "IN", "-s", "s", "-t", "t"]
    report = ["report", "--comparison", "IN", "--html", "out.html"]
    signed = signed_models.damage
    return {
        "model": Format({**data, "x.model": models["x.model"]}, "x.model", (rank,)),
        "signed model": Format({**data, "y.model": models["y.model"]}, "y.model", (rank, score), damage=signed),
        "aligner": Format({**plain, "x.align": models["x.align"]}, "x.align", (aligned,)),
        "signed aligner": Format({**plain, "x.align": models["x.align"]}, "x.align", (aligned,), damage=signed),
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
