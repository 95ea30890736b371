"""Fixtures of the command line's tests: a folder of files to go wrong with, and what every refusal must be."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ranker import Ranker, load_dataset
from ranker.apps.collect.making import make_campaign
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tasks import KINDS
from ranker.cli.main import run
from ranker.corpora.shards.making import make_shards
from ranker.learning.aligner.training import train
from tests.command_line import check_named_options
from tests.golden_examples import FOLDER

RATED = json.loads((FOLDER / "files" / "good.json").read_text(encoding="utf-8"))

Refused = Callable[..., str]


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the sound and unsound files of ``tests/golden/cli/files``."""
    shutil.copytree(FOLDER / "files", tmp_path, dirs_exist_ok=True)
    (tmp_path / "directory").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rankers of BLEU and chrF, of chrF, and of chrF and consensus, aligners with and without a tokenizer; and of the
    same data shards and a campaign.
    """
    made = tmp_path_factory.mktemp("models")
    data = load_dataset(FOLDER / "files" / "good.json")
    make_shards(str(FOLDER / "files" / "good.json"), made / "shards", 4)
    make_campaign(
        made / "test.campaign", data, CampaignSettings("test", "Test", "fluency", KINDS["fluency"].show), ["judge1"]
    )
    for name, features in {"good": "bleu,chrf", "chrf": "chrf", "both": "chrf,consensus.weighted"}.items():
        Ranker(features, C=1.0).fit(data).save(made / f"{name}.model")
    with pytest.raises(SystemExit):
        run(["align", "train", "-d", str(FOLDER / "files" / "aligned.json"), "-o", str(made / "good.align"), "-q"])
    words = {"source_vocabulary": ["a", "b"], "target_vocabulary": ["c", "d"]}
    train([0, 1], [0, 1, 2], [0, 1], [0, 1, 2], **words).save(made / "numbers.align")
    return made


@pytest.fixture
def with_models(folder: Path, models: Path) -> Path:
    """The folder with the models beside its files."""
    return Path(shutil.copytree(models, folder, dirs_exist_ok=True))


@pytest.fixture
def refused(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Run a command that must be refused, check all that every refusal must be, and return its message."""

    def call(*arguments: str, says: str = "", stdin: bytes = b"") -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        before = everything(folder)
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            run(list(arguments))
        out, err = capsys.readouterr()
        assert exit_info.value.code == 2, err
        assert out == ""
        assert err.startswith("ranker: error: ")
        assert err.endswith("\n")
        # how to get a corpus takes a few lines more
        assert all(line.startswith("  ") for line in err.splitlines()[1:])
        assert not re.search(r"Traceback|\w+Error\b|Exception|object at 0x|<class", err), err
        assert re.search(says, err), f"{err!r} does not say {says!r}"
        assert everything(folder) == before
        check_named_options(arguments, err)
        return err.removeprefix("ranker: error: ").rstrip("\n")

    return call
