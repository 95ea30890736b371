"""How many errors the checks of outputs find, and how often they flag human translations.

The references of wmt15, wmt19-darr and wmt21-mqm are checked as outputs, without references, as they are and with
one error put into each of up to 300 per language pair.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

from bench.common import locate, run_main
from ranker import Dataset, check_outputs, from_texts, load_dataset

MOST = 300
MONTHS = (
    ["January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December"],
    ["Januar", "Februar", "März", "April", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
)
WEEKDAYS = (
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
)
UNITS = (
    *(("dollars", "euros"), ("euros", "dollars"), ("Dollar", "Euro"), ("$", "€"), ("€", "$"), ("£", "$")),
    *(("kilometers", "miles"), ("kilometres", "miles"), ("miles", "kilometres"), ("metres", "feet")),
    *(("meters", "feet"), ("Meter", "Fuß"), ("Kilometer", "Meilen")),
)
PREAMBLES = ("Here is the translation: ", "Translation: ", "Hier ist die Übersetzung: ", "以下是翻译：")
Pair = tuple[str, str]
Damage = Callable[[Pair, random.Random], Pair | None]
"""Returns a source and a damaged output, None if there is nothing to damage."""


def changed_number(pair: Pair, rng: random.Random) -> Pair | None:
    """Change a digit of a number that the source has too."""
    source, output = pair
    found = [match for match in re.finditer(r"\d+", output) if match[0] in source]
    if not found:
        return None
    match = rng.choice(found)
    at = rng.randrange(len(match[0]))
    digit = (int(match[0][at]) + rng.randint(1, 9)) % 10
    number = f"{match[0][:at]}{digit}{match[0][at + 1 :]}"
    return None if int(number) == int(match[0]) else (source, output[: match.start()] + number + output[match.end() :])


def dropped_number(pair: Pair, rng: random.Random) -> Pair | None:
    """Drop a number of three or more digits that the source has too."""
    source, output = pair
    found = [match for match in re.finditer(r"(?<![\d.,])\d{3,}(?![\d.,])", output) if match[0] in source]
    if not found:
        return None
    match = rng.choice(found)
    return source, output[: match.start()] + output[match.end() :]


def exchanged(*lists: list[str]) -> Damage:
    """Return what exchanges a name for another of its list."""

    def damage(pair: Pair, rng: random.Random) -> Pair | None:
        for names in lists:
            for name in names:
                if re.search(rf"\b{name}\b", pair[1]):
                    other = rng.choice([each for each in names if each not in pair[1]])
                    return pair[0], re.sub(rf"\b{name}\b", other, pair[1])
        return None

    return damage


def changed_unit(pair: Pair, rng: random.Random) -> Pair | None:
    """Exchange a unit where the source has a number."""
    for name, other in UNITS:
        if name in pair[1] and other not in pair[1] and re.search(r"\d", pair[0]):
            return pair[0], pair[1].replace(name, other)
    return None


def cut(share: float) -> Damage:
    """Return what keeps the first words of an output."""

    def damage(pair: Pair, rng: random.Random) -> Pair | None:
        words = pair[1].split()
        return (pair[0], " ".join(words[: int(share * len(words))])) if len(words) >= 12 else None

    return damage


def repeated(pair: Pair, rng: random.Random) -> Pair | None:
    """Add the last three words twice."""
    words = pair[1].split()
    return (pair[0], " ".join(words + words[-3:] * 2)) if len(words) > 4 else None


ERRORS: dict[str, tuple[str, Damage]] = {
    "a digit changed": ("numbers", changed_number),
    "a number of three digits dropped": ("numbers", dropped_number),
    "month changed": ("dates", exchanged(*MONTHS)),
    "weekday changed": ("dates", exchanged(*WEEKDAYS)),
    "unit changed": ("units", changed_unit),
    "URL dropped": ("urls", lambda pair, rng: (f"{pair[0]} http://example.org/a?b=1", pair[1])),
    "tag dropped": ("markup", lambda pair, rng: (f"<b>{pair[0]}</b>", pair[1])),
    "placeholder renamed": ("placeholders", lambda pair, rng: (f"{pair[0]} {{name}}", f"{pair[1]} {{nome}}")),
    "preamble added": ("preamble", lambda pair, rng: (pair[0], rng.choice(PREAMBLES) + pair[1])),
    "source copied": ("copy", lambda pair, rng: (pair[0], pair[0]) if len(pair[0]) > 20 else None),
    "emptied": ("empty", lambda pair, rng: (pair[0], " ")),
    "last three words three times": ("repetition", repeated),
    "cut to 40% of the words": ("truncation", cut(0.4)),
    "cut to 70% of the words": ("truncation", cut(0.7)),
}


def pairs_of(dataset: Dataset) -> dict[str, list[Pair]]:
    """Return the sources and first references of every language pair."""
    references = dataset.references.groupby("source")["text"].first()
    rows = zip(dataset.sources["lp"], dataset.sources["text"], references, strict=True)
    pairs: dict[str, list[Pair]] = {}
    for lp, source, reference in rows:
        pairs.setdefault(lp, []).append((source, reference))
    return pairs


def main() -> None:
    """Print the tables."""
    rng = random.Random(0)
    flagged: Counter[str] = Counter()
    done, found, translations = Counter[str](), Counter[str](), 0
    for name in ("wmt15", "wmt19-darr", "wmt21-mqm"):
        every = pairs_of(load_dataset(locate(name)))
        for lp, pairs in every.items():

            def failed(pairs: list[Pair], lp: str = lp) -> Counter[str]:
                texts = from_texts([output for _, output in pairs], None, [source for source, _ in pairs], lp=lp)
                return Counter(check_outputs(texts)["check"])

            translations += len(pairs)
            flagged += failed(pairs)
            others = [pair for other in every if other.split("-")[1] != lp.split("-")[1] for pair in every[other]]
            damaged = {error: [damage(pair, rng) for pair in pairs] for error, (_, damage) in ERRORS.items()}
            damaged["output in another language"] = [
                (source, rng.choice(others)[1]) if others else None for source, _ in pairs
            ]
            for error, those in damaged.items():
                chosen = [pair for pair in those if pair is not None]
                chosen = rng.sample(chosen, min(len(chosen), MOST))
                if chosen:
                    done[error] += len(chosen)
                    found[error] += failed(chosen)[ERRORS[error][0] if error in ERRORS else "language"]
    print(f"{translations:,} human translations: {dict(flagged)}\n\n| error | put in | found |\n|---|---|---|")
    for error, number in done.items():
        print(f"| {error} | {number:,} | {found[error] / number:.1%} |")


if __name__ == "__main__":
    run_main(main)
