"""Files of offices and of translators are refused by name and by content, with what to do."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest


def zipped(*names: str, mimetype: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "<x/>")
    return buffer.getvalue()


XLIFF = b'<?xml version="1.0"?>\n<!-- made by hand -->\n<xliff version="1.2"><file/></xliff>'
TMX = '\ufeff<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"></tmx>'
LINES = "plain text in UTF-8, one segment per line"
CONTENTS = {
    "xliff": (XLIFF, f"this is XLIFF, which is not read: export source and target as {LINES}, or as TSV"),
    "tmx": (
        TMX.encode("utf-16-le"),
        f"this is a translation memory (TMX), which is not read: export both languages as {LINES}, or as TSV",
    ),
    "docx": (
        zipped("[Content_Types].xml", "word/document.xml"),
        f"this is a document of a word processor, which is not read: save it as {LINES}",
    ),
    "xlsx": (
        zipped("[Content_Types].xml", "xl/workbook.xml"),
        "this is a spreadsheet, which is not read: save the sheet as CSV in UTF-8",
    ),
}
CONTENTS |= {
    "xlf": CONTENTS["xliff"],
    "odt": (zipped(mimetype="application/vnd.oasis.opendocument.text"), CONTENTS["docx"][1]),
    "ods": (zipped(mimetype="application/vnd.oasis.opendocument.spreadsheet"), CONTENTS["xlsx"][1]),
}


@pytest.fixture(autouse=True)
def lines(folder: Path) -> None:
    (folder / "lines").write_text("a b\nc d\n")


@pytest.mark.parametrize("ending", CONTENTS)
@pytest.mark.parametrize(
    "arguments",
    [
        "score FILE -m chrf",
        "score -s FILE -r lines -t lines -m chrf",
        "rerank FILE --mbr chrf",
    ],
)
def test_they_are_refused_with_what_to_do(refused, ending: str, arguments: str) -> None:
    raw, says = CONTENTS[ending]
    # by its name, whatever it holds, and by its content
    for name, content in ((f"x.{ending}", b"text\n"), (f"y.{ending.upper()}", raw), ("z", raw), ("z.xml", raw)):
        Path(name).write_bytes(content)
        refused(*arguments.replace("FILE", name).split(), says=re.escape(f"{name}: {says}"))


@pytest.mark.parametrize("name", ["doc", "XLS", "rtf.gz"])
def test_a_name_alone_is_no_ending(command, name: str) -> None:
    Path(name).write_text("a b\nc d\n")
    command("score", "-r", "lines", "-t", name, "-m", "chrf")


def test_as_models_too(refused) -> None:
    Path("x.xlsx").write_bytes(CONTENTS["xlsx"][0])
    what = "x.xlsx: this is a spreadsheet, expected a model file or the name of an included model"
    refused("score", "-r", "lines", "-t", "lines", "--model", "x.xlsx", says=what)


def test_a_binary_log_of_inspect_is_refused_with_the_command_that_converts_it(refused) -> None:
    Path("x.eval").write_bytes(zipped("_journal/start.json", "samples/1_epoch_1.json"))
    what = "x.eval: this is a binary log of Inspect, which is not read: write it as JSON, inspect log dump LOG.eval > "
    refused("score", "x.eval", "-m", "chrf", says=what)
    # other programs use this ending for plain text
    Path("plain.eval").write_bytes(b"a b\nc d\n")
    refused("score", "-s", "plain.eval", "-r", "plain.eval", "-t", "x.eval", "-m", "chrf", says=what)
