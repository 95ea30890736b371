"""Fixtures every test may use."""

from __future__ import annotations

import functools
import gc
import gzip
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest

from ranker import Dataset, load_dataset
from ranker.text.function_words import ENGLISH
from tests.command_line import Command, Printed, check_named_options
from tests.effort import SLOW_TO_COMPILE, THOROUGH, examples, spread
from tests.extractors.small_wordnet import write_synonyms
from tests.golden_values import INCLUDED

# Thousands of tests and all that they import stay to the end: nothing is garbage until they are collected.
gc.disable()
# Where several tests run at once, a thread that spins while it waits takes the processor from another test. Read when
# the libraries are loaded, in the processes that tests start too.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A kernel that is compiled, or another program on the machine, makes an example slow, not wrong. What runs unattended
# tries the same examples every time.
hypothesis.settings.register_profile(
    "suite",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("suite")

COMPILED = frozenset({"text", "extractors", "learning", "evaluation", "tuning"} if THOROUGH else ())
"""Folders of tests that are about compiled kernels. Elsewhere small inputs run them as plain Python, as for a user."""

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long or needs shared data, and most of many cases not named, unless all is tried."""
    if THOROUGH:
        return
    named = config.getoption("keyword") or any("[" in place for place in config.args)
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("thorough") and not _needs_shared(item):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for group in cases.values() for item in (group if named else spread(group))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _needs_shared(item: pytest.Item) -> bool:
    """True if a test reads what does not ship, except in CI: a clone tries the same wherever it lies."""
    if os.environ.get("CI"):
        return False
    call = getattr(item, "callspec", None)
    return "shared" in getattr(item, "fixturenames", ()) or (call is not None and call.params.get("golden") == "shared")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage again, but not after every few objects."""
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_collection_finish() -> None:
    """Run what is slow to compile as plain Python, unless everything is to be tried."""
    if THOROUGH:
        return
    from ranker.storage.kernels import Kernel

    stays_plain = Kernel._stays_plain

    def stays_plain_if_slow(kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
        slow = kernel.__module__.startswith(SLOW_TO_COMPILE)
        return slow or stays_plain(kernel, arguments)

    Kernel._stays_plain = stays_plain_if_slow  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Compile what the tests of kernels and their fixtures call, however small; else begin as a new process does."""
    from ranker.storage import kernels  # slow, and not all processes need it

    small: Any = os.environ.get("RANKER_KERNELS", "auto")
    with kernels.using(small if COMPILED.isdisjoint(item.path.parts) else "compiled"):
        return (yield)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Directory with the golden values and the real human judgements, which do not ship."""
    if not (SHARED / "golden").is_dir():
        pytest.skip(f"no shared data at {SHARED} (set RANKER_SHARED)")
    return SHARED


@pytest.fixture(scope="session")
def shared_golden(shared: Path) -> Path:
    """Directory with values of independent programs for real texts."""
    return shared / "golden"


@pytest.fixture(scope="session")
def included_golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory with the values of independent programs in ``tests/golden``, each file unpacked and packed.

    It also has the words that METEOR and TERp looked up, as far as these texts have them: a WordNet, and METEOR's
    function words, which lack two of ours.
    """
    directory = tmp_path_factory.mktemp("golden")
    write_synonyms(directory / "wordnet")
    words = sorted(ENGLISH - {"!", ";"})
    (directory / "meteor_function_words.txt").write_text("\n".join(words), encoding="utf-8")
    for path in INCLUDED.glob("*.gz"):
        (directory / path.name).write_bytes(path.read_bytes())
        (directory / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return directory


@pytest.fixture(scope="module", params=["included", "shared"])
def golden(request: pytest.FixtureRequest) -> Path:
    """Both of them in turn, for tests that compare with what both have."""
    directory: Path = request.getfixturevalue(f"{request.param}_golden")
    return directory


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def shared_page(browser: Any) -> Any:
    """A page for all tests of a module that need no special one: another takes a process of its own."""
    return browser.new_context().new_page()


@pytest.fixture
def new_page(browser: Any, shared_page: Any) -> Iterator[Callable[..., Any]]:
    """Give an empty page that listens to events, the shared one unless it is in use or `more` is special."""
    contexts, listening = [], []

    def make(listeners: dict[str, Callable[[Any], Any]], width: int, scheme: str, **more: Any) -> Any:
        page = shared_page
        if listening or more:
            contexts.append(browser.new_context(**more))
            page = contexts[-1].new_page()
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        for event, listener in listeners.items():
            page.on(event, listener)
            listening.append((page, event, listener))
        return page

    yield make
    for page, event, listener in listening:
        page.remove_listener(event, listener)
    for context in contexts:
        context.close()
    shared_page.goto("about:blank")
    shared_page.context.clear_cookies()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run one command, check its exit code, and return what it printed."""

    from ranker.cli.main import run  # slow, and most tests need no commands

    def call(*words: str, code: int = 0) -> Printed:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            run(list(words))
        printed = Printed(*capsys.readouterr())
        assert exit_info.value.code == code, printed.err
        check_named_options(words, printed.err)
        return printed

    return call


@pytest.fixture(scope="session")
def sample() -> Dataset:
    """The bundled corpus: 120 sources with four references each, enough for a language model."""
    return load_dataset("sample")


@pytest.fixture(scope="session")
def kenlm() -> ModuleType:
    """KenLM's package, which does not compile for every Python."""
    return pytest.importorskip("kenlm", reason="KenLM is not installed")


@pytest.fixture(scope="session", autouse=True)
def _included_parser() -> Iterator[None]:
    """Load the included parser once: that takes longer than to parse what most tests do."""
    from ranker.extractors.dependency.cache import SHIPPED, origin_of
    from ranker.learning.parser import parsing

    load, load_once = parsing.load, functools.cache(parsing.load)
    included = origin_of(SHIPPED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parsing, "load", lambda origin: (load_once if origin == included else load)(origin))
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Directories that are not there yet, one for each test: making thousands of them takes seconds."""
    parent = tmp_path_factory.mktemp("homes")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_directories(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's corpora and caches."""
    home = next(homes)
    monkeypatch.setenv("RANKER_DATA", str(home / "corpora"))
    monkeypatch.setenv("RANKER_CACHE", str(home / "cache"))
