"""Language models in files: what KenLM reads is read alike, and what would harm it is refused in one line."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from ranker.errors import DataError, MissingError
from ranker.learning.lm import kenlm_files
from tests.learning.lm.small import OPEN, write_arpa_file, write_binary_file, write_text_model
from tests.learning.lm.test_kneser_ney import tokenise

kenlm = pytest.importorskip("kenlm", reason="KenLM is not installed")

SCORED = [
    ["the", "cat", "saw", "a", "zebra", "."],
    [],
    ["<s>", "</s>", "<unk>", "", "a\tb", "a\u00a0b", "dog"],
    ["dog"],
]


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    return write_arpa_file(tmp_path / "small.arpa")


@pytest.mark.parametrize("form", ["arpa", "gz", "klm", "trie"])
def test_scores_are_those_of_kenlm(arpa: Path, form: str) -> None:
    path = arpa.with_suffix(f".{form}")
    if form == "gz":
        path.write_bytes(gzip.compress(arpa.read_bytes()))
    elif form != "arpa":
        write_binary_file(path, form)
    values, offsets, words = tokenise(SCORED)
    model = kenlm_files.load(path)
    result = model.scores(words, values, offsets, matched=True)
    reader = kenlm.Model(str(path))
    plain = [" ".join(sentence) for sentence in SCORED]
    # words that would be split, or be boundaries, are unknown words
    plain[2] = "<unk> <unk> <unk> <unk> <unk> a\u00a0b dog"
    assert result.log10_prob.tolist() == [reader.score(line) for line in plain]
    full = [list(reader.full_scores(line)) for line in plain]
    assert result.unknown.tolist() == [sum(unknown for _, _, unknown in line) for line in full] == [1, 0, 6, 0]
    np.testing.assert_allclose(result.matched_length, [np.mean([length for _, length, _ in line]) for line in full])
    assert (model.header.order, model.header.words) == (3, 18)
    assert model.header.trained == (
        {} if form in ("klm", "trie") else {"order": "3", "tokenizer": "13a", "lowercase": "true"}
    )
    assert kenlm_files.load(path) is model


def test_kenlm_itself_prints_nothing(arpa: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = arpa.read_text()
    size = int(re.search(r"ngram 1=(\d+)", text)[1])
    without = re.sub(r"\n[^\n]*<unk>[^\n]*\n", "\n", text, count=1).replace(f"ngram 1={size}", f"ngram 1={size - 1}")
    arpa.write_text(without)
    assert kenlm_files.load(arpa).knows(["the", "<unk>"]).tolist() == [True, False]
    arpa.write_text(re.sub(r"\n-[\d.]+\t", "\nx\t", without, count=1))
    with pytest.raises(DataError, match="found 'x' as log10 probability, expected a number up to 0"):
        kenlm_files.load(arpa)
    assert capfd.readouterr() == ("", "")


STYLES = {
    "spaces": lambda text: text.replace("\t", " "),
    "spaces at the ends of lines": lambda text: text.replace("\n", " \n"),
    "tabs at the ends of n-grams": lambda text: re.sub(r"(\t\S+)\n", r"\1\t\n", text),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: f"\ufeff{text}",
    "no final newline": str.rstrip,
    "empty lines": lambda text: text.replace("\n\n", "\n\n\n").replace("\\data", "\n\\data"),
    "no empty lines": lambda text: text.replace("\n\n", "\n"),
    "IRSTLM": lambda text: re.sub(r"ngram (\d)=(\d+)", r"ngram  \1=       \2", text).replace("<unk>", "<UNK>"),
    "spaces in counts": lambda text: re.sub(r"ngram (\d)=(\d+)", r"ngram \1 = \2", text),
    "CMU": lambda text: f"#####\nA 3-gram model.\n\nBeginning of data mark: \\data\\\nngram 1=nr\n\n{text}".replace(
        "\t", " "
    ),
    "zero of the start": lambda text: re.sub(r"\n\S+\t<s>\t", "\n-inf\t<s>\t", text),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_styles_of_other_toolkits_give_the_same_scores(arpa: Path, style: str, packed: bool) -> None:
    values, offsets, words = tokenise(SCORED)
    expected = kenlm_files.load(arpa).scores(words, values, offsets, matched=True)
    text = STYLES[style](arpa.read_text(encoding="utf-8")).encode()
    other = arpa.with_name("other")
    other.write_bytes(gzip.compress(text) if packed else text)
    result = kenlm_files.load(other).scores(words, values, offsets, matched=True)
    np.testing.assert_array_equal(result.log10_prob, expected.log10_prob)
    np.testing.assert_array_equal(result.matched_length, expected.matched_length)


def test_a_copy_that_cannot_be_written_is_not_blamed_on_the_file(
    arpa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "spaces.arpa"
    other.write_text(arpa.read_text(encoding="utf-8").replace("\t", " "), encoding="utf-8")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    message = "a copy that KenLM can read cannot be written: No such file or directory; set TMPDIR to a folder"
    with pytest.raises(DataError, match=message):
        kenlm_files.load(other)


def test_orders_without_ngrams_are_read(tmp_path: Path) -> None:
    # as SRILM writes them for short texts
    empty = OPEN.replace("ngram 2=4\n", "ngram 2=4\nngram 3=0\n").replace("\\end", "\\3-grams:\n\n\\end")
    values, offsets, words = tokenise([["the", "cat"], ["cat", "the", "dog"]])
    scores = [
        kenlm_files.load(write_text_model(tmp_path / f"{number}.arpa", text)).scores(
            words, values, offsets, matched=True
        )
        for number, text in enumerate([OPEN, empty, empty.replace("\n\n", " \n\n")])
    ]
    for score in scores:
        np.testing.assert_allclose(score.log10_prob, [-0.9, -1.1 - 0.1 - 0.6 - 0.2 - 1.5 - 0.7], rtol=1e-6)


@pytest.mark.parametrize("form", ["klm", "trie"])
def test_binary_files_without_unknown_words_score_as_the_arpa_file_does(arpa: Path, form: str) -> None:
    binary = write_binary_file(arpa.with_suffix(f".{form}"), form)
    unknown = kenlm_files.load(binary)._model.score("<unk>", bos=False, eos=False)
    # what build_binary writes for an ARPA file without <unk>
    binary.write_bytes(binary.read_bytes().replace(struct.pack("<f", unknown), struct.pack("<f", -100)))
    text = re.sub(r"\n[^\n]*<unk>[^\n]*\n", "\n", arpa.read_text(), count=1)
    arpa.write_text(text.replace("ngram 1=18", "ngram 1=17"))
    values, offsets, words = tokenise(SCORED)
    found, expected = (kenlm_files.load(path).scores(words, values, offsets, matched=True) for path in (binary, arpa))
    assert found.closed
    assert expected.closed
    np.testing.assert_array_equal(found.log_perplexity, expected.log_perplexity)
    assert (expected.log10_prob > -10).all()


def test_another_file_of_the_same_name_is_read_anew(arpa: Path) -> None:
    before, digest = kenlm_files.load(arpa), kenlm_files.digest(arpa)
    write_arpa_file(arpa, order=2)
    assert kenlm_files.load(arpa).header.order == 2 != before.header.order
    assert kenlm_files.digest(arpa) != digest


def changed(pattern: str, replacement: str):
    return lambda raw: re.sub(pattern.encode(), replacement.encode().replace(b"\\", b"\\\\"), raw, count=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: b"", "is empty, expected a language model"),
        (lambda raw: b"\n\n", "is empty, expected a language model"),
        (lambda raw: b"hello\nworld\n", r"lm:1: is not a language model: found 'hello', expected an ARPA file"),
        (lambda raw: bytes(1000), r"is not a language model: found '.x00"),
        (lambda raw: raw.decode().encode("utf-16"), "is in UTF-16: save it in UTF-8"),
        (lambda raw: gzip.compress(gzip.compress(raw)), "is packed twice by gzip"),
        (lambda raw: bz2.compress(raw), "is packed by bzip2: unpack it"),
        (lambda raw: b"iARPA\n\n" + raw, "is in IRSTLM's own format: convert it with compile-lm --text=yes"),
        (lambda raw: b"\x1f\x8b" + raw, "damaged or incomplete gzip file"),
        (lambda raw: gzip.compress(raw)[:20], "damaged or incomplete gzip file"),
        (lambda raw: gzip.compress(raw)[:-200], "damaged or incomplete gzip file"),
        (lambda raw: gzip.compress(raw)[:-8], "damaged or incomplete gzip file"),
        (lambda raw: gzip.compress(raw) + b"xx", "damaged or incomplete gzip file"),
        (lambda raw: raw[: len(raw) // 2], r"is truncated, or has text after its end: expected \\end\\ there"),
        (lambda raw: raw + raw, r"lm:103: found '# ranker lm train: o', expected nothing after \\end\\"),
        (changed("ngram 3=38", "ngram 3=-4"), r"lm:5: found 'ngram 3=-4', expected ngram 3=COUNT"),
        (changed("ngram 3=38", "ngram 4=38"), r"lm:5: found 'ngram 4=38', expected ngram 3=COUNT"),
        (
            changed("ngram 3=38", "ngram 3=0"),
            r"lm:63: found '.*', expected \\end\\ after 0 3-grams, as ngram 3=0 declares",
        ),
        (changed("ngram 2=33", "ngram 2=0"), "declares 0 n-grams of order 2, expected at least 1"),
        (
            changed("ngram 3=38", "ngram 3=99999999"),
            "is truncated: [0-9,]+ bytes are too few for the 100,000,050 n-grams",
        ),
        (
            changed("ngram 3=38", "ngram 3=39"),
            "lm:101: found an empty line, expected 39 3-grams, .* but only 38 precede it",
        ),
        (changed("ngram 3=38", "ngram 3=37"), r"lm:100: found '.*', expected \\end\\ after 37 3-grams"),
        (
            changed(r"\\3-grams", r"\4-grams"),
            r"lm:62: found '\\\\4-grams:', expected \\3-grams:: create the file again",
        ),
        (changed(r"ngram 2=33\nngram 3=38\n", ""), "is a model of order 1: expected order 2 to 6"),
        (
            changed(r"ngram 3=38", "".join(f"ngram {order}=1\n" for order in range(3, 8)).rstrip()),
            "is a model of order 7: expected order 2 to 6",
        ),
        (changed("\t<s>\t", "\tzzz\t"), "has no unigram <s>, which KenLM requires"),
        (changed("\tcat\t", "\tthe\t"), "lm:2[0-9]: word 'the' has a unigram in line 14 too, expected one: create"),
        (changed("\tcat\t", "\tc,\t"), "lm:[0-9]+: word 'cat' has no unigram, expected one: create"),
        (lambda raw: raw.replace(b"cat", b"c\xe4t"), "lm:14: found 'c.t', expected words in UTF-8: convert the file"),
        (changed("\ta cat ran\n", "\ta cat ran\t-1\n"), "found a backoff weight, '-1', expected none in the highest"),
        (changed("\tcat\t", "\tcat\tnan\t"), r"lm:14: found '.*', expected a log10 probability, 1 word and perhaps"),
        (changed(r"\tcat\t-[0-9.]+", "\tcat\tinf"), "lm:14: found 'inf' as log10 backoff weight, expected a number"),
        (
            changed(r"\n-1\.\d+\tcat\t", "\n1.5\tcat\t"),
            "lm:14: found '1.5' as log10 probability, expected a number up to 0",
        ),
        (
            changed(r"\n-1\.\d+\tcat\t", "\nnan\tcat\t"),
            "lm:14: found 'nan' as log10 probability, expected a number up to 0",
        ),
        (changed(r"\n-1\.", "\n-1,"), "lm:[0-9]+: found '-1,[0-9]+' as log10 probability, expected a number up to 0"),
        # KenLM finds this without a line
        (changed(r"\n[^\n]*\ta cat\t[^\n]*", ""), "lm:[0-9]+: found an empty line, expected 33 2-grams"),
    ],
)
def test_broken_arpa_files_are_refused_in_one_line(arpa: Path, tmp_path: Path, change, message: str) -> None:
    broken = tmp_path / "lm"
    broken.write_bytes(change(arpa.read_bytes()))
    with pytest.raises(DataError, match=message) as raised:
        kenlm_files.load(broken)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(str(broken))


def patched(offset: int, form: str, value: float):
    return lambda raw: raw[:offset] + struct.pack(form, value) + raw[offset + struct.calcsize(form) :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[:100], "is truncated after 100 bytes"),
        (lambda raw: raw[: len(raw) // 2], "is truncated or damaged: found 0 of its 18 words"),
        (lambda raw: raw[:-30], "is truncated or damaged: found"),
        (lambda raw: raw[:1000] + raw[1100:], "cannot be read by KenLM: "),
        (lambda raw: raw.replace(b"version 5", b"version 4"), "is of another version of KenLM's format, expected 5"),
        (lambda raw: b"mmap lm http://kheafield.com/code incomplete\n" + raw[45:], "is incomplete"),
        (patched(60, "<f", 2), "is damaged, or was built on another type of computer"),
        (patched(92, "<f", float("nan")), "is damaged, or was built on another type of computer"),
        (patched(96, "<I", 99), "is damaged, or was built on another type of computer"),
        (patched(96, "<I", 2), "cannot be read by KenLM: "),
        (patched(88, "<B", 1), "is a model of order 1: expected order 2 to 6"),
        (patched(88, "<B", 9), "is a model of order 9: expected order 2 to 6"),
        # a count that is too small would keep KenLM busy for ever
        (patched(108, "<Q", 5), "found 18 of its 5 words"),
        (patched(116, "<Q", 0), ".* bytes are too few for its n-grams"),
        (patched(116, "<Q", 1 << 60), ".* bytes are too few for its n-grams"),
    ],
)
def test_broken_binary_files_are_refused_in_one_line(tmp_path: Path, change, message: str) -> None:
    broken = write_binary_file(tmp_path / "lm")
    broken.write_bytes(change(broken.read_bytes()))
    with pytest.raises(DataError, match=message) as raised:
        kenlm_files.load(broken)
    assert "\n" not in str(raised.value)


def test_no_file_no_model(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no-such: no such file, expected a language model"):
        kenlm_files.load(tmp_path / "no-such")
    with pytest.raises(DataError, match=r"no-such: no such file, expected a language model"):
        kenlm_files.digest(tmp_path / "no-such")
    with pytest.raises(DataError, match=r"is a directory, expected a language model"):
        kenlm_files.load(tmp_path)


def test_kenlm_that_is_not_installed_is_named(arpa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"require kenlm: pip install 'mt-ranker\[kenlm\]'"):
        kenlm_files.load(arpa)
