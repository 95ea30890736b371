"""Small random n-best lists with references, for tests of tuning."""

from __future__ import annotations

import numpy as np

from ranker.apps.tuning.hypotheses import references_of
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import NBestList, from_columns

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dogs", "ran", "quickly", "home", "."]


def sentence(random: np.random.Generator) -> list[str]:
    return random.choice(WORDS, random.integers(3, 12)).tolist()


def noisy(random: np.random.Generator, words: list[str], noise: float) -> str:
    selected = [word if random.random() > noise else str(random.choice(WORDS)) for word in words]
    if random.random() < noise and len(selected) > 2:
        selected = selected[::-1] if random.random() < 0.3 else selected[1:]
    return " ".join(selected)


def random_list(
    seed: int, sentences: int = 5, hypotheses: int = 4, columns: int = 3, references: int = 1
) -> tuple[NBestList, Dataset]:
    """Return hypotheses of different quality, whose features know a little of it, and their references."""
    random = np.random.default_rng(seed)
    truth = [sentence(random) for _ in range(sentences)]
    noise = random.uniform(0, 0.8, (sentences, hypotheses))
    texts = [noisy(random, words, level) for words, row in zip(truth, noise, strict=True) for level in row]
    features = random.normal(size=(sentences * hypotheses, columns)) - noise.reshape(-1, 1) * random.normal(
        size=columns
    )
    nbest = from_columns(f"list{seed}", np.repeat(np.arange(sentences), hypotheses), texts, features, (("f", columns),))
    source = np.repeat(np.arange(sentences), references)
    written = [
        noisy(random, truth[index], 0.2 * (number > 0)) for index in range(sentences) for number in range(references)
    ]
    sources = [" ".join(sentence(random)) for _ in range(sentences)]
    return nbest, references_of(sources, source, written, f"references{seed}")
