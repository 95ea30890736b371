"""What two processes must have in common, printed as JSON: features, weights, ranks and digests, on the sample."""

from __future__ import annotations

import json
import warnings

import numpy as np

import ranker
from ranker.errors import RankerError
from ranker.extractors import registry

SETS = {
    "squared": ({}, "bleu,chrf,ter,meteor,perp,length,ribes,nist"),
    "hinge": ({"loss": "hinge"}, "chrf,hamming,ulam,bleu"),
    "monotone": ({"nonnegative": True}, "bleu,chrf,rouge_l,consensus,gtm"),
}
"""Settings and features of rankers that are trained."""


def main() -> None:
    warnings.simplefilter("ignore")
    sample = ranker.load_dataset("sample")
    few = sample.select_sources(np.arange(len(sample.sources)) < 12)
    some = sample.select_sources(np.arange(len(sample.sources)) < 60)
    features, weights, digests, ranks = {}, {}, {"data": some.fingerprint}, {}
    for name in registry.names():
        try:
            extractor = registry.make(name)
            features[name] = extractor.fit(few).transform(few).tolist()
        except (RankerError, TypeError) as error:
            features[name] = str(error)
    for name, (settings, notation) in SETS.items():
        fitted = ranker.Ranker(notation, kind="adequacy", **settings).fit(some)
        weights[name] = [fitted.mean.tolist(), fitted.scale.tolist(), *fitted.weight_sets.weights.tolist()]
        digests[name], digests[f"features {name}"] = fitted.digest, fitted.feature_set.signature()
        ranks[name] = fitted.rank(few)["system"].tolist()
    for name in ("full", "full-lexical", "full-any", "consensus"):
        fitted = ranker.Ranker.load(name)
        digests[name], ranks[name] = fitted.digest, fitted.rank(few)["system"].tolist()
    print(json.dumps({"features": features, "weights": weights, "digests": digests, "ranks": ranks}))


if __name__ == "__main__":
    main()
