"""Types of judgement tasks: question, possible answers, and content of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ranker.corpora.languages import ENGLISH, LanguagePair, is_language, language_code, main_language, script_of
from ranker.errors import OptionError

KindName = Literal["ranking", "pairwise", "fluency", "adequacy", "score", "esa", "mqm"]
Show = Literal["source", "reference", "both", "none"]
Next = Literal["uniform", "overlap"]
RANKED = 5
"""Number of outputs that are ranked at a time, as in the WMT campaigns."""


@dataclass(frozen=True)
class Choice:
    """A possible answer on a scale."""

    value: int
    label: str


@dataclass(frozen=True)
class TaskKind:
    """A kind of task: its page, and its possible answers.

    `outputs` is the maximum number of outputs on a page; `shown` lists what may be shown with them, and `show` is the
    default. `judgements` is the name on export, as for ``ranker train --kind``; `lowest` and `highest` bound the
    rank or the value, which is a negated penalty for ``mqm``. `severities`, lowest first, are those of errors to be
    marked; `unit` is the multiple to which values on scales of more than five are rounded to compute agreement.
    """

    name: str
    outputs: int
    question: str
    help: str
    show: Show
    shown: tuple[Show, ...]
    judgements: str
    lowest: int = 1
    highest: int = 5
    severities: tuple[str, ...] = ()
    unit: int = 0

    @property
    def compares(self) -> bool:
        """True if outputs are compared with each other, so that an answer has a rank for each output."""
        return self.outputs > 1

    def with_severities(self, names: Sequence[str]) -> TaskKind:
        """Return this kind of task with other MQM severities."""
        return replace(self, severities=tuple(names), help=mqm_help(names))

    def check(self, answer: Sequence[int], outputs: int) -> None:
        """Raise an `OptionError` for an answer that the page does not offer."""
        highest = outputs if self.compares else self.highest
        if len(answer) != outputs or not all(self.lowest <= value <= highest for value in answer):
            raise OptionError(f"expected {outputs} numbers from {self.lowest} to {highest}")

    def show_by_default(self, *, references: bool) -> Show:
        """Return the texts shown with the outputs by default: the source where there are no references."""
        return self.show if references or self.show == "none" else "source"


_FREE: tuple[Show, ...] = ("both", "source", "reference", "none")
_MEANING: tuple[Show, ...] = ("reference", "source", "both")
_SEVERITIES = ("minor", "major")
SEVERITIES = {
    "neutral": "it is worth a note but is no fault",
    "minor": "it is noticed but does no harm",
    "major": "it may confuse or mislead the reader",
    "critical": "it may do harm, or makes the text useless",
}
"""MQM severities, lowest first, with their explanation to judges."""


def mqm_help(severities: Sequence[str]) -> str:
    """Return the instructions to judges for marking MQM errors of the given severities."""
    of_each = (f"{name.capitalize()}: {SEVERITIES[name]}." for name in reversed(severities))
    return " ".join(["Mark each error as closely as possible.", *of_each])


KINDS = {
    kind.name: kind
    for kind in (
        TaskKind(
            "ranking",
            RANKED,
            "Rank the translations from best to worst.",
            "1 is the best rank. Translations that are equally good get the same rank.",
            "both",
            _FREE,
            "preferences",
        ),
        TaskKind(
            "pairwise",
            2,
            "Which translation is better?",
            "Choose “no difference” only if you find both equally good.",
            "both",
            _FREE,
            "preferences",
        ),
        TaskKind(
            "fluency",
            1,
            "How fluent is this translation?",
            "Judge the language only: grammar, word choice, spelling. Ignore whether the translation is correct.",
            "none",
            ("none",),
            "fluency",
        ),
        TaskKind(
            "adequacy",
            1,
            "How much of the meaning is expressed in the translation?",
            "Judge the meaning only. Ignore clumsy language as long as the meaning is clear.",
            "reference",
            _MEANING,
            "adequacy",
        ),
        TaskKind(
            "score",
            1,
            "How well does the translation express the meaning?",
            "0: none of the meaning. 100: all of the meaning, in perfect language.",
            "reference",
            _MEANING,
            "score",
            0,
            100,
            unit=10,
        ),
        TaskKind(
            "esa",
            1,
            "Mark the errors, then score the translation.",
            "Minor: the meaning is there, but not quite right or fluent. Major: the meaning is changed or lost. "
            "Score: 0 if no meaning is preserved, 33 if some is, 66 if most is, 100 if the translation is perfect.",
            "source",
            _MEANING,
            "esa",
            0,
            100,
            _SEVERITIES,
            10,
        ),
        TaskKind(
            "mqm",
            1,
            "Mark the errors of the translation.",
            mqm_help(_SEVERITIES),
            "source",
            _MEANING,
            "mqm",
            -25,
            0,
            _SEVERITIES,
            1,
        ),
    )
}
_FLUENCY = ((5, "Flawless"), (4, "Good"), (3, "Non-native"), (2, "Disfluent"), (1, "Incomprehensible"))
_ADEQUACY = ((5, "All"), (4, "Most"), (3, "Much"), (2, "Little"), (1, "None"))
_RIGHT_TO_LEFT = frozenset(("ar", "ckb", "dv", "fa", "he", "ps", "ur", "yi"))
_RIGHT_TO_LEFT_SCRIPTS = frozenset(("Arab", "Aran", "Hebr", "Nkoo", "Syrc", "Thaa"))
# written in Arabic script by some and in another by others: the text itself tells its direction
_EITHER_DIRECTION = frozenset(("az", "kk", "ku", "ky", "ms", "pa", "sd", "ug", "uz"))


def choices(kind: TaskKind, language: str | None) -> tuple[Choice, ...]:
    """Return the labelled choices of a five-point scale, best first (Ye, Zhou and Lin 2007); empty for other kinds."""
    if kind.name == "fluency":
        # the labels of the LDC's specification of 2002 name the language
        noun = " English" if main_language(language or "") == ENGLISH else ""
        return tuple(Choice(value, f"{label}{noun if value > 1 else ''}") for value, label in _FLUENCY)
    if kind.name == "adequacy":
        return tuple(Choice(value, label) for value, label in _ADEQUACY)
    return ()


def answer_of(kind: TaskKind, fields: Mapping[str, str], shown: Sequence[int]) -> list[int]:
    """Read the answer from a form: one value, or the rank of each output in the item's order (not the page's)."""
    answer = [0] * len(shown)
    if kind.name == "mqm":
        return answer
    if kind.name == "pairwise":
        ranks = {"first": (1, 2), "same": (1, 1), "second": (2, 1)}.get(fields.get("choice", ""))
        if ranks is None:
            raise OptionError("choose one of the translations, or “no difference”")
        for place, output in enumerate(shown):
            answer[output] = ranks[place]
    else:
        for place, output in enumerate(shown):
            text = fields.get(f"value{place}", "")
            if not (text.isascii() and text.isdigit() and len(text) <= 3):
                raise OptionError("give each translation a rank" if kind.compares else "choose an answer")
            answer[output] = int(text)
    kind.check(answer, len(shown))
    return answer


def direction(language: str | None) -> str:
    """Return the value of HTML's ``dir`` for text in a language; ``auto`` for a language without a single direction."""
    tag = language_code(language or "")
    if script := script_of(tag):
        return "rtl" if script in _RIGHT_TO_LEFT_SCRIPTS else "ltr"
    code = (tag or "").partition("_")[0]
    including = main_language(code)
    if not _RIGHT_TO_LEFT.isdisjoint((code, including)):
        return "rtl"
    return "ltr" if is_language(including) and including not in _EITHER_DIRECTION else "auto"


def languages(pair: str | None) -> tuple[str | None, str | None]:
    """Return the source and target language of a pair as HTML's ``lang``, such as ``zh-Hant``; None if unknown."""
    named = LanguagePair(pair or "")
    source, target = (tag and tag.replace("_", "-") for tag in (named.source_tag, named.target_tag))
    return source, target
