"""From a campaign to a trained ranker, as a user does it."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.judgements import human_scores
from tests.apps.collect.conftest import Client, free_port, judge_all, serving
from tests.effort import thorough

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="documents are not part of the wheel")
def test_the_lines_of_the_readme(tmp_path, command, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(ranker collect .*\n(?:ranker .*\n)+)```", text)
    new, serve, export, rank = (line.split()[1:] for line in block.splitlines())
    for name in ("source.de", "atlas.en", "birch.en"):
        shutil.copy(ROOT / "docs" / "stories" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    links = {row["who"]: row["link"] for row in json.loads(command(*new, "--json").out)["rows"]}
    assert serve == ["collect", "serve", new[2]]
    with serving(tmp_path / new[2]) as address:
        judge = Client(address)
        fields = judge.enter(links["judge01"]).page().forms["/judge"]
        assert judge.post("/judge", {**fields, "marks": "[[1,0,0,3],[0,2,0,3,1]]"}).status == 200
    following = command(*export).out.split("next: ranker ")[1].split()
    assert {*following} - {"--data"} == {*rank}
    errors = catalogue.load(export[-1]).errors
    assert errors["category"].tolist() == ["Accuracy/Addition", "Accuracy/Omission"]
    assert errors["side"].tolist() == ["target", "source"]
    (row,) = json.loads(command(*rank, "--json").out)["rows"]
    assert (row["system"] in ("atlas", "birch"), row["score"]) == (True, -6)


@thorough
def test_from_a_campaign_to_a_ranker(tmp_path, command, sample, serve):
    def ranker(*arguments: object) -> Any:
        return json.loads(command(*map(str, arguments), "--format", "json").out)

    def figures(data: Path, model: Path) -> list[Any]:
        trained = ranker("train", "--data", data, "--features", "bleu1-4", "-o", model, "--folds", 0)
        against_judges = ranker("evaluate", "--data", data, "--model", model)["rows"][0]["spearman"]
        known = ranker("evaluate", "--data", "sample", "--model", model)["rows"][0]["spearman"]
        return [trained["training"]["preferences"], trained["weights"], against_judges, known]

    path, port = tmp_path / "demo.campaign", free_port()
    trained = ranker("collect", "new", path, "--data", "sample", "--judges", 4, "--kind", "ranking")
    links = {row["who"]: row["link"] for row in trained["rows"]}
    server = serve(path, port)

    # the simulated judges know the sample's mean fluency; every tenth time they take two neighbours for equal
    quality = dict(zip(sample.candidates["text"], human_scores(sample, "fluency"), strict=True))
    generator = np.random.default_rng(5)
    given: list[tuple[str, dict[str, int]]] = []

    def choose(code: str):
        def ranks(texts: list[str]) -> list[int]:
            # a degraded copy is worse than everything
            values = np.array([quality.get(text, -9.0) for text in texts])
            order = (values[:, np.newaxis] < values).sum(axis=1) + 1
            if generator.random() < 0.1:
                order = np.maximum(order - 1, 1)
            given.append((code, dict(zip(texts, order.tolist(), strict=True))))
            return order.tolist()

        return ranks

    address = f"http://127.0.0.1:{port}"
    assert [judge_all(Client(address), links[f"judge0{n}"], choose(f"judge0{n}"), 50) for n in (1, 2, 3, 4)] == [50] * 4
    # live: while the server runs
    exported = tmp_path / "judgements.jsonl"
    ranker("collect", "export", path, "--output", exported)
    server.terminate()
    assert server.communicate(timeout=60) == ("", "")

    # the same judgements in a file, written from what the judges said and not by the campaign
    by_text: dict[str, list[tuple[str, str, str]]] = {}
    sources = sample.sources.iloc[sample.candidate_source]
    for system, text, lp, seg_id in zip(
        sample.candidates["system"], sample.candidates["text"], sources["lp"], sources["seg_id"], strict=True
    ):
        by_text.setdefault(text, []).append((lp, seg_id, system))
    rows, seen = [], set()
    for task, (code, ranks) in enumerate(given):
        texts = list(ranks)
        if any(text not in by_text for text in texts) or (code, frozenset(texts)) in seen:
            continue  # a check, or a repeated item
        seen.add((code, frozenset(texts)))
        for place, first in enumerate(texts):
            for second in texts[place + 1 :]:
                relation = "<" if ranks[first] > ranks[second] else ">" if ranks[first] < ranks[second] else "="
                for primary, ((lp, seg_id, a), (_, _, b)) in enumerate(
                    [(x, y) for x in by_text[first] for y in by_text[second]]
                ):
                    rows.append([lp, seg_id, code, a, b, relation, "-", "-", str(task), str(int(primary == 0))])
    own = tmp_path / "mine.jsonl"
    write_dataset(dataclasses.replace(sample, ratings=sample.ratings[:0]), own)
    header = ["lp", "seg_id", "judge", "sysA", "sysB", "relation", "rankA", "rankB", "task", "primary"]
    (tmp_path / "mine.pairs.tsv").write_text(
        "".join("\t".join(row) + "\n" for row in [header, *rows]), encoding="utf-8"
    )

    collected = figures(exported, tmp_path / "collected.model")
    from_file = figures(own, tmp_path / "mine.model")
    assert collected == from_file
    # what BLEU learnt from all 1,680 fluency scores of the sample reaches .75; these judges gave 200 rankings
    assert collected[3]["tie-corrected"]["value"] > 0.70
    assert collected[2]["tie-corrected"]["value"] > 0.70
