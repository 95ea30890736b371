"""RIBES of one candidate and one reference in plain Python, by its authors' description."""

from __future__ import annotations

import math


def occurrences(part: str, whole: str) -> int:
    """Count the places of `part` in `whole`, overlapping ones too."""
    count, place = 0, whole.find(part)
    while place >= 0:
        count += 1
        place = whole.find(part, place + 1)
    return count


def word_order(candidate: str, reference: str) -> list[int]:
    """Align by ever wider contexts; every character stands for a word."""
    order = []
    for at, word in enumerate(candidate):
        if word not in reference:
            continue
        if candidate.count(word) == reference.count(word) == 1:
            order.append(reference.index(word))
            continue
        for width in range(1, max(at + 1, len(candidate) - at)):
            if width <= at:
                context = candidate[at - width : at + 1]
                if occurrences(context, candidate) == occurrences(context, reference) == 1:
                    order.append(reference.index(context) + width)
                    break
            if at + width < len(candidate):
                context = candidate[at : at + width + 1]
                if occurrences(context, candidate) == occurrences(context, reference) == 1:
                    order.append(reference.index(context))
                    break
    return order


def plain_ribes(candidate: list[str], reference: list[str], alpha: float = 0.25, beta: float = 0.1) -> float:
    """RIBES of one candidate and one reference, in plain Python."""
    if not candidate or not reference:
        return 0.0
    codes: dict[str, str] = {}
    coded = [
        "".join([codes.setdefault(word, chr(len(codes) + 1)) for word in words]) for words in (candidate, reference)
    ]
    order = word_order(*coded)
    if len(order) == 1 and len(reference) == 1:
        correlation = 1.0
    elif len(order) < 2:
        return 0.0
    else:
        ascending = 0
        for later in range(1, len(order)):
            for earlier in range(later):
                ascending += order[earlier] < order[later]
        correlation = ascending / (len(order) * (len(order) - 1) / 2)
    penalty = min(1.0, math.exp(1.0 - len(reference) / len(candidate)))
    return correlation * (len(order) / len(candidate)) ** alpha * penalty**beta
