from __future__ import annotations

import importlib.util
import json

import pytest

from tests.learning.encoder.test_training import start  # noqa: F401


def test_training_prints_what_it_measured_and_the_encoder_ranks(command, start, tmp_path):  # noqa: F811
    output = tmp_path / "made"
    words = ["--data", "sample", "--kind", "fluency", "--layer", "1", "--stop-by", "sample", "-f", "csv"]
    mixed = ["--balanced", "--against-source", "--freeze", "--keep", "0.5"]
    printed = command("encoder", "train", *words, *mixed, "--from", start, "-o", str(output)).out
    assert printed.splitlines()[0] == "sources,loss,tau"
    assert printed.splitlines()[1].startswith("120,0.")
    data = json.dumps([{"source": "s", "references": ["a b"], "candidates": {"A": "c", "B": "a b"}}])
    (tmp_path / "data.json").write_text(data)
    ranked = command("rank", str(tmp_path / "data.json"), "-m", f"semantic[encoder={output}].f", "-f", "csv").out
    assert ",s,1,False,B," in ranked


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_training_names_the_extra(refused, tmp_path):
    words = ("encoder", "train", "--data", "sample", "-o", str(tmp_path / "made"))
    refused(*words, says=r"needs torch, transformers.*: pip install 'mt-ranker\[semantic-train\]'")
    assert not (tmp_path / "made").exists()
