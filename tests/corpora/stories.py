"""A small corpus in the LDC's shape, for tests to change."""

from __future__ import annotations

from pathlib import Path

MANIFEST = """language_pair = "zh-en"
[source]
path = "source.sgm"
[references]
E01 = "ref.sgm"
[systems]
E05 = "E05"
E06 = "E06.sgm"
[assessment]
path = "scores.txt"
columns = ["system", "doc", "segment", "judge", "fluency"]
scale = [1, 5]
"""
SCORES = "E05\td1\t1\tj1\t4\nE05\td1\t2\tj1\t5\nE06\td1\t1\tj1\t2\n"


def story(docid: str, sysid: str | None, *texts: str) -> str:
    attributes = f'docid="{docid}"' + (f' sysid="{sysid}"' if sysid else "")
    segments = "\n".join(f"<seg id={number}> {text} </seg>" for number, text in enumerate(texts, 1))
    return f"<DOC {attributes}>\n{segments}\n</DOC>\n"


FILES = {
    "manifest.toml": MANIFEST,
    "source.sgm": story("d1", None, "图书馆", "市场"),
    "ref.sgm": story("d1", "E01", "the library", "the market"),
    "E05/d1.sgm": story("D1 ", "e05", "library", "market"),
    "E06.sgm": story("d1", "E06", "book house", "market place"),
    "scores.txt": SCORES,
}


def write_corpus(folder: Path, changes: dict[str, str | bytes | None] | None = None) -> Path:
    """Write the small corpus with some files changed or (None) left out; return its folder."""
    for name, content in {**FILES, **(changes or {})}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
