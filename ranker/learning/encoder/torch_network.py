"""A network in Hugging Face's format, run by torch; on a GPU if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from ranker.arrays import Float32Array, Int64Array
from ranker.errors import ModelError
from ranker.learning.encoder.files import EncoderFiles
from ranker.threads import jobs

# sub-words that go through the network at once: few enough for a processor's cache, enough to fill a GPU
_BATCH_CPU, _BATCH_GPU = 768, 16384


class TorchNetwork:
    """A masked language model of the package transformers."""

    def __init__(self, files: EncoderFiles) -> None:
        self._model = _load(files)
        self._device = next(self._model.parameters()).device
        self.layers = int(self._model.config.num_hidden_layers)
        self.padding = int(self._model.config.pad_token_id or 0)
        self.batch = _BATCH_CPU if self._device.type == "cpu" else _BATCH_GPU

    @contextmanager
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        """Provide a thread pool in which each thread runs the network single-threaded."""
        import torch

        before = torch.get_num_threads()
        count = jobs() if self._device.type == "cpu" else 1
        try:
            with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                yield pool
        finally:
            torch.set_num_threads(before)

    def run(self, ids: Int64Array, layer: int) -> tuple[Float32Array, Float32Array]:
        """Return the vectors of `layer` and of the last layer, each of shape (texts, sub-words, width)."""
        import torch

        with torch.inference_mode():
            output = self._model(
                input_ids=torch.from_numpy(ids).to(self._device),
                output_hidden_states=layer < self.layers,
            )
            last = output.last_hidden_state.cpu().numpy()
            return (output.hidden_states[layer].cpu().numpy() if layer < self.layers else last), last


def _load(files: EncoderFiles) -> Any:
    import torch
    from transformers import AutoConfig, AutoModel
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES
    from transformers.utils import logging

    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(logging.CRITICAL)
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(files.directory, **local)
        if config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or config.is_encoder_decoder:
            raise ModelError(
                f"{files.directory}: {config.model_type!r} is not an encoder; expected a masked language model such as "
                "BERT, RoBERTa or XLM-RoBERTa"
            )
        network, facts = AutoModel.from_pretrained(
            files.directory, config=config, use_safetensors=True, output_loading_info=True, **local
        )
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
    lost = sorted(name for name in facts["missing_keys"] if not name.startswith("pooler."))
    if lost:
        raise ModelError(
            f"{files.directory}: its weights lack {lost[0]!r} (missing in all: {len(lost)}): copy it again"
        )
    network.eval().float()
    return network.to("cuda" if torch.cuda.is_available() else "cpu")
