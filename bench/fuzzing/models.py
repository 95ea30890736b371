"""Networks, tokenizers and parsers that libraries load, Parquet tables of any shape, and campaigns in two processes.

Half of the damage is done to bytes, and half to what the bytes mean, so that files are read to the end.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import signed_models
from bench.fuzzing import damaging, encoders
from bench.fuzzing.formats import Format
from bench.processes import fork, wait
from ranker import share
from ranker.errors import RankerError
from ranker.learning.encoder.onnx_check import OPERATORS

_DATA = [{"source": "x", "references": ["a b c"], "candidates": {"A": "a b", "B": "c a . b" * 9, "C": "d"}}]
_OTHERS = ("If", "Loop", "Scan", "RandomNormalLike", "LSTM", "NonMaxSuppression", "SequenceEmpty", "NoSuchOperator")
_NUMBERS = (0, 1, -1, 2, 7, 12, 64, 1 << 20, 1 << 31, -(1 << 31), 1 << 40, (1 << 63) - 1)
_PARSER_FILES = ("config.cfg", "tokenizer", "parser/model", "parser/moves", "tagger/cfg", "vocab/strings.json")


def formats() -> dict[str, Format]:
    """Make sound files of every kind."""
    return _encoders() | _parsers() | _tables()


def half(other: Callable[[bytes, random.Random], bytes]) -> Callable[[bytes, random.Random], bytes]:
    """Return damage that is `other` half of the time, and done to bytes otherwise."""
    return _Half(other)


class _Half:
    """Damage of either kind; a class, so that a process can be sent it."""

    def __init__(self, other: Callable[[bytes, random.Random], bytes]) -> None:
        self.other = other

    def __call__(self, raw: bytes, choose: random.Random) -> bytes:
        return (self.other if choose.random() < 0.5 else damaging.damage)(raw, choose)


def _encoders() -> dict[str, Format]:
    config = {"model_type": "bert", "max_position_embeddings": 12, "hidden_size": 4, "num_hidden_layers": 1}
    files = {
        "c.json": json.dumps(_DATA).encode(),
        "enc/config.json": json.dumps(config).encode(),
        "enc/tokenizer.json": json.dumps(encoders.tokenizer()).encode(),
        "enc/model.onnx": encoders.bert(),
    }
    score = (["score", "c.json", "-m", "semantic[encoder=enc].f", "-f", "json"],)
    small = {**files, "enc/model.onnx": encoders.network()}
    return {
        "network": Format(files, "enc/model.onnx", score, read="enc", damage=half(damage_network)),
        "small network": Format(small, "enc/model.onnx", score, read="enc", damage=damage_network),
        "tokenizer": Format(small, "enc/tokenizer.json", score, read="enc", damage=half(damage_settings)),
        "loaded encoder's settings": Format(small, "enc/config.json", score, read="enc"),
    }


def damage_network(raw: bytes, choose: random.Random) -> bytes:
    """Return an ONNX file with a few other nodes, sizes, values or outputs than in `raw`."""
    import onnx

    model = onnx.load_from_string(raw)
    for _ in range(choose.choice((1, 1, 2, 3, 6))):
        choose.choice(_NETWORK_EDITS)(model, choose)
    return bytes(model.SerializeToString())


def _other_operator(model: Any, choose: random.Random) -> None:
    kinds = sorted(OPERATORS) if choose.random() < 0.9 else _OTHERS
    choose.choice(model.graph.node).op_type = choose.choice(kinds)


def _other_input(model: Any, choose: random.Random) -> None:
    node = choose.choice(model.graph.node)
    if node.input:
        node.input[choose.randrange(len(node.input))] = choose.choice(_names(model))


def _other_value(model: Any, choose: random.Random) -> None:
    from onnx import numpy_helper

    place = choose.randrange(len(model.graph.initializer))
    tensor = model.graph.initializer[place]
    # an earlier edit may have given it another size
    with contextlib.suppress(ValueError, TypeError, KeyError):
        values = signed_models._revalued(numpy_helper.to_array(tensor), choose, [*_NUMBERS])
        changed = signed_models._reshaped(values, choose) if choose.random() < 0.3 else values
        model.graph.initializer[place].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(changed), tensor.name))


def _other_size(model: Any, choose: random.Random) -> None:
    tensor = choose.choice(model.graph.initializer)
    if choose.random() < 0.5 and tensor.dims:
        tensor.dims[choose.randrange(len(tensor.dims))] = choose.choice(_NUMBERS)
    else:
        tensor.data_type = choose.randrange(24)


def _other_option(model: Any, choose: random.Random) -> None:
    options = [option for node in model.graph.node for option in node.attribute]
    if options:
        option = choose.choice(options)
        option.i, option.f = choose.choice(_NUMBERS), choose.choice((0.0, -1.0, float("nan"), 1e38))
        option.ints.append(choose.choice(_NUMBERS))


def _grow(model: Any, choose: random.Random) -> None:
    """Put a node that may grow what it gets before a node that uses it."""
    from onnx import helper, numpy_helper

    number = len(model.graph.node)
    size, node = f"size{number}", choose.choice(model.graph.node)
    sizes = [choose.choice(_NUMBERS) for _ in range(choose.randrange(1, 4))]
    model.graph.initializer.append(numpy_helper.from_array(np.array(sizes), size))
    kind = choose.choice(("Expand", "Tile", "ConstantOfShape", "Reshape", "MatMul", "Concat", "Add", "Range", "Pad"))
    inputs = [size] if kind == "ConstantOfShape" else [choose.choice(_names(model)), size]
    options = {"axis": 0} if kind == "Concat" else {}
    model.graph.node.insert(0, helper.make_node(kind, inputs, [f"grown{number}"], **options))
    if node.input:
        node.input[choose.randrange(len(node.input))] = f"grown{number}"


def _other_output(model: Any, choose: random.Random) -> None:
    model.graph.node[-1].input[0] = choose.choice(_names(model))


def _without_node(model: Any, choose: random.Random) -> None:
    if len(model.graph.node) > 1:
        del model.graph.node[choose.randrange(len(model.graph.node) - 1)]


def _fixed_size(model: Any, choose: random.Random) -> None:
    for each in model.graph.input:
        for place in each.type.tensor_type.shape.dim:
            place.dim_value = choose.choice((1, 3, 12, 1 << 33))


_NETWORK_EDITS: tuple[Callable[[Any, random.Random], None], ...] = (
    *(_other_operator, _other_operator, _other_input, _other_input, _other_value, _other_value, _other_size),
    *(_other_option, _grow, _grow, _other_output, _without_node, _fixed_size),
)


def _names(model: Any) -> list[str]:
    made = [name for node in model.graph.node for name in node.output]
    return [*made, *(each.name for each in (*model.graph.initializer, *model.graph.input))]


_PATTERNS = (
    *({"String": text} for text in ("", "a", " ", "abc" * 99)),
    *({"Regex": text} for text in (r"\s+", "(a|a)*b", " {2,}", "(", "a{9999}", r"(?<=a)b", r"\p{L}+", "[^\\w]", "")),
)
_STEPS: tuple[dict[str, Any], ...] = (
    *({"type": kind} for kind in ("NFC", "NFKD", "Lowercase", "StripAccents", "Nmt", "BertPreTokenizer", "Whitespace")),
    *({"type": kind} for kind in ("WhitespaceSplit", "UnicodeScripts", "Python", "Fuse")),
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Prepend", "prepend": "x" * 50},
    {"type": "Digits", "individual_digits": True},
    {"type": "Punctuation", "behavior": "Isolated"},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True},
    {"type": "CharDelimiterSplit", "delimiter": "a"},
    {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAABhAA=="},
    {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    *(
        {"type": "Replace", "pattern": pattern, "content": text}
        for pattern in _PATTERNS
        for text in ("", "aa", "b" * 60)
    ),
    *({"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False} for pattern in _PATTERNS),
)
_MODELS: tuple[dict[str, Any], ...] = (
    {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "[UNK]": 3}, "merges": [["a", "b"]], "unk_token": "[UNK]"},
    {"type": "BPE", "vocab": {}, "merges": []},
    {"type": "Unigram", "vocab": [["[UNK]", 0.0], ["a", -1.0], ["b", -2.0]], "unk_id": 0, "byte_fallback": True},
    {"type": "WordLevel", "vocab": {"a": 0, "b": 4_000_000_000}, "unk_token": "a"},
    {"type": "WordPiece", "vocab": {"a": 1}, "unk_token": "?", "continuing_subword_prefix": ""},
)


def damage_settings(raw: bytes, choose: random.Random) -> bytes:
    """Return the settings of a tokenizer with a few other steps, models or values."""
    document = json.loads(raw)
    for _ in range(choose.choice((1, 1, 2, 4))):
        part = choose.choice(("normalizer", "pre_tokenizer", "post_processor", "decoder", "model", "any", "any"))
        if part == "any":
            place = choose.choice([*signed_models._places(document)])
            _set(document, place, choose.choice(signed_models._VALUES))
        elif part == "model":
            document["model"] = choose.choice(_MODELS)
        else:
            steps = [choose.choice(_STEPS) for _ in range(choose.choice((1, 2, 40)))]
            several = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors"}
            whole = {"type": "Sequence", several.get(part, "decoders"): steps}
            document[part] = whole if choose.random() < 0.5 else steps[0]
        if not isinstance(document, dict) or not all(isinstance(document.get(key), dict) for key in ("model",)):
            break
    return json.dumps(document).encode()


def _set(document: Any, place: tuple[Any, ...], value: object) -> None:
    for key in place[:-1]:
        document = document[key]
    if place:
        document[place[-1]] = value


def _parsers() -> dict[str, Format]:
    directory = share.directory("models") / "parser-en"
    files = {
        f"px/{path.relative_to(directory).as_posix()}": path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.suffix not in (".md", ".txt")
    }
    files["c.json"] = json.dumps(_DATA).encode()
    score = (["score", "c.json", "-m", "ds[parser=px].agent-verb.full", "-f", "json"],)
    made = dict.fromkeys(_PARSER_FILES, damaging.damage) | {"config.cfg": half(damage_config)}
    return {
        f"parser:{name}": Format(files, f"px/{name}", score, read="px", damage=damage) for name, damage in made.items()
    }


_CONFIG_VALUES = (
    *("${components.tok2vec}", "${components.tagger.model}", "${x.y}", '"spacy.Tagger.v1"', '"Adam.v1"', "null", "0"),
    *(
        '"spacy.TransitionBasedParser.v2"',
        '"spacy.HashEmbedCNN.v2"',
        "-1",
        "99999999",
        '"parser"',
        '"ner"',
        "1e9",
        "[]",
    ),
    *('{"@misc":"spacy.KBFromFile.v1"}', '"torch"', "true", '"*"', '"tok2vec"', '["NORM"]', '"zh"', '"../x"'),
)


def damage_config(raw: bytes, choose: random.Random) -> bytes:
    """Return the configuration of a parser with a few other values, references and sections."""
    lines = raw.decode().split("\n")
    for _ in range(choose.choice((1, 1, 2, 4))):
        places = [at for at, line in enumerate(lines) if "=" in line]
        at = choose.choice(places)
        key = lines[at].partition("=")[0].strip()
        what = choose.random()
        if what < 0.6:
            lines[at] = f"{key} = {choose.choice(_CONFIG_VALUES)}"
        elif what < 0.8:
            other = choose.choice(("@architectures", "source", "factory", "@layers", "@callbacks", key))
            lines.insert(at, f"{other} = {choose.choice(_CONFIG_VALUES)}")
        else:
            sections = [place for place, line in enumerate(lines) if line.startswith("[") and line.endswith("]")]
            first, second = choose.choice(sections), choose.choice(sections)
            lines[first] = lines[second]
    return "\n".join(lines).encode()


def _tables() -> dict[str, Format]:
    commands = (
        ["score", "IN", "-m", "bleu", "-f", "json"],
        ["data", "shard", "IN", "--rows", "50", "--out", "outs"],
    )
    table = pa.table({"source": ["x", "x"], "reference": ["a b", "a b"], "system": ["A", "B"], "text": ["a", "a b"]})
    return {"parquet table": Format({"t.parquet": _written(table)}, "t.parquet", commands, damage=half(made_table))}


def _written(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def made_table(_: bytes, choose: random.Random) -> bytes:
    """Return a Parquet file of columns of any types, some of which repeat long texts in many rows."""
    rows = choose.choice((1, 2, 8, 100, 3000))
    names = [
        "source",
        "reference",
        "system",
        "text",
        choose.choice(("lp", "doc", "seg_id", "judge", "meta", "fluency")),
    ]
    columns = {name: _column(choose, rows, name) for name in names if choose.random() < 0.97}
    options = {
        "compression": choose.choice(("none", "snappy", "gzip", "zstd", "brotli")),
        "use_dictionary": choose.random() < 0.8,
        "row_group_size": choose.choice((1, 7, 1000, 1 << 20)) if rows < 1000 else 1000,
        "version": choose.choice(("1.0", "2.6")),
        "data_page_version": choose.choice(("1.0", "2.0")),
    }
    return _written(pa.table(columns or {"text": pa.nulls(rows, pa.string())}), **options)


def _column(choose: random.Random, rows: int, name: str) -> Any:
    kind = choose.random()
    if kind < 0.7:
        several = [f"{name} {number}" for number in range(choose.choice((1, 2, rows)))]
        return pa.array([several[row % len(several)] for row in range(rows)])
    long = "a b " * choose.choice((1, 100, 30_000, 2_000_000 // rows))
    odd: tuple[Any, ...] = (
        *(long, long.encode(), b"\xff", {"content": long}, [{"role": "user", "content": long}], [long] * 3, None),
        *(1, -1, 1.5, float("nan"), True, [], [[]], [[long]], {"a": {"b": [1]}}, 10**15),
    )
    values = pa.array([choose.choice(odd)])
    if choose.random() < 0.2 and pa.types.is_string(values.type):
        values = values.dictionary_encode()
    repeated = pa.concat_arrays([values] * min(rows, 50))
    return pa.chunked_array([repeated] * -(-rows // len(repeated))).slice(0, rows)


_CAMPAIGN_VALUES = (
    *(None, "", "a", "x" * 5000, "\x1b[2J", b"\xff\xfe", 0.5, float("inf"), "9" * 5000, "[]", "{}", "null", "[[1]]"),
    *("[1, 2]", '{"a": NaN}', "judge", "owner", "ranking", *_NUMBERS),
)


def damage_campaign(raw: bytes, choose: random.Random) -> bytes:
    """Return a campaign with a few other values, or rows fewer or more."""
    journal, rollback = slice(18, 20), b"\1\1"
    image = bytearray(raw)
    image[journal] = rollback
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(bytes(image))
    connection.execute("PRAGMA ignore_check_constraints = 1")
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    for _ in range(choose.choice((1, 1, 2, 4))):
        table = choose.choice(tables)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        numbers = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
        if not numbers:
            continue
        of_row, column = f"WHERE rowid = {choose.choice(numbers)}", choose.choice(columns)
        what = choose.random()
        with contextlib.suppress(sqlite3.Error):
            if what < 0.1:
                connection.execute(f"DELETE FROM {table} {of_row}")
            elif what < 0.2:
                connection.execute(f"INSERT INTO {table} SELECT * FROM {table} {of_row}")
            else:
                connection.execute(f"UPDATE {table} SET {column} = ? {of_row}", [choose.choice(_CAMPAIGN_VALUES)])
    image[:] = connection.serialize()
    connection.close()
    image[journal] = raw[journal]
    return bytes(image)


@contextlib.contextmanager
def beside_judges() -> Iterator[None]:
    """Let another process answer in the campaign, as the web server does, while commands read it."""

    def answer() -> int:
        from ranker.apps.collect import assigning
        from ranker.apps.collect.campaign import opened, transaction

        with contextlib.suppress(RankerError), opened("x.campaign") as (connection, settings):
            people = [row[0] for row in connection.execute("SELECT id FROM person WHERE role = 'judge'")]
            for number in range(20):
                with transaction(connection):
                    for person in people:
                        assignment = assigning.next_assignment(connection, settings, person, 1e6 + number)
                        if assignment is not None:
                            assigning.save(connection, person, assignment, [3], 1000 + number, 1e6 + number)
        return 0

    # the other process has no use for threads of libraries, which a copy does not have
    child = fork(_quietly(answer))
    yield
    code = wait(child)
    if code:
        raise RuntimeError(f"the process beside ended with {code}: {Path('beside.err').read_text()[-2000:]}")


def _quietly(action: Callable[[], int]) -> Callable[[], int]:
    def quiet() -> int:
        file = os.open("beside.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 2)
        return action()

    return quiet
