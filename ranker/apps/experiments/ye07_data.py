"""Tables about the data of Ye, Zhou and Lin (2007): consistency of judges (table 2), and BLEU between references."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranker.apps.experiments.tables import Table
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, resolve_kind
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from ranker.evaluation.judges.agreement import cohen_kappa, consistency
from ranker.extractors.registry import make_metric

PUBLISHED_CONSISTENCY = {2: (0.453, 0.926), 3: (0.234, 0.870)}
PUBLISHED_REFERENCE_BLEU = (0.1456398, 0.1522381)
NAMES = ("acl05", "mtc03")
KIND = "fluency"


def judges_table(dataset: Dataset, kind: str, *, published: bool) -> list[Table]:
    """Make the table of the judges' consistency; the list is empty if individual judges are unknown."""
    kind = resolve_kind(dataset, kind)
    published = published and dataset.name in NAMES and kind == KIND
    rows: list[dict[str, Any]] = []
    for number, (agreeing, tolerated) in PUBLISHED_CONSISTENCY.items():
        try:
            counts = consistency(dataset, kind, number)
        except DataError:
            return []
        row = {
            "judges": number,
            "comparisons": counts.pairs,
            "consistent": counts.agreeing,
            "consistent with ties": counts.with_ties,
        }
        if published and dataset.name == NAMES[1]:
            row.update({"published": agreeing, "published with ties": tolerated})
        rows.append(row)
    kappa = cohen_kappa(dataset, kind)
    judgements = "preferences" if kind == PREFERENCES else "scores"
    note = "" if np.isnan(kappa) else f"Cohen's kappa on the {judgements} themselves: {kappa:.3f}"
    note += " (published: negative)" if note and published else ""
    return [Table(f"consistency of judges of {kind}, {dataset.name}", tuple(rows), note)]


def reference_table(dataset: Dataset, bleu: str) -> list[Table]:
    """Make the table of BLEU between two references of a source; the list is empty if no source has two references."""
    records = []
    for source, texts in dataset.references.groupby("source")["text"].agg(list).items():
        for index, text in enumerate(texts):
            other_texts = texts[:index] + texts[index + 1 :]
            candidates = [Candidate(str(place), text) for place, text in enumerate(other_texts)]
            if candidates:
                records.append(Record("", [text], candidates, seg_id=f"{source}.{index}"))
    if not records:
        return []
    scores = make_metric(bleu).transform(assemble(records, dataset.name))
    row = {"comparisons": len(scores), "mean BLEU": scores.mean(), "standard deviation": scores.std(ddof=1)}
    if dataset.name == NAMES[1]:
        row.update(zip(("published mean", "published deviation"), PUBLISHED_REFERENCE_BLEU, strict=True))
    return [Table(f"BLEU of one reference against another, {dataset.name}", (row,))]
