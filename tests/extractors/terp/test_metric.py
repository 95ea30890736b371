from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError
from ranker.extractors.registry import make_metric
from ranker.extractors.terp.metric import TranslationEditRatePlus
from ranker.text.function_words import ENGLISH
from ranker.text.lexical.porter import porter_stem
from ranker.text.lexical.wordnet import find_wordnet
from ranker.text.tokens import token_batch
from tests.datasets import dataset_of
from tests.effort import THOROUGH, examples, thorough
from tests.extractors.edit_rates import score, statistics
from tests.extractors.small_wordnet import write_wordnet
from tests.extractors.terp_plain import Plain
from tests.golden_values import SHARED_ONLY, expected, inputs, wordnet_of

RUNS = {
    "terp_ter.multi": "parity=terp,costs=ter",
    "terp_ter.ref0": "parity=terp,costs=ter",
    "terpa.nopt.multi": "parity=terp,costs=terpa",
    "terpa.pt.multi": "parity=terp,costs=terpa,paraphrases=PATH",
    "terpa.pt.ref0": "parity=terp,costs=terpa,paraphrases=PATH",
    "terph.pt.multi": "parity=terp,costs=terph,paraphrases=PATH",
    "terp_default.pt.multi": "parity=terp,paraphrases=PATH",
}
"""Runs of TERp, and the options that stand for them."""
# how TERp's own list of stop words differs from ours, as far as these sentences tell
NO_STOP_WORDS = """
    's above already because below he him himself his i inside may me not now one our since their through under we who
    you
"""
MORE_STOP_WORDS = "actually everything got kind let often set type"


@pytest.fixture(scope="module")
def stop_words(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("terp") / "stop_words"
    path.write_text(
        "\n".join(sorted((ENGLISH - set(NO_STOP_WORDS.split())) | set(MORE_STOP_WORDS.split()))), encoding="utf-8"
    )
    return str(path)


@pytest.fixture(scope="module")
def small_wordnet(tmp_path_factory):
    return write_wordnet(tmp_path_factory.mktemp("wordnet"))


def metric_of(golden, run: str, stop_words: str) -> TranslationEditRatePlus:
    """Return the metric that stands for a run, or skip."""
    options = RUNS[run].replace("PATH", str(golden / "terp_phrasetable.txt"))
    metric = make_metric(f"terp[{options},stop_words={stop_words},wordnet={wordnet_of(golden)}]")
    if metric.edit_costs.synonyms and metric._wordnet() is None:
        pytest.skip("no WordNet installed")
    return metric


SOME = slice(None, None, None if THOROUGH else 10)
"""Items to compare: plain Python takes a second for a hundred, and kernels 20 to be compiled."""


def items_of_run(golden, run: str) -> list:
    references = 1 if run.endswith("ref0") else None
    return [(item["refs_tok"][:references], item["hyp_tok"]) for item in inputs(golden)[SOME]]


def reports(golden, run: str) -> list[dict[str, str]]:
    """Read what the program reports of every item, in the order of the items."""
    text = gzip.decompress((golden / f"terp.{run}.pra.gz").read_bytes()).decode()
    result = {}
    for block in text.split("Sentence ID: ")[1:]:
        number = int(re.match(r".*\[(\d+)\]", block)[1])
        result[number] = dict(re.findall(r"^([A-Za-z ]+): (.*)$", block, re.MULTILINE))
    assert sorted(result) == list(range(len(result)))
    return [result[number] for number in range(len(result))]


@pytest.mark.parametrize("run", RUNS)
def test_every_sentence_equals_the_program(golden, stop_words, run):
    metric = metric_of(golden, run, stop_words)
    rows = statistics(metric, items_of_run(golden, run))
    want = expected(golden, "terp.tsv", f"{run}.ter", f"{run}.reflen")[SOME]
    np.testing.assert_array_equal(rows[:, 1], want[:, 1])
    np.testing.assert_allclose(metric.score(rows), want[:, 0], atol=1e-12, rtol=0)


@SHARED_ONLY
@pytest.mark.parametrize("run", RUNS)
@thorough
def test_costs_and_totals_equal_the_program(golden, stop_words, run):
    rows = statistics(metric_of(golden, run, stop_words), items_of_run(golden, run))
    # the report has the cost before scores are capped
    costs = [float(re.search(r"\((\S+) /", report["Score"])[1]) for report in reports(golden, run)]
    np.testing.assert_allclose(rows[:, 0], costs, atol=0.0005001, rtol=0)
    total = json.loads((golden / "terp.corpus.json").read_text())[run]["total_line"][0]
    edits, length = map(float, re.search(r"\((\S+) / (\S+)\)", total).groups())
    assert rows.sum(axis=0) == pytest.approx([edits, length], abs=0.005001)


def letter_of(step: str) -> str:
    """Return the program's letter for an edit."""
    relation = re.fullmatch(r".+ ~ .+ \((substitution|stem|synonym|paraphrase)\)", step)
    if relation:
        return {"substitution": "S", "stem": "T", "synonym": "Y", "paraphrase": "P"}[relation[1]]
    return " " if re.fullmatch(r"(\S+) = \1", step) else {"+": "I", "-": "D"}[step[0]]


@SHARED_ONLY
@pytest.mark.parametrize("run", RUNS)
@thorough
def test_every_alignment_equals_the_program(golden, stop_words, run):
    metric = metric_of(golden, run, stop_words)
    items = items_of_run(golden, run)
    dataset = dataset_of(items)
    batch = token_batch(dataset, metric.tokenizer, lowercase=metric.lowercase)
    for number, report in enumerate(reports(golden, run)):
        sentences = batch.reference[slice(*batch.reference_offsets[number : number + 2])]
        chosen = [" ".join(batch.segments.words(sentence)) for sentence in sentences].index(report["Reference"].strip())
        steps = metric.evidence(dataset, number)[f"reference {chosen + 1}"]
        letters = "".join(map(letter_of, steps))
        assert f"({letters})" == report["Alignment"], number
        own = " ".join(
            step[2:] if letter == "I" else re.split(" [=~] ", step)[0]
            for letter, step in zip(letters, steps, strict=True)
            if letter != "D"
        )
        assert own == report["Hypothesis After Shift"].strip(), number


WORDS = ["walk", "walks", "walking", "car", "automobile", "big", "large", "went", "the", "of", "x"]
TABLE = [
    ("0.5", "walk", "big car"),
    ("0.01", "the car", "automobile"),
    ("0.2", "of the", "x big"),
    ("0.9", "x", "large"),
    ("0.3", "big large car", "walks of"),
    ("0.7", "went", "walking the of x"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("table") / "table.txt"
    path.write_text("".join(f"{p} <p>{right}</p> <p>{left}</p>\n" for p, right, left in TABLE), encoding="utf-8")
    return str(path)


def twin_of(metric: TranslationEditRatePlus) -> Plain:
    """Return the plain Python of a metric, the table being TABLE."""
    values = metric.edit_costs
    synsets = {
        word: find_wordnet(metric.wordnet).synsets_of_any_form(word) if values.synonyms else set() for word in WORDS
    }

    def costs_of(word: str, other: str) -> list[float]:
        result = [values.stem] if values.stems and porter_stem(word) == porter_stem(other) else []
        return [*result, *([values.synonym] if synsets[word] & synsets[other] else [])]

    def price(word: str, other: str) -> float:
        return 0.0 if word == other else min([values.substitution, *costs_of(word, other)])

    twin = Plain(
        *(values.deletion, values.insertion, values.shift),
        price,
        lambda word, other: word == other or bool(costs_of(word, other)),
        ENGLISH if values.stop_words else frozenset(),
        relaxed=values.stems,
        beam=values.beam,
        max_distance=metric.max_distance,
        max_size=metric.max_size,
    )
    phrases = []
    for text, right, left in TABLE if metric.paraphrases else ():
        p, edits = float(text), twin.edits(left.split(), right.split())
        if values.phrase:
            a, b, c, d = values.phrase
            p = max(0.0, a + b * np.log10(p) * edits + c * p * edits + d * edits)
        phrases.append((tuple(right.split()), tuple(left.split()), p))
    twin.phrases = phrases
    return twin


sentences = st.lists(st.sampled_from(WORDS), max_size=13)


@pytest.mark.parametrize("costs", ["terp", "terpa", "terph", "ter"])
@settings(deadline=None, max_examples=examples(40))
@given(
    items=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4),
    beam=st.sampled_from([None, 1, 3]),
    limits=st.sampled_from([(50, 10), (50, 10), (2, 10), (50, 2), (0, 10)]),
)
def test_kernels_equal_plain_python(small_wordnet, table, costs, items, beam, limits):
    options = {"paraphrases": table} if costs != "ter" else {}
    metric = TranslationEditRatePlus(
        costs=costs, wordnet=str(small_wordnet), beam=beam, max_distance=limits[0], max_size=limits[1], **options
    )
    twin = twin_of(metric)
    rows = statistics(metric, [([" ".join(reference)], " ".join(words)) for words, reference in items])
    assert rows[:, 0] == pytest.approx([twin.edits(words, reference) for words, reference in items], abs=1e-9)


@pytest.mark.parametrize("costs", ["terpa", "ter"])
@thorough
def test_kernels_equal_plain_python_on_long_sentences(small_wordnet, table, costs):
    generator = np.random.default_rng(5)
    options = {"paraphrases": table} if costs != "ter" else {}
    metric = TranslationEditRatePlus(costs=costs, wordnet=str(small_wordnet), beam=6, max_distance=8, **options)
    words = [WORDS[number] for number in generator.integers(0, len(WORDS), 45)]
    moved = words[20:28] + words[:12] + words[14:20] + words[28:]
    rows = statistics(metric, [([" ".join(words)], " ".join(moved))])
    assert rows[0, 0] == pytest.approx(twin_of(metric).edits(moved, words), abs=1e-9)


def test_worked_examples(small_wordnet):
    def rate(costs, candidate):
        metric = TranslationEditRatePlus(costs=costs, wordnet=str(small_wordnet))
        return score(metric, ["he walks to a big automobile"], candidate)

    assert rate("terp", "he walks to a big automobile") == 0
    assert rate("terp", "he walked to a large car") == pytest.approx(3 / 6)
    assert rate("terpa", "he walked to a large car") == 0
    assert rate("terph", "he walked to a large car") == pytest.approx(
        (0.9574806141940626 + 2 * 0.16474604979800672) / 6
    )
    assert rate("terpa", "he walks to a big") == pytest.approx(1.4269364675533365 / 6)
    assert rate("terpa", "he now walks to a big automobile") == pytest.approx(0.2588527567630183 / 6)
    assert rate("terpa", "he skips to a big automobile") == pytest.approx(1.5565478292505814 / 6)
    assert rate("terpa", "automobile he walks to a big") == pytest.approx(0.5620538767397316 / 6)
    # a stop word does not move alone
    assert rate("ter", "a he walks to big automobile") == pytest.approx(1 / 6)
    assert rate("terp", "a he walks to big automobile") == pytest.approx(2 / 6)


def test_paraphrases_cost_what_the_table_and_the_costs_say(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("0.25 0.5 <p>passed away</p> <p>Died</p>\n\n0.1 <p>a</p> <p>a</p>\n0.1 <p> </p> <p>x</p>\n")
    assert score(TranslationEditRatePlus(paraphrases=str(path)), ["he passed away"], "he died") == pytest.approx(
        0.25 / 3
    )
    assert score(TranslationEditRatePlus(paraphrases=str(path)), ["he died"], "he passed away") == pytest.approx(
        0.5 / 2
    )
    cased = TranslationEditRatePlus(paraphrases=str(path), lowercase=False)
    assert score(cased, ["he passed away"], "he died") == pytest.approx(2 / 3)
    assert score(cased, ["he passed away"], "he Died") == pytest.approx(0.25 / 3)
    # n edits cost a + n (b log10 p + c p + d): a substitution and a deletion
    edits = 1.5565478292505814 + 1.4269364675533365
    cost = -0.2306579294476191 + edits * (
        -0.1469465037633749 * np.log10(0.25) - 0.07843705907022736 * 0.25 + 0.17708577297831574
    )
    terpa = TranslationEditRatePlus(costs="terpa", paraphrases=str(path), wordnet="none")
    assert score(terpa, ["he passed away"], "he died") == pytest.approx(cost / 3)
    dataset = dataset_of([(["he passed away"], "he died")])
    assert terpa.evidence(dataset, 0) == {"reference 1": ["he = he", "died ~ passed away (paraphrase)"]}


@pytest.mark.parametrize(
    "line", ["0.5 <p>a</p>", "x <p>a</p> <p>b</p>", "0 <p>a</p> <p>b</p>", "0.1 nan <p>a</p> <p>b</p>"]
)
def test_a_damaged_table_is_refused(tmp_path, line):
    path = tmp_path / "table.txt"
    path.write_text(f"0.5 <p>a</p> <p>b</p>\n{line}\n")
    with pytest.raises(DataError, match=r"table.txt:2: expected 'probability <p>phrase</p> <p>phrase</p>'"):
        score(TranslationEditRatePlus(paraphrases=str(path)), ["a"], "b")


@pytest.mark.parametrize("costs", ["terp", "terpa", "terph", "ter"])
def test_degenerate_sentences(costs):
    metric = TranslationEditRatePlus(costs=costs, wordnet="none")
    deletion, insertion = metric.edit_costs.deletion, metric.edit_costs.insertion
    items = [(["a b", "a b c d"], ""), ([], "a b c"), ([""], "a b"), ([""], "")]
    rows = statistics(metric, items)
    assert rows == pytest.approx(np.array([[2 * deletion, 3], [3, 0], [2 * insertion, 0], [0, 0]]))
    capped = costs in ("terpa", "terph")
    assert metric.score(rows) == pytest.approx([min(2 * deletion / 3, 1) if capped else 2 / 3, 1, 1, 0])
    assert [metric.evidence(dataset_of(items), at) for at in (0, 2)] == [
        {"reference 1": ["- a", "- b"], "reference 2": ["- a", "- b", "- c", "- d"]},
        {"reference 1": ["+ a", "+ b"]},
    ]
    assert not metric.higher_is_better


@settings(deadline=None, max_examples=examples(20))
@given(
    st.lists(
        st.tuples(st.lists(sentences.map(" ".join), min_size=1, max_size=3), sentences.map(" ".join)),
        min_size=1,
        max_size=4,
    )
)
def test_one_by_one_equals_the_batch_and_the_corpus_is_the_sum(small_wordnet, table, items):
    metric = TranslationEditRatePlus(costs="terpa", wordnet=str(small_wordnet), paraphrases=table)
    rows = statistics(metric, items)
    assert metric.score(rows).tolist() == [score(metric, *item) for item in items]
    assert ((metric.score(rows) >= 0) & (metric.score(rows) <= 1)).all()
    lengths = rows[:, 1].sum()
    corpus = float(metric.score(rows.sum(axis=0)))
    assert corpus == pytest.approx(min(1.0, rows[:, 0].sum() / lengths) if lengths else float(rows[:, 0].sum() > 0))


def test_exceptions_and_endings_of_wordnet_have_a_part_of_speech(small_wordnet):
    folder = find_wordnet(str(small_wordnet))
    verb, noun = 200_000_001, 100_000_001
    assert folder.synsets_of_any_form("went") == {verb}
    assert folder.synsets_of_any_form("going") == {verb}
    assert folder.synsets_of_any_form("mover") == set()  # -er is no ending of verbs
    assert folder.synsets_of_any_form("bos") == {noun}
    assert folder.exceptions["went"] == (("go", 2),)


def test_the_signature_names_contents_not_files(tmp_path, table, small_wordnet):
    text = TranslationEditRatePlus(costs="terpa", paraphrases=table, wordnet=str(small_wordnet)).signature()
    assert re.fullmatch(
        r"terp\[costs=terpa,paraphrases=[0-9a-f]{12},wordnet=[0-9a-f]{12},stop_words=english,beam=35,max_distance=50,"
        r"max_size=10,no_punct=false,tokenizer=terp,lowercase=true\]",
        text,
    )
    assert (
        TranslationEditRatePlus(costs="ter", stop_words="none").signature()
        == TranslationEditRatePlus(costs="ter", wordnet="elsewhere", beam=20).signature()
    )
    assert str(make_metric("terp[costs=terpa]")) == "terp[costs=terpa]"


def test_punctuation_may_be_removed():
    metric = TranslationEditRatePlus(no_punct=True)
    assert score(metric, ["a , b ."], "( a b ) !") == 0
    assert metric.evidence(dataset_of([(["a , b ."], "a b !")]), 0) == {"reference 1": ["a = a", "b = b"]}


def test_parity_names_what_is_missing_for_the_scores_of_the_program(small_wordnet, stop_words, golden):
    dataset = dataset_of([(["a"], "a")])
    assert make_metric("terp[costs=terpa]").note(dataset) is None
    assert make_metric("terp[costs=ter,parity=terp]").note(dataset) is None
    note = make_metric("terp[costs=terpa,parity=terp,wordnet=none]").note(dataset)
    for part in ("differ slightly from those of TERp", "stop_words=FILE", "WordNet 3.0", "paraphrases=FILE"):
        assert part in note
    table = golden / "terp_phrasetable.txt"
    rest = f"wordnet={small_wordnet},stop_words={stop_words}"
    assert make_metric(f"terp[costs=terpa,parity=terp,{rest},paraphrases={table}]").note(dataset) is None
    note = make_metric(f"terp[costs=terpa,parity=terp,{rest}]").note(dataset)
    assert "stop_words" not in note
    assert "paraphrases=FILE" in note


def test_parity_tokenises_as_the_program_does():
    assert make_metric("terp[parity=terp]").tokenizer == "none"
    assert make_metric("terp[costs=terpa,parity=terp]").tokenizer == "terp"
    assert make_metric(str(make_metric("terp[parity=terp]"))) == make_metric("terp[parity=terp]")
