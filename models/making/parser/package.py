"""Writes a trained parser: the pipeline, its table of lemmas, card, notice and licence, all at once or not at all."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from models.making.parser.lemma_rules import table_json
from models.making.parser.scores import ParserScores
from models.making.parser.treebanks import Treebank
from ranker.files import replacing_together, unwritable
from ranker.learning.parser.lemmas import LemmaTable
from ranker.learning.parser.parsing import CARD_FILE, LEMMA_FILE, digest

if TYPE_CHECKING:
    from spacy.language import Language

Scores = Mapping[str, Mapping[str, ParserScores]]

# any spaCy 3 since 3.7 reads these architectures; by default spaCy would name the minor version that wrote them
_SPACY_VERSIONS = ">=3.7.0,<4.0.0"
_PARTS = {"dev": "development", "test": "test"}
_KINDS = {"words": "treebank's words", "lowercase": "the same, lowercased", "text": "raw text (F1)"}


@dataclass(frozen=True)
class ParserOptions:
    """Settings of the training of a parser."""

    epochs: int = 12
    width: int = 128
    depth: int = 4
    rows: tuple[int, int, int, int] = (3500, 300, 2000, 700)
    hidden: int = 64
    dropout: float = 0.1
    learning_rate: float = 5e-3
    batch_words: int = 400
    lowercase: float = 0.25
    unfinished: float = 0.08
    invented: float = 0.3


def write_pipeline(
    output: Path,
    pipeline: Language,
    table: LemmaTable,
    *,
    treebank: Treebank,
    scores: Scores,
    language: str,
    seed: int,
    options: ParserOptions,
) -> None:
    """Write the directory `output`, replacing an earlier parser there."""
    notice = _notice(treebank)
    pipeline.meta.update(
        name=f"parser-{language}",
        version="1.0.0",
        author="The ranker developers",
        spacy_version=_SPACY_VERSIONS,
        description=f"Universal Dependencies tagger and parser for {language}, trained on {treebank.name}",
        license=f"see {treebank.licence.name if treebank.licence else 'NOTICE'}",
        sources=[{"name": name, "sha256": sha} for name, sha in treebank.digests().items()],
        training={"seed": seed, **asdict(options)},
        performance=_rounded(scores),
    )
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with replacing_together(output.parent) as temporary:
            complete = temporary / output.name
            complete.mkdir()
            _fill(complete, pipeline, table, treebank, notice)
            card = _card(complete, treebank, scores, language, seed, options)
            (complete / CARD_FILE).write_text(card, encoding="utf-8")
    except OSError as error:
        raise unwritable(output, error) from None


def _fill(directory: Path, pipeline: Language, table: LemmaTable, treebank: Treebank, notice: str) -> None:
    # the vocabulary of the training run is left out: the network hashes words, only names of labels are looked up
    pipeline.to_disk(directory, exclude=["vocab"])
    labels = {label for component in pipeline.pipe_labels.values() for label in component} | {"ROOT", "dep"}
    (directory / "vocab").mkdir()
    (directory / "vocab" / "strings.json").write_text(json.dumps(sorted(labels)) + "\n", encoding="utf-8")
    (directory / LEMMA_FILE).write_text(table_json(table), encoding="utf-8")
    (directory / "NOTICE").write_text(notice, encoding="utf-8")
    if treebank.licence is not None:
        shutil.copyfile(treebank.licence, directory / treebank.licence.name)


def _rounded(scores: Scores) -> dict[str, dict[str, dict[str, float]]]:
    return {
        part: {
            kind: {name: round(value, 4) for name, value in asdict(of_kind).items()} for kind, of_kind in kinds.items()
        }
        for part, kinds in scores.items()
    }


def _notice(treebank: Treebank) -> str:
    licence = (
        f"The licence text of the treebank is in {treebank.licence.name} and also applies to this directory."
        if treebank.licence is not None
        else "The treebank had no licence text; the terms of its licence also apply to this directory."
    )
    owed = _wrapped(treebank.attribution())
    return f"The parameters and tables in this directory were learnt from:\n\n{owed}\n\n{licence}\n"


def _card(directory: Path, treebank: Treebank, scores: Scores, language: str, seed: int, options: ParserOptions) -> str:
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6
    other_language = "" if language == "en" else f" --language {language}"
    changed = [
        f"{field.name}={getattr(options, field.name)}"
        for field in fields(options)
        if getattr(options, field.name) != field.default
    ]
    files = "\n".join(f"- `{name}`, SHA-256 `{sha}`" for name, sha in treebank.digests().items())
    licence = treebank.licence.name if treebank.licence else "none was found with the treebank"
    method = (
        f"Norm, first letter, last three letters and shape of each word, hashed into {options.rows} rows of "
        f"{options.width}; {options.depth} convolutional layers over one word to either side, shared by a linear "
        f"tagger and a greedy arc-eager parser (pseudo-projective); {options.epochs} epochs, the last state taken, so "
        "that the development file serves for nothing but a score. In training "
        f"{options.lowercase:.0%} of the sentences are lowercased, {options.unfinished:.0%} lose their final mark, "
        f"and {options.invented:.0%} of the words seen once are replaced by invented words of the same outline."
    )
    return f"""# parser-{language}

A tagger and dependency parser with Universal Dependencies labels, as a spaCy pipeline, and a table of lemmas.
Every text is one sentence with one root.

- Command: `python -m models.making.parser TREEBANK DIR --seed {seed}{other_language}`\
{f" with {', '.join(changed)}" if changed else ""}
- Size: {size:.1f} MB
- Content: SHA-256 `{digest(directory)}`

## Data

{_wrapped(treebank.attribution())}

Licence text: {licence}; see also NOTICE.

{files}

The digests are of the uncompressed files.

## Scores

In percent, including punctuation; each sentence is parsed separately. Tags are universal parts of speech, UAS is the
proportion of correct heads, LAS that of correct heads with the correct relation, including subtypes. On raw text they
are F1 over words that span the same characters, because spaCy's tokenizer splits some words differently.

{_score_table(scores)}

## Method

{_wrapped(method)}

## Limits

Trees of ungrammatical or foreign text are not meaningful. Relations seen fewer than ten times in training
become `dep`. A text of several sentences gets a single tree. Lemmas are lowercased.
"""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def _score_table(scores: Scores) -> str:
    lines = ["| file | on | words | tags | UAS | LAS | lemmas |", "|---|---|---|---|---|---|---|"]
    for part, kinds in scores.items():
        for kind, of_kind in kinds.items():
            figures = " | ".join(f"{100 * value:.1f}" for value in asdict(of_kind).values())
            lines.append(f"| {_PARTS[part]} | {_KINDS[kind]} | {figures} |")
    return "\n".join(lines) if scores else "No development or test file was found with the training file."
