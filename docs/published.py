"""Parts of a release: its addresses, README as the long description, and the content of the wheel.

The address of the public repository is set once: ``repository`` under ``[tool.hatch.metadata.hooks.custom]`` in
``pyproject.toml``. With it, a release has its addresses, and links of README lead to the files of its tag, as GitHub
and GitLab have them. Without it, the release names no address, and links between files become plain text.

``python docs/published.py dist/*.whl`` checks the long description of a wheel as an index shows it.
"""

from __future__ import annotations

import email
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # needed only where packages are built
    BuildHookInterface = MetadataHookInterface = object

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")
_RENDERED = re.compile(r"(?:href|src)=\"([^\"]*)\"")


def repository() -> str:
    """Return the address of the public repository, empty if there is none."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"]
    return str(settings["hooks"]["custom"]["repository"]).rstrip("/")


def version() -> str:
    """Return the version of the checkout."""
    [number] = re.findall(r'VERSION = "([^"]+)"', (ROOT / "ranker" / "version.py").read_text(encoding="utf-8"))
    return str(number)


def file_address(path: str, repository: str, *, raw: bool = False) -> str:
    """Return the address of a file of the release."""
    return f"{repository}/{'raw' if raw else 'blob'}/v{version()}/{path}"


def absolute(text: str, repository: str) -> str:
    """Return the Markdown of a page in the top folder with absolute links; without an address, with their text."""

    def link(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        if ":" in target:
            return found[0]
        if not repository:
            return str(words)
        return f"{image}[{words}]({file_address(target, repository, raw=bool(image))})"

    return _LINK.sub(link, text)


def urls(repository: str) -> dict[str, str]:
    """Return the addresses that a release names."""
    if not repository:
        return {}
    files = {"Documentation": "docs/guide.md", "Changelog": "CHANGELOG.md"}
    addresses = {name: file_address(path, repository) for name, path in files.items()}
    return {"Source": repository, "Issues": f"{repository}/issues", **addresses}


class PublishedMetadata(MetadataHookInterface):
    """Adds addresses and the long description when a package is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to the metadata."""
        text = absolute((ROOT / "README.md").read_text(encoding="utf-8"), repository())
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls(repository())


class WheelContent(BuildHookInterface):
    """Adds features, data and models to a wheel, without the tools that make them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add every file under its place in the wheel; an editable installation reads the files of the checkout."""
        if version == "editable":
            return
        for room in ("features", "data", "models"):
            for path in sorted((ROOT / room).rglob("*")):
                name = path.relative_to(ROOT)
                if path.is_file() and "making" not in name.parts:
                    build_data["force_include"][str(path)] = f"ranker/share/{name.as_posix()}"


def dead_links(description: str) -> list[str]:
    """Return the links and images of a long description that lead nowhere on the page of an index."""
    from readme_renderer import markdown

    html = markdown.render(description)
    if html is None:
        raise SystemExit("the long description cannot be rendered")
    return [target for target in _RENDERED.findall(html) if not re.match("https?://|mailto:|#user-content-", target)]


if __name__ == "__main__":
    for wheel in sys.argv[1:]:
        with zipfile.ZipFile(wheel) as packed:
            [name] = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
            message = email.message_from_string(packed.read(name).decode("utf-8"))
        dead = dead_links(message.get_payload())
        if dead:
            raise SystemExit(f"{wheel}: links of the long description lead nowhere: {', '.join(dead)}")
        print(
            f"long description: no dead links; addresses: {len(message.get_all('Project-URL') or [])}", file=sys.stderr
        )
