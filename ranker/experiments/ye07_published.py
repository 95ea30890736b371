"""Figures that Ye, Zhou and Lin (2007) published, all of fluency: what the tables show beside ours."""

from __future__ import annotations

from typing import Literal

Protocol = Literal["within-year, MT and human", "within-year, MT", "cross-year", "document level"]
PUBLISHED: dict[Protocol, dict[str, tuple[float, float]]] = {
    "within-year, MT and human": {
        "BLEU": (0.3590644, 0.0076498),
        "DS": (0.4002753, 0.0061299),
        "PERP": (0.4273000, 0.0014043),
        "BLEU+DS": (0.4128991, 0.0027576),
        "BLEU+PERP": (0.4288112, 0.0013783),
        "PERP+DS": (0.4313611, 0.0014594),
        "All": (0.4310457, 0.0014494),
    },
    "within-year, MT": {
        "BLEU": (0.2913541, 0.0324386),
        "DS": (0.3058766, 0.0226442),
        "PERP": (0.2921684, 0.0210605),
        "BLEU+DS": (0.315106, 0.0206144),
        "BLEU+PERP": (0.2954833, 0.0211094),
        "PERP+DS": (0.3067157, 0.0217037),
        "All": (0.305248, 0.0218777),
    },
    "cross-year": {
        "BLEU": (0.3133257, 0.1957059),
        "DS": (0.4896355, 0.0727430),
        "PERP": (0.4582005, 0.0542485),
        "BLEU+DS": (0.4907745, 0.0678395),
        "BLEU+PERP": (0.4577449, 0.0563994),
        "PERP+DS": (0.4709567, 0.0549708),
        "All": (0.4707289, 0.0565538),
    },
    "document level": {
        "BLEU": (0.543, 0.0853),
        "DS": (0.685, 0.0723),
        "PERP": (0.575, 0.0778),
        "BLEU+DS": (0.639, 0.0773),
        "BLEU+PERP": (0.567, 0.0785),
        "PERP+DS": (0.597, 0.0861),
        "All": (0.599, 0.0849),
    },
}
PUBLISHED_CONSISTENCY = {2: (0.453, 0.926), 3: (0.234, 0.870)}
PUBLISHED_REFERENCE_BLEU = (0.1456398, 0.1522381)
NAMES = ("acl05", "mtc03")
KIND = "fluency"
