"""SGML and XML files of translations by document and segment: LDC stories, and test sets of mteval and WMT.

An LDC story is one document per file::

    <DOC docid="AFC0001" sysid="E01">
    <hl>
    <seg id=1> A headline </seg>
    </hl>
    <p>
    <seg id=2> A sentence &amp; more </seg>
    </p>
    </DOC>

mteval puts the documents of the source, of references and of systems into ``<srcset>``, ``<refset>`` and ``<tstset>``,
in one file or several, in XML inside ``<mteval>``. The test sets of WMT since 2021 put all versions of a document into
one ``<doc id=...>``: ``<src lang=...>``, ``<ref lang=... translator=...>`` and ``<hyp lang=... system=...>``. All
are read by one tolerant scanner: tags and attributes in upper or lower case, attributes in any order, quoted or not,
spelled ``docid`` or ``doc_id``, segments over several lines.
Errors that would lose text are refused: a tag that is not closed, a segment without an id, two segments with one id.
Inside a segment only the tags named here are markup; ``<unk>`` is text there, and so is all of a CDATA section.
"""

from __future__ import annotations

import dataclasses
import html
import html.entities
import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from ranker.corpora.documents.encodings import Lines
from ranker.corpora.records import shown
from ranker.errors import DataError

Role = Literal["source", "reference", "system"]

SETS: dict[str, Role] = {"srcset": "source", "refset": "reference", "tstset": "system"}
"""Roles of document sets in mteval files, by tag."""
VERSIONS: dict[str, Role] = {"src": "source", "ref": "reference", "hyp": "system"}
"""Roles of the versions of a document in WMT files, by tag."""

_TOKEN = re.compile(r"<(/?)(seg|doc|srcset|refset|tstset|src|ref|hyp)(?=[\s/>])", re.IGNORECASE)
_COMMENT_OR_CDATA = re.compile(r"<!--.*?-->|<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_SEGMENT_OR_COMMENT = re.compile(r"<seg\b.*?</seg|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_REMOVED = "\x1f"
"""Replacement of the characters of comments, so that all others keep their positions; counts as white space."""
_LITERAL = {ord("<"): "\ufdd0", ord("&"): "\ufdd1"}
"""Replacements of the characters that are not markup in CDATA; Unicode reserves them for such use."""
_MARKS = {ord(replacement): character for character, replacement in _LITERAL.items()}
_VALUE = r""""[^"<>\n]*"|'[^'<>\n]*'|[^\s"'<>]*[^\s"'<>/]"""
_REST_OF_TAG = re.compile(rf"((?:\s+[\w:.-]+(?:\s*=\s*(?:{_VALUE}))?)*)\s*(/?)>")
_ATTRIBUTE = re.compile(rf"(?<![\w:.-])([\w:.-]+)\s*=\s*({_VALUE})")
_OTHER_MARKUP = re.compile(r"<[!?/]?[A-Za-z][^<>]*>")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|([A-Za-z][A-Za-z0-9]*));")
_HAN_OR_KANA = r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]"
_BROKEN_CHINESE_LINE = re.compile(rf"(?<={_HAN_OR_KANA})[ \t]*\n\s*(?={_HAN_OR_KANA})")

ROLES: dict[Role, tuple[Role, ...]] = {
    "source": ("source",),
    "reference": ("reference", "system"),
    "system": ("system", "reference"),
}
"""Roles of documents accepted for each role, best first: a reference scored as a system is a reference in its file."""


@dataclass(frozen=True)
class Segment:
    """A segment of a document."""

    id: str
    text: str
    line: int


@dataclass(frozen=True)
class Document:
    """One version of a document: the source, a reference or the output of a system."""

    docid: str
    segments: tuple[Segment, ...]
    sysid: str | None = None
    role: Role | None = None
    file: str = ""
    line: int = 0
    stray_line: int | None = None
    languages: tuple[str | None, str | None] = (None, None)


def key(text: str) -> str:
    """Return an id in the form used for comparison, which ignores case, blanks and leading zeros."""
    plain = text.strip().casefold()
    return plain.lstrip("0") or "0" if plain.isascii() and plain.isdigit() else plain


def parse_documents(text: str, file: str) -> list[Document]:
    r"""Parse all documents of a file, in order."""
    text = _SEGMENT_OR_COMMENT.sub(lambda part: _COMMENT_OR_CDATA.sub(_without_marks, part[0]), text)
    parser = _Parser(text, file)
    position = 0
    while token := _TOKEN.search(text, position):
        position = parser.take(token)
    return parser.finish()


@dataclass
class _Open:
    """An open tag: its name, its attributes, its position, and the position at which its content starts."""

    name: str
    attributes: dict[str, str]
    position: int
    content: int


class _Parser:
    """Parser state: the open set, document and segment."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.lines = Lines(text)
        self.open: list[_Open] = []
        self.segments: dict[str, Segment] = {}
        self.has_versions = False
        self.documents: list[Document] = []
        self.read_to = 0
        self.stray: int | None = None

    def fail(self, what: str, position: int) -> NoReturn:
        line, column = self.lines.place(position)
        raise DataError(what, file=self.file, line=line, column=column)

    def take(self, token: re.Match[str]) -> int:
        """Process one tag; return the position at which to continue reading."""
        inside_segment = bool(self.open) and self.open[-1].name == "seg"
        name, closes = token[2].lower(), bool(token[1])
        if inside_segment and name in VERSIONS:
            return token.end()
        rest = _REST_OF_TAG.match(self.text, token.end())
        if rest is None or (closes and rest[1].strip()):
            actual = shown(self.text[token.start() : token.start() + 40].split("\n")[0])
            self.fail(f"malformed tag {actual}; expected <{token[1]}{name} ...>, or &lt; if it is text", token.start())
        if not inside_segment:
            self.pass_over(token.start(), rest.end())
        if closes:
            self.close(name, token.start())
        else:
            attributes = {
                each[1].lower().replace("_", "").replace("-", ""): _unescape(each[2].strip("\"'")).strip()
                for each in _ATTRIBUTE.finditer(rest[1])
            }
            self.start(_Open(name, attributes, token.start(), rest.end()))
            if rest[2]:
                self.close(name, rest.end())
        self.read_to = rest.end()
        return self.read_to

    def pass_over(self, start: int, end: int) -> None:
        """Skip to `end`; remember the position of the first text before `start` that is outside all segments."""
        between = _OTHER_MARKUP.sub(lambda tag: " " * len(tag[0]), self.text[self.read_to : start])
        if self.stray is None and between.strip():
            self.stray = self.read_to + len(between) - len(between.lstrip())
        self.read_to = end

    def start(self, tag: _Open) -> None:
        outer = self.open[-1].name if self.open else None
        if tag.name == "doc":
            self.segments, self.has_versions = {}, False
        elif tag.name in VERSIONS and outer == "doc":
            if self.segments and not self.has_versions:
                self.fail(f"<{tag.name}> after a <seg> outside it; expected all in <src>, <ref> or <hyp>", tag.position)
            self.segments, self.has_versions = {}, True
        self.check_place(tag, outer)
        if tag.name == "seg" or (tag.name == "doc" and not tag.attributes.get("id")):
            self.check_id(tag, "id" if tag.name == "seg" else "docid")
        self.open.append(tag)

    def check_id(self, tag: _Open, wanted: str) -> None:
        if not tag.attributes.get(wanted):
            actual = ", ".join(tag.attributes) or "no attribute"
            self.fail(f"expected {wanted} with a value in <{tag.name}>, found {actual}", tag.position)

    def check_place(self, tag: _Open, outer: str | None) -> None:
        """Refuse a tag that is not allowed inside `outer`."""
        allowed = {"seg": ("doc", *VERSIONS), "doc": (None, *SETS), **dict.fromkeys(VERSIONS, ("doc",))}
        if tag.name in VERSIONS and outer is None:
            self.fail(f"<{tag.name}> outside of a document; expected <doc id=...> before it", tag.position)
        if tag.name == "seg" and outer not in ("doc", "seg", *VERSIONS):
            self.fail("<seg> outside of a document; expected <doc docid=...> before it", tag.position)
        if tag.name == "seg" and outer == "doc" and self.has_versions:
            self.fail("<seg> outside of <src>, <ref> and <hyp>; expected it inside one of them", tag.position)
        if outer not in allowed.get(tag.name, (None,)):
            self.fail(f"<{tag.name}> where </{outer}> is expected: {self.left_open()}", tag.position)

    def left_open(self) -> str:
        return f"<{self.open[-1].name}> of line {self.lines.place(self.open[-1].position)[0]} is not closed"

    def close(self, name: str, position: int) -> None:
        if not self.open:
            self.fail(f"</{name}> closes nothing; expected <{name} ...> before it", position)
        if self.open[-1].name != name:
            self.fail(f"</{name}> where </{self.open[-1].name}> is expected: {self.left_open()}", position)
        tag = self.open.pop()
        line = self.lines.place(tag.position)[0]
        if name == "seg":
            segment = Segment(tag.attributes["id"], _clean(self.text[tag.content : position]), line)
            first = self.segments.setdefault(key(segment.id), segment)
            if first is not segment:
                self.fail(
                    f"segment id {shown(segment.id)} is duplicated (first on line {first.line}); rename one",
                    tag.position,
                )
        elif name in VERSIONS or (name == "doc" and not self.has_versions):
            self.finish_document(tag, line)

    def finish_document(self, tag: _Open, line: int) -> None:
        """Add the document, or the version of a document, that `tag` opened."""
        around = self.open[-1].attributes if self.open else {}
        if tag.name == "doc":
            self.check_id(tag, "docid")
            role = SETS[self.open[-1].name] if self.open else None
            sysid = tag.attributes.get("sysid") or around.get("sysid") or around.get("refid")
            languages = around.get("srclang"), around.get("trglang")
        else:
            role = VERSIONS[tag.name]
            sysid = tag.attributes.get("translator" if role == "reference" else "system")
            language = tag.attributes.get("lang") or tag.attributes.get("language")
            languages = (language, None) if role == "source" else (None, language)
        ids = (tag if tag.name == "doc" else self.open[-1]).attributes
        docid = ids.get("docid") or ids["id"]
        segments = tuple(self.segments.values())
        self.documents.append(Document(docid, segments, sysid, role, self.file, line, self.take_stray(), languages))

    def take_stray(self) -> int | None:
        position, self.stray = self.stray, None
        return None if position is None else self.lines.place(position)[0]

    def finish(self) -> list[Document]:
        if self.open:
            name = self.open[-1].name
            self.fail(f"<{name}> is not closed before the file ends (is it cut off?)", self.open[-1].position)
        if not self.documents:
            raise DataError("contains no <doc>, expected at least one", file=self.file)
        self.pass_over(len(self.text), len(self.text))
        if self.stray is not None:
            last = self.documents[-1]
            self.documents[-1] = dataclasses.replace(last, stray_line=last.stray_line or self.take_stray())
        return self.documents


def _without_marks(part: re.Match[str]) -> str:
    """Replace a comment, or the marks of a CDATA section, by characters that count as white space."""
    if part[1] is None:
        return re.sub(r"[^\n]", _REMOVED, part[0])
    return _REMOVED * len("<![CDATA[") + part[1].translate(_LITERAL) + _REMOVED * len("]]>")


def _clean(text: str) -> str:
    text = _unescape(text.replace(_REMOVED, "")).translate(_MARKS)
    return " ".join(_BROKEN_CHINESE_LINE.sub("", text).split())


def _unescape(text: str) -> str:
    return _ENTITY.sub(_resolved, text) if "&" in text else text


def _resolved(entity: re.Match[str]) -> str:
    # html.unescape alone would also take the &not of &nothing;
    known = entity[1] is None or f"{entity[1]};" in html.entities.html5
    return html.unescape(entity[0]) if known else entity[0]
