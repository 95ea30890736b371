"""The background process of a server: ``python -m ranker.collect.worker CAMPAIGN``.

Every line on standard input asks for one round; the answer is a line on standard output. It ends with its server, whose
end closes the pipe, and keeps the libraries that only it needs out of the server's memory.
"""

from __future__ import annotations

import json
import os
import sys

from ranker.collect.campaign import connect, count_judgements, settings_of, store_result, transaction
from ranker.collect.tasks import KINDS
from ranker.errors import RankerError


def run(path: str) -> None:
    """Answer requests until standard input ends: ``queue`` or ``figures``."""
    from ranker.collect.figures import figures_of, refresh_queue

    connection = connect(path)
    settings = settings_of(connection)
    for line in sys.stdin:
        try:
            if line.strip() == "queue":
                refresh_queue(connection, settings)
            else:
                count = count_judgements(connection)
                document = figures_of(connection, settings).document(KINDS[settings.kind])
                with transaction(connection):
                    store_result(connection, "figures", count, json.dumps(document, allow_nan=False))
            print("done", flush=True)
        except RankerError as error:
            print(f"failed: {error}", flush=True)


if __name__ == "__main__":
    # people who wait for a page come first
    os.nice(10)
    run(sys.argv[1])
