"""Names have a greatest length, whatever file they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from ranker import from_frame
from ranker.corpora import languages
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.schema import LONGEST_NAMES
from ranker.errors import DataError

ROW = {
    "lp": "de-en",
    "doc": "d",
    "seg_id": "1",
    "judge": "j",
    "source": "x",
    "reference": "a",
    "system": "A",
    "text": "a",
}


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "frame"])
@pytest.mark.parametrize("column", ["lp", "doc", "seg_id", "judge", "system"])
def test_names_as_long_as_pages_are_refused_in_all_formats(tmp_path: Path, column: str, ending: str) -> None:
    most = LONGEST_NAMES[column]
    path = tmp_path / f"c.{ending}"
    for length in (most, most + 1):
        row = {**ROW, "fluency": 1, column: "n" * length}
        frame = pd.DataFrame([row, {**row, "text": "b", "system": "B", "judge": "j"}])

        def read(frame: pd.DataFrame = frame) -> object:
            if ending == "frame":
                return from_frame(frame)
            if ending == "jsonl":
                path.write_text("".join(f"{json.dumps(row)}\n" for row in frame.to_dict("records")))
            elif ending == "parquet":
                frame.to_parquet(path)
            else:
                frame.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
            return read_dataset(path)

        if length == most:
            assert len(read()) == 2  # type: ignore[arg-type]
        else:
            with pytest.raises(DataError, match=f"{column} has more than {most:,} characters: shorten it"):
                read()


def test_what_is_too_long_for_a_language_pair_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_most_likely", lambda *_: pytest.fail("taken apart"))
    assert languages.language_pair("d_" * 50_000) == "d_" * 50_000
