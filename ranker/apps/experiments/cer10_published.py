"""The published tables of Cer, Manning and Jurafsky (2010), in the layout of our own tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ranker.apps.experiments.choice_comparison import matrix
from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.tables import Marked, Table
from ranker.extractors.base import Metric
from ranker.ranking.scorers import Scorer

TITLES = {
    "chinese": "published scores of the test side, Chinese-English, NIST MT03 (table 1)",
    "arabic": "published scores of the test side, Arabic-English, GALE dev07 (table 2)",
    "deviations": "published standard deviation over 5 runs, Chinese-English, NIST MT03 (table 4)",
}


def tables(metrics: Mapping[str, Metric | Scorer]) -> list[Table]:
    """Return the published tables, restricted to `metrics`, with better and worse values marked as in our tables."""
    listed = []
    for name, title in TITLES.items():
        frame = published_table(f"cer10-{name}")
        columns = [column for column in frame.columns if column in metrics]
        chosen = [tuned for tuned in frame.index if tuned in metrics]
        if not columns or not chosen:
            continue
        scored = {column: metrics[column] for column in columns}
        # all printed values but those of NIST are per cent
        values = frame[columns].to_numpy() / [1.0 if column == "NIST" else 100.0 for column in columns]
        note = "Cer, Manning and Jurafsky (2010)"
        if name == "deviations":
            rows = [
                {"tuned to": tuned, **dict(zip(scored, map(Marked, row), strict=True))}
                for tuned, row in zip(frame.index, values, strict=True)
            ]
        else:
            rows = matrix(list(frame.index), scored, values)
            averages = map(Marked, np.mean(values, axis=0))
            rows.append({"tuned to": "average", **dict(zip(scored, averages, strict=True))})
            note += ", with four references; averages and marks are over all metrics that they tuned to"
        chosen_rows = [row for row in rows if row["tuned to"] in (*chosen, "average")]
        listed.append(Table(title, tuple(chosen_rows), f"{note}."))
    return listed
