from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.making.ldc import format_document
from ranker.corpora.documents.sgml import Document, Segment, key, parse_documents
from ranker.errors import DataError
from tests.golden_examples import Example, file_examples

STORY = """<DOC docid="AFC0001" sysid="E01">
<hl>
<seg id=1> A headline </seg>
</hl>
<p>
<seg id=2> First &amp; foremost . </seg>
<seg id=3> A sentence
   over two   lines </seg>
</p>
</DOC>
"""
# the structure that the scorer of the NIST evaluations documents: a set with attributes, documents, hl, p, seg
MTEVAL = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE mteval SYSTEM "mteval-xml.dtd">
<mteval>
<srcset setid="set" srclang="Chinese">
<doc docid="d1" genre="nw">
<hl>
<seg id="1">图书馆</seg>
</hl>
</doc>
</srcset>
<refset setid="set" srclang="Chinese" trglang="English" refid="ref1">
<doc docid="d1" genre="nw"><p><seg id="1">library</seg></p></doc>
</refset>
<refset setid="set" srclang="Chinese" trglang="English">
<doc docid="d1" genre="nw" sysid="ref2"><p><seg id="1">the library</seg></p></doc>
</refset>
<tstset setid="set" srclang="Chinese" trglang="English" sysid="sysA">
<doc docid="d1" genre="nw"><p><seg id="1"/></p></doc>
</tstset>
</mteval>
"""


def texts(text: str) -> list[str]:
    (document,) = parse_documents(f"<doc docid=d>\n{text}\n</doc>", "x")
    return [segment.text for segment in document.segments]


def seg(text: str) -> str:
    return texts(f"<seg id=1>{text}</seg>")[0]


def test_an_ldc_story() -> None:
    assert parse_documents(STORY, "a.sgm") == [
        Document(
            "AFC0001",
            (
                Segment("1", "A headline", 3),
                Segment("2", "First & foremost .", 6),
                Segment("3", "A sentence over two lines", 7),
            ),
            "E01",
            None,
            "a.sgm",
            1,
        )
    ]


def test_sets_of_mteval() -> None:
    documents = parse_documents(MTEVAL, "x.xml")
    assert [(document.role, document.sysid, document.segments[0].text) for document in documents] == [
        ("source", None, "图书馆"),
        ("reference", "ref1", "library"),
        ("reference", "ref2", "the library"),
        ("system", "sysA", ""),
    ]
    assert {document.docid for document in documents} == {"d1"}
    assert not any(document.stray_line for document in documents)


@pytest.mark.parametrize(
    "tag",
    [
        "<DOC docid=D1 sysid=S>",
        "<doc sysid='S' docid='D1'>",
        '<Doc\n  genre="nw" sysid = "S"\n docid=" D1 " >',
        '<DOC doc_id="D1" sys_id="S" checked>',
    ],
)
def test_a_tag_in_many_spellings(tag: str) -> None:
    (document,) = parse_documents(f"{tag}<SEG ID = '01'>x</SEG></DOC>", "x")
    assert (document.docid, document.sysid, document.segments) == (
        "D1",
        "S",
        (Segment("01", "x", tag.count("\n") + 1),),
    )


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("AT&amp;T &lt;b&gt; &quot;x&quot; &#8212; &#x4E2D;", 'AT&T <b> "x" — 中'),
        ("&amp;lt;", "&lt;"),
        ("AT&T R&D a &b; &nothing; &amp", "AT&T R&D a &b; &nothing; &amp"),
        ("an <unk> and <p> a < b > c", "an <unk> and <p> a < b > c"),
        ("one<!-- two -->, three", "one, three"),
        ("an <!-- arrow", "an <!-- arrow"),
        ("<![CDATA[a < b &amp; <seg> <!-- c --> [d]]]> &amp; <![CDATA[]]>e", "a < b &amp; <seg> <!-- c --> [d] & e"),
        ("<!-- <![CDATA[ -->a]]> <![CDATA[b", "a]]> <![CDATA[b"),
        ("\t tabs\u3000and　wide\u00a0blanks ", "tabs and wide blanks"),
        ("图书馆\n  在市场\n near the\n中 river", "图书馆在市场 near the 中 river"),
        ("ひら\nがな", "ひらがな"),
        ("한국\n어", "한국 어"),
        ("", ""),
    ],
)
def test_text_of_a_segment(written: str, read: str) -> None:
    assert seg(written) == read


def test_a_comment_never_swallows_segments() -> None:
    assert texts("<seg id=1>a <!-- b</seg><seg id=2>c</seg><seg id=3>d --> e</seg>") == ["a <!-- b", "c", "d --> e"]
    assert texts("<!-- <seg id=1>a</seg> --><seg id=1>b</seg>") == ["b"]


def test_text_outside_of_segments_is_noted() -> None:
    text = "lost\n<doc docid=a><seg id=1>x</seg>\n</doc>\n<doc docid=b>\n<hl>\n Lost </hl><seg id=1>x</seg></doc>\n"
    assert [item.stray_line for item in parse_documents(text, "x")] == [1, 6]
    assert [item.stray_line for item in parse_documents(STORY + "\n\nthe end", "x")] == [13]


@pytest.mark.parametrize("example", file_examples("corpora/sgml"), ids=str)
def test_what_would_lose_text_is_refused(example: Example) -> None:
    with pytest.raises(DataError) as refused:
        parse_documents(example.content, example.line)
    example.check(str(refused.value))


NAMES = st.text(string.ascii_letters + string.digits + "_.:&<'\" 中é", min_size=1).map(str.strip).filter(bool)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30).map(lambda text: " ".join(text.split()))
SEGMENTS = st.lists(st.tuples(NAMES, TEXTS), unique_by=lambda item: key(item[0]), max_size=4)
DOCUMENTS = st.builds(
    lambda docid, segments, sysid: Document(docid, tuple(Segment(*segment, 0) for segment in segments), sysid),
    NAMES,
    SEGMENTS,
    st.none() | NAMES,
)


def content(document: Document) -> tuple[object, ...]:
    return document.docid, document.sysid, [(segment.id, segment.text) for segment in document.segments]


@given(document=DOCUMENTS)
def test_what_is_written_is_read(document: Document) -> None:
    (read,) = parse_documents(format_document(document), "x")
    assert content(read) == content(document)
    assert read.stray_line is None


def test_ids_are_compared_without_case_and_zeros() -> None:
    assert key(" AFC_01 ") == key("afc_01") == "afc_01"
    assert key("007") == key("7") == "7"
    assert key("00") == key("0") == "0"
    assert key("٣") == "٣"
