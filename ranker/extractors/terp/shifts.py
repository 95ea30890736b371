"""TERp's greedy search for shifts (Snover, Madnani, Dorr and Schwartz 2009), with costs, synonyms and phrases."""

from __future__ import annotations

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from ranker.extractors.terp.alignment import (
    Lattice,
    LatticeAlignment,
    Phrases,
    Sentences,
    empty_lattice,
    fill_lattice,
    fill_rest,
    phrase_fits,
    read_alignment,
    read_steps,
)
from ranker.extractors.terp.model import EditModel, PhraseTable, SearchCosts, match_words
from ranker.storage.kernels import kernel


@kernel
def _has_words(candidate: Int32Array, table: PhraseTable, entry: int) -> bool:
    """True if a candidate contains all words of an entry of the phrase table, at any positions."""
    for at in range(table.word_offsets[entry], table.word_offsets[entry + 1]):
        present = False
        for word in candidate:
            present = present or word == table.words[at]
        if not present:
            return False
    return True


@kernel
def _phrases_of(candidate: Int32Array, sentence: int, table: PhraseTable) -> Phrases:
    """Return a reference's paraphrases that consist of words of the candidate, longest first."""
    rows = range(table.sentence_offsets[sentence], table.sentence_offsets[sentence + 1])
    count = total = longest = 0
    for row in rows:
        phrase = table.occurrences[row, 2]
        for entry in range(table.entry_offsets[phrase], table.entry_offsets[phrase + 1]):
            if _has_words(candidate, table, entry):
                words = table.word_offsets[entry + 1] - table.word_offsets[entry]
                count += 1
                total += words
                longest = max(longest, words)
    phrases = Phrases(
        np.empty(count, dtype=np.int32),
        np.empty(count, dtype=np.int32),
        np.zeros(count + 1, dtype=np.int64),
        np.empty(total, dtype=np.int32),
        np.empty(count),
    )
    chosen = 0
    for words in range(longest, 0, -1):
        for row in rows:
            phrase = table.occurrences[row, 2]
            for entry in range(table.entry_offsets[phrase], table.entry_offsets[phrase + 1]):
                start = table.word_offsets[entry]
                if table.word_offsets[entry + 1] - start != words or not _has_words(candidate, table, entry):
                    continue
                phrases.start[chosen], phrases.size[chosen] = (
                    table.occurrences[row, 0],
                    table.occurrences[row, 1],
                )
                phrases.cost[chosen] = table.cost[entry]
                first = phrases.offsets[chosen]
                for at in range(words):
                    phrases.words[first + at] = table.words[start + at]
                chosen += 1
                phrases.offsets[chosen] = first + words
    return phrases


@kernel
def _phrase_places(
    sentences: Sentences, order: Int32Array, alignment: LatticeAlignment, max_distance: int
) -> BoolArray:
    """Return a mask of positions from which each phrase may be shifted into place, shape (phrases, candidate words)."""
    phrases, length = sentences.phrases, len(order)
    places = np.zeros((len(phrases.start), length), dtype=np.bool_)
    for at in range(length):
        lowest = alignment.reference_aligned[max(0, at - max_distance)]
        highest = alignment.reference_aligned[min(length - 1, at + max_distance)]
        for phrase in range(len(phrases.start)):
            if lowest <= phrases.start[phrase] <= highest:
                places[phrase, at] = phrase_fits(sentences, order, phrase, at)
    return places


@kernel
def _add_targets(
    keys: list[int], start: int, stop: int, row: int, row_stop: int, alignment: LatticeAlignment, costs: SearchCosts
) -> None:
    """Add to `keys` the shifts that move words `start` to `stop` to reference words `row` to `row_stop`."""
    length, aligned = len(alignment.reference_aligned), alignment.aligned
    place = aligned[row]
    if start <= place < stop:
        return
    group = costs.max_size + 1 - min(max(stop - start, row_stop - row), costs.max_size + 1)
    for offset in range(-1, stop - start):
        if offset == -1 and row == 0:
            target = -1
        elif (
            0 <= row + offset < len(aligned)
            and aligned[row + offset] != start
            and (offset == 0 or aligned[row + offset] != place)
        ):
            target = int(aligned[row + offset])
        else:
            continue
        keys.append(((group * length + start) * (length + 1) + stop) * (length + 1) + target + 1)


@kernel
def _collect_shifts(
    sentences: Sentences,
    order: Int32Array,
    alignment: LatticeAlignment,
    content: tuple[Int32Array, Int32Array],
    costs: SearchCosts,
) -> Int64Array:
    """Return sorted keys of the shifts that TERp tries, in TERp's order: largest first, then by start, end and target.

    A stretch of words may move to a stretch of the reference with equal words or, if relaxed, with similar words and
    paraphrases. Neither stretch may be free of errors already or consist of stop words only.
    """
    length, size = sentences.cost.shape
    alike = sentences.alike if costs.relaxed else sentences.equal
    use_phrases = costs.relaxed and len(sentences.phrases.start) > 0
    places = np.zeros((0, length), dtype=np.bool_)
    if use_phrases:
        places = _phrase_places(sentences, order, alignment, costs.max_distance)
    keys = [0]
    keys.clear()
    seen = np.full((costs.max_size, size + 1), -1, dtype=np.int64)
    stretches = [(0, 0)]
    for row in range(size):
        place = alignment.aligned[row]
        for start in range(max(0, place - costs.max_distance), min(length, place + costs.max_distance + 1)):
            if not use_phrases and not alike[order[start], row]:
                continue
            stretches.clear()
            stretches.append((0, 0))
            while len(stretches) > 0:
                words, others = stretches.pop()
                while words < costs.max_size:
                    here, there = start + words, row + others
                    if here >= length or there >= size or seen[words, others] == row * length + start:
                        break
                    seen[words, others] = row * length + start
                    for phrase in range(len(places)):
                        if sentences.phrases.start[phrase] == there and places[phrase, here]:
                            longer = sentences.phrases.offsets[phrase + 1] - sentences.phrases.offsets[phrase]
                            stretches.append((words + int(longer), others + int(sentences.phrases.size[phrase])))
                    if not alike[order[here], there]:
                        break
                    words += 1
                    others += 1
                    if (
                        alignment.wrong[here + 1] > alignment.wrong[start]
                        and alignment.reference_wrong[there + 1] > alignment.reference_wrong[row]
                        and content[0][here + 1] > content[0][start]
                        and content[1][there + 1] > content[1][row]
                    ):
                        _add_targets(keys, start, here + 1, row, there + 1, alignment, costs)
    return np.unique(np.array(keys, dtype=np.int64))


@kernel
def _move(order: Int32Array, start: int, stop: int, target: int, shifted: Int32Array) -> tuple[int, int]:
    """Write `order` to `shifted` with words `start` to `stop` moved after word `target`; return the changed range.

    A target within the words themselves moves them right by its distance from `start`. The range is empty if nothing
    changes.
    """
    length = len(order)
    place = target + 1
    if start <= target < stop:
        place = min(stop + target - start, length)
    if start <= place <= stop:
        return length, length
    first, last = min(start, place), max(stop, place)
    offset = place - start if place < start else place - stop
    for at in range(length):
        shifted[at] = order[at]
    for at in range(start, stop):
        shifted[at + offset] = order[at]
    for at in range(first, start):
        shifted[at + stop - start] = order[at]
    for at in range(stop, last):
        shifted[at - stop + start] = order[at]
    return first, last


@kernel
def _count_content(words: Int32Array, is_stop: BoolArray) -> Int32Array:
    """Return cumulative numbers of words that are not stop words, shape (words + 1,)."""
    counts = np.zeros(len(words) + 1, dtype=np.int32)
    for at in range(len(words)):
        counts[at + 1] = counts[at] + (not is_stop[words[at]])
    return counts


@kernel
def _best_shift(
    sentences: Sentences,
    order: Int32Array,
    shifts: Int64Array,
    base: Lattice,
    rest: FloatArray,
    trial: Lattice,
    costs: SearchCosts,
    best_order: Int32Array,
) -> bool:
    """Write the word order after the best of `shifts` to `best_order`; return True if a shift reduces the cost.

    `base` is the lattice of the words before the shift. Of equally good shifts the first is chosen; a shift that saves
    exactly its cost is made. Larger ones come first: the search ends when no shift of the next size could save more.
    """
    length = len(order)
    shifted = np.empty_like(order)
    edits = base.distance[length, sentences.cost.shape[1]]
    best, paid = edits, 0.0
    for key in shifts:
        key, target = key // (length + 1), key % (length + 1) - 1
        key, stop = key // (length + 1), key % (length + 1)
        group, start = key // length, key % length
        most = 2.0 * (costs.max_size + 1 - group)
        saved = edits - (paid + best)
        if saved > most or (paid != 0 and saved == most):
            break
        first, last = _move(order, start, stop, target, shifted)
        if first == last:
            continue
        enough = best + paid - costs.shift
        cost = fill_lattice(sentences, shifted, first, last, enough, base, rest, trial)
        gain = (best + paid) - (cost + costs.shift)
        if gain > 0 or (paid == 0 and gain == 0):
            best, paid = cost, costs.shift
            best_order[:] = shifted
    return paid != 0


@kernel
def _compare(candidate: Int32Array, reference: Int32Array, row: int, model: EditModel) -> Sentences:
    """Return the costs of aligning a candidate with a reference, whose paraphrases are in `row` of the phrase table."""
    costs = model.costs
    cost, equal, alike = match_words(candidate, reference, model.words, costs)
    phrases = _phrases_of(candidate, row, model.phrases)
    reach = 1
    for phrase in range(len(phrases.start)):
        reach = max(reach, phrases.offsets[phrase + 1] - phrases.offsets[phrase])
    return Sentences(candidate, cost, equal, alike, phrases, costs.insertion, costs.deletion, costs.beam, reach)


@kernel
def _shift_words(
    sentences: Sentences, reference: Int32Array, model: EditModel, base: Lattice
) -> tuple[float, Int32Array]:
    """Apply the best shift repeatedly while it lowers the cost; return the cost of the shifts and the word order."""
    candidate, costs = sentences.candidate, model.costs
    length, size = len(candidate), len(reference)
    trial, rest = empty_lattice(length, size), np.empty((length + 1, size + 1))
    order = np.arange(length).astype(np.int32)
    best_order = order.copy()
    reference_content = _count_content(reference, model.is_stop)
    spent = 0.0
    while True:
        fill_lattice(sentences, order, -1, length, np.inf, base, rest, base)
        if costs.max_size == 0 or costs.max_distance == 0:
            break
        alignment = read_alignment(sentences, order, base)
        content = _count_content(candidate[order], model.is_stop), reference_content
        shifts = _collect_shifts(sentences, order, alignment, content, costs)
        if len(shifts) == 0:
            break
        fill_rest(sentences, order, rest)
        if not _best_shift(sentences, order, shifts, base, rest, trial, costs, best_order):
            break
        spent += costs.shift
        order[:] = best_order
    return spent, order


@kernel
def edit_cost(candidate: Int32Array, reference: Int32Array, row: int, model: EditModel) -> float:
    """Return the cost of the shifts and edits that turn a candidate into a reference."""
    length, size = len(candidate), len(reference)
    if length == 0 or size == 0:
        return length * model.costs.insertion + size * model.costs.deletion
    sentences = _compare(candidate, reference, row, model)
    base = empty_lattice(length, size)
    spent, _ = _shift_words(sentences, reference, model, base)
    return float(base.distance[length, size] + spent)


@kernel
def edit_path(
    candidate: Int32Array, reference: Int32Array, row: int, model: EditModel
) -> tuple[Int32Array, Int32Array]:
    """Return the word order after shifts, and the edit steps that make up the cost; neither sentence may be empty."""
    sentences = _compare(candidate, reference, row, model)
    base = empty_lattice(len(candidate), len(reference))
    _, order = _shift_words(sentences, reference, model, base)
    return order, read_steps(sentences, base)


@kernel(rows=("first", "second", "rows"))
def edit_costs(
    values: Int32Array,
    offsets: Int64Array,
    first: Int64Array,
    second: Int64Array,
    rows: Int64Array,
    model: EditModel,
) -> FloatArray:
    """Return the edit cost of each pair of sentences in CSR form, shape (pairs,)."""
    result = np.empty(len(first))
    for pair in range(len(first)):
        candidate = values[offsets[first[pair]] : offsets[first[pair] + 1]]
        reference = values[offsets[second[pair]] : offsets[second[pair] + 1]]
        result[pair] = edit_cost(candidate, reference, rows[pair], model)
    return result
