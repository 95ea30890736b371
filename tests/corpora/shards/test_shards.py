"""Shards hold what the corpus held: whole sources, in order, from any format; what is damaged is named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.shards import MANIFEST, Shards
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.shards.making import check_shards, make_shards
from ranker.corpora.shards.streaming import parts_of
from ranker.errors import DataError
from tests.command_line import Command
from tests.datasets import dataset_of, part_of_corpus
from tests.golden_messages import check_messages
from tests.json_changes import changed


@pytest.fixture(scope="module")
def sample() -> Dataset:
    whole = catalogue.load("sample")
    return whole.select_sources(np.arange(len(whole.sources)) < 8)


def written(dataset: Dataset, path: Path) -> str:
    write_dataset(dataset, path)
    return str(path)


@pytest.mark.parametrize(
    ("ending", "rows"), [(".jsonl", 1), (".jsonl.gz", 20), (".json", 20), (".csv", 20), (".parquet", 20)]
)
def test_shards_of_any_format_are_the_corpus(tmp_path, sample, ending, rows):
    data = written(sample, tmp_path / f"corpus{ending}")
    manifest = make_shards(data, tmp_path / "shards", rows)
    assert manifest.rows == len(sample)
    # judges have a row each in a table, so a part of a table may have fewer candidates
    assert all(shard.rows <= max(rows, 7) for shard in manifest.shards)
    loaded = catalogue.load(str(tmp_path / "shards"))
    assert loaded.fingerprint == catalogue.load(data).fingerprint
    assert loaded.name == catalogue.load(data).name


ROWS_OF_TWO = [
    {"seg_id": "1", "prompt": "s", "chosen": "a b", "rejected": "b"},
    {"seg_id": "1", "source": "s", "A": "a b", "B": "b"},
]


@pytest.mark.parametrize("row", ROWS_OF_TWO)
@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_rows_of_two_candidates_with_an_id_are_the_corpus_too(tmp_path, row, ending):
    data = tmp_path / f"corpus{ending}"
    rows = [row, {**row, "seg_id": "2"}]
    if ending == ".parquet":
        pd.DataFrame(rows).to_parquet(data)
    else:
        data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert make_shards(str(data), tmp_path / "shards", 2).rows == 4
    assert catalogue.load(str(tmp_path / "shards")).fingerprint == catalogue.load(str(data)).fingerprint


def test_sources_without_a_number_are_numbered_through(tmp_path):
    rows = [{"src": f"s{number // 3}", "ref": "r", "mt": f"t{number}"} for number in range(12)]
    data = tmp_path / "corpus.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    make_shards(str(data), tmp_path / "shards", 4)
    loaded = catalogue.load(str(tmp_path / "shards"))
    assert loaded.sources["seg_id"].tolist() == ["1", "2", "3", "4"]
    assert loaded.fingerprint == catalogue.load(str(data)).fingerprint


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("first", [0, 1])
def test_numbers_in_another_form_are_refused_beside_numbers_of_another_shard(tmp_path, ending, first):
    cells = ["4,5", 4, "4,5", 4][first : first + 3]
    rows = [
        {"seg_id": str(at), "src": "s", "mt": "a", "system": "A", "Bewertung": cell} for at, cell in enumerate(cells)
    ]
    data = tmp_path / f"corpus.{ending}"
    if ending == "parquet":
        pd.DataFrame(rows).astype(str).to_parquet(data)
    else:
        data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for read in (catalogue.load, lambda file: make_shards(file, tmp_path / "shards", 1)):
        with pytest.raises(DataError, match=r"Bewertung'?: expected a number such as 4\.5.*, found '4,5'"):
            read(str(data))


@pytest.mark.parametrize("cells", [["good", "4"], ["4", "good"]])
def test_text_is_refused_beside_numbers_of_another_shard(tmp_path, cells):
    rows = [{"seg_id": str(at), "src": "s", "mt": "a", "system": "A", "mycol": cell} for at, cell in enumerate(cells)]
    data = tmp_path / "corpus.parquet"
    pd.DataFrame(rows).to_parquet(data)
    for read in (catalogue.load, lambda file: make_shards(file, tmp_path / "shards", 1)):
        with pytest.raises(DataError, match=r"column 'mycol': expected a.* number .*, found 'good'"):
            read(str(data))


@pytest.mark.parametrize("key", [{}, {"seg_id": 1}])
def test_a_source_that_comes_back_is_refused(tmp_path, key):
    rows = [{"src": "s0", "ref": "r", "mt": "a", "system": "A", **key}]
    rows += [{"src": "s1", "ref": "r", "mt": "b", "system": "A", **dict.fromkeys(key, 2)}]
    rows += [{"src": "s0", "ref": "r", "mt": "c", "system": "B", **key}]
    data = tmp_path / "corpus.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError, match="comes back after other sources: put all candidates of a source next to each"):
        make_shards(str(data), tmp_path / "shards", 1)
    assert not list((tmp_path / "shards").iterdir())


def test_a_pair_of_languages_that_is_not_there_leaves_no_shard(tmp_path, sample):
    data = written(sample, tmp_path / "corpus.jsonl")
    with pytest.raises(DataError, match="has no sources of de-fr"):
        make_shards(data, tmp_path / "shards", 20, lp=[*sample.language_pairs[:1], "de-fr"])
    assert not list((tmp_path / "shards").iterdir())


def test_preferences_go_with_their_sources(tmp_path, shared):
    part = part_of_corpus(shared / "data" / "wmt14-rr.jsonl.gz", tmp_path, most=9, judged=True)
    whole = catalogue.load(part)
    make_shards(str(part), tmp_path / "shards", 20)
    loaded = catalogue.load(str(tmp_path / "shards"))
    assert len(whole.preferences) > 0
    columns = ["first", "second", "relation", "judge"]
    result, expected = (item.preferences[columns].sort_values(columns, ignore_index=True) for item in (loaded, whole))
    assert result.equals(expected)


def test_a_pattern_stands_for_its_files_by_name(tmp_path, sample):
    make_shards(written(sample, tmp_path / "corpus.jsonl"), tmp_path / "shards", 20)
    shards = Shards.open([str(tmp_path / "shards" / "part-*.parquet")])
    assert shards.load().fingerprint == sample.fingerprint
    assert Shards.open([str(tmp_path / "shards" / "*")]) == dataclasses.replace(
        shards, name=str(tmp_path / "shards" / "*")
    )
    with pytest.raises(DataError, match=r"no\*: no file matches this pattern"):
        Shards.open([str(tmp_path / "no*")])
    assert Shards.open([str(tmp_path / "corpus.jsonl"), "sample"]) is None


def test_what_is_wrong_with_a_shard_is_said(tmp_path, sample):
    make_shards(written(sample, tmp_path / "corpus.jsonl"), tmp_path / "shards", 20)
    shards = Shards.open([str(tmp_path / "shards")])
    assert sum(map(len, check_shards(shards))) == len(sample)
    third = tmp_path / "shards" / "part-00002.parquet"
    before = third.read_bytes()
    third.write_bytes(before[:-50])
    with pytest.raises(DataError, match=r"part-00002\.parquet: is not the file that shards\.json describes \(SHA-256"):
        list(check_shards(shards))
    third.unlink()
    with pytest.raises(DataError, match=r"part-00002\.parquet: no such file"):
        list(check_shards(shards))


def test_a_damaged_manifest_is_refused(tmp_path, sample):
    """Each question is a change of it, or all that is in it."""
    make_shards(written(sample, tmp_path / "corpus.jsonl"), tmp_path / "shards", 20)
    manifest = tmp_path / "shards" / MANIFEST
    document = json.loads(manifest.read_text(encoding="utf-8"))

    def read(asked):
        text = asked if asked in ("{}", "{") else json.dumps(changed(document, asked))
        manifest.write_text(text, encoding="utf-8")
        Shards.open([str(tmp_path / "shards")])

    check_messages("shard_manifests", read, DataError, tmp_path)
    manifest.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DataError, match="is not a manifest of shards"):
        Shards.open([str(tmp_path / "shards")])


def test_a_run_without_an_end_leaves_nothing_to_the_next(tmp_path, sample):
    data = written(sample, tmp_path / "corpus.jsonl")
    make_shards(data, tmp_path / "shards", 7)
    with pytest.raises(DataError, match=r"already has shards\.json: delete the directory, or choose another"):
        make_shards(data, tmp_path / "shards", 40)
    (tmp_path / "shards" / MANIFEST).unlink()
    with pytest.raises(DataError, match=r"data shard writes shards\.json last: if it was interrupted, run it again"):
        catalogue.load(str(tmp_path / "shards"))
    make_shards(data, tmp_path / "shards", 40)
    assert len(list((tmp_path / "shards").glob("part-*"))) == 2


def test_a_stream_is_not_read_ahead(tmp_path):
    record = json.dumps({"source": "s", "references": ["r"], "candidates": {"x": "a"}})
    data = tmp_path / "corpus.jsonl"
    data.write_text(f"{record}\n" * 50_000 + "damaged\n", encoding="utf-8")
    parts = parts_of(str(data), 10)
    assert len(next(parts)) == 10


def test_language_pairs_are_chosen_when_shards_are_made(tmp_path):
    several = dataset_of([(["r"], ["a", "b"])] * 6, lp=["de-en", "cs-en", "de-en", "fr-en", "cs-en", "cs-en"])
    data = written(several, tmp_path / "corpus.jsonl")
    manifest = make_shards(data, tmp_path / "shards", 4, lp=["cs-en"])
    assert (manifest.rows, manifest.sources) == (6, 3)
    with pytest.raises(DataError, match="has no sources of ru-en"):
        make_shards(data, tmp_path / "others", 4, lp=["ru-en"])
    with pytest.raises(DataError, match="has no sources of cs-ne; give"):
        make_shards(data, tmp_path / "others", 4, lp=["de-en", "cs-ne"])


def test_shards_are_explained_and_learnt_from_as_one_data_set(command: Command, tmp_path, sample):
    data, shards = written(sample, tmp_path / "corpus.jsonl"), tmp_path / "shards"
    make_shards(data, shards, 20)
    words = ("--features", "bleu,length", "--kind", "adequacy", "--folds", "0", "--json", "-o")
    whole, together = (
        json.loads(command("train", path, *words, str(tmp_path / "new.model")).out) for path in (data, str(shards))
    )
    assert together["weights"] == whole["weights"]
    assert together["training"]["data_hash"] == whole["training"]["data_hash"]
    words = ("--model", str(tmp_path / "new.model"), "--seg-id", sample.sources["seg_id"].iloc[5], "--format", "jsonl")
    assert command("explain", str(shards), *words).out == command("explain", data, *words).out
