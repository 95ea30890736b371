"""Hooks of MkDocs: add generated pages and pages from other folders, mend links between them, render formulas."""

from __future__ import annotations

import functools
import importlib.util
import json
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    **{f"models/{card.parent.name}/CARD.md": f"models/{card.parent.name}.md" for card in ROOT.glob("models/*/CARD.md")},
}
"""Pages that lie outside of this folder, and where they are in the site."""
STORIES = "stories"
_LINK = re.compile(r"\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")
_CODE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)$", flags=re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^( *)```math\n(.*?)^ *```$", flags=re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(r"^( *)\.\. math::(.*(?:\n\1 +\S.*|\n(?=\n\1 +\S)\n\1 +\S.*)*)", flags=re.MULTILINE)
_INLINE = re.compile(r":math:`([^`]+)`|\$`([^`]+)`\$")


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def _generated() -> dict[str, str]:
    pages: dict[str, str] = _module("build").reference_pages()
    return pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put stories, models, metrics and commands into the navigation, and formulas into the Markdown."""
    generated = sorted(_generated())
    stories = sorted(path.name for path in Path(__file__).with_name(STORIES).glob("*.md"))
    children = {
        "Tutorials": [f"{STORIES}/{name}" for name in stories],
        "Models": [path for source, path in OUTSIDE.items() if source.startswith("models/")],
        "Metrics and features": [path for path in generated if path.startswith("reference/metrics/")],
        "Commands": [path for path in generated if path.startswith("reference/commands/")],
    }
    _fill(config.nav or [], children)
    config.markdown_extensions.append(Formulas())
    return config


def _fill(entries: list[Any], children: dict[str, list[str]]) -> None:
    for entry in entries:
        for title, part in entry.items() if isinstance(entry, dict) else ():
            if isinstance(part, list):
                part.extend(children.get(title, []))
                _fill(part, children)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and those that lie elsewhere."""
    for path, text in _generated().items():
        files.append(File.generated(config, path, content=text))
    notebooks = _module("notebooks")
    for story in notebooks.suited():
        text = json.dumps(notebooks.notebook(story.read_text(encoding="utf-8")), ensure_ascii=False, indent=1)
        files.append(File.generated(config, f"{STORIES}/{story.stem}.ipynb", content=text))
    for source, path in OUTSIDE.items():
        files.append(File.generated(config, path, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages."""
    here = page.file.src_uri
    published = _module("published")
    repository = published.repository()
    source = next((source for source, path in OUTSIDE.items() if path == here), f"docs/{here}")

    def mended(link: re.Match[str]) -> str:
        target, hash_, anchor = link[2].partition("#")
        if not target or ":" in target:
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        there = OUTSIDE.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        if there is None and (ROOT / path).exists():
            # a file of the repository that is no page
            return f"[{link[1]}]({published.file_address(path, repository)})" if repository else link[1]
        if there is None:
            return link[0]
        return f"[{link[1]}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{hash_}{anchor})"

    parts, end = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(mended, markdown[end : code.start()]), code[0]]
        end = code.end()
    notebook = f"{posixpath.splitext(here)[0]}.ipynb"
    offered = (
        f"\n\n[This page as a notebook]({posixpath.basename(notebook)})\n" if files.get_file_from_path(notebook) else ""
    )
    return "".join([*parts, _LINK.sub(mended, markdown[end:]), offered])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Restore types that were read as Python: "array-like, shape (n, k)" is no subtraction."""
    return re.sub(r"<code>\(array - like, (\w+)\(([^()]*)\)\)</code>", r"<code>array-like, \1 (\2)</code>", html)


def _mathml(latex: str, display: str) -> str:
    # one element per word instead of one per letter
    return convert(re.sub(r"\\mathrm\{(\w\w+)\}", r"\\text{\1}", latex), display=display)


class Formulas(Extension):
    """Renders formulas in LaTeX as MathML: fences of ``math``, and what docstrings have."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the preprocessor, before code fences are taken out."""
        md.preprocessors.register(_Formulas(md), "formulas", 30)


class _Formulas(Preprocessor):
    def run(self, lines: list[str]) -> Sequence[str]:
        text = "\n".join(lines)
        text = _FENCED.sub(lambda match: f"{match[1]}{self._block(match[2])}", text)
        text = _DIRECTIVE.sub(lambda match: f"{match[1]}{self._block(match[2])}", text)
        text = _INLINE.sub(lambda match: self._stash(_mathml(match[1] or match[2], "inline")), text)
        # reStructuredText's mark of a literal block, which Markdown knows by its indentation
        return re.sub(r"(?<=\S)::\n(?=\n +\S)", ":\n", text).split("\n")

    def _block(self, latex: str) -> str:
        formula = _mathml(" ".join(latex.split()), "block")
        return self._stash(f'<div class="formula">{formula}</div>') + "\n"

    def _stash(self, html: str) -> str:
        assert self.md is not None
        return self.md.htmlStash.store(html)
