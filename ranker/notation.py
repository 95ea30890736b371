"""One notation for names with options: ``name[option=value,option=value]``.

It names extractors, metrics and feature sets on the command line, in feature set files, in model files, in
signatures and as column heads. A list of them is separated by commas outside brackets. Where a name stands for a
combination of others, its brackets hold their weighted sum instead of options: ``name[a[option=value] - 2*b]``.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, cast

from ranker.errors import OptionError, nearest

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*\Z")
# in a sum, + and - are signs
_SUMMAND = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_COLUMN = re.compile(r"(\.[A-Za-z0-9_]+)*")
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SPACE = re.compile(r"\s*")
_OTHER_NAMES = {"add-k": ("add-one", "add-k of sacreBLEU is add-one, with value=K unless k is 1")}
"""Values of options that other programs name differently: our name, and advice."""
_LARGEST_WHOLE = 1_000_000_000
_KINDS: dict[Any, type] = {int: Integral, float: Real, str: str}
"""Types of values that are converted to each declared type, so that numbers of NumPy are taken too."""
DEEPEST = 6
"""Greatest depth of brackets in brackets."""
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Spec:
    """A parsed ``name[option=value]``: the name, and the options as they were written."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the notation that the spec was parsed from."""
        inner = ",".join(f"{key}={value}" for key, value in self.options)
        return f"{self.name}[{inner}]" if inner else self.name


@dataclasses.dataclass(frozen=True)
class Term:
    """One term of a weighted sum."""

    weight: float
    text: str
    place: int = 0


def as_text(text: object) -> str:
    """Return the text of a notation, or refuse what is no text, such as a list of names."""
    if not isinstance(text, str):
        raise OptionError(f"expected names with options as one text, such as 'bleu[order=2],chrf', found {text!r}")
    return text


def split(text: str) -> list[str]:
    """Split `text` at commas outside brackets."""
    text = as_text(text)
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth < 0:
            raise OptionError(f"{text!r}: found ']' without '[' at character {position + 1}: add '[' or remove ']'")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    if depth:
        raise OptionError(f"{text!r}: found '[' without ']': add ']'")
    return [*parts, text[start:].strip()]


def open_brackets(text: str) -> tuple[str, str]:
    """Split ``name[...]`` into the name and the text in its brackets."""
    text = as_text(text).strip()
    _check_depth(text)
    name, bracket, rest = text.partition("[")
    if not _NAME.match(name) or (bracket and not rest.endswith("]")):
        raise OptionError(f"{text!r} does not have the form name[option=value,...]")
    return name, rest[:-1]


def _check_depth(text: str) -> None:
    """Refuse brackets nested more than `DEEPEST` deep, because every level makes evaluation slower."""
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth > DEEPEST:
            raise OptionError(f"{text[:40]!r}...: brackets are nested more than {DEEPEST} deep: use fewer levels")


def parse(text: str) -> Spec:
    """Parse a name with options, ``name[option=value,...]``."""
    name, inner = open_brackets(text)
    text = text.strip()
    options: dict[str, str] = {}
    for part in split(inner) if inner.strip() else []:
        key, equals, value = (field.strip() for field in part.partition("="))
        if not equals or not key or not value:
            raise OptionError(f"{text!r}: {part!r} does not have the form option=value, as in bleu[order=2]")
        if key in options:
            raise OptionError(f"{text!r}: option {key!r} is given twice; give each option once")
        options[key] = value
    return Spec(name, tuple(options.items()))


def parse_sum(text: str) -> tuple[Term, ...]:
    """Parse a weighted sum of names with options, such as ``bleu[order=4] - 2*ter + 0.5*chrf``.

    Spaces are ignored outside brackets. A name ends at ``+`` or ``-``, so names that contain these cannot be used in a
    sum.
    """
    terms: list[Term] = []
    at = _skip(text, 0)
    while at < len(text) or not terms:
        sign = text[at : at + 1]
        if sign in ("+", "-"):
            at = _skip(text, at + 1)
        elif terms:
            raise _misplaced(text, at, "+, - or the end")
        weight, at = _weight(text, at)
        summand = _SUMMAND.match(text, at)
        if summand is None:
            raise _misplaced(text, at, "a name" if weight is not None else "a number or a name")
        stop = _closing(text, summand.end())
        factor = 1.0 if weight is None else weight
        terms.append(Term(-factor if sign == "-" else factor, text[at:stop], at + 1))
        at = _skip(text, stop)
    return tuple(terms)


def write_sum(terms: Iterable[Term]) -> str:
    """Return the notation of a weighted sum, which `parse_sum` reads back exactly."""
    written = ""
    for term in terms:
        weight = float(term.weight)
        number = int(weight) if weight.is_integer() and abs(weight) < 1e15 else weight
        factor = "" if abs(number) == 1 else f"{abs(number)!r}*"
        if written:
            written += " - " if number < 0 else " + "
        elif number < 0:
            written = "-"
        written += factor + term.text
    return written


def _weight(text: str, at: int) -> tuple[float | None, int]:
    """Return the weight (a number before ``*``) at character `at`, or None, and the position of the name after it."""
    match = _NUMBER.match(text, at)
    if match is None:
        return None, at
    star = _skip(text, match.end())
    if text[star : star + 1] != "*":
        raise _misplaced(text, star, "* after a number")
    weight = float(match[0])
    if not 0 < weight < float("inf"):
        raise OptionError(f"{text!r}: expected a positive number at character {at + 1}, found {match[0]}")
    return weight, _skip(text, star + 1)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _closing(text: str, at: int) -> int:
    """Return the end of the brackets that open at `at` and of any column name that follows; `at` if there are none."""
    if text[at : at + 1] != "[":
        return at
    depth = 0
    for position in range(at, len(text)):
        depth += (text[position] == "[") - (text[position] == "]")
        if depth == 0:
            column = _COLUMN.match(text, position + 1)
            return column.end() if column else position + 1
    raise OptionError(f"{text!r}: found '[' at character {at + 1} without ']': add ']'")


def _misplaced(text: str, at: int, expected: str) -> OptionError:
    actual = repr(text[at]) if at < len(text) else "the end"
    return OptionError(f"{text!r}: expected {expected} at character {at + 1}, found {actual}")


def build(kind: type[T], name: str, options: Mapping[str, str]) -> T:
    """Make an instance of the dataclass `kind` from `options`; its fields declare their names, types and defaults."""
    hints = field_types(cast(Any, kind))
    known = {option: hints[option] for option in options_of(kind)}
    values = {}
    for key, text in options.items():
        if key not in known:
            listed = ", ".join(known) or "none"
            raise OptionError(f"{name} has no option {key!r}{nearest(key, known)}; its options are: {listed}")
        values[key] = _convert(text, known[key], f"{name}[{key}={text}]")
    return kind(**values)


@functools.cache
def field_types(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, by name; cached, because evaluating annotations is slow."""
    return typing.get_type_hints(kind)


def learnt() -> Any:
    """Declare a dataclass field that is learnt from data, and so is not an option."""
    return dataclasses.field(default=None, kw_only=True, repr=False, compare=False, metadata={"option": False})


def settle(instance: Any, option: str, value: object) -> None:
    """Set an option of a frozen dataclass to its canonical value while the instance is being made."""
    object.__setattr__(instance, option, value)


def settle_options(instance: Any) -> None:
    """Give the options of a frozen dataclass their declared types, while the instance is being made.

    Raises
    ------
    OptionError
        For a value that its notation could not say, such as ``order="4"``. Types without a notation are not checked.
    """
    try:
        hints = field_types(cast(Any, type(instance)))
    except NameError:
        # types written as text, in a class of a function or of a text that was executed
        return
    for option in options_of(instance):
        value = getattr(instance, option)
        settle(instance, option, typed(value, hints[option], f"{instance.name}[{option}={value!r}]"))


def options_of(kind: Any) -> dict[str, dataclasses.Field[Any]]:
    """Return the option fields of a dataclass, by name."""
    return {field.name: field for field in dataclasses.fields(kind) if field.metadata.get("option", True)}


def describe(instance: Any) -> str:
    """Return the notation of an instance: its ``name``, and the options that differ from their defaults."""
    changed = []
    for option, field in options_of(instance).items():
        value = getattr(instance, option)
        if value != field.default:
            changed.append((option, write(value)))
    return str(Spec(instance.name, tuple(changed)))


def option_table(kind: type) -> Iterator[tuple[str, str, str]]:
    """Yield each option of the dataclass `kind` as (name, accepted values, default), for help and documentation."""
    hints = field_types(kind)
    for option, field in options_of(kind).items():
        yield option, _expected(hints[option]), write(field.default)


def write(value: object) -> str:
    """Return the text of an option value in the notation, such as ``true``, ``none`` or ``4``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _alternatives(hint: Any) -> list[Any]:
    origin = typing.get_origin(hint)
    return list(typing.get_args(hint)) if origin in (Union, types.UnionType) else [hint]


def _expected(hint: Any) -> str:
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}
    parts: list[str] = []
    for alternative in _alternatives(hint):
        if typing.get_origin(alternative) is Literal:
            parts.extend(str(choice) for choice in typing.get_args(alternative))
        else:
            parts.append(words[alternative])
    return " | ".join(parts)


def _convert(text: str, hint: Any, where: str) -> object:
    if _is_none(text, hint):
        return None
    for alternative in _alternatives(hint):
        if typing.get_origin(alternative) is Literal:
            for choice in typing.get_args(alternative):
                if write(choice) == text:
                    return choice
        elif alternative is bool and text in ("true", "false"):
            return text == "true"
        elif alternative in (int, float, str):
            try:
                value = alternative(text)
            except ValueError:
                continue
            return _limited(value, where)
    raise _unexpected(text, hint, where)


def _is_none(value: object, hint: Any) -> bool:
    """True if a value is ``none`` and the option may be None; a file of this name is written ``./none``."""
    return type(None) in _alternatives(hint) and value == write(None)


def typed(value: object, hint: Any, where: str) -> object:
    """Convert an option value to its declared type; an error names it by `where`."""
    for alternative in _alternatives(hint):
        if typing.get_origin(alternative) is Literal:
            for choice in typing.get_args(alternative):
                if isinstance(value, type(choice)) and value == choice:
                    return choice
        elif alternative is type(None) or alternative is bool:
            if isinstance(value, alternative):
                return value
        elif alternative not in _KINDS:
            return value
        elif isinstance(value, _KINDS[alternative]) and not isinstance(value, bool):
            return None if _is_none(value, hint) else _limited(alternative(value), where)
    raise _unexpected(value, hint, where)


def _limited(value: object, where: str) -> object:
    if isinstance(value, int) and abs(value) > _LARGEST_WHOLE:
        raise OptionError(f"{where}: expected a whole number of at most {_LARGEST_WHOLE:,} in magnitude")
    return value


def _unexpected(value: object, hint: Any, where: str) -> OptionError:
    choices = [write(choice) for alternative in _alternatives(hint) for choice in typing.get_args(alternative)]
    own, advice = _OTHER_NAMES.get(str(value), ("", ""))
    meant = f" ({advice})" if own in choices else nearest(str(value), choices)
    return OptionError(f"{where}: expected {_expected(hint)}{meant}")
