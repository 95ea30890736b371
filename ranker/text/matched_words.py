"""Words that single candidates share with their references, as stretches of text for people to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ranker.corpora.dataset import Dataset
from ranker.corpora.graphemes import cluster_starts
from ranker.corpora.scripts import is_unspaced
from ranker.text.tokens import TokenBatch, missing_tokenizer, token_batch


def readable_batch(dataset: Dataset, *, lowercase: bool = True) -> TokenBatch:
    """Tokenise `dataset` with its language's tokenizer or, if that tokenizer is not installed, with ``any``."""
    return token_batch(dataset, "any" if missing_tokenizer(dataset) else "auto", lowercase=lowercase)


def words_of(batch: TokenBatch, sentence: int) -> list[str]:
    """Return the words of a sentence; tokens of a script without spaces are joined to whole grapheme clusters."""
    words: list[str] = []
    for token in batch.segments.words(sentence):
        if words and is_unspaced(words[-1]) and len(cluster_starts(words[-1] + token)) == 1:
            words[-1] += token
        else:
            words.append(token)
    return words


def matched_words(batch: TokenBatch, candidate: int) -> Counter[str]:
    """Count the words that a candidate shares with its references, each at most as often as in a single reference."""
    known: Counter[str] = Counter()
    for reference in batch.references_of(candidate):
        known |= Counter(words_of(batch, reference))
    return Counter(words_of(batch, int(batch.candidate[candidate]))) & known


def words_matched_by_one(batch: TokenBatch, first: int, second: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return each candidate's stretches of words that match a reference and that the other candidate lacks."""
    matches = matched_words(batch, first), matched_words(batch, second)
    return (
        stretches_of(batch, first, matches[0] - matches[1]),
        stretches_of(batch, second, matches[1] - matches[0]),
    )


def words_missed_by_both(batch: TokenBatch, first: int, second: int) -> tuple[str, ...]:
    """Return the stretches of the first reference whose words are missing from both candidates."""
    references = batch.references_of(first)
    if not references:
        return ()
    words = words_of(batch, references[0])
    missed = Counter(words) - (matched_words(batch, first) | matched_words(batch, second))
    return stretches(batch.texts[references[0]], words, flags(words, missed))


def stretches_of(batch: TokenBatch, candidate: int, wanted: Counter[str]) -> tuple[str, ...]:
    """Return the stretches of a candidate that consist of `wanted` words, each used at most as often as its count."""
    sentence = int(batch.candidate[candidate])
    words = words_of(batch, sentence)
    return stretches(batch.texts[sentence], words, flags(words, wanted))


def flags(words: Sequence[str], wanted: Counter[str]) -> list[bool]:
    """For each of `words`, True until the word has occurred as often as `wanted` counts it, and then False."""
    left = Counter(wanted)
    values = []
    for word in words:
        values.append(left[word] > 0)
        left[word] -= 1
    return values


def stretches(text: str, words: Sequence[str], flagged: Sequence[bool]) -> tuple[str, ...]:
    """Return the lower-cased stretches of `text` that flagged words cover; spaces join words not found in the text."""
    lower = text.lower()
    texts: list[str] = []
    start = end = at = 0
    open_words: list[str] = []
    whole = True
    for word, flag in [*zip(words, flagged, strict=True), ("", False)]:
        if not flag and open_words:
            texts.append(lower[start:end] if whole else " ".join(open_words))
            open_words = []
        place = lower.find(word, at)
        if flag:
            if not open_words:
                start, whole = place, True
            whole = whole and place >= 0
            open_words.append(word)
        if place >= 0:
            at = end = place + len(word)
    return tuple(texts)
