"""The meaning of column names in tables and of keys in JSON records.

Names are compared by their words: ``human_rank``, ``HumanRank`` and ``rank-2`` hold the word ``rank``, ``frank`` does
not. Meanings come from the tables below; ``--kind NAME:lower`` and ``--kind NAME:higher`` override them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from ranker.errors import nearest


def _table(words: str) -> frozenset[str]:
    return frozenset(words.split())


TEXT_COLUMNS = ("lp", "doc", "seg_id", "source", "system", "text", "judge", "is_reference")
"""Columns that are not judgements, besides the references."""
BY_OPTION = "use --systems (in ranker data convert if this command has none)"
"""Advice on naming the columns of systems, for messages."""
LOWER_IS_BETTER = _table(
    "rank ranks ranking place placing position error errors err errs mistake mistakes penalty penalties loss losses "
    "mqm metricx ter hter wer hwer cer cder eed edit edits postedit postedits distance levenshtein cost costs price "
    "latency time duration seconds perp perplexity ppl nll bad critical deduction deductions defect defects effort "
    "hallucination hallucinations incorrect issue issues keystroke keystrokes major minor mistranslation "
    "mistranslations omission omissions severity toxicity wrong"
)
"""Lower values are better in a column whose name contains one of these words."""
METRICS = _table(
    "bartscore beer bertscore bleu bleurt bp chrf cider combine comet cometkiwi consensus ds f1 fuzzy gemba given gtm "
    "hamming kendall kendall_sqrt length lrscore meteor meteor_parts metricx mismatch ngrams nist nkt nsr paraphrase "
    "pef pef_size per perp perplexity pet pet_arity pet_flat pet_max_arity pet_size pet_viterbi precision ranker "
    "recall ribes rouge rougel rougelsum rouge_l rouge_n rouge_s rouge_su rouge_w sacrebleu semantic spearman spice "
    "ter terp terpa ulam wer xcomet yisi"
)
"""Automatic metrics: the names of this package, ``ranker`` as ``ranker score`` writes it, and others in wide use."""
METADATA = _table(
    "annotation annotator annotators author category comment comments corpus cost costs created date dataset "
    "description document domain duration extra file filename genre info label labels lang language latency licence "
    "license link logprob logprobs meta metadata name note notes origin price provenance raters remark remarks set "
    "split tag tags testset time timestamp title topic type url tied user version year"
)
"""A column whose name ends in one of these words may contain text, which is then ignored."""
JUDGEMENTS = _table(
    "accuracy adequacy da esa fluency grade human judgement judgment mqm points quality rank ranking rating score "
    "sqm vote"
)
"""A column whose name contains one of these words is refused if it holds anything but numbers."""
_QUALITIES = _table(
    "acceptability appropriateness assessment clarity coherence completeness comprehensibility consistency correctness "
    "evaluation faithfulness fidelity grammar helpfulness informativeness intelligibility likert mark marks meaning "
    "naturalness opinion overall preservation readability relevance similarity star stars style terminology tone "
    "understandability usability usefulness"
)
"""Numbers as ``4,5`` or ``4/5`` are refused in a column whose name contains one of these words; text is ignored."""
NOT_READ = _table("dataset tied year sources references_tok reference_human")
"""Keys of ranker's own corpora and results in JSON that are ignored without a note."""
EXPECTED = (
    f"text columns are {', '.join(TEXT_COLUMNS)}, reference; other columns contain ratings, or metadata with "
    "names such as "
    "id, domain, meta, comment: rename or remove the column"
)
"""Advice on unexpected columns, for messages."""

DECIMAL = "a number such as 4.5"
"""A rating in the form that is read, for messages about ratings in other forms."""

_TURNED_ROUND = _table("free reciprocal inverse inverted negated reverse reversed")
_NUMBERING = _table("hash id ids index idx lineno number no nr")
_NUMBERED = _table("index level line row segment seg sentence sent page year date timestamp unnamed")
_SIZES = _table("length lengths len size token tokens word words char chars character characters count")
_SIZED = _table(
    "seq sequence n num number of in the src source mt hyp hypothesis ref reference text target tgt output candidate "
    "translation sentence segment mean avg total"
)
_MADE_BY = _table(
    "beam beams confidence cost costs duration elapsed entropy epoch gpu latency likelihood logit logits "
    "loglikelihood logp logprob logprobs ms nll price probability pvalue seconds seed seeds surprisal temperature "
    "throughput time token tokens uncertainty usd variance"
)
"""Numbers in a column whose name contains one of these words describe the production of an output."""
_MADE_AS = _table(
    "annotators batch draw iteration judges raters retries run runs sample samples sd std stddev stdev step steps trial"
)
"""Numbers in a column whose name ends in one of these words number outputs, or count their judges."""
_JUDGES = ("annotator", "assessor", "evaluator", "rater", "user", "worker")
_MADE_BY_WHOM = frozenset((*_JUDGES, "turn", "turns"))
"""Numbers in a column with one of these names number judges or outputs; those in ``rater1`` are a judge's ratings."""
_SAMPLING = re.compile(
    r"(top|min|typical)_?[pk]|(frequency|presence|repetition|repeat|length)_penalty|(.*_)?log_(prob|like).*|p_val(ue)?s?"
)
_JUDGE = re.compile(rf"({'|'.join(_JUDGES)}|judge)[ _-]?(id|name|email)?")
_OF_SETTINGS = _table("args arguments config configuration hyperparameters kwargs parameters params settings")
"""Numbers in an object whose name ends in one of these words are settings of the system that made an output."""
_ALWAYS_SETTINGS = _table("beam beams logprob logprobs seed temperature token tokens")
"""No judge has a name that contains one of these words."""
_EFFORT = _table("edit edits editing pe postedit postedits postediting")
"""Words for a person's effort in editing an output, which is a judgement of it."""
_COUNTING = _table("n nb num")
_ALWAYS_METRICS = _table(
    "bartscore beer bertscore bleu bleurt chrf cider comet cometkiwi gemba meteor metricx nist ribes rouge sacrebleu "
    "ter terp terpa wer xcomet yisi"
)
_REFERENCE = re.compile(r"ref(?:erence)?_?([0-9]{1,4})\Z")
_LANG = ("lang", "language")
HYPOTHESIS = ("mt", "hyp", "hypothesis", "translation", "candidate", "output", "completion", "generated_text")
"""Other names than ``text`` for the column or key of an output."""
ANSWERS = ("response", "answer")
"""Names of the column or key of an output, if no other name of it is present; otherwise they may hold ratings."""
_VERDICTS = frozenset(("accept", "reject", "ignore"))
"""Values of ``answer`` in annotations of Prodigy."""
SOURCE = ("src", "prompt", "input")
"""Other names than ``source`` for the column or key of a source."""
SOURCE_LANGUAGE, TARGET_LANGUAGE = "source_language", "target_language"
_LANGUAGES = {
    **{f"{side}{join}{lang}": SOURCE_LANGUAGE for side in ("src", "source") for join in ("", "_") for lang in _LANG},
    **{
        f"{side}{join}{lang}": TARGET_LANGUAGE
        for side in ("tgt", "trg", "target")
        for join in ("", "_")
        for lang in _LANG
    },
    **dict.fromkeys(("langs", "langpair", "lang_pair", "language_pair"), "lp"),
}
LANGUAGE_KEYS = frozenset(_LANGUAGES)
"""Names of columns and keys that hold the source language, the target language or both, besides ``lp``."""
_SYSTEM_NAMES = _table("model model_id model_name engine engine_id engine_name system_id system_name provider")
_ALIASES = {**dict.fromkeys(SOURCE, "source"), "ref": "reference", **dict.fromkeys(HYPOTHESIS, "text"), **_LANGUAGES}
_GRADE = re.compile(r"[-+]?(?:\d{1,3}(?:[.,]\d{3})*(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+) ?(?:%|/ ?\d+)?")
SPELLINGS = frozenset((*TEXT_COLUMNS, "reference", *_ALIASES))
"""Names of columns that are not judgements, in lower case, besides numbered references."""
_BOUNDARY = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z][A-Za-z])|(?<=[A-Z])(?=[A-Z][a-z])")


def canonical(name: str) -> str:
    """Return the canonical name of a column, such as ``source`` for ``Src``; names of ratings are unchanged."""
    plain = name.strip()
    lower = plain.lower()
    numbered = _REFERENCE.match(lower)
    if numbered:
        return f"reference{int(numbered[1])}"
    return _ALIASES.get(lower, lower if lower in (*TEXT_COLUMNS, "reference") else plain)


def is_header_cell(cell: object) -> bool:
    """True if a cell is the name of a column that is not a judgement."""
    return isinstance(cell, str) and cell.strip().lower() in SPELLINGS


def is_header(cells: Iterable[object], header: Iterable[str]) -> bool:
    """True if `cells` are the names of `header`, in any order, case and spelling."""
    row, names = (sorted(canonical(str(name).strip("\ufeff")).lower() for name in some) for some in (cells, header))
    return row == names


def reference_columns(columns: list[str]) -> list[str]:
    """Return the names of reference columns among the canonical names in `columns`, sorted by number."""
    references = (column for column in columns if re.fullmatch(r"reference[0-9]{0,4}", column))
    return sorted(references, key=lambda column: int(column[9:] or 0))


def kinds_of(columns: list[str]) -> list[str]:
    """Return the names of rating columns among the canonical names in `columns`."""
    not_kinds = {*TEXT_COLUMNS, SOURCE_LANGUAGE, TARGET_LANGUAGE, *reference_columns(columns)}
    return [column for column in columns if column not in not_kinds]


def lower_is_better(name: str) -> bool:
    """True if the name of a column implies that lower values are better."""
    words = _words(name)
    # "per" is also a preposition, as in score_per_word
    return (bool(LOWER_IS_BETTER & {*words}) or words[-1:] == ["per"]) and not _TURNED_ROUND & {*words}


def is_negated(name: str, lowest: float, highest: float) -> bool:
    """True if the values of column `name`, from `lowest` to `highest`, are negated errors, so that higher is better.

    Counts and quantities measured from 0 are never negative; MQM and MetricX are often published with a minus sign.
    """
    return lower_is_better(name) and lowest < 0.0 >= highest


def is_reserved(name: str) -> bool:
    """True if the numbers in a column are not read as judgements unless a user asks for the column.

    Such columns hold counters, sizes, settings of the system that made an output, or metric scores.
    """
    return _counts_or_measures(name) or _is_setting(name) or _is_metric(name)


def are_settings(name: str, keys: Collection[str]) -> bool:
    """True if the numbers in objects `name` are settings, sizes or metric scores by `keys`, not ratings by judge.

    One key that is no setting makes them ratings, as MS may be a judge beside AB, unless another is always a setting.
    """
    words = _words(name)
    if is_reserved(name) or _OF_SETTINGS & {*words[-1:]}:
        return True
    if (JUDGEMENTS | _QUALITIES) & {*words}:
        return False
    return any(map(_is_always_setting, keys)) or all(map(_names_no_judge, keys))


def _is_always_setting(key: str) -> bool:
    words = _words(key)
    named = bool(_ALWAYS_SETTINGS & {*words}) or _SAMPLING.fullmatch("_".join(words)) is not None
    return named and not _may_be_judge(key)


def _names_no_judge(key: str) -> bool:
    return _is_metric(key) or (is_reserved(key) and not _may_be_judge(key))


def _may_be_judge(key: str) -> bool:
    """True if a key is numbered, as sample1, two initials, as MS, or a word such as user."""
    plain = key.strip()
    return plain[-1:].isdecimal() or re.fullmatch("[A-Z]{2}", plain) is not None or plain.lower() in _MADE_BY_WHOM


def is_known_metric(name: str) -> bool:
    """True if a name is that of a widely used automatic metric, whose direction is known."""
    return _is_metric(name) and name.strip().lower() not in ("given", "length")


def is_metadata(name: str) -> bool:
    """True if a column is allowed to hold text, which is then ignored."""
    return bool(METADATA & {*_words(name)[-1:]}) or _counts_or_measures(name)


def may_hold_text(name: str) -> bool:
    """True if a column in which any cell holds text is ignored, because its name is that of metadata or a setting."""
    return is_metadata(name) or _is_setting(name)


def is_other(name: str, known: Iterable[str]) -> bool:
    """True if a column's text can be ignored: its name suggests no judgement and is not similar to a `known` name."""
    words = {word.rstrip("s") for word in _words(name)}
    return not JUDGEMENTS & {*words, *_words(name)} and not nearest(name[:40], known, likeness=0.75)


def verdicts_instead_of_texts(column: str, sources: Iterable[str], answers: Iterable[str]) -> str | None:
    """Return a message if a column of outputs holds verdicts of Prodigy, one of them for several sources; else None."""
    different = {*answers}
    if column.strip().lower() != "answer" or not different <= _VERDICTS or len({*sources}) <= len(different):
        return None
    what = f"{column!r} holds {' and '.join(sorted(different))} for different sources, as annotations of Prodigy do"
    return f"{what}, expected outputs: give them as mt"


def is_grade(text: object) -> bool:
    """True if a text is a number in a form that is not read: ``4,5``, ``1.234,5``, ``80%`` or ``4/5``."""
    return isinstance(text, str) and len(text) < 40 and _GRADE.fullmatch(text.strip()) is not None


def is_unread_rating(name: str, text: object) -> bool:
    """True if a text is a plain number, or a number in another form in a column named like a rating or a metric."""
    if not is_grade(text):
        return False
    rated = JUDGEMENTS | _QUALITIES | LOWER_IS_BETTER
    return not re.search("[,%/]", str(text)) or bool(rated & {*_words(name)}) or _is_metric(name)


def judge_hint(columns: Iterable[str]) -> str:
    """Return advice on a column or key such as ``annotator`` if there is no ``judge``, for messages."""
    named = {name.strip().lower(): name for name in columns}
    judges = [name for lower, name in named.items() if _JUDGE.fullmatch(lower)]
    return f"; if {judges[0]} names the judges, call it judge" if judges and "judge" not in named else ""


def not_read(
    names: Sequence[str], grades: Mapping[str, str] | None = None, *, unnamed: bool = False, unjudged: bool = False
) -> str:
    """Return a note that lists columns or keys that were ignored because they hold text.

    `grades` are the columns or keys that hold numbers in a form that is not read, each with one of these numbers. If
    the systems are `unnamed`, the note says that a column or key such as ``model`` may name them, and if ratings are
    `unjudged`, that one such as ``annotator`` may name the judges.
    """
    short = {name: f"{name[:27]}..." if len(name) > 30 else name for name in names}
    listed = ", ".join([*short.values()][:8]) + (", ..." if len(names) > 8 else "")
    hints = [f"; if {grade!r} in {short[name]} is a rating, write {DECIMAL}" for name, grade in (grades or {}).items()]
    systems = [name for name in names if "_".join(_words(name)) in _SYSTEM_NAMES] if unnamed else []
    hints += [f"; if {name} names the systems, call it system" for name in systems[:1]]
    hints += filter(None, [judge_hint(names)] if unjudged else [])
    return f"ignored, because not judgements: {listed}{''.join(hints[:1])}"


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case and without trailing digits."""
    return frozenset(_words(name))


def _counts_or_measures(name: str) -> bool:
    words = _words(name)
    numbers = bool(_NUMBERING & {*words[-1:]}) or (bool(words) and {*words} <= _NUMBERED)
    return numbers or (bool(_SIZES & {*words}) and {*words} <= _SIZES | _SIZED)


def _is_setting(name: str) -> bool:
    words = _words(name)
    counts = len(words) > 1 and bool(_COUNTING & {words[0]}) and not LOWER_IS_BETTER & {*words}
    made = (bool(_MADE_BY & {*words}) or bool(_MADE_AS & {*words[-1:]})) and not _EFFORT & {*words}
    made = made or name.strip().lower() in _MADE_BY_WHOM
    return counts or made or _SAMPLING.fullmatch("_".join(words)) is not None


def _is_metric(name: str) -> bool:
    # ds.agent_verb.type and bleu[order=2] are columns of this package
    base = re.split(r"[\[.]", name.strip().lower(), maxsplit=1)[0]
    words = {*_words(name)}
    whole = {base, re.sub(r"[\W_]+", "", base).rstrip("0123456789")}
    return bool(METRICS & whole or _ALWAYS_METRICS & words) and "human" not in words


def _words(name: str) -> list[str]:
    """Split a name into lower-case words without trailing digits."""
    return [word for word in (part.lower().rstrip("0123456789") for part in _BOUNDARY.split(name)) if word]
