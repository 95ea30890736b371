"""`ranker permutation` as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from ranker.cli.main import run
from ranker.extractors.order.scores import NAMES, permutation_scores

Ranker = Callable[..., str]


@pytest.fixture
def ranker(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ranker:
    """Run `ranker permutation`; return what it printed on stdout."""

    def call(*arguments: str, stdin: str = "") -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as exit_info:
            run(["permutation", *arguments])
        printed = capsys.readouterr()
        assert exit_info.value.code == 0, printed.err
        assert printed.err == ""
        return printed.out

    return call


def test_one_permutation_for_people(ranker: Ranker) -> None:
    printed = ranker("5 7 4 6 3 1 2")
    assert printed.startswith("7 words, counted from 1\n\nmetric           score\nhamming         0.0000\n")
    assert "\npet_flat       -0.2286\n" in printed
    assert "\n┌─┬┴┬─┐ │ ┌┴┐\n5 7 4 6 3 1 2\n" in printed
    assert "\nforest: 2 trees, packed in this chart\n" in printed
    assert "\n1-4        4-7     2413      2 3 4          1\n" in printed
    assert "\n1-7        1-7     21        5 6            2\n" in printed
    assert "|permutation|beta:0.6|gamma:0.0\n" in printed
    assert ranker("5", "7", "4", "6", "3", "1", "2") == printed
    assert ranker("-", stdin="\n5,7,4,6,3,1,2\r\n") == printed


def test_it_says_what_it_counted_from(ranker: Ranker) -> None:
    assert ranker("2 1").startswith("2 words, counted from 1\n")
    from_zero = ranker("1 0")
    assert from_zero.startswith("2 words, counted from 0\n")
    assert "\n21\n┌┴┐\n1 0\n" in from_zero
    assert "\n0-1        0-1     21        1              1\n" in from_zero
    assert ranker("0").startswith("1 word, counted from 0\n")


def test_json(ranker: Ranker) -> None:
    document = json.loads(ranker("0 2 1 3", "--beta", "0.5", "--gamma", "0.25", "-f", "json"))
    assert document["signature"].endswith("|permutation|beta:0.5|gamma:0.25")
    assert (document["permutation"], document["counted_from"], document["length"]) == ([0, 2, 1, 3], 0, 4)
    assert (document["tree"], document["flat_tree"]) == ("(1,2|(1,2|0 (2,1|2 1)) 3)", "(1,2,3|0 (2,1|2 1) 3)")
    assert (document["trees"], document["spans"]) == (2, 4)
    assert document["log10_trees"] == pytest.approx(math.log10(2))
    assert document["chart"][-1] == {
        "positions": [0, 3],
        "values": [0, 3],
        "operator": "12",
        "splits": [1, 3],
        "trees": 2,
    }
    assert list(document["scores"]) == list(NAMES)
    for name, value in document["scores"].items():
        assert value == permutation_scores(name, [0, 2, 1, 3], [0, 4], beta=0.5, gamma=0.25)[0]


def test_several_permutations_are_rows(ranker: Ranker) -> None:
    stdin = "1 2 3\n\n0 2 1 3\n3 2 1\n"
    rows = [json.loads(line) for line in ranker("-", "-f", "jsonl", stdin=stdin).splitlines()]
    assert [(row["line"], row["counted_from"], row["length"]) for row in rows] == [(1, 1, 3), (3, 0, 4), (4, 1, 3)]
    assert [row["kendall"] for row in rows] == pytest.approx([1, 5 / 6, 0])
    table = ranker("-", stdin=stdin)
    assert table.splitlines()[0].split() == ["line", "counted_from", "length", *NAMES]
    parsed = list(csv.DictReader(io.StringIO(ranker("-", "-f", "csv", stdin=stdin))))
    assert [float(row["pef"]) for row in parsed] == [row["pef"] for row in rows]
    assert json.loads(ranker("-", "-f", "json", stdin=stdin))["rows"] == rows
    assert len(ranker("1 2", "-f", "jsonl").splitlines()) == 1


def test_svg_is_the_tree_that_is_drawn(ranker: Ranker, tmp_path) -> None:
    path = tmp_path / "tree.svg"
    labels = []
    for more in ([], ["--flat"]):
        ranker("3 2 1", "--svg", str(path), *more)
        labels.append([item.text for item in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")])
    assert sorted(labels[0]) == ["1", "2", "21", "21", "3"]
    assert sorted(labels[1]) == ["1", "2", "3", "321"]
    assert "\n 321\n┌─┼─┐\n3 2 1\n" in ranker("3 2 1", "--flat")


def test_what_is_too_long_to_draw(ranker: Ranker) -> None:
    words = " ".join(map(str, range(1, 41)))
    assert "\nforest: about 10^20.83 trees; 780 spans, too many to print (use --format json)\n" in ranker(words)
    document = json.loads(ranker(words, "-f", "json"))
    assert len(document["chart"]) == document["spans"] == 780
    assert document["trees"] == math.comb(78, 39) // 40
    many = ranker(" ".join(map(str, range(1, 61))), "--flat")
    assert "\n(1,2,3," in many
    longest = json.loads(ranker(" ".join(map(str, range(1, 1001))), "-f", "json"))
    assert longest["trees"] is None
    assert longest["chart"] is None
    assert longest["log10_trees"] == pytest.approx(math.log10(math.comb(1998, 999) // 1000))


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (["1 2 2"], b"", r"^2 occurs more than once and 3 is missing; expected each of 1 to 3 once"),
        (["0 2"], b"", r"2 is out of range and 1 is missing; .* \(counting from 0\)$"),
        (["a b"], b"", r"^word 1 is 'a', expected whole numbers"),
        ([""], b"", r"^the permutation is empty"),
        (["-"], b"", r"^<stdin>: the permutation is empty"),
        (["-"], b"1 2\n\n1 3\n", r"^<stdin>:3: 3 is out of range and 2 is missing"),
        (["-"], b"1 2\n\xff\n", r"^<stdin>:2:1: byte 0xff is not UTF-8"),
        (["1 2", "--beta", "0"], b"", r"^beta=0.0: expected a number above 0"),
        (["1 2", "--gamma", "1"], b"", r"^gamma=1.0: expected a number from 0 and below 1"),
        (["-", "--svg", "x.svg"], b"1 2\n2 1\n", r"^--svg draws a single permutation, found 2$"),
        (["1 2", "--svg", "x.svg", "-f", "csv"], b"", r"^--svg requires --format table or json$"),
        (["1 2", "--svg", "none/x.svg"], b"", r"none/x.svg: cannot be written: the directory none does not exist"),
        ([], b"", r"[Mm]issing argument"),
    ],
)
def test_refusals(arguments: list[str], stdin: bytes, says: str, refused: Callable[..., str]) -> None:
    refused("permutation", *arguments, says=says.replace("^", "^ranker: error: "), stdin=stdin)


def test_help_shows_the_example(ranker: Ranker) -> None:
    shown = ranker("--help")
    assert 'Example: ranker permutation "5 7 4 6 3 1 2"' in shown
