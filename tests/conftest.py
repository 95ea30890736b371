"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# A kernel that is compiled, or another program on the machine, makes an example slow, not wrong. What runs unattended
# tries the same examples every time.
hypothesis.settings.register_profile(
    "suite",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("suite")

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Directory with the golden values and the real human judgements, which do not ship."""
    if not (SHARED / "golden").is_dir():
        pytest.skip(f"no shared data at {SHARED} (set RANKER_SHARED)")
    return SHARED


@pytest.fixture(scope="session")
def golden(shared: Path) -> Path:
    """Directory with values computed by independent programs."""
    return shared / "golden"


@pytest.fixture(autouse=True)
def own_directories(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's corpora and caches."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("RANKER_DATA", str(home / "corpora"))
    monkeypatch.setenv("RANKER_CACHE", str(home / "cache"))
