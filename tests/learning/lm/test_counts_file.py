from __future__ import annotations

import numpy as np
import pytest

from ranker.errors import ModelError
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.counts_file import CountsModel, to_arrays
from ranker.learning.lm.kneser_ney import estimate, log10_scores
from ranker.storage.model_files import read_arrays, write_arrays
from ranker.text.tokens import tokenise

TEXT = ["the cat sat on the mat .", "a man saw the cat .", "", "the dog saw a man on the mat", "a dog sat"]


def arrays(order: int = 3):
    text = tokenise(TEXT, "none")
    return text, to_arrays(count_ngrams(text.values, text.offsets, order), text.vocabulary)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_a_model_from_counts_is_the_model_that_was_counted(tmp_path, order):
    text, values = arrays(order)
    write_arrays(tmp_path / "lm.npz", values)
    model = CountsModel(read_arrays(tmp_path / "lm.npz"))
    assert model.order == order
    new = tokenise(["a zebra sat on the cat", *TEXT, "mat dog"], "none")
    result = model.scores(new.vocabulary, new.values, new.offsets)
    known = {word: number for number, word in enumerate(text.vocabulary)}
    ids = np.array([known.get(word, len(known)) for word in new.vocabulary])[new.values]
    expected = log10_scores(estimate(count_ngrams(text.values, text.offsets, order)), ids, new.offsets)
    np.testing.assert_array_equal(result.log10_prob, expected.log10_prob)
    np.testing.assert_array_equal(result.matched_length, expected.matched_length)
    assert result.unknown.tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert model.knows(["cat", "zebra"]).tolist() == [True, False]


def test_what_was_changed_is_refused(tmp_path):
    _, values = arrays()

    def changed(name: str, place: int, value: int):
        array = values[name].copy()
        array[place] = value
        return {**values, name: array}

    types = int(values["starts"][2])
    wrong = [
        changed("words", 0, ord("\n")),
        changed("words", 0, 0xFF),
        changed("starts", 1, 2),
        changed("children", 4, values["children"][4] + 1),
        changed("word", 5, 4),
        changed("word", types, len(values["word"]) - 1),
        changed("word", -1, 1),
        {**values, "discounts": values["discounts"][:2]},
        {**values, "discounts": values["discounts"] + 3},
        {name: array for name, array in values.items() if name != "adjusted"},
    ]
    for item in wrong:
        with pytest.raises(ModelError, match=r"language model: .*the file is damaged or was modified"):
            CountsModel(item)
    path = tmp_path / "lm.npz"
    path.write_bytes(b"PK")
    with pytest.raises(ModelError, match=r"lm.npz does not contain plain arrays"):
        read_arrays(path)
    with pytest.raises(ModelError, match=r"none\.npz: cannot be read: No such file"):
        read_arrays(tmp_path / "none.npz")
