from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ranker import Dataset, from_texts, load_dataset
from ranker.corpora import sanity
from ranker.corpora.schema import table
from tests.effort import thorough

WORDS = (
    "the a of to and in house river old small people garden winter train never sees brings water stone "
    "quietly under after morning city letter friend music opens closes bridge table again"
)
GERMAN = (
    "der die das von zu und im Haus Fluss alt klein Menschen Garten Winter Zug niemals sieht bringt Wasser Stein "
    "leise unter nach Morgen Stadt Brief Freund Musik schliesst wieder"
)


def sentences(number: int, seed: int, words: str = WORDS) -> list[str]:
    random = np.random.default_rng(seed)
    drawn = (" ".join(random.choice(words.split(), random.integers(7, 16))) for _ in range(number))
    return [f"{text.capitalize().replace(' ', ', ', 1)}." for text in drawn]


def edited(texts: list[str], seed: int, share: float = 0.3) -> list[str]:
    """Replace some words, as a translation differs from its reference."""
    random = np.random.default_rng(seed)
    return [
        " ".join(
            word if word.istitle() or not word.isalpha() or random.random() >= share else random.choice(WORDS.split())
            for word in text.split()
        )
        for text in texts
    ]


REFERENCES = sentences(60, 1)
SOURCES = sentences(60, 2, GERMAN)
CLEAN = edited(REFERENCES, 3)


def data(output: list[str], **others: list[str]) -> Dataset:
    size = len(output)
    outputs = {"good": edited(REFERENCES, 4)[:size], "bad": output, **others}
    return from_texts(outputs, REFERENCES[:size], SOURCES[:size], name="data")


def found(dataset: Dataset) -> list[str]:
    return [str(note) for note in sanity.notes_of(dataset, (*sanity.CHECKS, *sanity.CONCLUSIONS))]


RUSSIAN = "Это предложение написано по-русски, а не по-английски."
LENGTH = "8 outputs of bad are much longer or shorter than the reference (first: data[11], bad)"
SHIFTED = "38 outputs of bad agree with the reference of a neighbouring source, not with their own: are lines shifted?"
OTHER_LANGUAGE = "outputs of bad look to be in another language than the references (first: "
SUBWORDS = (
    "{} outputs of bad are divided into sub-words (@@ or \u2581): join them first, as fairseq's --remove-bpe does "
    "(first: data[1], bad)"
)
TOKENISED = "60 outputs of bad are tokenised (have spaces before commas or full stops), unlike the references"


def replaced(start: int, texts: list[str]) -> list[str]:
    return [*CLEAN[:start], *texts, *CLEAN[start + len(texts) :]]


DAMAGED: dict[str, tuple[list[str], list[str]]] = {
    "nothing": (CLEAN, []),
    "reference": ([*REFERENCES[:-1], CLEAN[-1]], ["59 outputs of bad equal the reference (first: data[1], bad)"]),
    "source": (replaced(20, SOURCES[20:30]), ["10 outputs of bad are copies of the source (first: data[21], bad)"]),
    "shifted": (
        [*CLEAN[:20], *CLEAN[21:], ""],
        [f"{SHIFTED} (first: data[21], bad)", "1 output of bad is empty (first: data[60], bad)"],
    ),
    "repeated": (
        [CLEAN[0] if row % 5 == 0 else text for row, text in enumerate(CLEAN)],
        ["12 outputs of bad repeat a sentence given for other sources (first: data[1], bad)"],
    ),
    "language": (sentences(60, 5, GERMAN), [f"60 {OTHER_LANGUAGE}data[1], bad)"]),
    "script of a few": (replaced(40, [RUSSIAN] * 4), []),
    "script": (replaced(40, [f"{row} {RUSSIAN}" for row in range(9)]), [f"9 {OTHER_LANGUAGE}data[41], bad)"]),
    "short": (replaced(10, [text[:5] for text in CLEAN[10:18]]), [LENGTH]),
    "long": (replaced(10, [" ".join([text] * 4) for text in CLEAN[10:18]]), [LENGTH]),
    "lower": (
        [text.lower() for text in CLEAN],
        ["60 outputs of bad are in lower case, unlike the references (first: data[1], bad)"],
    ),
    "BPE": ([text.replace("ing", "@@ ing").replace("er ", "er@@ ", 1) for text in CLEAN], [SUBWORDS.format(57)]),
    "SentencePiece": (["\u2581" + text.replace(" ", " \u2581") for text in CLEAN], [SUBWORDS.format(60)]),
    "tokenised": (
        [text.replace(",", " ,").replace(".", " .") for text in CLEAN],
        [f"{TOKENISED} (first: data[1], bad)"],
    ),
    "decomposed": (
        [text.replace(" ", " e\u0301", 1) for text in CLEAN],
        ["60 outputs of bad have accents as separate characters, unlike the references (first: data[1], bad)"],
    ),
}


@pytest.mark.parametrize(("output", "notes"), DAMAGED.values(), ids=DAMAGED)
def test_each_damage_is_noted_once_with_its_count_and_first_place(output, notes) -> None:
    assert found(data(output)) == notes


def test_sub_words_of_references_are_noted() -> None:
    divided = [text.replace(" the ", " th@@ e ").replace(" ", "s@@ s ", 1) for text in REFERENCES]
    texts = from_texts({"A": CLEAN, "B": divided}, [*divided[:10], *REFERENCES[10:]], SOURCES, name="data")
    notes = [str(note) for note in sanity.in_subwords(texts)]
    assert [note.partition(" divided")[0] for note in notes] == ["60 outputs of B are", "10 references are"]
    pieces = ["\u2581" + text.replace(" ", " \u2581") for text in REFERENCES]
    assert [note.text[:26] for note in sanity.notes_of(from_texts(CLEAN, pieces))] == ["60 references are divided "]
    assert not sanity.in_subwords(from_texts(CLEAN, [*divided[:4], *REFERENCES[4:]]))
    assert not sanity.in_subwords(from_texts([f"@@ {text} @@user a_@" for text in CLEAN]))


def test_systems_that_are_nearly_identical_are_named() -> None:
    near = [text if row % 4 else f"Now {text}" for row, text in enumerate(CLEAN)]
    assert found(data(CLEAN, near=near)) == ["nearly identical systems: bad and near (first: data[2])"]
    assert found(data(CLEAN, near=near, copy=near)) == [
        "nearly identical systems: bad and near and 2 more pairs (first: data[2])"
    ]


def test_few_sources_are_noted_where_conclusions_are_drawn() -> None:
    few = data(CLEAN[:29])
    assert found(few) == ["only 29 sources: differences may be chance"]
    assert not list(sanity.notes_of(few))
    assert not found(data(CLEAN[:30]))


def test_preferences_that_are_ties_are_counted() -> None:
    first = np.arange(60) * 2
    relations = np.where(first < 6, ">", "=")
    columns = {"first": first, "second": first + 1, "relation": relations, "primary": first >= 0}
    tied = dataclasses.replace(data(CLEAN), preferences=table("preferences", columns))
    assert found(tied) == ["57 of 60 preferences are ties"]
    columns["relation"] = np.where(first < 8, ">", "=")
    assert not found(dataclasses.replace(tied, preferences=table("preferences", columns)))
    columns["relation"] = np.where(first < 60, "-", "=")
    assert found(dataclasses.replace(tied, preferences=table("preferences", columns))) == [
        "30 of 30 preferences are ties"
    ]


def test_ratings_and_scores_that_tie_are_counted() -> None:
    outputs = from_texts({"A": CLEAN, "B": edited(REFERENCES, 4), "C": edited(REFERENCES, 5)}, REFERENCES, SOURCES)
    grades = np.full(180, 2.0)
    for equal, notes in ((58, ["176 of 180 pairs of candidates of a source have the same fluency"]), (30, [])):
        grades[3 * equal :: 3] = 3.0
        columns = {"candidate": np.arange(180), "kind": ["fluency"] * 180, "judge": [None] * 180, "value": grades}
        assert found(dataclasses.replace(outputs, ratings=table("ratings", columns))) == notes
    noise = np.where(np.arange(180) % 3, 1e-12, np.nan)
    assert [note.count for note in sanity.tied_scores(outputs, noise, "score")] == [60]
    assert not sanity.tied_scores(outputs, np.arange(180.0), "score")
    assert not sanity.tied_scores(outputs, np.full(180, np.nan), "score")


@pytest.mark.parametrize("size", range(1, 5))
def test_nothing_is_said_of_fewer_than_five_outputs(size: int) -> None:
    assert not list(sanity.notes_of(data(REFERENCES[:size])))


def test_without_references_or_sources_the_other_checks_remain() -> None:
    texts = from_texts({"A": CLEAN, "B": ["", *CLEAN[1:]]}, name="data")
    assert found(texts) == [
        "1 output of B is empty (first: data[1], B)",
        "nearly identical systems: A and B (first: data[2])",
    ]


def test_systems_are_compared_with_the_references_that_there_are() -> None:
    references = [[text] if row % 5 < 2 else [] for row, text in enumerate(REFERENCES)]
    outputs = {"A": REFERENCES, "B": sentences(60, 6), "C": [text.lower() for text in CLEAN], "D": [*CLEAN]}
    outputs["D"][::10] = [text[:9] for text in CLEAN[::10]]
    texts = from_texts(outputs, references, SOURCES, name="data")
    texts = dataclasses.replace(texts, candidates=texts.candidates.assign(is_reference=False))
    assert found(texts) == [
        "24 outputs of A equal the reference (first: data[1], A)",
        "5 outputs of D are much longer or shorter than the reference (first: data[1], D)",
        "24 outputs of C are in lower case, unlike the references (first: data[1], C)",
    ]


def test_sources_that_only_people_translated_have_no_output() -> None:
    texts = from_texts({"A": CLEAN, "human": REFERENCES}, {"human": REFERENCES}, SOURCES, name="data")
    assert texts.candidates["is_reference"].sum() == 60
    kept = texts.select_candidates(texts.is_reference | (texts.candidate_source > 2))
    assert found(kept) == ["3 sources have no output (first: data[1])"]


def test_a_system_that_gives_nothing_but_references_has_outputs() -> None:
    copied = from_texts({"A": REFERENCES}, {"A": REFERENCES}, SOURCES, name="data")
    assert copied.is_reference.all()
    assert found(copied) == ["60 outputs of A equal the reference (first: data[1], A)"]


def test_a_reference_in_two_language_pairs_is_noted_only_with_its_source() -> None:
    pairs = pd.array(["de-en"] * 30 + ["cs-en"] * 30)
    for sources, notes in ((SOURCES[:30], ["30 sources have the same text and reference in another"]), (None, [])):
        texts = from_texts(CLEAN, REFERENCES[:30] * 2, sources and sources * 2, name="data")
        several = dataclasses.replace(texts, sources=texts.sources.assign(lp=pairs))
        assert [note.text[:54] for note in sanity.of_two_language_pairs(several)] == notes


def test_the_bundled_sample_is_clean() -> None:
    assert not list(sanity.notes_of(load_dataset("sample")))


TRUE = {
    "wmt12-rr": {"tokenised": "dfki-berlin"},
    "wmt19-darr": {
        "other_language": "Ju_Saarland.6525",
        "short_or_long": "Frank_s_MT.6127",
        "lower_case": "DBMS-KU_KKEN.6726",
        "tokenised": "Frank_s_MT.6127",
    },
    "ted21-mqm": {"shifted_lines": "metricsystem5", "nearly_identical_systems": "DIDI-NLP and metricsystem2"},
    "wmt21-mqm": {"empty": "Online-W", "nearly_identical_systems": "IIE-MT and XMU"},
}


@pytest.mark.parametrize("name", TRUE)
@thorough
def test_on_outputs_of_shared_tasks_only_what_is_true_is_noted(name: str, shared: Path) -> None:
    dataset = load_dataset(shared / "data" / f"{name}.jsonl.gz")
    notes = {check.__name__: check(dataset) for check in sanity.CHECKS}
    assert {check: found for check, found in notes.items() if found}.keys() == TRUE[name].keys()
    for check, names in TRUE[name].items():
        assert names in str(notes[check][0])


def test_notes_shorten_the_names_of_systems() -> None:
    data = load_dataset("sample")
    candidates = data.candidates.assign(
        system="s" * 400 + data.candidates["system"], text=data.candidates["text"].iloc[0]
    )
    notes = [*map(str, sanity.notes_of(dataclasses.replace(data, candidates=candidates)))]
    assert any("s" * 60 + "..." in note for note in notes)
    assert not any("s" * 61 in note for note in notes)
