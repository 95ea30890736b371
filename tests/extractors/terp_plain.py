"""TERp's search in plain Python, with every shift tried by the whole dynamic programme; the twin of the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

Phrase = tuple[tuple[str, ...], tuple[str, ...], float]
"""Words of the reference, words of the candidate, cost."""


@dataclass
class Plain:
    """Costs, limits and knowledge of words."""

    deletion: float
    insertion: float
    shift: float
    price: Callable[[str, str], float]
    alike: Callable[[str, str], bool]
    stop_words: frozenset[str]
    relaxed: bool
    beam: float
    max_distance: int = 50
    max_size: int = 10
    phrases: list[Phrase] = field(default_factory=list)

    def edits(self, words: list[str], reference: list[str]) -> float:
        """Return the cost of turning `words` into `reference`."""
        if not words or not reference:
            return len(words) * self.insertion + len(reference) * self.deletion
        spent = 0.0
        cost, path = self.align(words, reference)
        while self.max_distance and self.max_size:
            best, paid, chosen = cost, 0.0, None
            for group, start, stop, target in self.shifts(words, reference, path):
                most = 2 * (self.max_size + 1 - group)
                saved = cost - (best + paid)
                if saved > most or (chosen and saved == most):
                    break
                moved = move(words, start, stop, target)
                if moved == words:
                    continue
                result, other = self.align(moved, reference)
                gain = (best + paid) - (result + self.shift)
                if gain > 0 or (not chosen and gain == 0):
                    best, paid, chosen = result, self.shift, (moved, other)
            if not chosen:
                break
            spent += self.shift
            cost, (words, path) = best, chosen
        return cost + spent

    def align(self, words: list[str], reference: list[str]) -> tuple[float, list[tuple[int, int, bool]]]:
        """Return the least cost, and the words of both sides and whether it is a phrase of every step."""
        length, size = len(words), len(reference)
        # in the order of their steps: many candidate words first
        phrases = sorted(
            (-len(left), at, len(right), left, cost)
            for right, left, cost in self.phrases
            for at in range(size)
            if tuple(reference[at : at + len(right)]) == right
        )
        states = [[(math.inf, (0, 0, False))] * (size + 1) for _ in range(length + 1)]
        states[0][0] = (0.0, (0, 0, False))
        first, last = 0, size
        for column in range(length + 1):
            best = math.inf
            here = states[column]

            def reach(row: int, value: float, step: tuple[int, int, bool], here: list = here) -> bool:
                better = value < here[row][0]
                if better:
                    here[row] = (value, step)
                return better

            def apply(single: bool, column: int = column) -> None:
                for negative, at, other, own, cost in phrases:
                    start = column + negative
                    if (negative == -1 and other == 1) == single and start >= 0 and tuple(words[start:column]) == own:
                        reach(at + other, cost + states[start][at][0], (-negative, other, True))

            if column:
                last += 1
                apply(False)
                for row in range(size):
                    value = self.price(words[column - 1], reference[row]) + states[column - 1][row][0]
                    if reach(row + 1, value, (1, 1, False)) or words[column - 1] == reference[row]:
                        best = min(best, value)
                apply(True)
                for row in range(size + 1):
                    reach(row, states[column - 1][row][0] + self.insertion, (1, 0, False))
            selected = []
            for row in range(size + 1):
                value = here[row][0]
                final = column == length
                if row < first or (not final and (row > last or value > best + self.beam)):
                    here[row] = (math.inf, (0, 0, False))
                    continue
                if math.isinf(value):
                    continue
                selected.append(row)
                if row < size and reach(row + 1, value + self.deletion, (0, 1, False)):
                    last = max(last, row + 1)
            first, last = selected[0], selected[-1]
        path, column, row = [], length, size
        while column or row:
            step = states[column][row][1]
            path.append(step)
            column, row = column - step[0], row - step[1]
        return states[length][size][0], path[::-1]

    def shifts(self, words: list[str], reference: list[str], path: list[tuple[int, int, bool]]) -> list[tuple]:
        """Return (group, start, stop, target) of the shifts that are tried, in order."""
        wrong, reference_wrong = [True] * len(words), [True] * len(reference)
        aligned, back = [0] * len(reference), [0] * len(words)
        column = row = 0
        for left, right, phrase in path:
            for at in range(row, row + right):
                aligned[at] = column if left else column - 1
            for at in range(column, column + left):
                back[at] = row if right else row - 1
            if (left, right, phrase) == (1, 1, False) and words[column] == reference[row]:
                wrong[column] = reference_wrong[row] = False
            column, row = column + left, row + right
        same = self.alike if self.relaxed else str.__eq__

        def ends(here: int, there: int, start: int, row: int) -> set[tuple[int, int]]:
            """Return where stretches end that go on from (here, there)."""
            if here >= len(words) or there >= len(reference) or here - start >= self.max_size:
                return set()
            result = set()
            if same(words[here], reference[there]):
                result |= {(here + 1, there + 1)} | ends(here + 1, there + 1, start, row)
            for second, first, _ in self.phrases if self.relaxed else ():
                span = back[max(0, here - self.max_distance)], back[min(len(words) - 1, here + self.max_distance)]
                if (
                    span[0] <= there <= span[1]
                    and tuple(words[here : here + len(first)]) == first
                    and tuple(reference[there : there + len(second)]) == second
                ):
                    result |= ends(here + len(first), there + len(second), start, row)
            return result

        shifts = set()
        for row in range(len(reference)):
            for start in range(len(words)):
                place = aligned[row]
                for stop, row_stop in ends(start, row, start, row):
                    left, right = words[start:stop], reference[row:row_stop]
                    if (
                        not any(wrong[start:stop])
                        or not any(reference_wrong[row:row_stop])
                        or self.stop_words.issuperset(left)
                        or self.stop_words.issuperset(right)
                        or start <= place < stop
                        or abs(place - start) > self.max_distance
                    ):
                        continue
                    group = self.max_size + 1 - min(max(len(left), len(right)), self.max_size + 1)
                    if row == 0:
                        shifts.add((group, start, stop, -1))
                    for at in range(max(row - 1, 0), min(row + len(left), len(reference))):
                        if aligned[at] != start and (at == row or aligned[at] != place):
                            shifts.add((group, start, stop, aligned[at]))
        return sorted(shifts)


def move(words: list[str], start: int, stop: int, target: int) -> list[str]:
    """Return `words` with those from `start` to `stop` behind word `target`, or as far to the right as it lies in."""
    if start <= target < stop:
        target = min(stop + target - start, len(words)) - 1
    if start <= target + 1 <= stop:
        return words
    block, rest = words[start:stop], words[:start] + words[stop:]
    place = target + 1 if target < start else target + 1 - len(block)
    return rest[:place] + block + rest[place:]
