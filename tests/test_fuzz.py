"""A short run of the fuzzer: damaged files of every format are read or refused in one line."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import fuzz
from ranker import threads
from ranker.corpora.catalogue import card_files
from tests.effort import thorough

pytestmark = thorough


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, fuzz.Format]:
    return fuzz.formats(tmp_path_factory.mktemp("sound"))


@pytest.fixture(autouse=True)
def _small_inputs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a run of the fuzzer: one thread, and cards read once."""
    monkeypatch.setattr(card_files, "cards", functools.cache(card_files.cards))
    with threads.using(1):
        yield


@pytest.mark.parametrize("part", range(4))
def test_damaged_files_are_read_or_refused_in_one_line(
    made: dict[str, fuzz.Format], part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = sorted(made)
    count = 2_000 // 4
    for number in range(part * count, (part + 1) * count):
        name = names[number % len(names)]
        result = fuzz.check(made[name], fuzz.input_of(made[name], name, 0, number), tmp_path)
        assert not result.finding, f"{name} {number}: {result.finding}\n{result.words}\n{result.detail}"


def test_sound_files_are_read(made: dict[str, fuzz.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, form in made.items():
        result = fuzz.check(form, form.files[form.target], tmp_path)
        # encoders in Hugging Face's format are refused, with what to install, where torch is not
        refused = "mt-ranker[semantic-train]" in result.detail and find_spec("torch") is None
        assert (result.finding, result.refused) == ("", refused), f"{name}: {result.detail}"


def test_no_input_is_read_with_the_files_of_another(
    made: dict[str, fuzz.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fuzz.check(made["encoder:tokenizer_config.json"], b"{", tmp_path).refused
    sound = made["small network"]
    assert not fuzz.check(sound, sound.files[sound.target], tmp_path).refused
