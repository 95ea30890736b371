"""What is a judgement, and which of its values are better: the same for every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given, settings

from ranker import from_frame, from_records
from ranker.corpora.column_names import is_metadata, is_reserved, lower_is_better
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.judgements import Kind, human_scores, kinds, resolve_kind
from ranker.errors import DataError, OptionError
from ranker.extractors import registry
from tests.corpora.damage import refusal
from tests.effort import examples

ENDINGS = ["csv", "tsv", "parquet", "jsonl", "json", "wide.json"]
Rows = list[dict[str, Any]]
ROWS: Rows = [
    {"source": source, "reference": f"r {source}", "system": system, "text": f"{system} {source}"}
    for source in ("x", "y")
    for system in "ABC"
]


def with_columns(**columns: list[Any]) -> Rows:
    return [{**row, **{name: values[index] for name, values in columns.items()}} for index, row in enumerate(ROWS)]


def write(rows: Rows, path: Path) -> Path:
    frame = pd.DataFrame(rows)
    if path.name.endswith("wide.json"):
        records: dict[str, dict[str, Any]] = {}
        for row in rows:
            empty = {"source": row["source"], "references": [row["reference"]], "candidates": []}
            record = records.setdefault(row["source"], empty)
            record["candidates"].append({key: row[key] for key in row if key not in ("source", "reference")})
        path.write_text(json.dumps(list(records.values())), encoding="utf-8")
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


RANKS = [1, 2, 3, 3, 1, 2]


@pytest.mark.parametrize("name", ["rank", "Place", "human_rank", "rankMean", "ERRORS", "post-edits", "hter", "mqm"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_lower_is_better_by_name(ending: str, name: str, tmp_path: Path) -> None:
    dataset = read_dataset(write(with_columns(**{name: RANKS}), tmp_path / f"x.{ending}"))
    assert human_scores(dataset).tolist() == [-rank for rank in RANKS]


@pytest.mark.parametrize("ending", ENDINGS)
def test_numbers_that_are_no_judgements_unless_asked_for(ending: str, tmp_path: Path) -> None:
    rows = with_columns(
        id=[5, 4, 3, 2, 1, 0], bleu=[0.5] * 6, **{"chrf[order=4]": [0.1] * 6}, src_len=[3] * 6, score=[1, 2, 3, 4, 5, 6]
    )
    dataset = read_dataset(write(rows, tmp_path / f"x.{ending}"))
    assert kinds(dataset) == ["score"]
    assert human_scores(dataset).tolist() == [1, 2, 3, 4, 5, 6]
    assert human_scores(dataset, "id").tolist() == [5, 4, 3, 2, 1, 0]
    alone = read_dataset(write(with_columns(ter=[1, 2, 3, 4, 5, 6], id=[1] * 6), tmp_path / f"y.{ending}"))
    with pytest.raises(
        DataError, match=r"y.*: contains no known kind of human judgements, .*'ter'; name the kind of judgement: --kind"
    ):
        resolve_kind(alone)
    assert human_scores(alone, "ter").tolist() == [-1, -2, -3, -4, -5, -6]
    assert human_scores(alone, "ter:higher").tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_an_output_was_made_is_no_judgement(ending: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings: dict[str, list[Any]] = {"temperature": [0.7] * 6, "cumulative_logprob": [-5.5, -1, -2, -3, -4, -6]}
    settings |= {"n_tokens": [3, 2, 1, 5, 6, 4], "latency": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "sample": [0, 1, 2] * 2}
    alone = read_dataset(write(with_columns(**settings), tmp_path / f"x.{ending}"))
    assert kinds(alone) == []
    with pytest.raises(DataError, match="contains no known kind of human judgements, only other numbers: 'cumulative_"):
        resolve_kind(alone)
    judged = read_dataset(write(with_columns(**settings, grade=RANKS), tmp_path / f"y.{ending}"))
    assert resolve_kind(judged) == "grade:higher"
    others = "; not judgements: 'cumulative_logprob', 'latency', 'n_tokens', 'sample', 'temperature'"
    assert caplog.messages[-1].endswith(f"if not, use --kind grade:lower{others}")
    assert human_scores(judged, "latency").tolist() == [-0.1, -0.2, -0.3, -0.4, -0.5, -0.6], "if a user says so"


@pytest.mark.parametrize("ending", ENDINGS)
def test_several_unknown_ratings_are_refused_and_one_is_noted(
    ending: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    several = read_dataset(write(with_columns(alpha=RANKS, rank=RANKS), tmp_path / f"x.{ending}"))
    with pytest.raises(DataError) as refused:
        resolve_kind(several)
    assert str(refused.value) == (
        f"{several.name}: several ratings could be the judgement: 'alpha', 'rank'; "
        "name the kind of judgement: --kind NAME, NAME:lower or NAME:higher"
    )
    assert resolve_kind(several, "alpha") == "alpha:higher"
    assert not caplog.messages
    single = read_dataset(write(with_columns(alpha=RANKS), tmp_path / f"y.{ending}"))
    assert [resolve_kind(single) for _ in range(3)] == ["alpha:higher"] * 3
    assert caplog.messages == [
        f"ranker: note: {single.name}: judged by 'alpha', higher values are better; if not, use --kind alpha:lower"
    ]
    known = read_dataset(write(with_columns(alpha=RANKS, Adequacy=RANKS), tmp_path / f"z.{ending}"))
    assert resolve_kind(known) == "adequacy"
    assert human_scores(known).tolist() == RANKS


@pytest.mark.parametrize("ending", ENDINGS)
def test_metadata_is_not_read_and_one_note_names_it(
    ending: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain = read_dataset(write(with_columns(score=RANKS), tmp_path / f"x.{ending}"), name="x")
    rows = with_columns(
        score=RANKS, domain=["news"] * 6, comment=["good", None, "5", None, "bad", None], id=list("abcdef")
    )
    noted = read_dataset(write(rows, tmp_path / f"y.{ending}"), name="x")
    assert noted.fingerprint == plain.fingerprint
    assert caplog.messages == [
        f"ranker: note: {tmp_path}/y.{ending}: ignored, because not judgements: domain, comment, id"
    ]


def test_rows_of_judges_as_json(tmp_path: Path) -> None:
    rows = [{**row, "judge": judge, "fluency": index} for judge in "ab" for index, row in enumerate(ROWS)]
    table, lines = (read_dataset(write(rows, tmp_path / name)) for name in ("x.csv", "x.jsonl"))
    assert len(lines.ratings) == 12
    assert lines.fingerprint == table.fingerprint
    for again, says in (("a", "'fluency': system 'A' is judged twice"), (None, "system 'A' is listed twice")):
        path = write([*rows, {**rows[0], "judge": again}], tmp_path / "y.jsonl")
        refusal(lambda path=path: read_dataset(path), path, 13, says)  # type: ignore[misc]


NAMES = ["rank", "score", "id", "bleu", "mqm_total", "Fluency", "n words", "höhe", "x:lower", "comment"]


@settings(max_examples=examples(15), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.none() | st.integers(-5, 5), min_size=6, max_size=6), max_size=3
    ),
    st.booleans(),
)
def test_every_format_gives_the_same_data_set(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, list[int | None]], judged: bool
) -> None:
    folder = tmp_path_factory.mktemp("forms")
    rows = with_columns(**columns)
    if judged:
        rows = [{**row, "judge": "j"} for row in rows]
    result = [
        read_dataset(write(rows, folder / f"x.{ending}")) for ending in ENDINGS if not (judged and "wide" in ending)
    ]
    assert len({item.fingerprint for item in result}) == 1
    ratings = sum(value is not None for values in columns.values() for value in values)
    assert len(result[0].ratings) == ratings


def test_names_are_read_by_their_words() -> None:
    lower = (
        "rank Rank human_rank rank1 mqm_fluency MQMTotal nErrors metricx errors_per_word PER human-ter TER time cost "
        "issues minor critical_count segmentMQM bad omissions wrong_terms toxicity keystrokes"
    )
    assert all(map(lower_is_better, lower.split()))
    higher = (
        "performance terse frank TERse score_per_word Perform marketplace reciprocal_rank fluency score drank "
        "error_free badge major7th"
    )
    assert not any(map(lower_is_better, higher.split()))
    reserved = (
        "id Index segment_id n_words word_count src_len chrF++ BLEU-4 comet22 wmt22-comet-da sacreBLEU ds.x.y line"
    )
    assert all(
        map(
            is_reserved,
            [*reserved.split(), "number of words", "_task_hash", "Unnamed: 0", "__index_level_0__", *registry.names()],
        )
    )
    made = (
        "logprob cumulative_logprob avg_log_prob logProb logLikelihood tokens completion_tokens max_new_tokens seed "
        "temperature latency latency_ms response_time time time_taken duration cost total_cost cost_usd sample run nll "
        "rater worker turn p_value pvalue likelihood entropy fluency_std uncertainty itemID sentBLEU gemba rougeL "
        "annotators n_annotators top_p topP top_k min_p random_seed frequency_penalty length_penalty num_beams epoch"
    )
    assert [name for name in made.split() if not is_reserved(name)] == []
    judgements = (
        "score rank hter human_ter word_order fluency points n_errors num_mistakes penalty editing_time pe_time "
        "post_edit_time sample_quality esa rater1 annotator_2 adequacy_rater2 score_user naturalness_turn1"
    )
    assert [name for name in judgements.split() if is_reserved(name)] == []
    assert all(map(is_metadata, ["id", "domain", "meta", "comment", "error_type"]))
    assert not any(map(is_metadata, ["score", "rank", "refrences", "bleu", "text"]))


def test_the_notation_of_kinds() -> None:
    for text in ("fluency", "mqm", "x:lower", "x:higher", "mqm:higher", "fluency:lower", "preferences", "a:b:lower"):
        assert str(Kind.parse(text).directed()) == text
    assert str(Kind("mqm", lower=True)) == "mqm"
    assert str(Kind.parse("fluency:higher").directed()) == "fluency"
    assert Kind.parse("a:b") == Kind("a:b")
    for text in ("preferences:lower", "preferences:higher", "auto:lower", ":lower"):
        with pytest.raises(OptionError, match=f"--kind {text}: "):
            Kind.parse(text)
    assert str(Kind("x").directed(["x:lower", "y:higher"])) == "x:lower"
    assert str(Kind("x", lower=False).directed(["x:lower"])) == "x:higher"
    with pytest.raises(OptionError, match="in both directions; give the direction: --kind x:lower or --kind x:higher"):
        Kind("x").directed(["x:lower", "x:higher"])


def test_what_a_ranker_learnt_from_is_what_auto_means(tmp_path: Path) -> None:
    dataset = read_dataset(write(with_columns(alpha=RANKS, beta=RANKS, rank=RANKS), tmp_path / "x.csv"))
    assert resolve_kind(dataset, learnt=["beta:lower"]) == "beta:lower"
    assert resolve_kind(dataset, "alpha", learnt=["beta:lower"]) == "alpha:higher"
    assert resolve_kind(dataset, "beta", learnt=["beta:lower"]) == "beta:lower"
    known = read_dataset(write(with_columns(alpha=RANKS, mqm=RANKS), tmp_path / "y.csv"))
    assert resolve_kind(known, learnt=["alpha:lower"]) == "mqm"


def test_keys_of_rows_may_be_in_upper_case_as_columns(tmp_path: Path) -> None:
    row = {"SOURCE": "s", "Ref": "r", "System": "A", "MT": "x", "LP": "de-en", "Src_Lang": "de", "Score": 3}
    for ending in ("csv", "jsonl"):
        dataset = read_dataset(write([row], tmp_path / f"x.{ending}"))
        assert dataset.to_frame().iloc[0][["lp", "source", "system", "text", "Score"]].tolist() == [
            *("de-en", "s", "A", "x", 3.0)
        ]
        assert dataset.references["text"].tolist() == ["r"]
    for keys in (("source", "Source"), ("SOURCE", "Source")):
        with pytest.raises(DataError, match=f"keys '{keys[0]}' and '{keys[1]}' mean the same"):
            read_dataset(write([dict.fromkeys(keys, "s") | {"text": "x"}], tmp_path / "y.jsonl"))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("grade", ["4,5", "80%", "4/5", "1.234,5", " ,5 "])
def test_numbers_in_another_form_are_not_ignored(ending: str, grade: str, tmp_path: Path) -> None:
    rows = pd.DataFrame({"source": ["s", "t"], "reference": "r", "system": "A", "text": "x", "overall": grade})
    path = tmp_path / f"x.{ending}"
    rows.to_csv(path, index=False) if ending == "csv" else rows.to_json(path, orient="records", lines=True)
    with pytest.raises(DataError, match=f"expected a .*number.*, found '{grade}'"):
        from_frame(rows) if ending == "frame" else read_dataset(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize(
    ("column", "cells", "hint"),
    [
        ("chunk", ["1/6", "2/6"], "; if '1/6' in chunk is a rating, write a number such as 4.5"),
        ("part", ["1/2", "intro"], "; if '1/2' in part is a rating, write a number such as 4.5"),
        ("split_share", ["80%", "20%"], "; if '80%' in split_share is a rating, write a number such"),
        ("price_eur", ["1,5", "0,75"], ""),
        ("latency_ms", ["1.234,5", "timeout"], ""),
        ("date", ["1/6", "2/6"], ""),
    ],
)
def test_numbers_in_another_form_are_ignored_where_nothing_says_that_they_are_ratings(
    ending: str, column: str, cells: list[str], hint: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{**row, "score": 1.5, column: cell} for row, cell in zip(ROWS, cells, strict=False)]
    dataset = (
        from_frame(pd.DataFrame(rows)) if ending == "frame" else read_dataset(write(rows, tmp_path / f"x.{ending}"))
    )
    assert dataset.ratings["kind"].tolist() == ["score", "score"]
    assert f"ignored, because not judgements: {column}{hint}" in caplog.text
    assert ("if '" in caplog.text) == bool(hint)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize(
    "column", ["z_score", "errors", "hter", "naturalness", "DA.stars", "bleu", "Bewertung", "chunk"]
)
def test_numbers_in_another_form_are_refused_among_numbers_and_in_columns_of_ratings(
    ending: str, column: str, tmp_path: Path
) -> None:
    cells = ["4,5", 4] if column in ("Bewertung", "chunk") else ["4,5", "3,5"]
    rows = [{**row, column: cell} for row, cell in zip(ROWS, cells, strict=False)]
    for some in (rows, rows[::-1]):
        path = write(some, tmp_path / f"x.{ending}")
        with pytest.raises(DataError, match=r"expected a number such as 4\.5.*, found '[34],5'"):
            from_frame(pd.DataFrame(some)) if ending == "frame" else read_dataset(path)


@pytest.mark.parametrize("rating", ["4.5", "4,5"])
def test_a_rating_in_quotes_is_refused_by_the_quotes(rating: str) -> None:
    with pytest.raises(DataError, match=f"fluency: expected a number such as 4.5 without quotes, found '{rating}'"):
        from_records([{**ROWS[0], "fluency": rating}])


def test_a_source_may_have_a_fraction(caplog: pytest.LogCaptureFixture) -> None:
    record = {"source": "s", "chunk": "1/6", "candidates": [{"system": "A", "text": "x"}, {"system": "B", "text": "y"}]}
    assert len(from_records([record])) == 2
    assert "ignored, because not judgements: chunk; if '1/6' in chunk is a rating" in caplog.text


def test_numbers_in_another_form_are_no_outputs(caplog: pytest.LogCaptureFixture) -> None:
    rows = pd.DataFrame({"source": ["s", "t"], "atlas": ["a b", "c"], "birch": ["d", "e"], "of atlas": ["4,5", "3"]})
    assert from_frame(rows).candidates["system"].tolist() == ["atlas", "birch"] * 2
    assert "ignored, because not judgements: of atlas" in caplog.text


def test_dates_and_nested_cells_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"source": ["s"], "reference": ["r"], "text": ["x"], "when": ["2024-01-02"], "at": ["01.02.2024"]}
    assert from_frame(pd.DataFrame({**rows, "details": [{"a": 1}]})).ratings.empty
    assert "ignored, because not judgements: when, at, details" in caplog.text
