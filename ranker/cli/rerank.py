"""``ranker rerank``: the best hypothesis of each sentence in an n-best list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from ranker.cli.options import ChecksOption, EachOption, working
from ranker.cli.output import emit, print_note, print_text, say
from ranker.cli.scorer import listed, print_notes, single
from ranker.cli.tune import RefsOption, SourceOption
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from ranker.arrays import BoolArray, FloatArray, Int64Array
    from ranker.corpora.dataset import Dataset
    from ranker.corpora.formats.nbest import NBestList
    from ranker.extractors.composed.external_scores import ExternalScores
    from ranker.ranking.scorers import Scorer


Form = Literal["text", "json", "jsonl"]


def command(
    nbest: Annotated[
        str,
        Argument(
            help="N-best list: Moses format, output of fairseq, JSON or a table with several outputs per source, or "
            "plain text with the same number of lines per source; - for stdin.",
            metavar="NBEST",
        ),
    ],
    each: EachOption = None,
    weights: Annotated[
        Path | None, Option("--weights", "-w", help="Choose with these weights: a file in JSON or Moses format.")
    ] = None,
    model: Annotated[
        Path | None,
        Option(
            "--model",
            "-M",
            help="Choose with a trained ranker, against --references unless it needs none, such as consensus.",
            metavar="FILE|NAME",
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        Option(
            help="Choose the hypothesis that scores best in this metric against --references, or in "
            "given[file=FILE], which has one score per hypothesis, in the order of the list or with systems.",
            metavar="METRIC",
        ),
    ] = None,
    mbr: Annotated[
        str | None,
        Option(
            help="Choose by minimum Bayes risk, with this metric, ranker or file of gains (.npy) as the gain.",
            metavar="METRIC|MODEL|FILE",
        ),
    ] = None,
    scale: Annotated[
        float | None,
        Option(help="With --mbr: scale applied to model scores (from --weights or the list) to obtain probabilities."),
    ] = None,
    refs: RefsOption = None,
    source: SourceOption = None,
    checks: ChecksOption = True,
    report: Annotated[
        list[str] | None,
        Option(help="Print the score of the chosen translations by these metrics, on stderr.", metavar="METRIC"),
    ] = None,
    form: Form = "text",
) -> None:
    """Choose the best of several hypotheses for each sentence.

    The chosen hypotheses are printed, one per line.

    Minimum Bayes risk needs no reference: each hypothesis is scored against all hypotheses of its sentence as
    references, by a metric or by a ranker without consensus, or the scores are in a file. The hypotheses are weighted
    equally, or with --scale by the probabilities derived from their model scores. The ranker consensus also compares
    candidates, but each with the others only, with weights learnt from human judgements.

    A hypothesis that is no translation (empty, a copy of the source, in another language, a refusal, repeated words;
    see ranker check) is chosen only if its sentence has no other, and does not vote in --mbr and consensus. --oracle
    with a metric is not checked: it measures the best score that the list can reach.

    In plain text, N consecutive lines are the hypotheses of one sentence; N is --per-source, or follows from the number
    of lines in -s or -r. --per-source also groups records of single outputs that have no sources. Other JSON and tables
    state their sources and include their references.

    Example: ranker rerank candidates.json --mbr chrf
    """
    import numpy as np

    from ranker.apps.tuning.hypotheses import all_hypotheses
    from ranker.apps.tuning.hypothesis_files import is_list_of_outputs
    from ranker.apps.tuning.reranking import (
        best_hypotheses,
        oracle_choice,
        outranked_hypotheses,
        sound_scores,
        tied_note,
    )
    from ranker.ranking.ranker import Ranker
    from ranker.ranking.scorers import RankerScorer, make_scorer, votes_of

    _check_choice(weights, model, oracle, mbr, scale)
    oracle, mbr = single([oracle] if oracle else None, "--oracle"), single([mbr] if mbr else None, "--mbr")
    scored = _scores_in_file(oracle)
    ranker = Ranker.load(model) if model is not None else None
    reported = _reported(report)
    lists, references, dataset = _read(nbest, refs, source, each)
    compared = references is not None and len(references.references) > 0
    if not compared and ((oracle and scored is None) or report):
        raise OptionError("--oracle and --report need references: give -r FILE")
    if ranker is not None and not compared and ranker.weight_sets.need_references:
        what = "needs references: give -r FILE, or use a model that needs none, such as consensus"
        raise OptionError(f"--model {model} {what}")
    if references is None and ranker is not None:
        references = _no_references(lists)
    out = np.zeros(len(lists), dtype=bool)
    if checks and (oracle is None or scored is not None):
        out, note = outranked_hypotheses(lists, references)
        if note:
            print_note(f"{note}; choose by score alone with --no-checks")
    chosen = None
    with working("choosing"):
        if mbr is not None:
            scores = _expected(lists, mbr, weights, scale, references, out)
        elif weights is not None:
            scores = _model_scores(lists, weights)
        elif scored is not None:
            scores = _given_scores(lists, references, dataset, scored)
        else:
            assert references is not None
            objective = RankerScorer(ranker) if ranker is not None else make_scorer(oracle, None)
            scores = sound_scores(lists, references, objective, out)
            hypotheses = all_hypotheses(lists, references)
            print_notes([objective], votes_of(objective).voters(hypotheses) if out.any() else hypotheses)
            if ranker is None:
                chosen = oracle_choice(lists, references, objective)
        if chosen is None:
            sentences = None if references is None else len(references.sources)
            chosen = best_hypotheses(lists, scores, sentences, out)
    if (weights is not None or scored is not None) and mbr is None and (note := tied_note(lists, scores)):
        print_note(note)
    if len(lists) == lists.sentences:
        advice = "; if N records belong to a source, give --per-source N"
        grouped = dataset is not None and is_list_of_outputs(dataset)
        print_note(f"no source has more than one hypothesis, so there is nothing to choose{advice if grouped else ''}")
    ids = None if dataset is None else dataset.sources["seg_id"].tolist()
    _print(lists, ids, chosen, scores, form)
    if references is not None:
        _report(lists, references, reported, chosen)


def _check_choice(
    weights: Path | None, model: Path | None, oracle: str | None, mbr: str | None, scale: float | None
) -> None:
    """Refuse options that do not name one way to choose."""
    chosen_by = [name for name, value in (("mbr", mbr), ("oracle", oracle), ("model", model)) if value]
    if len(chosen_by) > 1 or not (chosen_by or weights) or (weights and chosen_by and chosen_by != ["mbr"]):
        raise OptionError(
            "give exactly one of --weights, --model, --oracle and --mbr (--mbr may be combined with --weights)"
        )
    if (weights and mbr and scale is None) or (scale is not None and not mbr):
        raise OptionError("--mbr with --weights requires --scale" if mbr else "--scale requires --mbr: give both")


def _read(
    nbest: str, refs: list[Path] | None, source: Path | None, each: int | None
) -> tuple[NBestList, Dataset | None, Dataset | None]:
    """Return the hypotheses, the references and sources that are given or belong to them, and their data set.

    The last two are None if they are unknown.
    """
    from ranker.apps.tuning.hypotheses import (
        check_sentences,
        read_references,
        with_given_texts,
        without_outputs,
    )
    from ranker.apps.tuning.hypothesis_files import read_hypotheses

    given = read_references(refs or [], source) if refs or source else None
    sentences = None if given is None else len(given.sources)
    lists, dataset = read_hypotheses(nbest, sentences=sentences, each=each)
    references = given
    if dataset is not None and given is None:
        references = without_outputs(dataset)
    elif dataset is not None and given is not None:
        references = with_given_texts(dataset, given, sources=source is not None, references=bool(refs))
    if references is not None and len(references.references):
        check_sentences(lists, references)
    return lists, references, dataset


def _no_references(lists: NBestList) -> Dataset:
    """Return empty sources without references, one for every sentence."""
    from ranker.apps.tuning.hypotheses import references_of

    return references_of([""] * (int(lists.sentence.max(initial=-1)) + 1), [], [], lists.name)


def _given_scores(
    lists: NBestList, references: Dataset | None, dataset: Dataset | None, scored: ExternalScores
) -> FloatArray:
    import numpy as np

    from ranker.apps.tuning.hypotheses import check_last, dataset_of

    if note := scored.direction_note():
        print_note(note)
    sign = 1.0 if scored.higher_is_better else -1.0
    references = references if references is not None else _no_references(lists)
    check_last(lists, references)
    return sign * scored.of_hypotheses(dataset_of(lists, references, np.arange(len(lists))), dataset)


def _reported(report: list[str] | None) -> list[Scorer]:
    from ranker.extractors.base import check_new_texts
    from ranker.ranking.scorers import make_scorer, systems_scorer

    reported = [systems_scorer(make_scorer(name, None)) for name in listed(report)]
    for scorer in reported:
        check_new_texts(scorer.feature_set.members, "hypotheses")
    return reported


def _report(lists: NBestList, references: Dataset, reported: list[Scorer], chosen: Int64Array) -> None:
    """Print the scores of the choice on stderr."""
    from ranker.apps.tuning.hypotheses import dataset_of
    from ranker.apps.tuning.reranking import score_of_choice

    print_notes(reported, dataset_of(lists, references, chosen[chosen >= 0]))
    for scorer in reported:
        say(f"{scorer.name} {score_of_choice(lists, references, scorer, chosen):.6f}", err=True)


def _scores_in_file(oracle: str | None) -> ExternalScores | None:
    """Return the external scores that `oracle` names; None if `oracle` is a metric to be computed or is not given."""
    from ranker.extractors.composed.external_scores import ExternalScores
    from ranker.extractors.registry import make_metric

    metric = make_metric(oracle) if oracle is not None else None
    return metric if isinstance(metric, ExternalScores) else None


def _model_scores(nbest: NBestList, weights: Path) -> FloatArray:
    from ranker.apps.tuning.reranking import model_scores
    from ranker.apps.tuning.weights import read_weights

    return model_scores(nbest, read_weights(weights))


def _expected(
    nbest: NBestList, mbr: str, weights: Path | None, scale: float | None, references: Dataset | None, out: BoolArray
) -> FloatArray:
    from ranker.apps.tuning.reranking import expected_gains, expected_given_gains, gain_by, language_note, posterior
    from ranker.ranking.scorers import scorer_of

    chances = None
    if scale is not None:
        scores = nbest.score if weights is None else _model_scores(nbest, weights)
        if scores is None:
            raise OptionError(f"--scale: {nbest.name} has no model scores in a fourth field; give --weights")
        chances = posterior(nbest, scores, scale, out)
    elif out.any():
        chances = posterior(nbest, out=out)
    if mbr.endswith(".npy"):
        return expected_given_gains(nbest, mbr, chances)
    gain = gain_by(scorer_of(Path(mbr) if Path(mbr).is_file() else mbr))
    if note := language_note(gain, nbest, references):
        print_note(note)
    return expected_gains(nbest, gain, chances, references)


def _print(nbest: NBestList, ids: list[str] | None, chosen: Int64Array, scores: FloatArray, form: Form) -> None:
    """Print the chosen hypotheses, with an empty line for a sentence without any, so that line numbers stay aligned."""
    missing = int((chosen < 0).sum())
    if missing:
        first = int((chosen < 0).argmax())
        print_note(f"{counted(missing, 'sentence')} without hypotheses (first: sentence {first}, numbered from 0)")
    texts = iter(nbest.text_of(chosen[chosen >= 0]))
    # among the hypotheses of its sentence, from 0
    numbers = (chosen - nbest.offsets(len(chosen))[:-1]).tolist()
    rows: list[dict[str, Any]] = [
        {
            "sentence": sentence,
            **({"seg_id": ids[sentence]} if ids else {}),
            "hypothesis": number if row >= 0 else None,
            "score": float(scores[row]) if row >= 0 else None,
            "text": next(texts) if row >= 0 else "",
        }
        for sentence, (row, number) in enumerate(zip(chosen.tolist(), numbers, strict=True))
    ]
    emit(form, rows, rows, lambda: print_text("".join(f"{row['text']}\n" for row in rows)))
