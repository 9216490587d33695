"""A completion as the answer that it is: what the person would see, what the product would get, or why neither exists.

One reader for constrained and free-form runs. Constrained text is exact JSON and is read as it stands. In free-form text the
last complete JSON object that fits the schema counts, whatever prose or code fence stands around it: a model that thinks aloud
drafts first, and its last word is what it stands by. No text raises: what cannot be read is an outcome of the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from helmbench_hf.records import Completion
from helmbench_hf.tasks.choices import letters

Status = Literal["scored", "model_failure", "engine_failure"]
FENCE_STARTS = 64
"""Opening braces that are tried in one text; a text that needs more is no answer, and each try costs its length."""
SHOWN = 80
"""Longest text of the model that is copied into a verdict's detail, in characters."""
UNKNOWN = 10
"""Most tags of one answer that are on no list and are kept and counted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, read. The fields that a case does not ask for are empty."""

    status: Status
    """`scored`: usable. `model_failure`, `engine_failure`: nothing of it is graded."""
    reason: str | None = None
    """Model failure: `empty`, `truncated`, `unparseable`, `reasoning_truncated` or `withheld`. Engine failure: `missing`,
    `refused` or `engine_error`."""
    reply: str = ""
    """What the person sees: the `reply` field, or the whole text where the answer is free text."""
    work: str = ""
    """The task fields as JSON text, without reply and tags; empty where there are none."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The JSON object as the model wrote it, its fields under the names of the schema."""
    tags: tuple[str, ...] = ()
    """The listed tags that are set, each once, in the order of the list."""
    repeats: int = 0
    """Listed tags beyond the first of their kind."""
    unknown: tuple[str, ...] = ()
    """Entries of the tag list that are on no list, each once; they set nothing and are counted."""
    label: str | None = None
    questions: Mapping[str, bool] = field(default_factory=dict)
    """Open twins: question -> yes."""
    missing: tuple[str, ...] = ()
    """Task fields that the schema requires and the answer has not; they cost the task, not the answer."""
    truncated: bool = False
    """The answer met the token limit and is usable all the same."""

    @property
    def usable(self) -> bool:
        """Say whether anything of this answer is graded."""
        return self.status == "scored"


def read(
    completion: Completion | None,
    schema: str | None,
    read_object: Callable[[dict[str, Any], bool, tuple[str, ...]], Answer | None],
) -> Answer:
    """Read one completion: free text where there is no schema, else the JSON object that `read_object` accepts. Never raises.

    `read_object` gets an object, whether the text was cut, and the names of the required fields; it gives None for an object that
    is no answer. A missing, refused or failed completion is an engine failure. What a provider's policy withheld is a model
    failure, whatever was written of it: the person got nothing. A structured answer is a model failure where no complete object
    can be read: `truncated` if it met the token limit, else `unparseable`. An object with all required fields stands above one
    that lacks some, and a draft before an object that was cut is not the answer. A free reply is a model failure only where it
    is empty: one that was cut short and holds text is graded, with `truncated` set.
    """
    if completion is None:
        return Answer("engine_failure", "missing")
    if completion.status in ("refused", "engine_error"):
        return Answer("engine_failure", completion.status)
    if completion.status == "withheld":
        return Answer("model_failure", "withheld")
    cut = completion.status == "truncated"
    text = sound(completion.text)
    if not text.strip():
        return Answer("model_failure", "reasoning_truncated" if cut and completion.reasoning.strip() else "empty")
    if schema is None:
        return Answer("scored", reply=text.strip(), truncated=cut)
    names, required = _fields(schema)
    found: Answer | None = None
    for data in _objects(text):
        if data is None:  # where the text was cut, what began here was to be the answer
            found = None if cut else found
        elif answer := read_object(_renamed(data, names), cut, required):
            found = answer if found is None or found.missing or not answer.missing else found
    return found or Answer("model_failure", "truncated" if cut else "unparseable")


def _fields(schema: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a schema's fields, and those that it requires."""
    try:
        read = json.loads(schema)
        return tuple(read.get("properties", ())), tuple(read.get("required", ()))
    except (ValueError, AttributeError):
        return (), ()


def _renamed(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Give the fields the names of the schema where they are spelled otherwise (`Tags`); a right spelling comes first."""
    spelled = {letters(name): name for name in names}
    found: dict[str, Any] = {}
    for written, value in data.items():
        name = spelled.get(letters(written), written)
        if name == written or name not in data:
            found[name] = value
    return found


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the whole text as a JSON object, else every complete object in it, from the left. Never raises."""
    return (found for found in _objects(text) if found is not None)


def _objects(text: str) -> Iterator[dict[str, Any] | None]:
    """The same, and None for each brace that opens no complete object."""
    try:
        whole = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        yield whole
        return
    decoder, position = json.JSONDecoder(strict=False), 0
    for _ in range(FENCE_STARTS):
        if (position := text.find("{", position)) < 0:
            return
        try:
            found, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            found, position = None, position + 1
        yield found


def text_of(value: Any) -> str | None:
    """A text, or a list of texts as lines; None for anything else."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    return sound(value) if isinstance(value, str) else None


def json_text(value: Any) -> str:
    """The value as JSON text."""
    try:
        return sound(json.dumps(value, ensure_ascii=False))
    except RecursionError:  # a little deeper than the reader was when it met the same nesting
        return "{}"


def sound(text: str) -> str:
    """Replace lone surrogates: JSON escapes can hold them, tokenizers and files cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
