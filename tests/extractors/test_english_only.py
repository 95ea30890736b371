"""Extractors follow the language of the translations, or say that they do not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ranker.extractors.english_only import english_note
from ranker.extractors.meteor.metric import Meteor
from ranker.extractors.meteor.parameters import FUNCTION_WORDS, LANGUAGES, STEMMERS
from ranker.extractors.registry import BUILT_IN, make
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.text.function_words import LISTS
from ranker.text.lexical.stems import stemmers
from ranker.text.target_languages import other_language
from tests.datasets import dataset_of
from tests.golden_messages import check_messages

GERMAN = "Die alten Häuser , die wir gesehen haben , standen auf den Hügeln ."
GERMAN_OUTPUTS = ["Das alte Haus , das wir sahen , stand auf dem Hügel .", "Häuser alten die Hügeln", ""]
ENGLISH = "The old houses that we have seen were standing on the hills ."
ENGLISH_OUTPUTS = ["The old house that we saw stood on the hill .", "houses old the hills", ""]


def dataset(*rows: tuple[str | None, str, list[str]], times: int = 1):
    """Return a data set of (language pair, reference, candidates)."""
    pairs, references, outputs = zip(*rows * times, strict=True)
    return dataset_of(zip(([reference] for reference in references), outputs, strict=True), lp=pairs, kind="fluency")


def german(lp: str | None = "en-de", times: int = 1):
    return dataset((lp, GERMAN, GERMAN_OUTPUTS), times=times)


def english(lp: str | None = "de-en", times: int = 1):
    return dataset((lp, ENGLISH, ENGLISH_OUTPUTS), times=times)


@pytest.mark.parametrize(
    "options", ["", "modules=exact+stem", "parameters=METR", "delta=0.9", "alpha=0.5,parity=meteor-1.5"]
)
def test_meteor_follows_the_language_of_every_source(options):
    joined = dataset(
        ("en-de", GERMAN, GERMAN_OUTPUTS), ("de-en", ENGLISH, ENGLISH_OUTPUTS), (None, ENGLISH, ENGLISH_OUTPUTS)
    )
    separate = [
        make(f"meteor[{','.join(filter(None, [options, f'language={language}']))}]").transform(item)
        for language, item in (("german", german(None)), ("en", english(None)), ("en", english(None)))
    ]
    columns = make(f"meteor[{options}]").transform(joined)
    np.testing.assert_array_equal(columns, np.concatenate(separate))
    assert columns[0] != make(f"meteor[{','.join(filter(None, [options, 'language=en']))}]").transform(german())[0]


def test_german_words_match_by_german_stems_and_weights():
    metric = Meteor(language="de", modules="exact+stem")
    evidence = metric.evidence(german(), 0)["reference 1"]
    assert {"alte ~ alten (stem)", "haus ~ häuser (stem)", "auf = auf"} <= set(evidence)
    rows = metric.statistics(german())
    # das, das, wir, auf, dem and three marks of punctuation
    assert rows[0, 2] == 8
    assert metric.values("de") == (0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.0, 0.2))
    # of languages without parameters of their own stems weigh one half, and content words are no more than others
    assert Meteor().values("ru") == Meteor().values("zh") == (0.75, 1.4, 0.7, 0.5, (1.0, 0.5, 0.5, 0.5))
    assert Meteor(alpha=0.3, stem_weight=0.1).values("fr") == (0.3, 1.4, 0.6, 0.65, (1.0, 0.1, 0.0, 0.4))
    assert Meteor(parameters="METR").values("fr") == Meteor(parameters="METR").values("en")


def test_the_sum_of_one_language_scores_as_it_does_and_of_several_by_independent_parameters():
    metric = Meteor(modules="exact+stem")
    mixed = dataset(("en-de", GERMAN, GERMAN_OUTPUTS), ("de-en", ENGLISH, ENGLISH_OUTPUTS))
    rows = metric.statistics(mixed)
    alone = Meteor(modules="exact+stem", language="de")
    german_rows = alone.statistics(german())
    np.testing.assert_array_equal(rows[:3], german_rows)
    assert metric.score(rows[:3].sum(axis=0)) == alone.score(german_rows.sum(axis=0))
    whole = rows[:, :21].sum(axis=0)
    assert metric.score(rows.sum(axis=0)) == alone.score(np.concatenate([whole, np.eye(6)[LANGUAGES.index("other")]]))
    stacked = np.stack([rows[:3].sum(axis=0), rows[3:].sum(axis=0), rows.sum(axis=0), np.zeros(27)])
    assert metric.score(stacked).tolist() == [float(metric.score(row)) for row in stacked]
    assert metric.score(np.zeros((0, 27))).shape == (0,)


def test_parts_and_alignments_follow_too():
    parts = make("meteor_parts").transform(german())
    np.testing.assert_array_equal(parts, make("meteor_parts[language=de]").transform(german(None)))
    assert parts[2].tolist() == [0, 0, 0, 0, 0.55, 0, 0]
    mixed = dataset(("en-de", GERMAN, GERMAN_OUTPUTS), ("de-en", ENGLISH, ENGLISH_OUTPUTS))
    text = "kendall[alignment=meteor,tokenizer=meteor]"
    alone = [make(text).transform(item) for item in (german(), english())]
    np.testing.assert_array_equal(make(text).transform(mixed), np.concatenate(alone))
    assert make(text).transform(german())[0] != make(text).transform(german("xx-en"))[0]
    nested = make("combine[lrscore[lexical=meteor,alignment=isozaki] + meteor]")
    np.testing.assert_array_equal(nested.transform(mixed)[:3], nested.transform(german()))


def test_tables_of_languages_name_what_there_is():
    assert set(STEMMERS.values()) <= set(stemmers())
    assert set(FUNCTION_WORDS.values()) == set(LISTS)
    assert set(LANGUAGES) == {*FUNCTION_WORDS, "other"}
    for name, words in LISTS.items():
        assert all(word == word.lower() for word in words), name
        assert {",", "."} < words


def test_signatures_name_the_language_where_it_matters():
    auto, named = Meteor(modules="exact+stem").signature(), Meteor(modules="exact+stem", language="German").signature()
    assert auto.startswith("meteor[parameters=rank,language=auto,modules=exact+stem,stemmer=auto,function_words=auto")
    assert named.startswith("meteor[language=de,alpha=0.95,beta=1.0,gamma=0.55,delta=0.55,stem_weight=0.8")
    assert "stemmer=german,function_words=german" in named
    assert Meteor(alpha=0.85, modules="exact").signature() != Meteor(modules="exact").signature()
    # nothing of these follows
    fixed = Meteor(parameters="li", modules="exact", function_words="none").signature()
    assert "language" not in fixed
    assert Meteor(parameters="li", modules="exact", function_words="none", language="de").signature() != fixed


def test_every_option_for_english_alone_is_declared():
    """Options that default to English, or to the English parser, are named once they are in use."""
    used = {
        "ngrams": ("ngrams[match=stem]", "ngrams[words=content]", "ngrams[unit=tag]"),
        "perp": ("perp[unit=tags]",),
        "terp": ("terp", "terp[costs=terpa]"),
    }
    declared = {}
    for name in BUILT_IN:
        defaults = {
            option: value for option, value in vars(type(make(name))).items() if value in ("english", "shipped")
        }
        texts = used.get(name, (name,))
        result = {option for text in texts for option in make(text).needs.english_options}
        assert set(defaults) <= result, name
        declared[name] = result
    assert {name: actual for name, actual in declared.items() if actual} == {
        "ds": {"parser"},
        "ngrams": {"parser", "function_words", "stemmer"},
        "mismatch": {"words"},
        "paraphrase": {"function_words", "stemmer"},
        "perp": {"parser"},
        "semantic": {"encoder"},
        "terp": {"stop_words", "costs"},
    }
    for text in ("ngrams", "perp", "meteor", "paraphrase[stemmer=german,function_words=none]", "terp[stop_words=none]"):
        assert not make(text).needs.english_options
    assert make("meteor[stemmer=english,function_words=english]").needs.english_options == ("stemmer", "function_words")
    # nothing of the ranker for any language knows one
    assert not any(extractor.needs.english_options for extractor in FeatureSet.parse("full-any").extractors)


@pytest.mark.parametrize(
    ("made", "other"),
    [
        (english(), None),
        (german(), "de"),
        (dataset(("en-de", GERMAN, []), ("en-fr_CA", GERMAN, []), ("de-en", ENGLISH, [])), "de, fr"),
        (german(None, times=10), "another language"),
        (english(None, times=10), None),
        (german(None), "another language"),
        # too little to tell
        (dataset((None, "Guten Morgen.", [])), None),
        (dataset(("de-en", ENGLISH, []), *[(None, GERMAN, [])] * 10), "another language"),
        (dataset(("en-de", GERMAN, [])).select_sources([False]), None),
    ],
)
def test_the_other_language_is_told_by_pairs_or_by_words(made, other):
    assert other_language(made) == other


def test_notes_name_the_better_choice():
    data = {"english": english(), "german": german(), "untold": german(None, times=10), "czech": german("en-cs")}

    def note(asked):
        language, text = asked.split(" ")
        return make(text).note(data[language]) or "nothing to say"

    check_messages("language_notes", note)
    assert english_note(FeatureSet.parse("bleu,ds,ngrams[match=stem]").extractors, german()) == (
        "ds (parser=shipped), ngrams[match=stem] (stemmer=english): for English only, but the translations are in "
        "de: set parser and stemmer for that language, or use a language-independent metric such as chrf"
    )
    mixed = dataset(("en-de", GERMAN, GERMAN_OUTPUTS), ("en-cs", GERMAN, GERMAN_OUTPUTS))
    assert (
        make("meteor[language=de]").note(mixed) == "meteor[language=de]: some translations are in cs; use language=auto"
    )
    assert english_note([make("mismatch")], mixed).split(": ")[1].endswith("but the translations are in cs, de")
    mixed = dataset(("en-de", GERMAN, GERMAN_OUTPUTS), ("de-en", ENGLISH, ENGLISH_OUTPUTS))
    assert english_note([make("mismatch")], mixed).split(": ")[1].endswith("but some translations are in de")
    # an option without another value is no advice
    assert english_note(FeatureSet.parse("mismatch").extractors, german()) == (
        "mismatch (words=english): for English only, but the translations are in de: use a language-independent "
        "metric such as chrf"
    )


MADE_FOR = (
    "this model is for translations into {}, but these are in {}: choose --model {}, or train one on translations "
    "in that language"
)


def test_a_model_knows_the_language_it_learnt_from(tmp_path):
    ranker = Ranker("bleu").fit(german())
    assert ranker.training.targets == "de"
    ranker.save(tmp_path / "a.model")
    loaded = Ranker.load(tmp_path / "a.model")
    assert loaded.digest == ranker.digest
    assert loaded.note(german()) is None
    assert loaded.note(english()) == MADE_FOR.format("de", "en", "full")
    assert loaded.note(german("en-fr")) == MADE_FOR.format("de", "fr", "full-any")
    assert Ranker("bleu").fit(german(None)).training.targets is None
    several = Ranker("bleu").fit(dataset(("en-de", GERMAN, GERMAN_OUTPUTS), ("de-en", ENGLISH, ENGLISH_OUTPUTS)))
    assert several.training.targets == "de+en"
    assert several.note(german("en-fr")) is None


@pytest.mark.parametrize("name", ["full", "full-lexical"])
def test_included_models_for_english_say_so_elsewhere(name):
    ranker = Ranker.load(name)
    assert MADE_FOR.format("en", "de", "full-any") in ranker.note(german(times=100))
    assert MADE_FOR.format("en", "another language", "full-any") in ranker.note(german(None, times=100))
    for example in (english(times=100), english(None, times=100), english(None)):
        assert "made for" not in (ranker.note(example) or "")
    assert "made for" not in (Ranker.load("full-any").note(german()) or "")


def test_commands_say_it_once_on_stderr(tmp_path, monkeypatch, command):
    def notes(*words) -> list[str]:
        lines = command(*words).err.split("\n")
        return [line for line in lines if line.startswith("ranker: note:") and "sources: differences" not in line]

    monkeypatch.chdir(tmp_path)
    outputs = [{"system": f"s{n}", "text": text, "human": {"fluency": 3 - n}} for n, text in enumerate(GERMAN_OUTPUTS)]
    rows = [{"lp": "en-de", "source": f"x{n}", "references": [GERMAN], "candidates": outputs[:2]} for n in range(3)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    note = "meteor[language=en]: the translations are in de; use language=de"
    for words in (("score", "c.jsonl"), ("rank", "c.jsonl"), ("evaluate", "--data", "c.jsonl")):
        assert notes(*words, "--metric", "meteor[language=en]") == [f"ranker: note: {note}"]
        assert notes(*words, "--metric", "meteor") == []
    compared = notes("evaluate", "--data", "c.jsonl", "--metric", "meteor[language=en],chrf", "--resamples", "0")
    assert compared == [f"ranker: note: meteor[language=en]: c: {note}"]
    trained = notes("train", "--data", "c.jsonl", "--features", "bleu,ngrams[match=stem]", "-o", "a.model")
    assert [line.split(":")[2] for line in trained if "stem" in line] == [" ngrams[match=stem] (stemmer=english)"]
    assert notes("rank", "c.jsonl", "--model", "a.model") == []
    lines = (f"{n} ||| {text} ||| f= 1 ||| 1\n" for n in range(9) for text in GERMAN_OUTPUTS[:2])
    (tmp_path / "de.nbest").write_text("".join(lines))
    (tmp_path / "de.ref").write_text(f"{GERMAN}\n" * 9)
    words = ("rerank", "de.nbest", "--references", "de.ref", "--oracle")
    assert notes(*words, "meteor[language=de]") == []
    assert notes(*words, "meteor") == [
        "ranker: note: meteor assumes English, but translations are in another language: set it, as meteor[language=de]"
    ]


def test_columns_of_modules_without_matches_are_signed():
    texts = [f"meteor_parts[language=fr,modules=exact+stem{more}]" for more in ("", "+synonym")]
    short, long = map(make, texts)
    assert (len(short.columns), len(long.columns)) == (7, 8)
    assert long.signature() == f"{short.signature()[:-1]},unmatched=synonym]"
