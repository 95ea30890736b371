"""How many errors the checks of outputs find, and how often they flag human translations, by script.

References are checked as outputs, without references, as they are and with one error put into each. By default those of
corpora that the rules were not made with; name others to see those.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable

from bench.common import locate, run_main, table
from ranker import Dataset, check_outputs, from_texts, load_dataset
from ranker.text.target_languages import language_of

CORPORA = ("mqm21-ted", "wmt24-esa", "mlqe-pe")
MOST, FEWEST = 300, 15
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
SCALES = (
    *(("million", "billion"), ("billion", "million"), ("Millionen", "Milliarden"), ("Milliarden", "Millionen")),
    *(("миллион", "миллиард"), ("миллиард", "миллион"), ("milion", "miliard"), ("万", "亿"), ("亿", "万")),
    *(("लाख", "करोड़"), ("करोड़", "लाख")),
)
COUNTED = {
    "en": "three four five six seven eight nine ten",
    "de": "drei vier fünf sechs sieben acht neun zehn",
    "cs": "tři čtyři pět šest sedm osm devět deset",
    "ru": "три четыре пять шесть семь восемь девять десять",
    "hi": "तीन चार पाँच छह सात आठ नौ दस",
}
PARAGRAPHS = (
    "\n\nWould you prefer a more formal version?",
    "\n\n(The tone of the original was kept.)",
    "\n\nOr, more freely: something else.",
    "\n\n---\n**About the words**\n1. literal",
    " (Translated from the original)",
)
PREAMBLES = ("Here is the translation: ", "Translation: ", "Hier ist die Übersetzung: ", "以下是翻译：")
NOTES = (
    " (Note: the second word is a name.)",
    "\n\nNote: I kept the idiom as it is.",
    " [Note: this may also mean the opposite.]",
    "\n(Translator's note: a literal translation.)",
    " *Note: The tone is informal.*",
    " (Literally: it goes its way)",
    "\n\nExplanation: the verb comes first here.",
    "\n\n**Note:** the name was not translated.",
    " Please note that this translation keeps the word order.",
    " I hope this helps!",
    "\n\nLet me know if you need anything else!",
    "\n\nAlternatively, it could be said in other words.",
)
OWN_NOTES = {
    "de": (" (Anmerkung: Der Name bleibt.)", "\n\nHinweis: wörtlich übersetzt."),
    "zh": ("（注：人名未译。）", "\n\n注释：这是直译。", "（译者注：双关语）"),
    "ru": (" (Примечание: имя не переведено.)", "\n\nПояснение: дословный перевод."),
    "cs": (" (Poznámka: jméno zůstává.)", "\n\nVysvětlení: doslovný překlad."),
    "hi": (" (नोट: नाम वैसा ही रखा गया है।)", "\n\nटिप्पणी: यह शाब्दिक अनुवाद है।"),
    "fr": (" (Note : le nom est conservé.)", "\n\nRemarque : traduction littérale."),
    "es": (" (Nota: el nombre se conserva.)", "\n\nExplicación: traducción literal."),
}
REFUSALS = (
    "I'm sorry, but I can't assist with that request.",
    "As an AI language model, I cannot translate this text.",
    "I cannot fulfill this request.",
    "Sorry, I am unable to provide a translation for this sentence.",
    "抱歉，我无法翻译这段内容。",
    "Es tut mir leid, aber ich kann diesen Text nicht übersetzen.",
)
Pair = tuple[str, str]
Damage = Callable[[Pair, random.Random], Pair | None]
"""Returns a source and a damaged output, None if there is nothing to damage."""


def units_of(text: str) -> list[str]:
    """Return words with the space after them, or characters where no spaces are written."""
    return re.findall(r"\S\s*", text) if unspaced(text) else re.findall(r"\S+\s*", text)


def unspaced(text: str) -> bool:
    return language_of([text]) in ("zh", "ja", "th")


def own_numbers(pair: Pair) -> list[re.Match[str]]:
    """Return the numbers of an output that are in the source with the same digits."""
    wanted = set(re.findall(r"\d+", pair[0]))
    return [match for match in re.finditer(r"(?<![\d.,:/-])\d+(?![\d.,:/-]\d)", pair[1]) if match[0] in wanted]


def changed_number(pair: Pair, rng: random.Random) -> Pair | None:
    """Change a digit of a number that the source has too."""
    source, output = pair
    found = own_numbers(pair)
    if not found:
        return None
    match = rng.choice(found)
    at = rng.randrange(len(match[0]))
    digit = (int(match[0][at]) + rng.randint(1, 9)) % 10
    number = f"{match[0][:at]}{digit}{match[0][at + 1 :]}"
    if not int(number) or int(number) == int(match[0]) or number in source:
        return None
    return source, output[: match.start()] + number + output[match.end() :]


def dropped_number(pair: Pair, rng: random.Random) -> Pair | None:
    """Drop a number that the source has too."""
    source, output = pair
    found = [match for match in own_numbers(pair) if output.count(match[0]) == 1]
    if not found:
        return None
    match = rng.choice(found)
    return source, output[: match.start()] + output[match.end() :]


def without_point(pair: Pair, rng: random.Random) -> Pair | None:
    """Drop the decimal point of a number that the source has too."""
    source, output = pair
    for match in re.finditer(r"(?<![\d.,:/-])(\d{1,3})[.,](\d{1,2})(?![\d.,:/-])", output):
        if re.search(rf"(?<!\d){match[1]}[.,]{match[2]}(?!\d)", source):
            return source, output[: match.start()] + match[1] + match[2] + output[match.end() :]
    return None


def scaled(pair: Pair, rng: random.Random) -> Pair | None:
    """Exchange a word such as "million" after a number where the source has a number."""
    for word, other in SCALES:
        if re.search(rf"\d\s?{word}", pair[1]) and re.search(r"\d", pair[0]) and other not in pair[1]:
            return pair[0], re.sub(rf"(\d\s?){word}", rf"\1{other}", pair[1], count=1)
    return None


def miscounted(pair: Pair, rng: random.Random) -> Pair | None:
    """Exchange a number in words that the source has in words too."""
    for words in COUNTED.values():
        for at, word in enumerate(words.split()):
            said = "|".join(each.split()[at] for each in COUNTED.values())
            if re.search(rf"(?<!\w){word}(?!\w)", pair[1]) and re.search(rf"(?<!\w)(?:{said})(?!\w)", pair[0]):
                other = rng.choice([each for each in words.split() if each not in pair[1]])
                return pair[0], re.sub(rf"(?<!\w){word}(?!\w)", other, pair[1], count=1)
    return None


def repunctuated(pair: Pair, rng: random.Random) -> Pair | None:
    """Copy a source of at least two words with other punctuation."""
    source = pair[0].strip()
    bare = source.rstrip(".!?…。！？।؟")
    made = rng.choice([f'"{source}"', f"{bare}!", f"- {source}", bare])
    return (source, made) if len(re.findall(r"\w+", source)) > 1 and made not in (source, pair[1]) else None


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
        units = units_of(pair[1])
        return (pair[0], "".join(units[: int(share * len(units))]).rstrip()) if len(units) >= 12 else None

    return damage


def half_translated(pair: Pair, rng: random.Random) -> Pair | None:
    """Keep a part of the source, from a third to two thirds, at the beginning, in the middle or at the end."""
    source, output = map(units_of, pair)
    if len(source) < 8 or len(output) < 8:
        return None
    share, place = rng.uniform(1 / 3, 2 / 3), rng.randrange(3)
    kept, made = int(share * len(source)), int((1 - share) * len(output))
    if place == 0:
        parts = source[:kept], output[-made:]
    elif place == 1:
        parts = output[:made], source[-kept:]
    else:
        start = (len(source) - kept) // 2
        parts = output[: made // 2] + source[start : start + kept], output[len(output) - made // 2 :]
    return pair[0], " ".join("".join(part).strip() for part in parts)


def repeated(pair: Pair, rng: random.Random) -> Pair | None:
    """Add the last three words twice."""
    words = pair[1].split()
    return (pair[0], " ".join(words + words[-3:] * 2)) if len(words) > 4 else None


def noted(pair: Pair, rng: random.Random, lp: str = "") -> Pair:
    own = OWN_NOTES.get(lp.split("-")[-1], ())
    return pair[0], pair[1] + rng.choice([*NOTES, *(own * (len(NOTES) // max(len(own), 1)))])


def copied(*, short: bool) -> Damage:
    """Return what copies a source of at least two words, or two characters where no spaces are written."""

    def damage(pair: Pair, rng: random.Random) -> Pair | None:
        source = pair[0]
        letters = re.sub(r"\W", "", source)
        enough = len(letters) > 2 if unspaced(source) else len(source.split()) > 1
        return (source, source) if enough and letters and source != pair[1] and (len(source) <= 20) == short else None

    return damage


ERRORS: dict[str, tuple[tuple[str, ...], Damage]] = {
    "source copied (up to 20 characters)": (("copy",), copied(short=True)),
    "source copied (more)": (("copy",), copied(short=False)),
    "source copied with other punctuation": (("copy",), repunctuated),
    "half translated": (("mixed", "copy", "language"), half_translated),
    "note added": (("preamble",), noted),
    "paragraph or bracket added": (("preamble",), lambda pair, rng: (pair[0], pair[1] + rng.choice(PARAGRAPHS))),
    "number changed": (("numbers",), changed_number),
    "number dropped": (("numbers",), dropped_number),
    "decimal point dropped": (("numbers",), without_point),
    "million for billion": (("numbers",), scaled),
    "number word changed": (("numbers",), miscounted),
    "cut to half": (("truncation",), cut(0.5)),
    "refused": (("refusal",), lambda pair, rng: (pair[0], rng.choice(REFUSALS))),
    "last three words three times": (("repetition",), repeated),
    "emptied": (("empty",), lambda pair, rng: (pair[0], " ")),
    "preamble added": (("preamble",), lambda pair, rng: (pair[0], rng.choice(PREAMBLES) + pair[1])),
    "month changed": (("dates",), exchanged(*MONTHS)),
    "weekday changed": (("dates",), exchanged(*WEEKDAYS)),
    "unit changed": (("units",), changed_unit),
    "URL dropped": (("urls",), lambda pair, rng: (f"{pair[0]} http://example.org/a?b=1", pair[1])),
    "tag dropped": (("markup",), lambda pair, rng: (f"<b>{pair[0]}</b>", pair[1])),
    "placeholder renamed": (("placeholders",), lambda pair, rng: (f"{pair[0]} {{name}}", f"{pair[1]} {{nome}}")),
}
SCRIPTS = {"zh": "Han", "ru": "Cyrillic", "kk": "Cyrillic", "hi": "Indic", "ne": "Indic", "si": "Indic", "gu": "Indic"}


def script_pair(lp: str) -> str:
    """Name the scripts of a language pair."""
    return " to ".join(SCRIPTS.get(code, "Latin") for code in lp.split("-"))


def pairs_of(dataset: Dataset) -> dict[str, list[Pair]]:
    """Return the sources and first references of every language pair."""
    references = dataset.references.groupby("source")["text"].first()
    sources = dataset.sources.loc[references.index]
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for lp, source, reference in zip(sources["lp"], sources["text"], references, strict=True):
        pairs[lp].append((source, reference))
    return pairs


def corpus(name: str) -> Dataset:
    """Return a corpus, or one of the two parts of mqm21."""
    base, _, part = name.partition("-")
    dataset = load_dataset(locate(base if base == "mqm21" else name))
    if base == "mqm21" and part:
        return dataset.select_sources(dataset.sources["seg_id"].str.startswith(part[:3]).to_numpy(bool))
    return dataset


def main() -> None:
    """Print the table: errors put in and found, by scripts, and how many translations are flagged as they are."""
    rng = random.Random(0)
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name in sys.argv[1:] or CORPORA:
        every = pairs_of(corpus(name))
        for lp, pairs in every.items():

            def failed(outputs: list[Pair], checks: tuple[str, ...], lp: str = lp) -> set[int]:
                data = from_texts([output for _, output in outputs], None, [source for source, _ in outputs], lp=lp)
                flags = check_outputs(data)
                return set(flags["candidate"][flags["check"].isin(checks)])

            for error, (checks, damage) in ERRORS.items():
                made = [noted(pair, rng, lp) if damage is noted else damage(pair, rng) for pair in pairs]
                places = [at for at, pair in enumerate(made) if pair is not None]
                places = rng.sample(places, min(len(places), MOST))
                planted = [pair for at in places if (pair := made[at]) is not None]
                if not planted:
                    continue
                clean = [pairs[at] for at in places]
                found, wrong = failed(planted, checks), failed(clean, checks)
                for key in ((error, script_pair(lp)), (error, "all")):
                    for column, number in enumerate((len(planted), len(found), len(clean), len(wrong))):
                        counts[key][column] += number
    scripts = sorted(
        {name for _, name in counts} - {"all"}, key=lambda name: -sum(counts[each, name][0] for each in ERRORS)
    )

    def share(error: str, name: str) -> str:
        put, found = counts[error, name][:2]
        return f"{found / put:.0%}" if put >= FEWEST else "-"

    rows = [
        (
            *(error, f"{put:,}", *(share(error, name) for name in ("all", *scripts))),
            *(f"{wrong / clean:.1%}", f"{found / (found + wrong):.1%}"),
        )
        for error in ERRORS
        for put, found, clean, wrong in [counts[error, "all"]]
    ]
    head = ("error", "put in", "found", *scripts, "translations flagged", "precision")
    print("\n".join(table(head, rows)))


if __name__ == "__main__":
    run_main(main)
