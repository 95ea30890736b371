"""What the package looks like: imports point down, nothing goes round in circles, folders stay small."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ranker

PACKAGE = Path(ranker.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "share" not in path.relative_to(PACKAGE).parts
}
# from the bottom up; a module may import from its own layer and from those before it
LAYERS = (
    "arrays errors files links locks notation progress ranks share signature storage threads version",
    "corpora learning",
    "text",
    "extractors",
    "checks",
    "ranking plugins metrics",
    "evaluation",
    "reports apps",
    "cli",
    "__main__",
)
LAYER = {name: level for level, names in enumerate(LAYERS) for name in names.split()}


@cache
def imports(module: str) -> frozenset[str]:
    """Return the modules of the package that `module` imports, those for types alone too."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    result = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            result.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            for name in node.names:
                full = f"{node.module}.{name.name}"
                result.add(full if full in MODULES else str(node.module))
    return frozenset(name for name in result if name in MODULES and name not in ("ranker", module))


def below(module: str) -> str:
    """Return the file or folder of the package in which `module` lies."""
    return module.split(".")[1]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "ranker"])
def test_imports_point_down(module):
    upwards = [name for name in imports(module) if LAYER[below(name)] > LAYER[below(module)]]
    assert upwards == []


def test_no_module_imports_itself_through_others():
    TopologicalSorter({module: imports(module) for module in MODULES}).prepare()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_no_folder_imports_itself_through_others(depth):
    def folder(module: str) -> str:
        """Return the package of `module`, not deeper than `depth`."""
        parts = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
        return ".".join(parts[:depth])

    graph: dict[str, set[str]] = {}
    for module in MODULES:
        graph.setdefault(folder(module), set()).update(folder(name) for name in imports(module))
    for name, others in graph.items():
        # a package may use what lies in its own folders, and these what lies in it
        graph[name] = {other for other in others if not f"{other}.".startswith(f"{name}.")}
        graph[name] = {other for other in graph[name] if not f"{name}.".startswith(f"{other}.")}
    TopologicalSorter(graph).prepare()


def test_the_modules_at_the_top_and_the_folders_are_in_no_circle():
    """Each module at the top counts by itself."""
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        if module != "ranker":
            graph.setdefault(below(module), set()).update(map(below, imports(module)))
    TopologicalSorter({name: others - {name} for name, others in graph.items()}).prepare()


def test_no_module_is_called_as_its_folder():
    places = [module.split(".")[-2:] for module in MODULES if module != "ranker"]
    assert [name for folder, name in places if name.rstrip("s") == folder.rstrip("s")] == []


def test_only_the_command_line_knows_of_applications():
    """Nor does one application know of another, but that experiments tune weights; ``ranker`` names one function."""
    known = {(module, name) for module in MODULES for name in imports(module) if name.startswith("ranker.apps.")}
    assert {name for user, name in known if user == "ranker"} == {"ranker.apps.tuning.rerank"}
    known = {(user, name) for user, name in known if user != "ranker"}
    among = {(user.split(".")[2], name.split(".")[2]) for user, name in known if user.startswith("ranker.apps.")}
    assert {pair for pair in among if pair[0] != pair[1]} == {("experiments", "tuning")}
    assert {below(user) for user, _ in known} == {"apps", "cli"}


def test_modules_of_a_folder_are_above_its_subfolders_or_below_them():
    """A folder's own modules either import none of its subfolders or are imported by none of them."""
    mixed = {}
    for package in [name for name, path in MODULES.items() if path.name == "__init__.py" and name != "ranker"]:
        own = [name for name in MODULES if name.rpartition(".")[0] == package and MODULES[name].name != "__init__.py"]
        depth = package.count(".") + 1
        inner = [name for name in MODULES if name.startswith(f"{package}.") and name.count(".") > depth]
        above = {name for name in own if imports(name).intersection(inner)}
        below_inner = {name for name in own for user in inner if name in imports(user)}
        if above and below_inner:
            mixed[package] = (sorted(above), sorted(below_inner))
    assert mixed == {}


# modules through which a program reaches other computers, and packages for that
NETWORK = (
    "ftplib http.client imaplib nntplib poplib smtplib socket socketserver ssl telnetlib urllib.request webbrowser",
    "xmlrpc aiohttp dask distributed httpx huggingface_hub paramiko requests urllib3 websockets",
)
# opens connections when ranker data get asks for it; answers them; uses a cluster
MAY = {
    "ranker.corpora.downloads.transfer",
    "ranker.apps.collect.web.connections",
    "ranker.apps.collect.web.server",
    "ranker.apps.scaling.cluster",
}


def test_only_what_fetches_corpora_reaches_the_network():
    network = {name for names in NETWORK for name in names.split()}
    assert {module for module in mentioning(*network) if network.intersection(all_imports(MODULES[module]))} == MAY
    fetching = "ranker.corpora.downloads."
    importers = {
        name: {module for module in mentioning("downloads") if fetching + name in imports(module)}
        for name in ("getting", "transfer")
    }
    assert importers["getting"] == {"ranker.cli.data"}
    assert importers["transfer"] == {"ranker.cli.data", f"{fetching}getting"}


def mentioning(*words: str) -> list[str]:
    """Return the modules that have one of `words` anywhere, or the last part of it; few, so that few need be parsed."""
    word = re.compile(rf"\b({'|'.join(word.rsplit('.', 1)[-1] for word in words)})\b")
    return [module for module, path in MODULES.items() if word.search(path.read_text(encoding="utf-8"))]


def all_imports(path: Path) -> list[str]:
    """Return what a module imports, each with the packages that it is in, wherever in the file it does so."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args:
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if called in ("__import__", "import_module") and isinstance(node.args[0], ast.Constant):
                names.append(str(node.args[0].value))
    return [".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)]
