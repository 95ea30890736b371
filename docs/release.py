"""Tags and uploads what ``make wheel`` built; without ``--publish``, only prints what is missing and the commands."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import published

ROOT = Path(__file__).resolve().parents[1]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def missing(version: str, repository: str) -> list[str]:
    """Return what has to be done before this version can be released."""
    todo = []
    if _git("status", "--porcelain"):
        todo.append("commit all changes")
    if _git("tag", "--list", f"v{version}"):
        todo.append(f"raise VERSION in ranker/version.py: the tag v{version} exists")
    if not repository:
        todo.append("set repository under [tool.hatch.metadata.hooks.custom] in pyproject.toml")
    elif f"\nrepository-code: {repository}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        todo.append(f"add this line to CITATION.cff: repository-code: {repository}")
    if f"\n## {version} (20" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        todo.append(f"write the date into CHANGELOG.md: ## {version} (YEAR-MONTH-DAY)")
    return todo


def steps(version: str) -> list[list[str]]:
    """Return the commands of a release."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "dist").glob(f"mt_ranker-{version}[.-]*"))
    return [
        ["git", "tag", "--annotate", f"v{version}", "--message", f"ranker {version}"],
        ["git", "push", "origin", f"v{version}"],
        [sys.executable, "-m", "twine", "upload", *(file for file in files if not file.endswith(".json"))],
    ]


def main(*, publish: bool) -> None:
    """Release, or say what a release would do."""
    version = published.version()
    todo = missing(version, published.repository())
    if todo:
        print("before the release:", *todo, sep="\n- ")
    if publish and todo:
        raise SystemExit(1)
    for step in steps(version):
        print(shlex.join(step))
        if publish:
            subprocess.run(step, cwd=ROOT, check=True)
    if not publish:
        print("nothing was done; to release: make release PUBLISH=yes")


if __name__ == "__main__":
    main(publish=sys.argv[1:] == ["--publish"])
