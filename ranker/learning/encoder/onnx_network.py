"""A network in the file ``model.onnx``, run by onnxruntime on the CPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from ranker.arrays import Float32Array, Int64Array
from ranker.errors import ModelError, OptionError
from ranker.learning.encoder.files import EncoderFiles
from ranker.learning.encoder.onnx_check import check_network
from ranker.threads import jobs

LAST = "last_hidden_state"
LAYER = "hidden_states.{}"
"""Names of outputs: the last layer, and the other layers if the file has them, with number 1 for the first."""
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
# weights kept as int8 become float when the file is loaded: integer arithmetic differs between processors
_FLOAT_ARITHMETIC = ("session.disable_quant_qdq", "1")
_ROOM = 1 << 30
"""Memory limit in bytes for a network that is not included, in addition to four times the size of its file."""
_SECONDS = 60.0
"""Time limit in seconds per batch for a network that is not included; a large network takes a second or two."""


class OnnxNetwork:
    """An encoder in ONNX format whose inputs and outputs have the names that exporters usually give them.

    Networks that are not included compute large constants when they run, not when they are loaded, since only runs have
    limits on memory and time.
    """

    batch = 768

    def __init__(self, files: EncoderFiles) -> None:
        # read when it is imported: otherwise it keeps an id of the user in the home directory, and sends events
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        raw = files.weights[0].read_bytes()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry(*_FLOAT_ARITHMETIC)
        self._bounded, disabled = not files.included, list[str]()
        if self._bounded:
            if not check_network(raw, files.weights[0]):
                disabled = ["ConstantFolding"]
            self._most = _ROOM + 4 * len(raw)
            _limit_memory(self._most)
            options.add_session_config_entry("session.use_env_allocators", "1")
        # as bytes, so that no other file is read
        self._session: Any = onnxruntime.InferenceSession(
            raw, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
        )
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._outputs = {each.name for each in self._session.get_outputs()}
        if not {"input_ids", "attention_mask"} <= self._inputs <= _INPUTS or LAST not in self._outputs:
            raise ModelError(
                f"{files.weights[0]}: is not an encoder that ranker can use: expected the inputs input_ids and "
                f"attention_mask, at most token_type_ids besides, and the output {LAST}, found the inputs "
                f"{', '.join(sorted(self._inputs))} and the outputs {', '.join(sorted(self._outputs))}"
            )
        self.layers = files.layers or len(self._outputs & {LAYER.format(layer) for layer in range(1, 1000)}) + 1

    @contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        """Provide a thread pool in which each thread runs the network on a batch, single-threaded."""
        with ThreadPoolExecutor(jobs()) as pool:
            yield pool

    def run(self, ids: Int64Array, layer: int) -> tuple[Float32Array, Float32Array]:
        """Return the vectors of `layer` and of the last layer, each of shape (texts, sub-words, width)."""
        name = LAST if layer == self.layers else LAYER.format(layer)
        if name not in self._outputs:
            raise OptionError(f"layer={layer}: this encoder's file gives only its last layer; use layer={self.layers}")
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = [name] if name == LAST else [name, LAST]
        found = self._run(wanted, {each: inputs[each] for each in self._inputs})
        return found[0], found[-1]

    def _run(self, wanted: list[str], inputs: dict[str, Int64Array]) -> list[Any]:
        from onnxruntime import RunOptions

        if not self._bounded:
            return list(self._session.run(wanted, inputs))
        options = RunOptions()
        seconds = _SECONDS * max(1.0, inputs["input_ids"].size / self.batch)
        timer = threading.Timer(seconds, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return list(self._session.run(wanted, inputs, options))
        except Exception as error:
            if options.terminate:
                raise ValueError(f"its network takes over {seconds:g} s per batch: use a smaller encoder") from None
            if "Available memory" in str(error):
                raise ValueError(f"its network takes over {self._most >> 20:,} MB: use a smaller encoder") from None
            raise
        finally:
            timer.cancel()


def _limit_memory(most: int) -> None:
    """Set a memory limit that is shared by all sessions created from now on."""
    import onnxruntime

    place = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    onnxruntime.create_and_register_allocator(place, onnxruntime.OrtArenaCfg({"max_mem": most}))
