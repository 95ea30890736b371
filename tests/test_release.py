"""What a release says of itself: version, licences, citation, model cards."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from ranker import share
from ranker.version import VERSION
from tests.scripts import module_of

ROOT = Path(__file__).resolve().parents[1]
in_checkout = pytest.mark.skipif(not (ROOT / "CITATION.cff").is_file(), reason="only in a checkout")


def test_a_card_names_the_licence_that_lies_beside_it():
    for licence in share.directory("models").glob("*/LICENSE-*.txt"):
        name = licence.stem.removeprefix("LICENSE-").lower()
        assert f"\nlicense: {name}\n" in licence.with_name("CARD.md").read_text(encoding="utf-8")


@in_checkout
def test_the_licence_expression_and_the_licence_files_cover_what_ships():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    beside = {path for pattern in ("LICEN*", "NOTICE*") for path in (ROOT / "models").glob(f"*/{pattern}")}
    licences = {path.stem.removeprefix("LICENSE-") for path in beside if path.stem.startswith("LICENSE-")}
    assert project["license"].split(" AND ") == ["Apache-2.0", *sorted(licences)]
    listed = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert beside | {ROOT / "LICENSE"} == listed


@in_checkout
def test_the_version_is_in_one_place_and_the_citation_has_it():
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert configuration["project"]["dynamic"] == ["version", "readme", "urls"]
    source = configuration["tool"]["hatch"]["version"]
    result = re.search(source["pattern"], (ROOT / source["path"]).read_text(encoding="utf-8"))
    assert result is not None
    assert result["version"] == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@in_checkout
def test_classifiers_say_what_the_page_on_releases_says_was_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8").partition("\n## What was tested\n")[2]
    tested = set(re.findall(r"^- Python (3\.\d+)", page, re.MULTILINE))
    assert tested == {text[34:] for text in project["classifiers"] if re.match(r".*Python :: 3\.\d", text)}


@in_checkout
def test_links_of_the_long_description_lead_to_the_files_of_the_release_or_are_text():
    published = module_of(ROOT / "docs" / "published.py")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    address = "https://code.example/team/ranker"
    targets = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", published.absolute(text, address))
    assert len(targets) > 20
    for image, target in targets:
        start = f"{address}/{'raw' if image else 'blob'}/v{VERSION}/"
        assert target.startswith(start)
        assert (ROOT / target.removeprefix(start).partition("#")[0]).is_file()
    assert set(published.urls(address)) == {"Source", "Issues", "Documentation", "Changelog"}
    bare = published.absolute(text, "")
    assert "](" not in bare
    assert published.urls("") == {}
    assert published.absolute("[a](https://b.example/c)", address) == "[a](https://b.example/c)"


@in_checkout
def test_an_editable_installation_copies_no_included_files():
    published, added = module_of(ROOT / "docs" / "published.py"), {}
    for kind in ("editable", "standard"):
        added[kind] = {}
        published.WheelContent.initialize(None, kind, {"force_include": added[kind]})
    assert added["editable"] == {}
    assert {name.split("/")[2] for name in added["standard"].values()} == {"features", "data", "models"}


@in_checkout
def test_a_release_is_refused_until_nothing_is_missing_and_a_dry_run_changes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "docs")
    release = module_of(ROOT / "docs" / "release.py")
    for folder in ("dist", "ranker"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ranker" / "version.py").write_text('VERSION = "1.2.0"\n', encoding="utf-8")
    (tmp_path / ".gitignore").write_text("dist/\n", encoding="utf-8")
    for name in ("mt_ranker-1.2.0-py3-none-any.whl", "mt_ranker-1.2.0.tar.gz", "mt_ranker-1.2.0.cdx.json"):
        (tmp_path / "dist" / name).touch()
    hook = '[tool.hatch.metadata.hooks.custom]\nrepository = "https://code.example/x"\n'
    files = {"pyproject.toml": hook, "CHANGELOG.md": "\n## 1.2.0 (2026-01-02)\n"}
    files["CITATION.cff"] = "\nrepository-code: https://code.example/x\n"
    for name in files:
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_text(hook.replace("https://code.example/x", ""), encoding="utf-8")
    for module in (release, release.published):
        monkeypatch.setattr(module, "ROOT", tmp_path)

    def git(*words):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init")
    with pytest.raises(SystemExit):
        release.main(publish=True)
    said = capsys.readouterr().out
    assert [line[:10] for line in said.splitlines()[1:]] == ["- commit a", "- set repo", "- write th"]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    git("add", ".")
    git("commit", "--message", "x")
    release.main(publish=False)
    said = capsys.readouterr().out
    assert "before" not in said
    assert "twine upload dist/mt_ranker-1.2.0-py3-none-any.whl dist/mt_ranker-1.2.0.tar.gz\n" in said
    assert git("tag") == ""
    git("tag", "v1.2.0")
    with pytest.raises(SystemExit):
        release.main(publish=True)
    assert "the tag v1.2.0 exists" in capsys.readouterr().out
