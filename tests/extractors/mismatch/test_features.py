from __future__ import annotations

import numpy as np
import pytest

from ranker.extractors.mismatch.features import Mismatch
from ranker.extractors.mismatch.texts import KINDS, lists
from ranker.extractors.registry import make
from ranker.ranking.ranker import Ranker
from tests.datasets import dataset_of


def found(candidate: str, *references: str) -> dict[str, float]:
    """The columns that are not 0."""
    (row,) = Mismatch().transform(dataset_of([(references, candidate)]))
    return {kind: value for kind, value in zip(KINDS, row, strict=True) if value}


@pytest.mark.parametrize(
    ("reference", "candidate", "kind"),
    [
        ("The company closed three plants in Poland.", "The company opened three plants in Poland.", "opposite"),
        ("It is possible to walk there at night.", "It is impossible to walk there at night.", "opposite"),
        ("Her advice was helpful for the young team.", "Her advice was helpless for the young team.", "opposite"),
        ("She sold the old house last week.", "She bought the old house last week.", "opposite"),
        ("The company closed three plants in Poland.", "The company closed three plants in Spain.", "name"),
        ("Poland will vote on the new law.", "Spain will vote on the new law.", "name"),
        ("The company closed three plants in Poland.", "The company closed four plants in Poland.", "number"),
        ("About 1,500 people came to the fair.", "About 1,700 people came to the fair.", "number"),
        ("It was the third fire of the summer.", "It was the fifth fire of the summer.", "number"),
        ("The company closed three plants.", "The company did not close three plants.", "negation"),
        ("The important road was open at night.", "The important road was not open at night.", "negation"),
        (
            "The council opened the road and the aim is to help.",
            "The council will open the road and the aim is to help.",
            "tense",
        ),
        ("The mayor hopes that the road opened.", "The mayor hopes that the road will open.", "tense"),
        ("The factory was not open.", "The Indian factory was open.", "negation"),
        ("The old network was not safe.", "The wireless network was safe.", "negation"),
        ("Only one-third of the schools had a garden.", "Only one-fourth of the schools had a garden.", "number"),
        ("It was the twenty-first fire of the summer.", "It was the twenty-third fire of the summer.", "number"),
        ("The council opened the road when it rained.", "When it rained, the council will open the road.", "tense"),
        ("Nobody could have seen the small boat.", "Everybody could have seen the small boat.", "negation"),
        ("They don't accept cards in that shop.", "They accept cards in that shop.", "negation"),
        ("The dog bit the man.", "The man bit the dog.", "role"),
        ("I thanked the old doctor.", "The old doctor thanked me.", "role"),
        ("The prince was killed by the hunter.", "The hunter was killed by the prince.", "role"),
        ("The council raised the fee.", "The council will raise the fee.", "tense"),
        ("They will repair the bridge.", "They repaired the bridge.", "tense"),
        ("We saw the sea from the hill.", "We saw the sea from the hill from the hill.", "repetition"),
    ],
)
def test_one_difference_is_of_one_kind_and_the_same_in_both_directions(reference, candidate, kind):
    assert found(candidate, reference) == {kind: 1.0}
    assert found(reference, candidate) == ({} if kind == "repetition" else {kind: 1.0})


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("The dog bit the man.", "The man was bitten by the dog."),
        ("The company closed three plants in 2019.", "In 2019 the company closed 3 plants."),
        ("He does not know the way.", "He doesn't know the way."),
        ("It is not possible to walk there.", "It is impossible to walk there."),
        ("Not only the school was closed.", "The school was not only closed."),
        ("The town has one hundred and twenty shops.", "The town has 120 shops."),
        ("It cost 1.5 million euros.", "It cost 1,500,000 euros."),
        ("She met Saddam in Baghdad.", "She met Sadam in Baghdad."),
        ("He said the bus would be late.", "He said the bus will be late."),
        ("They failed to find the key.", "They did not find the key."),
        ("The land is less equal now.", "The land is more unequal now."),
        ("He said that that was true.", "He said that that was true."),
        ('"We are late," said the driver.', 'The driver said: "We are late."'),
        ("", "The dog bit the man."),
        ("The dog bit the man.", ""),
        ("...", "!"),
    ],
)
def test_the_same_in_other_words_is_no_difference(reference, candidate):
    assert found(candidate, reference) == {}
    assert found(reference, candidate) == {}


TAIL = (
    "in the small harbour towns along the northern coast, as the report of the council said last week, to which the "
    "fishermen answered with a letter that many newspapers of the region printed on their first pages"
)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("There are not enough data on this kind of fish", "There are insufficient data on this kind of fish"),
        (
            "How the bees find their way is not fully understood",
            "How the bees find their way is incompletely understood",
        ),
        ("The way of the bees is not well documented", "The way of the bees is poorly documented"),
        ("Only one third of the schools had a garden", "Only one-third of the schools had a garden"),
        ("A new bridge will be built next to the old one", "A new bridge is to be built next to the old one"),
        ("They will sell the boats that are too old", "They are going to sell the boats that are too old"),
        ("Trains are used if the roads will be closed", "Trains are used if the roads are closed"),
        ("People hope that the new rules will be a help", "People hope that the new rules are a help"),
    ],
)
def test_what_is_said_by_another_form_is_no_difference(reference, candidate):
    assert found(f"{candidate} {TAIL}.", f"{reference} {TAIL}.") == {}
    assert found(f"{reference} {TAIL}.", f"{candidate} {TAIL}.") == {}


def test_differences_count_as_far_as_little_else_differs():
    reference = (
        "The company closed three plants in Poland and moved the work to a new site near the old port of the town."
    )
    weights = [
        found(reference.replace("closed", "opened").replace(*change), reference).get("opposite", 0.0)
        for change in (("x", "x"), ("site", "yard"), ("new site near the old", "yard"))
    ]
    assert weights[0] == 1.0
    assert 0 < weights[1] < 1.0
    assert weights[2] == 0.0


def test_of_several_references_the_nearest_counts():
    near, far = "The company closed three plants in Poland.", "Three factories were shut."
    assert found("The company opened three plants in Poland.", far, near) == {"opposite": 1.0}
    # an exact copy of any reference has no difference
    assert found(near, near.replace("Poland", "Spain"), near) == {}


def test_evidence_names_the_words():
    data = dataset_of([(["The company closed three plants in Poland."], ["The company opened two plants in Spain."])])
    assert Mismatch().evidence(data, 0) == {
        "reference 1": ["opposite: opened for closed", "number: 2 for 3", "name: Spain for Poland"]
    }


def test_lists_are_lowercase_and_the_notation_is_short():
    assert all(word == word.lower() for words in lists().values() for word in words)
    assert str(make("mismatch")) == "mismatch"
    with pytest.raises(ValueError, match="english"):
        make("mismatch[words=german]")


@pytest.mark.parametrize(
    ("reference", "right", "wrong"),
    [
        (
            "The company closed three plants in Poland in 2019.",
            "In 2019, the firm shut down three factories in Poland.",
            [
                "The company opened three plants in Poland in 2019.",
                "The company closed three plants in Spain in 2019.",
                "The company closed eight plants in Poland in 2019.",
                "The company did not close three plants in Poland in 2019.",
            ],
        ),
        ("The dog bit the man.", "The man was bitten by the dog.", ["The man bit the dog."]),
    ],
)
def test_the_included_ranker_prefers_other_words_to_another_meaning(reference, right, wrong):
    scores = Ranker.load("full").candidate_scores(dataset_of([([reference], [right, *wrong])]))
    assert np.argmax(scores) == 0


def test_odd_words_and_long_texts_are_compared():
    odd = [
        "9" * 400,
        "\u0663",
        "\u00b2",
        "\u0130stanbul",
        "'s",
        "\u200b",
        "A" * 5000,
        "by",
        "was",
        "not",
        "million",
        "-",
    ]
    assert found(" ".join(odd), " ".join(odd[::-1])).keys() <= set(KINDS)
    long = " ".join(["the plan was made by Anna"] * 5000)
    assert found(f"{long} 8", f"{long} 9") == {"number": 1.0}
