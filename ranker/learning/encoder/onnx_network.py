"""A network in the file ``model.onnx``, run by onnxruntime on the processor."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from ranker.arrays import Float32Array, Int64Array
from ranker.errors import ModelError, OptionError
from ranker.learning.encoder.files import EncoderFiles, damaged
from ranker.threads import jobs

LAST = "last_hidden_state"
LAYER = "hidden_states.{}"
"""Names of outputs: the last layer, and the others if the file gives them, 1 the first."""
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
# weights kept as int8 become float when the file is loaded: integer arithmetic differs between processors
_FLOAT_ARITHMETIC = ("session.disable_quant_qdq", "1")


class OnnxNetwork:
    """An encoder in ONNX format with the names of inputs and outputs that exporters give it."""

    batch = 768

    def __init__(self, files: EncoderFiles) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry(*_FLOAT_ARITHMETIC)
        try:
            # as bytes, so that no other file is read
            self._session: Any = onnxruntime.InferenceSession(
                files.weights[0].read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the library has errors of its own
            raise damaged(files, error) from None
        self._inputs = {each.name for each in self._session.get_inputs()}
        outputs = {each.name: each for each in self._session.get_outputs()}
        if not {"input_ids", "attention_mask"} <= self._inputs <= _INPUTS or LAST not in outputs:
            raise ModelError(
                f"{files.weights[0]}: is not an encoder: expected the inputs input_ids and attention_mask and the "
                f"output {LAST}, found {', '.join(sorted(self._inputs))} and {', '.join(sorted(outputs))}"
            )
        self._outputs = set(outputs)
        self.layers, self.width = files.layers, files.width

    @contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        """Give threads that compute alone, a batch each."""
        with ThreadPoolExecutor(jobs()) as pool:
            yield pool

    def run(self, ids: Int64Array, layer: int) -> tuple[Float32Array, Float32Array]:
        """Return the vectors of a layer and of the last one, each of shape (texts, sub-words, width)."""
        name = LAST if layer == self.layers else LAYER.format(layer)
        if name not in self._outputs:
            raise OptionError(f"layer={layer}: this encoder's file gives only its last layer, {self.layers}")
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = [name] if name == LAST else [name, LAST]
        found = self._session.run(wanted, {each: inputs[each] for each in self._inputs})
        return found[0], found[-1]
