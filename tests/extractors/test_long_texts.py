from __future__ import annotations

import pytest

from ranker.errors import DataError
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of


@pytest.mark.parametrize(("name", "most"), [("ter", "5,000"), ("gtm", "2,000"), ("terp", "2,000")])
def test_texts_that_take_for_ever_are_refused_in_one_line(name: str, most: str) -> None:
    long = "a b c " * 6000
    says = f"a candidate of 18,001 tokens and a reference of 18,000 are too long for {name}, expected {most} or fewer"
    with pytest.raises(DataError, match=f"{says}: split the texts or use another metric"):
        make_metric(name).transform(dataset_of([(["a"], "a"), ([long], long + "d")]).select_sources([False, True]))


@pytest.mark.parametrize(
    ("name", "most"), [("meteor", 20_000), ("wer", 100_000), ("rouge_l", 100_000), ("rouge_w", 20_000)]
)
def test_a_text_of_megabytes_is_refused_where_it_would_take_hours(name: str, most: int) -> None:
    long = "a b c " * (most // 3 + 10)
    with pytest.raises(DataError, match=f"are too long for {name}, expected {most:,} or fewer: split the texts"):
        make_metric(name)([long], [long])


@pytest.mark.parametrize("name", ["ter", "gtm", "terp"])
def test_a_long_text_beside_a_short_one_is_compared(name: str) -> None:
    assert make_metric(name).transform(dataset_of([(["a"], "a b c " * 1000)])).shape == (1, 1)
