"""The sources that are worth judging: their value by its definition, and what the command writes."""

from __future__ import annotations

import json
import re

import numpy as np

from ranker.apps.collect.sources import informative_sources, source_values
from ranker.corpora.catalogue import load
from ranker.ranking.scorers import candidate_scores, make_scorer
from tests.datasets import dataset_of


def test_the_value_of_a_source_is_how_far_it_orders_systems_as_all_sources_do():
    texts = [["a", "b", "c"]] * 4 + [["a", "b"], ["a"]]
    data = dataset_of([(["r"], text) for text in texts], lp=["de-en"] * 3 + ["fr-en"] * 3)
    scores = [np.array(each, float) for each in ([3, 2, 1], [9, 0, 3], [1, 1, 1], [1, 2, 3], [0, 4], [7])]
    expected = []
    for rows in (scores[:3], scores[3:]):
        apart = [row - row.mean() for row in rows]
        mean = [np.mean([row[system] for row in apart if len(row) > system]) for system in range(3)]
        expected += [sum(value * mean[system] for system, value in enumerate(row)) for row in apart]
    np.testing.assert_allclose(source_values(data, np.concatenate(scores)), expected, atol=1e-12)


def test_the_command_writes_the_most_informative_sources_in_their_order(command, tmp_path):
    sample, scorer = load("sample"), make_scorer("bleu", None)
    chosen = informative_sources(sample, scorer, 7)
    out = command("data", "select", str(tmp_path / "s.jsonl"), "--data", "sample", "--n", "7", "-m", "bleu").out
    assert out.startswith("7 sources of 120, selected by bleu\n")
    written = load(str(tmp_path / "s.jsonl"))
    assert written.sources["text"].tolist() == sample.sources["text"][chosen].tolist()
    assert len(written.ratings) == sum(chosen[sample.candidate_source[sample.ratings["candidate"]]])
    values = source_values(sample, candidate_scores(scorer, sample))
    assert values[chosen].min() >= values[~chosen].max()
    assert informative_sources(sample, scorer, 500).all()


def test_plain_text_is_selected_and_made_a_campaign(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in {"s.de": "eins\nzwei\n", "r.en": "one\ntwo\n", "a.en": "one\ntwo\n", "b.en": "1\ntwo\n"}.items():
        (tmp_path / name).write_text(lines, encoding="utf-8")
    files = ("-s", "s.de", "-r", "r.en", "-t", "a.en", "b.en")
    command("data", "select", "chosen.jsonl", *files, "--n", "1")
    assert load("chosen.jsonl").sources["text"].tolist() == ["eins"]
    assert "c.campaign: 1 item to judge" in command("collect", "new", "c.campaign", *files).out


def test_texts_without_references_are_judged_by_their_source(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in {"s.de": "eins\nzwei\n", "a.en": "one\ntwo\n", "b.en": "1\ntwo\n"}.items():
        (tmp_path / name).write_text(lines, encoding="utf-8")
    files = ("-s", "s.de", "-t", "a.en", "b.en")
    for kind, show in {"ranking": "source", "adequacy": "source", "fluency": "none", "esa": "source"}.items():
        command("collect", "new", f"{kind}.campaign", *files, "--kind", kind)
        status = json.loads(command("collect", "status", f"{kind}.campaign", "--json").out)
        assert status["settings"]["show"] == show
    assert "--show both requires" in command("collect", "new", "c.campaign", *files, "--show", "both", code=2).err
    message = command("data", "select", "chosen.jsonl", *files, "--n", "1", code=2).err
    what = (
        "s.de:1: s[1] has no reference, which chrf requires (missing in 2 of 2 sources): add references, or give a --m"
    )
    assert what in message
    for metric in re.findall("'([^']*)'", message):
        command("data", "select", "chosen.jsonl", *files, "--n", "1", "-m", metric)
    command("data", "select", "chosen.jsonl", *files, "--n", "1", "-m", "perp[model=shipped]")
    assert len(load("chosen.jsonl").sources) == 1
