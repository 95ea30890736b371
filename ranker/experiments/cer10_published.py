"""Figures that Cer, Manning and Jurafsky (2010) published: what the tables show beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray
from ranker.experiments.choice_comparison import matrix
from ranker.experiments.tables import Marked, Table
from ranker.extractors.base import Metric


@dataclass(frozen=True)
class PublishedTable:
    """Scores by several metrics of what was tuned to each, as printed: per cent, and NIST as it is."""

    title: str
    scored_by: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]

    @classmethod
    def read(cls, title: str, text: str) -> PublishedTable:
        """Read a table written as in the paper: what is scored by in the first line, what was tuned to in front."""
        (_, *scored_by), *rows = map(str.split, text.strip().splitlines())
        return cls(title, tuple(scored_by), {name: tuple(map(float, values)) for name, *values in rows})

    def values(self) -> FloatArray:
        """Return the scores as fractions, and those of NIST as they are, shape (tuned to, scored by)."""
        units = np.array([1.0 if name == "NIST" else 100.0 for name in self.scored_by])
        return np.asarray(np.array(list(self.rows.values())) / units, dtype=np.float64)


PREFERENCES: tuple[tuple[str, str, float | None, float | None], ...] = (
    ("METR-r", "TERp", 0.600, None),
    ("BLEU:4", "TERp", 0.575, 0.490),
    ("NIST", "TERp", 0.550, 0.560),
    ("NIST", "TERpA", 0.550, None),
    ("BLEU:4", "TERpA", 0.545, None),
    ("BLEU:4", "METR-r", 0.545, 0.620),
    ("METR:0.5", "METR", 0.545, 0.515),
    ("METR:0.5", "METR-r", 0.530, None),
    ("METR", "BLEU:4", 0.525, 0.455),
    ("BLEU:4", "METR:0.5", 0.525, 0.555),
    ("METR", "TERp", 0.520, None),
    ("NIST", "BLEU:4", 0.520, 0.515),
    ("BLEU:4", "METR-r:0.5", 0.515, 0.505),
    ("WER", "TERp", 0.515, 0.515),
    ("TERpA", "TERp", 0.505, None),
    ("METR-r:0.5", "METR-r", None, 0.540),
    ("TER", "BLEU:4", None, None),
    ("LR-HB4", "BLEU:4", None, None),
    ("LR-KB4", "BLEU:4", None, None),
    ("BLEU:4-TER", "BLEU:4", None, None),
    ("BLEU:4-2TERp", "BLEU:4", None, None),
    ("BLEU:4+2METR", "BLEU:4", None, None),
)
"""Pairs of training metrics, and how often the first was preferred (table 5, Chinese and Arabic to English)."""
SEARCHES: dict[str, tuple[int, str]] = {
    "BLEU:1": (13, "21:57"),
    "BLEU:2": (15, "32:40"),
    "BLEU:3": (19, "45:08"),
    "BLEU:4": (10, "24:13"),
    "BLEU:5": (16, "46:12"),
    "NIST": (15, "78:15"),
    "TER": (7, "21:00"),
    "TERp": (9, "19:19"),
    "TERpA": (8, "393:16"),
    "WER": (13, "33:53"),
    "METR": (12, "39:16"),
    "METR-r": (12, "47:19"),
    "METR:0.5": (18, "42:04"),
    "METR-r:0.5": (13, "25:44"),
    "BLEU:4-TER": (9, "21:07"),
    "BLEU:4-2TERp": (8, "22:03"),
}
"""Iterations of MERT and hours and minutes without the decoder, by what was tuned to (table 3, Chinese to English)."""
CHINESE = PublishedTable.read(
    "published scores of the test side, Chinese-English, NIST MT03 (table 1)",
    """
tuned-to     BLEU:1 BLEU:2 BLEU:3 BLEU:4 BLEU:5  NIST   TER  TERp   WER TERpA  METR METR-r METR:0.5 METR-r:0.5
BLEU:1        75.98  55.39  40.41  29.64  21.60 11.94 78.07 78.71 68.28 73.63 41.98  59.63    42.46      60.02
BLEU:2        76.58  57.24  42.84  32.21  24.09 12.20 77.09 77.63 67.16 72.54 43.20  60.91    43.59      61.56
BLEU:3        76.74  57.46  43.13  32.52  24.44 12.22 76.53 77.07 66.81 72.01 42.94  60.57    43.40      60.88
BLEU:4        76.24  56.86  42.43  31.80  23.77 12.14 76.75 77.25 66.78 72.01 43.29  60.94    43.10      61.27
BLEU:5        76.39  57.14  42.93  32.38  24.33 12.40 75.42 75.77 65.86 70.29 43.02  61.22    43.57      61.43
NIST          76.41  56.86  42.34  31.67  23.57 12.38 75.20 75.72 65.78 70.11 43.11  61.04    43.78      61.84
TER           73.23  53.39  39.09  28.81  21.18 12.73 71.33 71.70 63.92 66.58 38.65  55.49    41.76      59.07
TERp          72.78  52.90  38.57  28.32  20.76 12.68 71.76 72.16 64.26 66.96 38.51  56.13    41.48      58.73
TERpA         71.79  51.58  37.36  27.23  19.80 12.54 72.26 72.56 64.58 67.30 37.86  55.10    41.16      58.04
WER           74.49  54.59  40.30  29.88  22.14 12.64 71.85 72.34 63.82 67.11 39.76  57.29    42.37      59.97
METR          73.33  54.35  40.28  30.04  22.39 11.53 84.74 85.30 71.49 79.47 44.68  62.14    42.99      60.73
METR-r        74.20  54.99  40.91  30.66  22.98 11.74 82.69 83.23 70.49 77.77 44.64  62.25    43.44      61.32
METR:0.5      76.36  56.75  42.48  31.98  24.00 12.44 74.94 75.32 66.09 70.14 42.75  60.98    43.86      61.38
METR-r:0.5    76.49  56.93  42.36  31.70  23.68 12.21 77.04 77.58 67.12 72.23 43.26  61.03    43.63      61.67
BLEU:4-TER    75.32  55.98  41.87  31.42  23.50 12.62 72.97 73.38 64.46 67.95 41.50  59.11    43.50      60.82
BLEU:4-2TERp  75.22  55.76  41.57  31.11  23.25 12.64 72.48 72.89 64.17 67.43 41.12  58.82    42.73      60.86
BLEU:4+2METR  75.77  56.45  42.04  31.47  23.48 11.98 79.96 80.65 68.85 74.84 44.06  61.78    43.70      61.48
""",
)
ARABIC = PublishedTable.read(
    "published scores of the test side, Arabic-English, GALE dev07 (table 2)",
    """
tuned-to     BLEU:1 BLEU:2 BLEU:3 BLEU:4 BLEU:5  NIST   TER  TERp   WER  METR METR-r METR:0.5 METR-r:0.5
BLEU:1        79.90  65.35  54.08  45.14  37.81 10.68 46.19 61.04 49.98 49.74  67.79    49.19      68.12
BLEU:2        80.03  65.84  54.70  45.80  38.47 10.75 45.74 60.63 49.24 50.02  68.00    49.71      68.27
BLEU:3        79.87  65.71  54.59  45.67  38.34 10.72 45.86 60.80 49.18 49.87  68.32    49.61      67.67
BLEU:4        80.39  66.14  54.99  46.05  38.70 10.82 45.25 59.83 48.69 49.65  68.13    49.66      67.92
BLEU:5        79.97  65.77  54.64  45.76  38.44 10.75 45.66 60.55 49.11 49.89  68.33    49.64      68.19
NIST          80.41  66.27  55.22  46.32  38.98 10.96 44.11 57.92 47.74 48.88  67.85    49.88      68.52
TER           79.69  65.52  54.44  45.55  38.23 10.75 43.36 56.12 47.11 47.90  66.49    49.55      68.12
TERp          79.27  65.11  54.13  45.35  38.12 10.75 43.36 55.92 47.14 47.83  66.34    49.43      67.94
WER           79.42  65.28  54.30  45.51  38.27 10.78 43.44 56.13 47.13 47.82  66.33    49.38      67.88
METR          75.52  60.94  49.84  41.17  34.12  9.93 52.81 70.08 55.72 50.92  68.55    48.47      66.89
METR-r        77.42  62.91  51.67  42.81  35.61 10.24 49.87 66.26 53.17 50.95  69.29    49.29      67.89
METR:0.5      79.69  65.14  53.94  45.03  37.72 10.72 45.80 60.44 49.34 49.78  68.31    49.23      67.72
METR-r:0.5    79.76  65.12  53.82  44.88  37.57 10.67 46.53 61.55 50.17 49.66  68.57    49.58      68.25
BLEU:4-TER    80.37  66.31  55.27  46.36  39.00 10.96 43.94 57.46 47.46 49.00  67.10    49.85      68.41
BLEU:4-2TERp  79.65  65.53  54.54  45.75  38.48 10.80 43.42 56.16 47.15 47.90  65.93    49.09      67.90
BLEU:4+2METR  79.43  64.97  53.75  44.87  37.58 10.63 46.74 62.03 50.35 50.42  68.92    49.70      68.37
""",
)
DEVIATIONS = PublishedTable.read(
    "published standard deviation over 5 runs, Chinese-English, NIST MT03 (table 4)",
    """
tuned-to BLEU:1 BLEU:3 BLEU:4 BLEU:5 TERp  WER METR METR:0.5
BLEU:1     0.17   0.56   0.59   0.59 0.36 0.58 0.42     0.24
BLEU:3     0.38   0.41   0.38   0.32 0.70 0.49 0.44     0.33
BLEU:4     0.27   0.29   0.29   0.27 0.67 0.50 0.41     0.29
BLEU:5     0.17   0.14   0.19   0.21 0.67 0.75 0.34     0.17
TERp       1.38   2.66   2.53   2.20 1.31 1.39 1.95     1.82
WER        0.62   1.37   1.37   1.25 1.31 1.21 1.10     1.01
METR       0.80   0.56   0.48   0.44 3.71 2.69 0.69     1.10
METR:0.5   0.32   0.11   0.09   0.11 0.23 0.12 0.07     0.11
""",
)


def tables(metrics: Mapping[str, Metric]) -> list[Table]:
    """Return the published tables in the form of ours: rows, columns and marks, which tell better from worse."""
    listed = []
    for published in (CHINESE, ARABIC, DEVIATIONS):
        columns = [at for at, name in enumerate(published.scored_by) if name in metrics]
        chosen = [name for name in published.rows if name in metrics]
        if not columns or not chosen:
            continue
        scored = {published.scored_by[at]: metrics[published.scored_by[at]] for at in columns}
        values = published.values()[:, columns]
        note = "Cer, Manning and Jurafsky (2010)"
        if published is DEVIATIONS:
            rows = [
                {"tuned to": name, **_marked(scored, row)} for name, row in zip(published.rows, values, strict=True)
            ]
        else:
            rows = matrix(list(published.rows), scored, values)
            rows.append({"tuned to": "average", **_marked(scored, values.mean(axis=0))})
            note += ", with four references; averages and marks are those of all that they tuned to"
        chosen_rows = [row for row in rows if row["tuned to"] in (*chosen, "average")]
        listed.append(Table(published.title, tuple(chosen_rows), f"{note}."))
    return listed


def _marked(names: Iterable[str], values: FloatArray) -> dict[str, Marked]:
    return dict(zip(names, map(Marked, values), strict=True))
