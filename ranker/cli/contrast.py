"""``ranker contrast``: what each of two systems gets right and the other wrong."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ranker.cli.options import MOST_RESAMPLES, ModelOption, OutputForm, TextInput, working
from ranker.cli.output import emit, estimate_columns, interval, print_note, print_table, say, say_signatures
from ranker.cli.pages import HtmlOption, check_page, show_page, write_html
from ranker.cli.scorer import print_notes, result_signature, single, supplied
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranker.evaluation.systems.contrast.result import (
        Breakdown,
        Bucket,
        NgramContrast,
        SegmentContrast,
        SystemContrast,
    )

_METRIC = "chrf"
_SEGMENTS, _NGRAMS, _ALL = 3, 5, 50
_ROWS = 6
_HEADS = ("", "difference", "words", "segments")


def command(
    inputs: TextInput,
    words: Annotated[
        list[str] | None,
        Argument(
            help="Corpus name or file, and two systems; with -s, -r and -t only the systems. Systems may be left out "
            "if there are only two.",
            metavar="[DATA] [SYSTEM SYSTEM]",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = None,
    metric: Annotated[
        list[str] | None,
        Option("--metric", "-m", help="Metric to score segments with.", metavar="METRIC", show_default=_METRIC),
    ] = None,
    train_text: Annotated[
        Path | None, Option(help="Text for word frequencies, one sentence per line (default: the references).")
    ] = None,
    parser: Annotated[
        str, Option(help="Parser for parts of speech, as for the feature ds; or none.", metavar="NAME|DIR")
    ] = "shipped",
    tokenizer: Annotated[str, Option(help="Tokenizer, as for bleu.", metavar="NAME")] = "auto",
    lowercase: Annotated[bool, Option("--lowercase", help="Ignore case.")] = False,
    segments: Annotated[
        int | None,
        Option(
            help="Number of segments to show per system.",
            min=0,
            show_default=f"{_SEGMENTS} in tables, otherwise {_ALL}",
        ),
    ] = None,
    ngrams: Annotated[
        int | None,
        Option(
            help="Number of n-grams to show per system.", min=0, show_default=f"{_NGRAMS} in tables, otherwise {_ALL}"
        ),
    ] = None,
    resamples: Annotated[int, Option(help="Bootstrap samples of sources.", min=1, max=MOST_RESAMPLES)] = 1000,
    form: OutputForm = "table",
    html: HtmlOption = None,
) -> None:
    """Show what each of two systems gets right and the other wrong.

    Similar to compare-mt: scores of both systems, F1 and recall of their words, length ratio and word order (nkt);
    words by frequency in the references or in a given text, and by part of speech; scores by sentence length, language
    pair and document; n-grams that one system matches more often; and the segments that differ most. All values have
    95% bootstrap confidence intervals over sources. Reports and output formats other than table contain everything.

    Example: ranker contrast sample sys1 sys2 --metric bleu
    """
    from ranker.ranking.scorers import make_scorer, systems_scorer
    from ranker.text.tokens import checked_tokenizer

    chosen_tokenizer = checked_tokenizer(tokenizer)
    name = single(metric)
    scorer = make_scorer(name, model) if name or model else make_scorer(_METRIC, None)
    scorer = systems_scorer(*supplied([scorer], inputs.given))
    named, names = _data_and_systems(words or [], elsewhere=bool(inputs.data or inputs.parallel))
    check_page(html)
    dataset = replace(inputs, data=inputs.data or named).read(scorer.feature_set.members)
    first, second = map(inputs.system, names) if names else (None, None)
    from ranker.corpora.selection import system_pair
    from ranker.evaluation.systems.contrast.run import contrast

    table = form == "table"
    short = table and html is None
    with working("contrasting"):
        result = contrast(
            dataset,
            first,
            second,
            scorer,
            train_text=train_text,
            parser=parser,
            tokenizer=chosen_tokenizer,
            lowercase=lowercase,
            ngrams=(_NGRAMS if short else _ALL) if ngrams is None else ngrams,
            segments=(_SEGMENTS if short else _ALL) if segments is None else segments,
            resamples=resamples,
        )
    scored = dataset.select_sources((system_pair(dataset, result.first, result.second) >= 0).any(axis=1))
    print_notes([scorer], scored)
    for note in result.notes:
        print_note(note)
    options = {"tokenizer": tokenizer, "lowercase": str(lowercase).lower(), "resamples": resamples, "seed": 0}
    signature = result_signature(scorer, dataset, "system", scored=scored, **options)

    if html is not None:
        from ranker.reports.contrast_page import contrast_report

        with working("writing"):
            write_html(html, contrast_report(result, signature)[0])

    def show() -> None:
        _show(_shortened(result, _NGRAMS if ngrams is None else ngrams, _SEGMENTS if segments is None else segments))
        say_signatures(signature)

    emit(form, {"signature": signature, **asdict(result)}, _rows(result), show)
    show_page(html)


def _shortened(result: SystemContrast, ngrams: int, segments: int) -> SystemContrast:
    """Return the result with only the first `ngrams` n-grams and `segments` segments of each system."""
    return replace(
        result,
        first_ngrams=result.first_ngrams[:ngrams],
        second_ngrams=result.second_ngrams[:ngrams],
        first_segments=result.first_segments[:segments],
        second_segments=result.second_segments[:segments],
    )


def _data_and_systems(words: list[str], *, elsewhere: bool) -> tuple[list[str], tuple[str, str] | None]:
    """Split arguments into a data set, unless options name it (`elsewhere`), and two systems (None if not given)."""
    data, names = ([], words) if elsewhere else (words[:1], words[1:])
    if len(names) not in (0, 2):
        expected = "SYSTEM SYSTEM before -d, -s, -r and -t" if elsewhere else "DATA SYSTEM SYSTEM"
        raise OptionError(f"found {counted(len(names), 'system')}: {', '.join(map(repr, names))}; expected {expected}")
    if names and names[0] == names[1]:
        raise OptionError(f"expected two different systems, found {names[0]!r} twice")
    return data, (names[0], names[1]) if names else None


def _rows(result: SystemContrast) -> list[dict[str, Any]]:
    """Return a row for every bucket, n-gram and segment; n-grams have numbers of matches in place of scores."""
    rows = []
    for breakdown in result.breakdowns:
        for bucket in breakdown.buckets:
            rows.append(_row(breakdown.subject, breakdown.measure or bucket.name, bucket.name, bucket.size, bucket))
    for ngram in (*result.first_ngrams, *result.second_ngrams):
        matches = {"first": ngram.first, "second": ngram.second, "difference": ngram.first - ngram.second}
        row = _row("n-gram", "matches", ngram.ngram, ngram.first + ngram.second)
        rows.append(row | matches | estimate_columns("ratio", ngram.ratio))
    for segment in (*result.first_segments, *result.second_segments):
        values = {"first": segment.first_score, "second": segment.second_score, "difference": segment.difference}
        facts = {name: getattr(segment, name) for name in ("lp", "doc", "source", "first_text", "second_text")}
        rows.append({**_row("segment", result.scorer, segment.seg_id or "", 1), **values, **facts})
    return rows


def _row(subject: str, measure: str, name: str, size: int, bucket: Bucket | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {"subject": subject, "measure": measure, "name": name, "size": size}
    for side in ("first", "second", "difference"):
        row |= estimate_columns(side, getattr(bucket, side, None))
    return row | estimate_columns("ratio") | dict.fromkeys(("lp", "doc", "source", "first_text", "second_text"))


def _show(result: SystemContrast) -> None:
    """Print the result as tables for people."""
    from ranker.evaluation.systems.contrast.result import WORD_F1

    names = _headed(result.first), _headed(result.second)
    better = "" if result.higher_is_better else f"; {result.scorer}: lower is better"
    say(
        f"{result.first} and {result.second} on {result.data}, {counted(result.sources, 'source')}; "
        f"[95% bootstrap confidence interval over sources]{better}"
    )
    titles = {
        ("overall", ""): "overall",
        ("frequency", WORD_F1): f"F1 of words by {result.frequency_title}",
        ("part of speech", WORD_F1): "F1 of words by part of speech",
        ("length", result.scorer): f"{result.scorer} by words of the reference",
        ("language pair", result.scorer): f"{result.scorer} by language pair",
        ("document", result.scorer): f"{result.scorer} by document",
    }
    for breakdown in result.breakdowns:
        title = titles.get((breakdown.subject, breakdown.measure))
        if title is not None:
            _show_breakdown(breakdown, title, names)
    for name, ngrams in zip(names, (result.first_ngrams, result.second_ngrams), strict=True):
        if ngrams:
            typer.echo("")
            print_table([_ngram(ngram, names) for ngram in ngrams], f"n-grams that {name} matches more often")
    for name, segments in zip(names, (result.first_segments, result.second_segments), strict=True):
        for number, segment in enumerate(segments):
            if not number:
                say("", f"segments that {name} translates better by {result.scorer}")
            _show_segment(segment, names)
    typer.echo("")


def _headed(name: str) -> str:
    """Return the column heading of a system, distinct from the other headings of the tables."""
    return f"{name} (system)" if name in _HEADS else name


def _show_breakdown(breakdown: Breakdown, title: str, names: tuple[str, str]) -> None:
    """Print a table of buckets; of many, only the documents that differ most or the most frequent parts of speech."""
    buckets: Sequence[Bucket] = breakdown.buckets
    if len(buckets) > _ROWS and breakdown.subject in ("document", "part of speech"):
        by_size = breakdown.subject == "part of speech"
        key = (lambda bucket: -bucket.size) if by_size else (lambda bucket: -abs(bucket.difference.value))
        title += f", the {_ROWS} of {len(buckets)} that {'are most frequent' if by_size else 'differ most'}"
        buckets = sorted(buckets, key=key)[:_ROWS]
    sized = breakdown.subject != "overall"
    rows = [
        {
            "": bucket.name,
            **({breakdown.unit: bucket.size} if sized else {}),
            names[0]: interval(bucket.first),
            names[1]: interval(bucket.second),
            "difference": interval(bucket.difference),
        }
        for bucket in buckets
    ]
    typer.echo("")
    print_table(rows, title)


def _ngram(ngram: NgramContrast, names: tuple[str, str]) -> dict[str, Any]:
    figures = {f"{names[0]} matches": ngram.first, f"{names[1]} matches": ngram.second}
    return {"n-gram": ngram.ngram, **figures, "ratio": interval(ngram.ratio)}


def _show_segment(segment: SegmentContrast, names: tuple[str, str]) -> None:
    where = " ".join(part for part in (segment.lp, segment.seg_id) if part)
    say(f"  {where}  {segment.source}")
    number = len(segment.references)
    say(f"    reference{f' 1 of {number}' if number > 1 else ''}: {segment.references[0]}")
    sides = (
        (names[0], segment.first_text, segment.first_score, segment.first_only),
        (names[1], segment.second_text, segment.second_score, segment.second_only),
    )
    for name, text, score, only in sides:
        listed = f" (matched only here: {', '.join(map(repr, only))})" if only else ""
        say(f"    {name} {score:.3f}: {text}{listed}")
    if segment.missed:
        say(f"    both miss {', '.join(map(repr, segment.missed))}")
