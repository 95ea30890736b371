from __future__ import annotations

import numpy as np
import pytest

from ranker.cli.main import run as run_command
from ranker.corpora.dataset import source_language_pairs
from ranker.corpora.judgements import preference_pairs
from ranker.errors import OptionError
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from ranker.experiments.stanojevic14 import ALPHAS, METRICS, StanojevicSettings, plan, plot
from ranker.extractors.lexical import wordnet
from ranker.extractors.lexical.wordnet import find_wordnet
from ranker.extractors.registry import make
from tests.datasets import part_of_corpus
from tests.effort import thorough
from tests.extractors.small_wordnet import write_wordnet


@pytest.fixture(scope="module")
def experiment(preferred):
    return plan(preferred).run()


def test_every_metric_and_language_pair(experiment):
    table = experiment.tables[0]
    assert [row["metric"] for row in table.rows] == list(METRICS)
    for row in table.rows:
        assert row["average tau"] == pytest.approx((row["aa-en"] + row["bb-en"]) / 2)
        assert row["average tau"] > 0.5
    assert sum(row["average rank"] for row in table.rows) == pytest.approx(sum(range(1, 8)))


def test_equals_the_metric_itself(experiment, preferred):
    scores = make("kendall[alpha=0.5]").transform(preferred)[:, 0]
    first = source_language_pairs(preferred)[preferred.candidate_source] == "aa-en"
    counts = tau_counts(scores, preference_pairs(preferred), np.where(first, 0, 1), 2)
    row = next(row for row in experiment.tables[0].rows if row["metric"] == "Kendall")
    assert row["aa-en"] == pytest.approx(tau(counts, "wmt13")[0])


def test_sweeps_meet_the_main_table(experiment):
    alpha = experiment.tables[1]
    assert [row["alpha"] for row in alpha.rows] == list(ALPHAS)
    middle = next(row for row in alpha.rows if row["alpha"] == 0.5)
    main = {row["metric"]: row["average tau"] for row in experiment.tables[0].rows}
    assert {name: middle[name] for name in METRICS} == pytest.approx(main)
    # alpha 1 leaves the lexical score alone, which all outputs share here: nothing but ties
    assert all(np.isnan(value) for name, value in alpha.rows[-1].items() if name != "alpha")
    for table, parameter, value in ((experiment.tables[2], "beta", 0.6), (experiment.tables[3], "gamma", 0.0)):
        row = next(row for row in table.rows if row[parameter] == value)
        assert row["PEF"] == pytest.approx(main["PEF"])


@pytest.mark.parametrize("name", ["PEF", "PET Viterbi"])
def test_gamma_of_every_language_pair(experiment, name):
    (result,) = [
        table for table in experiment.tables if table.title == f"Kendall's tau over gamma, {name}, simulated+simulated"
    ]
    main = next(row for row in experiment.tables[0].rows if row["metric"] == name)
    assert list(result.rows[0]) == ["gamma", "aa-en", "bb-en", "average"]
    assert [result.rows[0][pair] for pair in ("aa-en", "bb-en")] == pytest.approx([main["aa-en"], main["bb-en"]])
    for row, average in zip(result.rows, experiment.tables[3].rows, strict=True):
        assert row["gamma"] == average["gamma"]
        assert row["average"] == pytest.approx(average[name]) == pytest.approx((row["aa-en"] + row["bb-en"]) / 2)
    assert len({row["aa-en"] for row in result.rows}) > 1


@thorough
def test_plots_are_drawn_the_same_each_time(experiment, tmp_path):
    for name in ("a.svg", "b.svg", "a.png", "b.png", "a.pdf", "b.pdf"):
        plot(experiment, tmp_path / name)
    for kind in ("svg", "png", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    with pytest.raises(OptionError, match=r"x\.gif: expected a file name ending in \.png, \.svg or \.pdf"):
        plot(experiment, tmp_path / "x.gif")


def test_the_signature_names_the_wordnet_of_meteors_alignment(preferred, tmp_path, monkeypatch):
    directory = write_wordnet(tmp_path / "wordnet")
    signatures = []
    for there in ([directory], []):
        monkeypatch.setattr(wordnet, "installed_places", lambda there=there: iter(there))
        signatures.append(plan(preferred, StanojevicSettings(alignment="meteor", sweeps=False)).run().signature)
    assert f"wordnet:{find_wordnet(str(directory)).digest}" in signatures[0]
    assert signatures[1] == signatures[0].replace(find_wordnet(str(directory)).digest, "none")
    assert "wordnet" not in plan(preferred, StanojevicSettings(sweeps=False)).run().signature


def test_no_sweeps_on_request(preferred):
    assert len(plan(preferred, StanojevicSettings(sweeps=False)).run().tables) == 1


def test_the_command(tmp_path, capsys, shared):
    path = str(part_of_corpus(shared / "data" / "wmt12-rr.jsonl.gz", tmp_path, ["cs-en"], most=400, judged=True))
    plot_path = tmp_path / "sweeps.svg"
    with pytest.raises(SystemExit) as exit_info:
        run_command(["experiment", "stanojevic14", "--data", path, "--lp", "cs-en", "--plot", str(plot_path)])
    assert exit_info.value.code == 0
    assert "PET Viterbi" in capsys.readouterr().out
    assert plot_path.read_text(encoding="utf-8").count("average tau") == 3
