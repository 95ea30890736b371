"""Comparison of two texts by meaning: polarity, numbers, names, roles, tense, repeated words."""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from ranker.text.function_words import function_words
from ranker.text.lexical.stems import stemmer_of

KINDS = ("negation", "opposite", "number", "name", "role", "tense", "repetition")
_DIGITS = re.compile(r"[$€£#+]?(\d+(?:[.,]\d+)*)(%|[a-z]{1,3})?")
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "trillion": 10**12,
}
_PERSONS = {form: case for case in ("i/me", "he/him", "she/her", "we/us", "they/them") for form in case.split("/")}
_FAR, _NEAR = 0.94, 0.97
"""Nearness up to which differences have weight 0, and from which they have weight 1."""
_MOST_EXPLAINED = 9
"""Largest number of words that may belong to differences."""
_ALIKE = 0.95
"""Smallest share of common content words at which exchanged words count as exchanged roles."""
_SHORTEST = 4
"""Shortest word that is checked for a negating prefix."""
_LONGEST = 40
"""Number of characters of a name that are compared."""
_VARIANT = 0.6
"""Smallest similarity at which two names count as spellings of one name."""
_LONGEST_REPEATED = 6


@dataclass(frozen=True, eq=False)
class WordFacts:
    """Attributes of a word that are compared."""

    lower: str
    stem: str
    spelled: bool
    """True if the word has a letter or a digit."""
    content: bool
    """True if it is a word or a number, and not a function word."""
    name: bool
    """True if it is capitalised and not a title."""
    negates: bool
    opposites: frozenset[str]
    """Stems of its opposites."""
    number: float | None
    fraction: tuple[float, ...]
    """Both numbers of a fraction such as *one-third*."""
    tense: str
    """``future``, ``past``, ``present`` or ``modal`` for an auxiliary, ``past`` for a verb's past form, or empty."""


@dataclass(frozen=True, eq=False)
class TextFacts:
    """Attributes of a text that are compared."""

    facts: tuple[WordFacts, ...]
    """Its words and punctuation marks."""
    spelled: tuple[WordFacts, ...]
    """Its words, without punctuation."""
    stems: Counter[str]
    """Counts of its stems, including function words."""
    negations: int
    numbers: Counter[float]
    vague: frozenset[float]
    """Numbers that may be other words, as in *one of us* and *a second*."""
    names: dict[str, str]
    tenses: Counter[str]
    repeated: tuple[str, ...]
    order: tuple[str, ...]
    """Content stems in their order, a passive's agent before its verb."""
    governed: frozenset[str]
    """Content stems in prepositional phrases, which are neither agent nor patient."""


@functools.cache
def lists() -> dict[str, frozenset[str]]:
    """Return the word lists by name."""
    return {name: frozenset(words.split()) for name, words in _tables().items() if isinstance(words, str)}


@functools.cache
def _tables() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@functools.cache
def _opposites() -> dict[str, frozenset[str]]:
    """Return a map from each listed stem to the stems of its opposites."""
    stem = stemmer_of("english")
    found: dict[str, set[str]] = {}
    for entry in filter(str.strip, _tables()["opposites"].split(";")):
        sides = [{stem(word) for word in side.split("/")} for side in entry.split()]
        for one, other in ((sides[0], sides[1]), (sides[1], sides[0])):
            for word in one:
                found.setdefault(word, set()).update(other - one)
    return {word: frozenset(others) for word, others in found.items()}


@functools.cache
def _irregular() -> dict[str, str]:
    """Return a map from irregular past forms to base forms."""
    rows = [row.split() for row in _tables()["irregular"].split(";")]
    return {form: base for base, *forms in filter(None, rows) for form in forms}


@functools.cache
def _number_words() -> dict[str, int]:
    tables = _tables()
    words = {word: place for place, word in enumerate(tables["numerals"].split(), 1)}
    words |= {word: 10 * place for place, word in enumerate(tables["tens"].split(), 2)}
    return words | {word: place for place, word in enumerate(tables["ordinals"].split(), 1)}


def _number(lower: str) -> float | None:
    match = _DIGITS.fullmatch(lower)
    if match:
        whole = re.sub(r"[.,](?=\d{3}\b)", "", match[1]).replace(",", ".")
        return float(whole) if whole.count(".") < 2 else None
    first, _, rest = lower.partition("-")
    known = _number_words()
    if known.get(first, 0) >= 20 and known.get(rest, 10) < 10:
        return float(known[first] + known[rest])
    return float(known[lower]) if lower in known else None


def _fraction(lower: str) -> tuple[float, ...]:
    """Return both numbers of a fraction such as *one-third*, nothing for other words."""
    parts = [_number_words().get(part) for part in lower.split("-")]
    fraction = len(parts) == 2 and None not in parts and _number(lower) is None
    return tuple(float(part) for part in parts if part is not None) if fraction else ()


@functools.lru_cache(maxsize=1 << 15)
def word_facts(word: str) -> WordFacts:
    """Return the attributes of a word, looked up in the lists."""
    known = lists()
    lower = word.lower().replace("’", "'")
    bare = lower.removesuffix("'s")
    bare = bare.removesuffix("'ve").removesuffix("'m").removesuffix("'ll").removesuffix("'d").removesuffix("'re")
    stem = _PERSONS.get(bare) or stemmer_of("english")(_irregular().get(bare, bare))
    spelled = any(map(str.isalnum, bare))
    listed, _ = function_words("english")
    content = spelled and bare not in listed and lower not in listed and "'" not in bare
    tense = next((name for name in ("future", "past", "present", "modal") if lower in known[name]), "")
    if not tense and (bare in _irregular() or (bare.endswith("ed") and len(bare) > 4)):
        tense = "past"
    return WordFacts(
        lower,
        stem,
        spelled,
        content,
        name=content and len(bare) > 2 and word[0].isupper() and not word.isupper() and bare not in known["titles"],
        negates=lower in known["negations"] or lower.endswith("n't"),
        opposites=_opposites().get(stem, frozenset()) | _opposites().get(stemmer_of("english")(bare), frozenset()),
        number=_number(bare),
        fraction=_fraction(bare),
        tense=tense,
    )


def text_facts(words: tuple[str, ...]) -> TextFacts:
    """Return the attributes of a text, given its words."""
    facts, known = tuple(map(word_facts, words)), lists()
    lowers = [fact.lower for fact in facts]
    spelled = [fact for fact in facts if fact.spelled]
    negations = sum(
        fact.negates
        and not (fact.lower == "not" and (_next(lowers, i) in ("only", "just") or _next(lowers, i, -1) == "or"))
        and not (fact.lower == "no" and _next(lowers, i) in known["after_no"])
        for i, fact in enumerate(facts)
    ) + ("longer" in lowers and "no" in lowers)
    names: dict[str, str] = {}
    capitals = sum(word[:1].isupper() for word in words)
    if 2 * capitals <= len(spelled):
        at_start = True
        for word, fact in zip(words, facts, strict=True):
            if fact.name and (not at_start or fact.lower.removesuffix("'s") in known["dates"] | known["places"]):
                names[_plain(fact.lower.removesuffix("'s"))] = word
            at_start = (at_start and not fact.spelled) or word in (".", "!", "?", ":", "(", ")", '"', "“")
    return TextFacts(
        facts,
        tuple(spelled),
        Counter(fact.stem for fact in spelled),
        negations,
        Counter(_numbers(facts)),
        frozenset(fact.number for fact in facts if fact.number is not None and fact.lower in known["vague"]),
        names,
        Counter(fact.tense for fact in facts if fact.tense),
        _repeated([fact.lower for fact in spelled]),
        _order(facts),
        _governed(facts),
    )


def _next(lowers: Sequence[str], at: int, step: int = 1) -> str:
    return lowers[at + step] if 0 <= at + step < len(lowers) else ""


def _plain(word: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", word) if not unicodedata.combining(each))


def _numbers(facts: Iterable[WordFacts]) -> list[float]:
    """Return the numbers in a text, each of which may be written as several words."""
    found: list[float] = []
    joined = False
    for fact in facts:
        scale = _SCALES.get(fact.lower.rstrip("s"))
        if scale and joined:
            found[-1] *= scale
        elif scale and fact.lower in _SCALES:
            found.append(float(scale))
        elif fact.number is not None:
            # twenty five, one hundred and twenty
            if (
                joined
                and found[-1] >= 20
                and found[-1] % 10 == 0
                and fact.number < found[-1]
                and fact.lower[0].isalpha()
            ):
                found[-1] += fact.number
            else:
                found.append(fact.number)
        elif fact.fraction:
            found += fact.fraction
        joined = scale is not None or fact.number is not None or (joined and fact.lower in ("and", "-"))
    return found


def _repeated(lowers: list[str]) -> tuple[str, ...]:
    """Return the stretches of words that occur twice in a row."""
    found: list[str] = []
    at = 0
    while at < len(lowers):
        for size in range(min(_LONGEST_REPEATED, (len(lowers) - at) // 2), 0, -1):
            stretch = lowers[at : at + size]
            if stretch == lowers[at + size : at + 2 * size] and not (
                (size == 1 and stretch[0] in ("that", "had", "very")) or stretch[0].isdigit()
            ):
                found.append(" ".join(stretch))
                at += size
                break
        at += 1
    return tuple(found)


def _order(facts: Sequence[WordFacts]) -> tuple[str, ...]:
    """Return the content stems in order; in a passive with *by*, stems before and after the verb are exchanged."""
    lowers, known = [fact.lower for fact in facts], lists()
    # the number of content words before each word
    before = [0, *itertools.accumulate(_ordered(fact) for fact in facts)]
    stems = [fact.stem for fact in facts if _ordered(fact)]
    for i, lower in enumerate(lowers):
        passive = (
            i > 1
            and facts[i - 1].content
            and (facts[i - 1].tense == "past" or {*lowers[max(0, i - 4) : i - 1]} & known["be"])
        )
        if lower == "by" and passive:
            verb = before[i - 1]
            first = before[next((j for j in range(i - 1, 0, -1) if lowers[j - 1] in known["clause_starts"]), 0)]
            last = before[next((j for j in range(i + 1, len(facts)) if lowers[j] in known["agent_ends"]), len(facts))]
            return (*stems[:first], *stems[verb + 1 : last], stems[verb], *stems[first:verb], *stems[last:])
    return tuple(stems)


def _governed(facts: Sequence[WordFacts]) -> frozenset[str]:
    """Return the content stems that occur in prepositional phrases."""
    found, inside = set(), False
    known = lists()
    for fact in facts:
        inside = fact.lower in known["prepositions"] or (
            inside and (fact.content or fact.lower in known["phrase_words"])
        )
        if inside and fact.content:
            found.add(fact.stem)
    return frozenset(found)


def _ordered(fact: WordFacts) -> bool:
    """True if the word is a personal pronoun, or a content word that is not a date."""
    return (fact.content and fact.lower not in lists()["dates"]) or fact.stem in _PERSONS.values()


@dataclass(frozen=True)
class Comparison:
    """Differences of a candidate from a reference, by kind, and the nearness of the two texts in all other words."""

    differences: dict[str, list[str]]
    nearness: float

    @property
    def weight(self) -> float:
        """Weight of the differences, growing from 0 at nearness `_FAR` to 1 at `_NEAR`."""
        return min(1.0, max(0.0, (self.nearness - _FAR) / (_NEAR - _FAR)))


def may_be_near(candidate: Counter[str], reference: Counter[str]) -> bool:
    """True if few enough stems differ for the differences to have a weight above 0."""
    words = candidate.total() + reference.total()
    return words - 2 * (candidate & reference).total() <= (1 - _FAR) * words + _MOST_EXPLAINED


def compare(candidate: TextFacts, reference: TextFacts) -> Comparison:
    """Return the differences of a candidate from a reference, and the nearness of the two texts."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    extra, missing = _unmatched(candidate, reference), _unmatched(reference, candidate)
    _polarity(found, candidate, reference, extra, missing)
    _number_changes(found, candidate, reference, [*extra, *missing])
    _name_changes(found, candidate, reference)
    _role_changes(found, candidate, reference)
    _tense_changes(found, candidate, reference)
    found["repetition"] = sorted((Counter(candidate.repeated) - Counter(reference.repeated)).elements())
    # a negation adds an auxiliary too, and a change of tense changes two words
    words = sum(len(found[kind]) for kind in ("opposite", "number", "name"))
    words += 2 * bool(found["negation"]) + 2 * bool(found["tense"])
    again = sum(len(stretch.split()) for stretch in found["repetition"])
    other = max(0, len(extra) - words - again), max(0, len(missing) - words)
    size = 2 * (len(candidate.spelled) - len(extra)) + sum(other)
    return Comparison(found, 1 - sum(other) / size if size else 0.0)


def _unmatched(text: TextFacts, other: TextFacts) -> list[WordFacts]:
    """Return the words of a text that have no match by form or stem in the other text."""
    left = Counter(other.stems)
    found = []
    for fact in text.spelled:
        if left[fact.stem] > 0:
            left[fact.stem] -= 1
        elif fact.spelled:
            found.append(fact)
    return found


def _polarity(
    found: dict[str, list[str]],
    candidate: TextFacts,
    reference: TextFacts,
    extra: list[WordFacts],
    missing: list[WordFacts],
) -> None:
    opposites = []
    others = list(missing)
    for fact in extra:
        for other in others:
            if fact.negates or other.negates:
                continue
            if other.stem in fact.opposites or _affixed(fact.lower, other.lower) or _affixed(other.lower, fact.lower):
                opposites.append(f"{fact.lower} for {other.lower}")
                others.remove(other)
                break
    more = candidate.negations - reference.negations
    soft = lists()["near_negations"]
    excused = bool(opposites) or any(
        fact.stem in soft or fact.lower in soft or _negative(fact.lower) for fact in (missing if more > 0 else extra)
    )
    # a second negation often only repeats the first: not ... nor, no one ... not
    if more and not excused and not (candidate.negations and reference.negations):
        found["negation"] = ["negated" if more > 0 else "not negated"] * abs(more)
    # "less equal" means "more unequal"
    degrees = sum(bool({*each.split()} & lists()["degrees"]) for each in opposites)
    if not more and not (degrees and len(opposites) == 2 * degrees):
        found["opposite"] = opposites


def _affixed(longer: str, shorter: str) -> bool:
    """True if `longer` is `shorter` with a negating prefix or suffix."""
    if len(shorter) < _SHORTEST:
        return False
    prefixed = longer.endswith(shorter) and longer.removesuffix(shorter) in lists()["prefixes"]
    return prefixed or (longer.endswith("less") and shorter.endswith("ful") and longer[:-4] == shorter[:-3])


def _negative(word: str) -> bool:
    """True if a word seems to have a negating prefix or suffix, as *insufficient* and *useless* have."""
    prefixed = any(word.startswith(each) and len(word) - len(each) >= _SHORTEST for each in lists()["prefixes"])
    suffixed = word.endswith("less") and word not in lists()["not_suffixed"] and len(word) - len("less") >= _SHORTEST
    return suffixed or (prefixed and not word.startswith(tuple(lists()["not_prefixed"])))


def _number_changes(
    found: dict[str, list[str]], candidate: TextFacts, reference: TextFacts, unmatched: Iterable[WordFacts]
) -> None:
    if candidate.numbers == reference.numbers or any(fact.stem in _quantities() for fact in unmatched):
        return
    extra, missing = candidate.numbers - reference.numbers, reference.numbers - candidate.numbers
    for number in [*missing]:
        alike = next((each for each in extra if _same_number(number, each)), None)
        if alike is not None:
            del extra[alike], missing[number]
    wrong, right = sorted(extra.elements()), sorted(missing.elements())
    if any(each not in candidate.vague | reference.vague for each in (*wrong, *right)):
        found["number"] = [f"{first:g} for {second:g}" for first, second in zip(wrong, right, strict=False)]


def _same_number(first: float, second: float) -> bool:
    low, high = sorted((first, second))
    return (
        (low > 0 and any(abs(high - low * scale) < 1e-6 * high for scale in (100, 1000, 1e6, 1e9)))
        or (1900 < high < 2100 and high % 100 == low)
        or (0 < low <= 12 and high - low == 12)
    )


def _name_changes(found: dict[str, list[str]], candidate: TextFacts, reference: TextFacts) -> None:
    sides = []
    for text, other in ((candidate, reference), (reference, candidate)):
        known = {_plain(fact.lower.removesuffix("'s")) for fact in other.spelled} | {
            fact.stem for fact in other.spelled
        }
        sides.append([name for name in text.names if name not in known and stemmer_of("english")(name) not in known])
    extra, missing = sides
    for name in [*missing]:
        alike = next((each for each in extra if _variant(name, each)), None)
        if alike is not None:
            extra.remove(alike)
            missing.remove(name)
    if len(extra) == len(missing):
        found["name"] = [
            f"{candidate.names[first]} for {reference.names[second]}"
            for first, second in zip(extra, missing, strict=True)
        ]


def _variant(first: str, second: str) -> bool:
    """True if two names may be spellings of the same name."""
    if {first, second} <= lists()["dates"] | lists()["places"]:
        return False
    alike = first[:4] == second[:4] or (first[:3] == second[:3] and min(len(first), len(second)) > _SHORTEST)
    return alike or SequenceMatcher(None, first[:_LONGEST], second[:_LONGEST], autojunk=False).ratio() >= _VARIANT


def _role_changes(found: dict[str, list[str]], candidate: TextFacts, reference: TextFacts) -> None:
    """Add a role change to `found` if the words to the left and right of some word have changed sides."""
    if candidate.order == reference.order:
        return
    own, wanted = Counter(candidate.order), Counter(reference.order)
    if (own & wanted).total() < _ALIKE * max(len(candidate.order), len(reference.order)):
        return
    once = [stem for stem in reference.order if own[stem] == wanted[stem] == 1]
    if len(once) < 3:
        return
    place = {stem: i for i, stem in enumerate(candidate.order)}
    at = [place[stem] for stem in once]
    reporting, governed = _reporting(), candidate.governed | reference.governed
    free = {i for i, stem in enumerate(once) if stem not in governed}
    for middle in range(1, len(at) - 1):
        if once[middle] in reporting or any(each.isdigit() for each in once[middle]):
            continue
        left = [i for i in range(max(0, middle - 3), middle) if i in free and 0 < at[i] - at[middle] <= 4]
        right = [i for i in range(middle + 1, min(len(at), middle + 4)) if i in free and 0 < at[middle] - at[i] <= 4]
        if left and right:
            found["role"] = [f"{once[right[0]]} and {once[left[-1]]} exchanged"]
            return


@functools.cache
def _quantities() -> frozenset[str]:
    return frozenset(map(stemmer_of("english"), lists()["quantities"]))


@functools.cache
def _reporting() -> frozenset[str]:
    return frozenset(map(stemmer_of("english"), lists()["reporting"]))


def _hoped(facts: Sequence[WordFacts]) -> int:
    """Count *will* after a word such as *if* or *hope*, where the present would say the same."""
    known, found, hoped = lists(), 0, False
    for fact in facts:
        hoped = (hoped or fact.lower in known["before_present"]) and fact.lower not in (",", ".", ";")
        found += hoped and fact.tense == "future"
    return found


def _planned(facts: Sequence[WordFacts]) -> int:
    """Count phrases for the future without *will*, as in *is to open* and *are going to open*."""
    forms, lowers = lists()["be"] & lists()["present"], [fact.lower for fact in facts]
    return sum(
        lower in forms and " ".join(lowers[place + 1 : place + 3]).startswith(("to ", "going to", "about to"))
        for place, lower in enumerate(lowers)
    )


def _tense_changes(found: dict[str, list[str]], candidate: TextFacts, reference: TextFacts) -> None:
    own, wanted = candidate.tenses, reference.tenses
    future = own["future"] - wanted["future"]
    past, present = own["past"] - wanted["past"], own["present"] - wanted["present"]
    modal = own["modal"] - wanted["modal"]
    if not future:
        return
    more, less = (candidate.facts, reference.facts) if future > 0 else (reference.facts, candidate.facts)
    hoped = 0 if past * future < 0 else max(0, _hoped(more) - _hoped(less))
    if abs(future) <= hoped + max(0, _planned(less) - _planned(more)):
        return
    if future > 0 and modal >= 0 and (past < 0 or present < 0):
        found["tense"] = ["future"]
    elif future < 0 and modal <= 0 and (past > 0 or present > 0):
        found["tense"] = ["no future"]
