from __future__ import annotations

import gzip

import pytest

from ranker.errors import DataError
from ranker.extractors.meteor.phrases import find_paraphrases
from ranker.text.lexical.phrases import table_digest
from ranker.text.tokens import tokenise

TABLE = "0.5\npassed away\ndied\n0.1\nin the end\nfinally\n1e-3\ndied\nwas killed\n0.9\ndied\ndied\n0.2\nunknown\nend\n"


@pytest.fixture
def path(tmp_path) -> str:
    (tmp_path / "table.gz").write_bytes(gzip.compress(TABLE.encode()))
    return str(tmp_path / "table.gz")


def test_phrases_and_their_paraphrases_are_found_where_they_occur(path):
    segments = tokenise(
        ["he died in the end", "", "finally he passed away and died", "was he killed", "in the"], "none"
    )
    phrases = find_paraphrases(path, segments)
    offsets, rows = phrases.sentence_offsets, phrases.occurrences
    result = [[(start, length, number) for start, length, number in rows[slice(*offsets[i : i + 2])]] for i in range(5)]
    names = {
        number: " ".join(segments.words(sentence)[start : start + length])
        for sentence, rows in enumerate(result)
        for start, length, number in rows
    }
    assert [[(start, length) for start, length, _ in rows] for rows in result] == [
        [(1, 1), (2, 3)],
        [],
        [(0, 1), (2, 2), (5, 1)],
        [],
        [],
    ]
    # "was killed" and "unknown" do not occur, and nothing is its own paraphrase
    related = {
        name: {names[other] for other in phrases.values[slice(*phrases.offsets[number : number + 2])]}
        for number, name in names.items()
    }
    assert related == {
        "died": {"passed away"},
        "passed away": {"died"},
        "in the end": {"finally"},
        "finally": {"in the end"},
    }


def test_the_digest_tells_tables_apart(path, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text(TABLE)
    other = tmp_path / "other"
    other.write_text(TABLE.replace("0.5", "0.6"))
    assert table_digest(path) == table_digest(str(plain)) != table_digest(str(other))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5\na\nb\nc\na\nb\n", r"table:4: expected a probability, then two lines .* found 'c'"),
        ("0.5\na\n", r"table:1: expected three lines per entry, found fewer"),
        ("0.5\na\n\n", r"table:1: expected three lines per entry, found fewer"),
    ],
)
def test_other_formats_are_refused(tmp_path, text, message):
    (tmp_path / "table").write_text(text)
    with pytest.raises(DataError, match=message):
        find_paraphrases(str(tmp_path / "table"), tokenise(["a b"], "none"))
    with pytest.raises(DataError, match="no such file"):
        find_paraphrases(str(tmp_path / "nowhere"), tokenise(["a b"], "none"))
