from __future__ import annotations

import pytest

from ranker.corpora.documents.encodings import (
    common_encoding,
    declared_encoding,
    decode,
    fallback_encodings,
    is_encoding,
    with_superset,
)
from ranker.errors import DataError


@pytest.mark.parametrize(
    ("raw", "encoding", "text"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9\r\nx\ry", "utf-8", "café\nx y"),
        ("图书馆镕".encode("gb18030"), "gb18030", "图书馆镕"),
        (b"caf\xe9 \x93so\x94", "cp1252", "café “so”"),
        ("図".encode("utf-16"), "utf-16", "図"),
        (b"", "utf-8", ""),
    ],
)
def test_decoding(raw: bytes, encoding: str, text: str) -> None:
    assert decode(raw, "x", encoding) == text


@pytest.mark.parametrize(
    ("raw", "encoding", "line", "column", "what"),
    [
        (b"one\r\ntwo \xff", "utf-8", 2, 5, "byte 0xff is not utf-8"),
        (b"\xef\xbb\xbfab\xff", "utf-8", 1, 3, "byte 0xff is not utf-8"),
        ("图书\n馆".encode("gb18030") + b"\xff ", "gb18030", 2, 2, "byte 0xff is not gb18030"),
        (b"a\x81", "cp1252", 1, 2, "byte 0x81 is not cp1252"),
        ("a\nb".encode("utf-16-le"), "cp1252", 1, 2, "byte 0x00 is not text"),
    ],
)
def test_what_does_not_fit_is_located(raw: bytes, encoding: str, line: int, column: int, what: str) -> None:
    with pytest.raises(DataError) as refused:
        decode(raw, "some.sgm", encoding)
    error = refused.value
    assert (error.file, error.line, error.column) == ("some.sgm", line, column)
    assert error.what.startswith(what)
    assert "specify the encoding, or convert the file to UTF-8" in error.what


def test_replacing() -> None:
    assert decode("图".encode("gb18030") + b"\xff x", "f", "gb18030", replace=True) == "图\ufffd x"


def test_a_file_alone_can_mislead_and_its_neighbours_can_tell() -> None:
    # the bytes of these two characters in GB2312 are two Cyrillic letters in UTF-8
    school, library = "小学".encode("gb2312"), "图书馆".encode("gb2312")
    assert school.decode("utf-8") == "Сѧ"
    assert common_encoding([school], ["utf-8", "gb2312"]) == "utf-8"
    assert common_encoding([school, library], ["utf-8", "gb2312"]) == "gb2312"
    assert common_encoding([school, b"caf\xe9."], ["utf-8", "gb2312", "cp1252"]) == "cp1252"
    assert common_encoding([b"\x81"], ["utf-8", "cp1252"]) is None


@pytest.mark.parametrize(
    ("language", "translated_from", "expected"),
    [
        ("zh", "", ("gb18030",)),
        ("zh-Hans", "en", ("gb18030",)),
        ("en", "", ("cp1252",)),
        ("en", "ar", ("cp1252",)),
        ("en_US", "zh_CN", ("gb2312", "cp1252")),
        ("ar", "", ()),
        ("ar", "zh", ("gb2312",)),
    ],
)
def test_fallbacks(language: str, translated_from: str, expected: tuple[str, ...]) -> None:
    assert fallback_encodings(language, translated_from) == expected


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (b"<?xml version='1.0' encoding='GB2312'?><mteval>", "GB2312"),
        (b'\n<?xml version="1.0"\n encoding = "UTF-8" ?>', "UTF-8"),
        (b'<?xml version="1.0" encoding="klingon"?>', None),
        (b'<?xml version="1.0"?><x encoding="UTF-8">', None),
    ],
)
def test_declarations(raw: bytes, encoding: str | None) -> None:
    assert declared_encoding(raw, "a.xml") == encoding


@pytest.mark.parametrize("declared", ["ISO-8859-1", "windows-1251", "us-ascii"])
def test_text_in_utf8_that_declares_an_encoding_in_which_anything_is_valid(declared: str, caplog) -> None:
    raw = f'<?xml version="1.0" encoding="{declared}"?><seg>für 日本</seg>'.encode()
    assert declared_encoding(raw, "a.xml") == "utf-8"
    assert f"a.xml: declares {declared}, but is in UTF-8: read as UTF-8" in caplog.text


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [("ISO-8859-1", "latin-1", "für"), ("koi8-r", "koi8-r", "он"), ("big5", "big5", "人")],
)
def test_text_in_the_encoding_that_it_declares_gets_no_note(declared: str, encoding: str, text: str, caplog) -> None:
    raw = f'<?xml version="1.0" encoding="{declared}"?><seg>{text}</seg>'.encode(encoding)
    assert declared_encoding(raw, "a.xml") == declared
    assert not caplog.text


def test_supersets() -> None:
    assert with_superset("GB2312") == with_superset("gbk") == with_superset("cp936") == "gb18030"
    assert with_superset("latin-1") == "iso8859-1"


def test_what_is_an_encoding() -> None:
    assert all(map(is_encoding, ("utf-8", "GB18030", "latin-1", "big5")))
    assert not any(
        map(is_encoding, ("idna", "Punycode", "UTF7", "unicode-escape", "klingon", "base64", "", "utf\0", "undefined"))
    )
