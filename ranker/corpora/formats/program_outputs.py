"""JSON outputs of known programs as records: one table of their formats, recognised by their keys.

Batches and completions of OpenAI's interface (and batches of Anthropic's), requests of vLLM, samples of lm-eval,
logs of Inspect, and what pipelines of transformers return. A shape names the keys that tell it from others, and where
the source, the references and the outputs are in it. Files without outputs are refused, with advice on what to give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ranker.corpora import column_names as names
from ranker.corpora.records import asked_in, joined_texts
from ranker.errors import DataError, counted, log_note
from ranker.storage.plain_data import typed

_PIPELINES = ("translation_text", "generated_text", "summary_text")
Fields = dict[str, Any]


class Shape(NamedTuple):
    """Output format of one program: its name, the keys that identify it, and the conversion of an object to records."""

    program: str
    keys: frozenset[str]
    records: Callable[[Fields], Iterable[Fields]]
    fits: Callable[[Fields], bool] = lambda _: True


class _Said(msgspec.Struct):
    """One choice of a completion: a chat message, or plain text."""

    message: dict[str, Any] | None = None
    text: str | None = None


class _Answer(msgspec.Struct):
    """A model's answer, from chat completions, OpenAI's responses or Anthropic's messages."""

    model: str | None = None
    choices: list[_Said] | None = None
    output: list[dict[str, Any]] | None = None
    content: list[dict[str, Any]] | None = None

    def texts(self) -> list[str]:
        """Return the text of each choice or message."""
        messages = [{"content": self.content}] if self.content else self.output or []
        if self.choices is not None:
            messages = [choice.message or {"content": choice.text} for choice in self.choices]
        return [joined_texts([one]) or "" for one in messages if one.get("type", "message") == "message"]


class _Sample(msgspec.Struct):
    """A sample in an Inspect log."""

    input: str | list[dict[str, Any]]
    output: _Answer
    id: str | int
    target: str | list[str] = ""
    epoch: int = 1


class _Task(msgspec.Struct):
    model: str = ""


class _Log(msgspec.Struct):
    """A log of Inspect with its samples."""

    eval: _Task
    samples: list[_Sample]


class _Request(msgspec.Struct):
    """An entry of a sample log of lm-eval: its document, the request to the model and the responses."""

    doc_id: str | int
    arguments: Any
    filtered_resps: list[Any]
    target: str | list[str] | None = None


class _Generated(msgspec.Struct):
    text: str


class _Outputs(msgspec.Struct):
    """A request of vLLM with its outputs."""

    outputs: list[_Generated]
    prompt: str | None = None
    request_id: str | int | None = None


def _answered(answer: Any, **more: Any) -> Fields:
    taken = typed(answer, _Answer)
    texts = taken.texts()
    if not texts:
        raise TypeError("found no answer with text, expected at least one")
    # the outputs of one source by one model are numbered; one output is that of the model
    candidates = {taken.model: texts[0]} if taken.model and len(texts) == 1 else texts
    return {"source": "", "candidates": candidates, **more}


def _beside(value: Fields) -> Fields:
    """Return the source, the references and other keys of our records that a user added to a program's object."""
    source = next((value[key] for key in ("source", "src", "prompt") if isinstance(value.get(key), str)), "")
    own = ("doc", "lp", "ref", "references", "refs", "seg_id", *names.LANGUAGE_KEYS)
    return {"source": source, **{key: value[key] for key in value if key in own or names.canonical(key) == "reference"}}


def _batch(value: Fields) -> Iterator[Fields]:
    answer = value["response"]["body"] if "response" in value else value["result"]["message"]
    yield _answered(answer, seg_id=value["custom_id"])


def _failed(value: Fields) -> bool:
    """True if a line of a batch is a failed request."""
    inner = value.get("response") if "response" in value else value.get("result")
    answer = inner.get("body" if "response" in value else "message") if isinstance(inner, dict) else None
    return not isinstance(answer, dict) or bool(answer.get("error"))


def _vllm(value: Fields) -> Iterator[Fields]:
    taken = typed(value, _Outputs)
    texts = [output.text for output in taken.outputs]
    yield {**_beside(value), "candidates": texts}


def _lm_eval(value: Fields) -> Iterator[Fields]:
    taken = typed(value, _Request)
    arguments = taken.arguments
    while isinstance(arguments, list | dict) and arguments:
        arguments = next(iter(arguments.values())) if isinstance(arguments, dict) else arguments[0]
    texts = [text for one in taken.filtered_resps for text in (one if isinstance(one, list) else [one])]
    if not isinstance(arguments, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("the task generates no text; expected samples of a task that generates text")
    references = [taken.target] if isinstance(taken.target, str) else taken.target or []
    yield {"source": arguments, "references": references, "candidates": texts, "seg_id": taken.doc_id}


def _inspect(value: Fields) -> Iterator[Fields]:
    log = typed(value, _Log)
    name = log.eval.model or "candidate1"
    several = any(sample.epoch > 1 for sample in log.samples)
    by_id: dict[str, Fields] = {}
    for sample in log.samples:
        source = sample.input if isinstance(sample.input, str) else asked_in(sample.input)
        targets = [sample.target] if isinstance(sample.target, str) else sample.target
        one = {"source": source, "references": [target for target in targets if target], "seg_id": sample.id}
        texts = sample.output.texts()
        system = f"{name} {sample.epoch}" if several else name
        outputs = {system if len(texts) == 1 else f"{system} {at + 1}": text for at, text in enumerate(texts)}
        by_id.setdefault(str(sample.id), {**one, "candidates": {}})["candidates"].update(outputs)
    yield from by_id.values()


def _pipeline(value: Fields) -> Iterator[Fields]:
    said = next(iter(value.values()))
    yield {"source": asked_in(said) if isinstance(said, list) else "", "candidates": [joined_texts(said) or ""]}


def _no_outputs(value: Fields) -> Iterator[Fields]:
    raise TypeError("these are requests without outputs: give the file of results that the batch returned")


_SHAPES = (
    Shape("a batch of OpenAI", frozenset({"custom_id", "response"}), _batch),
    Shape("a batch of Anthropic", frozenset({"custom_id", "result"}), _batch),
    Shape("the input of a batch", frozenset({"custom_id", "body"}), _no_outputs),
    Shape("the input of a batch", frozenset({"custom_id", "params"}), _no_outputs),
    Shape(
        "a completion of OpenAI", frozenset({"choices", "model"}), lambda value: [_answered(value, **_beside(value))]
    ),
    Shape(
        "outputs of vLLM",
        frozenset({"outputs"}),
        _vllm,
        lambda value: "prompt_token_ids" in value or "request_id" in value,
    ),
    Shape("samples of lm-eval", frozenset({"doc_id", "arguments", "filtered_resps"}), _lm_eval),
    Shape("a log of Inspect", frozenset({"eval", "samples"}), _inspect),
    *(
        Shape("a pipeline of transformers", frozenset({key}), _pipeline, lambda value: len(value) == 1)
        for key in _PIPELINES
    ),
)


def _shape_of(value: object) -> Shape | None:
    if not isinstance(value, dict):
        return None
    return next((shape for shape in _SHAPES if {*value} >= shape.keys and shape.fits(value)), None)


def is_of_program(value: object) -> bool:
    """True if a JSON value is an object that a known program writes."""
    return _shape_of(value) is not None


def program_records(values: Iterable[tuple[int, Any]], file: str) -> Iterator[tuple[int, Any]]:
    """Yield JSON records with their lines, converting the output of known programs to our record format."""
    failed: list[int] = []
    for line, value in values:
        if isinstance(value, list) and value and all(isinstance(one, dict) and len(one) == 1 for one in value):
            # what a pipeline returns for one source
            shapes = [_shape_of(one) for one in value]
            if all(shape is not None for shape in shapes):
                texts = [record for one in value for record in _pipeline(one)]
                yield line, {**texts[0], "candidates": [text for record in texts for text in record["candidates"]]}
                continue
        shape = _shape_of(value)
        if shape is None:
            yield line, value
        elif shape.records is _batch and _failed(value):
            failed.append(line)
        else:
            try:
                for record in shape.records(value):
                    yield line, record
            except (TypeError, KeyError) as error:
                raise DataError(f"read as {shape.program}: {error}", file=file, line=line) from None
    if failed:
        what = f"left out: {counted(len(failed), 'request')} of the batch that failed (first: line {failed[0]})"
        log_note(what, file)
