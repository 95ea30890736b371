"""A decoder for tests: lists, from a pool of hypotheses, the best three of every sentence under the given weights.

``decoders.py POOL FAULT WEIGHTS OUTPUT``; FAULT is ``sound``, or what goes wrong from the second call in a state
directory on: ``fails``, ``hangs``, ``short`` (sentences are missing), ``silent`` (no list), ``nan``, ``other`` (other
features).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def main() -> None:
    pool, fault, weights_file, output = sys.argv[1:]
    weights: dict[str, list[float]] = {}
    for line in Path(weights_file).read_text().splitlines():
        name, equals, values = line.partition("=")
        if equals:
            weights[name] = [float(value) for value in values.split()]
    scored: dict[str, list[tuple[float, str]]] = {}
    for line in Path(pool).read_text(encoding="utf-8").splitlines():
        sentence, _, features = line.split(" ||| ")
        values = [float(value) for value in features.split()[1:]]
        scored.setdefault(sentence, []).append((-sum(a * b for a, b in zip(weights["f"], values, strict=True)), line))
    lines = [line for rows in scored.values() for _, line in sorted(rows)[:3]]
    if fault != "sound" and "iteration1." not in output:
        if fault == "fails":
            print("loading the model", file=sys.stderr)
            print("out of memory", file=sys.stderr)
            sys.exit(3)
        if fault == "hangs":
            Path(output).with_name("decoder.pid").write_text(str(os.getpid()))
            time.sleep(900)
        if fault == "silent":
            return
        if fault == "short":
            lines = lines[:-6]
        if fault == "nan":
            lines[4] = lines[4].replace("f= ", "f= nan ", 1).rsplit(" ", 1)[0]
        if fault == "other":
            lines = [line.replace("f= ", "g= ") for line in lines]
    Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
