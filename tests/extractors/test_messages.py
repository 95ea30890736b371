"""What extractors and lists of them say about wrong options, names and columns."""

from __future__ import annotations

import pytest

from ranker.errors import DataError, OptionError
from ranker.extractors.registry import make, make_metric
from ranker.ranking.feature_set import FeatureSet
from tests.datasets import dataset_of
from tests.golden_messages import check_messages


def test_wrong_options_are_refused_with_what_was_expected() -> None:
    check_messages("extractors", make, OptionError)


def test_what_is_no_column_or_list_is_refused_with_what_there_is() -> None:
    check_messages("metrics", make_metric, OptionError)
    check_messages("feature_sets", FeatureSet.parse, OptionError)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(("ter", 5_000), ("gtm", 2_000), ("terp", 2_000), ("meteor", 20_000)),
        *(("wer", 100_000), ("rouge_l", 100_000), ("rouge_w", 20_000)),
    ],
)
def test_texts_that_take_for_ever_are_refused_in_one_line(name: str, most: int) -> None:
    long = "a b c " * (most // 3 + 10)
    size = f"{most // 3 * 3 + 30:,}"
    says = f"a candidate of {size} tokens and a reference of {size} are too long for {name}, expected a "
    says += f"product of at most {most**2:,}, as of {most:,} tokens each: split the texts or use another metric"
    with pytest.raises(DataError, match=says):
        make_metric(name).transform(dataset_of([(["a"], "a"), ([long], long)]).select_sources([False, True]))
