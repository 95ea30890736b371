"""Makes the reference of the site from the code: metrics, feature sets, commands, Python interface, corpora, licences.

No page is kept in the repository: `make docs` makes them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from packaging.requirements import Requirement

import ranker
from ranker import notation, share
from ranker.cli.commands import help_record
from ranker.cli.help import topics
from ranker.cli.main import app
from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.extractors.base import Extractor, FittedExtractor, Metric, SentenceMean
from ranker.ranking.feature_set import feature_set_files

ROOT = Path(__file__).resolve().parents[1]


def reference_pages() -> dict[str, str]:
    """Return the Markdown of every generated page by its path in the site."""
    return {
        **metric_pages(),
        "reference/feature-sets.md": feature_sets(),
        **command_pages(),
        "reference/topics.md": topic_page(),
        "reference/python.md": python_interface(),
        "reference/corpora.md": corpora(),
        "reference/licences.md": licences(),
    }


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table."""
    cells = [
        [re.sub(r"(`[^`]*`)|\|", lambda bar: bar[1] or "\\|", cell).replace("\n", " ") for cell in row]
        for row in (head, *rows)
    ]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], f"|{'---|' * len(head)}", *lines[1:]]


def path_of(kind: Any) -> str:
    """Return the full name under which `kind` is defined."""
    return f"{kind.__module__}.{kind.__qualname__}"


def first_sentence(kind: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(kind) or "").split("\n")[0]


def use(made: Extractor) -> str:
    """Say what an extractor can be used as."""
    if isinstance(made, Metric):
        return "metric" if made.higher_is_better else "metric, lower is better"
    return "feature" if len(made.columns) == 1 else "features"


def metric_pages() -> dict[str, str]:
    """Return a page for each extractor, and the list of all."""
    pages, rows = {}, []
    for name in sorted(registry.BUILT_IN):
        kind, extractor = registry.extractor_class(name), registry.make(name)
        options = ",".join(f"{option}={default}" for option, _, default in notation.option_table(kind))
        rows.append((f"[`{name}`](metrics/{name}.md)", first_sentence(kind), use(extractor)))
        lines = [f"# `{name}`", "", f"Used as: {use(extractor)}. With all options at their defaults:", ""]
        lines += ["```text", f"{name}[{options}]" if options else name, "```", "", f"::: {path_of(kind)}"]
        lines += [
            "    options:",
            "      members: false",
            "      show_root_heading: false",
            "      show_root_toc_entry: false",
        ]
        pages[f"reference/metrics/{name}.md"] = "\n".join(lines) + "\n"
    text = [
        "# Metrics and features",
        "",
        "Every metric can also be a feature of a ranker, and every feature is a metric by its own name:",
        "`--metric semantic.f`. Options are given in brackets: `bleu[smoothing=add-one,lowercase=true]`.",
        "",
        *table(("name", "what it measures", "use"), rows),
    ]
    return {"reference/metrics.md": "\n".join(text) + "\n", **pages}


def feature_sets() -> str:
    """Return the page of feature sets."""
    lines = ["# Feature sets", "", "Names for lists of features, for `ranker train --features NAME`.", ""]
    for file in feature_set_files().values():
        lines += [
            f"## `{file.name}`",
            "",
            file.description,
            "",
            "```text",
            ",\n".join(file.extractors),
            "```",
            "",
        ]
    return "\n".join(lines)


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the full name and the object of every subcommand."""
    for part, subcommand in getattr(command, "commands", {}).items():
        if not subcommand.hidden:
            yield from commands(subcommand, f"{name} {part}")
    if not hasattr(command, "commands"):
        yield name, command


def command_pages() -> dict[str, str]:
    """Return a page for each command at the top level, with its subcommands, and the list of all."""
    pages: dict[str, str] = {}
    rows = []
    for name, command in commands(typer.main.get_command(app), "ranker"):
        page = f"commands/{name.split()[1]}.md"
        parts = describe(name, command)
        if f"reference/{page}" not in pages:
            pages[f"reference/{page}"] = f"# {' '.join(name.split()[:2])}\n"
        heading = f"## {name}" if len(name.split()) > 2 else ""
        pages[f"reference/{page}"] += "\n".join(["", *([heading, ""] if heading else []), *parts, ""])
        anchor = f"#{name.replace(' ', '-')}" if heading else ""
        rows.append((f"[`{name}`]({page}{anchor})", prose(summary(command).split("\n\n")[0])))
    lines = [
        "# Commands",
        "",
        "`ranker COMMAND --help` prints the same text.",
        "",
        *table(("command", "what it does"), rows),
        "",
        "Options that all commands have:",
        "",
        *describe("ranker", typer.main.get_command(app)),
    ]
    return {"reference/commands.md": "\n".join(lines) + "\n", **pages}


def topic_page() -> str:
    """Return the texts of ``ranker help`` on one page."""
    parts = ["# Topics\n\n`ranker help TOPIC` prints the same texts.\n"]
    return "\n".join([*parts, *(re.sub("^#", "##", text, flags=re.MULTILINE) for text in topics().values())])


def summary(command: Any) -> str:
    """Return the help text of a command as it was written."""
    return inspect.cleandoc(command.callback.__doc__ or command.help or "").replace("\b\n", "")


def prose(text: str) -> str:
    """Return plain text as Markdown; what is between backticks is code already."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part[:1] == "`" else re.sub(r"([*_<\[\\])", r"\\\1", part) for part in parts)


def describe(name: str, command: Any) -> list[str]:
    """Return usage, help text and options of a command."""
    context = command.context_class(command, info_name=name)
    usage = re.sub(r"\s+", " ", command.get_usage(context).removeprefix("Usage: "))
    lines = ["```text", usage, "```", ""]
    for paragraph in summary(command).split("\n\n"):
        example = re.match(r"Examples?:\s+(.*)", paragraph, flags=re.DOTALL)
        if example:
            shown = re.sub(r"\s*\n\s*(?!ranker )", " ", example[1].strip())
            lines += ["```console", *(f"$ {line.strip()}" for line in shown.splitlines()), "```", ""]
        else:
            lines += [prose(paragraph), ""]
    for kind in ("argument", "option"):
        records = [help_record(param, context) for param in command.params if param.param_type_name == kind]
        rows = [(f"`{names}`", prose(re.sub(r"\s+", " ", what))) for names, what in filter(None, records)]
        if rows:
            lines += [*table((kind, "what"), rows), ""]
    return lines


BY_TASK = {
    "Read data": ("from_texts", "from_frame", "from_records", "load_dataset", "Dataset"),
    "Score and rank translations": (
        "rank",
        "rerank",
        "score",
        "explain",
        "explain_spans",
        "Ranker",
        "make_metric",
        "reward",
    ),
    "Train and evaluate": ("train", "evaluate"),
    "Compare systems": ("compare_systems", "contrast"),
    "Check outputs": ("check_outputs",),
    "Read results": ("TrainingResult", "Comparison", "SystemsResult", "SystemContrast"),
    "Use scikit-learn": ("Features", "RankSVM", "group_scorer"),
    "Write a plug-in": ("Metric", "Extractor", "FeatureSet", "Scorer"),
    "Catch errors": ("RankerError",),
}
"""The public names, in order of use."""
METHODS = ("fit", "transform", "fit_transform", "score", "rank", "explain", "save", "load", "to_frame", "statistics")
"""Methods that come first in the description of a class, in this order; the others follow as they are written."""


def python_interface() -> str:
    """Return the page of the public names, in order of use, with what they inherit."""
    tasks = [(task, ", ".join(f"[`{name}`](#{name.lower()})" for name in names)) for task, names in BY_TASK.items()]
    lines = ["# Python interface", "", "Names to import from `ranker`, in order of use.", ""]
    lines += table(("task", "names"), tasks)
    for name in itertools.chain(*BY_TASK.values()):
        lines += ["", f"## `{name}`", "", *documented(getattr(ranker, name))]
    lines += ["", "## For plug-ins", "", "What classes derive from, besides `Metric` and `Extractor`: its own members."]
    for kind in (SentenceMean, FittedExtractor):
        lines += ["", f"### `{kind.__name__}`", "", f"::: {path_of(kind)}"]
    return "\n".join(lines) + "\n"


def documented(kind: Any) -> list[str]:
    """Return what makes the site document a name, a class with all members that it has from this package."""
    lines = [f"::: {path_of(kind)}"]
    if not inspect.isclass(kind):
        return lines
    ours = [part for part in kind.__mro__ if part.__module__.startswith("ranker.")]
    names = [name for part in ours for name in (*vars(part).get("__annotations__", ()), *vars(part)) if name[0] != "_"]
    names = sorted(dict.fromkeys(names), key=lambda name: METHODS.index(name) if name in METHODS else len(METHODS))
    options = {"inherited_members": "true", "group_by_category": "false", "members": json.dumps(names)}
    return [*lines, "    options:", *(f"      {option}: {value}" for option, value in options.items())]


def corpora() -> str:
    """Return the page of the corpora that have a card."""
    lines = ["# Corpora", "", "What `--data NAME` knows; `ranker data show NAME` prints the same.", ""]
    for card in catalogue.cards().values():
        rows = [("languages", card.languages), ("licence", card.licence)]
        rows += [("described at", f"<{card.homepage}>")] if card.homepage else []
        rows += [("how to get it", card.obtain)] if card.obtain else []
        rows += [("fetched by", f"`ranker data get {card.name}`")] if card.download else []
        rows += [("files", ", ".join(f"`{name}`" for name in card.files))]
        rows += [(name, str(value)) for name, value in card.facts.items()]
        description = re.sub(r"\n(?!\n)", " ", card.description.strip())
        raw = ("files", "fetched by", "described at")
        facts = [f"- {name}: {value if name in raw else prose(value)}" for name, value in rows]
        lines += [f"## `{card.name}`", "", f"**{prose(card.title)}.** {prose(description)}", ""]
        lines += [*facts, ""]
    return "\n".join(lines)


def licences() -> str:
    """Return the page that lists what a release contains and what it needs, with licences."""
    rows = [("`ranker/`", "the program", "Apache-2.0"), ("`features/`", "feature sets", "Apache-2.0")]
    rows += [("`data/*.toml`", "cards of corpora; no corpus but those below", "Apache-2.0")]
    bundled = [card for card in catalogue.cards().values() if card.bundled]
    rows += [(f"`data/{card.name}/`", prose(card.title), prose(card.licence)) for card in bundled]
    for model in sorted(card.parent for card in share.directory("models").glob("*/CARD.md")):
        title = re.search(r"^# (.*)$", (model / "CARD.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
        texts = [
            f"`models/{model.name}/{path.name}`"
            for path in sorted(model.glob("LICENSE*")) + sorted(model.glob("NOTICE"))
        ]
        licence = f"{licence_of(model)} ({', '.join(texts)})" if texts else licence_of(model)
        rows.append(
            (f"[`models/{model.name}/`](../models/{model.name}.md)", title[1] if title else model.name, licence)
        )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [(f"`{line}`", declared_licence(Requirement(line).name)) for line in sorted(project["dependencies"])]
    lines = [
        "# Licences",
        "",
        f"Licence expression of a release: `{project['license']}`.",
        "",
        "## What a release contains",
        "",
    ]
    lines += [*table(("part", "what", "licence"), rows), "", "## What it needs", ""]
    lines += [
        "These packages are installed with it and are not part of it. Licences as their packages declare them.",
        "",
    ]
    lines += table(("package", "licence"), needed)
    return "\n".join(lines) + "\n"


def licence_of(model: Path) -> str:
    """Return the licence of an included model: that of the text beside it, or that of the project."""
    beside = sorted(model.glob("LICENSE-*.txt"))
    return beside[0].stem.removeprefix("LICENSE-") if beside else "Apache-2.0"


def declared_licence(package: str) -> str:
    """Return the licence that an installed package declares."""
    metadata = importlib.metadata.metadata(package)
    classifiers = [
        classifier for classifier in metadata.get_all("Classifier") or [] if classifier.startswith("License ::")
    ]
    short = (metadata.get("License") or "").strip()
    named = [classifier.rsplit(" :: ", 1)[-1] for classifier in classifiers]
    return metadata.get("License-Expression") or ", ".join(named) or (short if "\n" not in short else "see the package")
