"""A completion as the answer that it is: what the person would see, what the product would get, or why neither exists.

One reader for constrained and free-form runs. Constrained text is exact JSON and is read as it stands. In free-form text the
last complete JSON object that fits the schema counts, whatever prose or code fence stands around it: a model that thinks aloud
drafts first, and its last word is what it stands by. No text raises: what cannot be read is an outcome of the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from helmbench_hf.grading.choices import choice, letters
from helmbench_hf.grading.tags import read_tags
from helmbench_hf.records import Case, Completion

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


def read_answer(case: Case, completion: Completion | None) -> Answer:
    """Read one turn's completion as the answer that `case` asks for. Never raises.

    A missing, refused or failed completion is an engine failure. What a provider's policy withheld is a model failure, whatever
    was written of it: the person got nothing. A structured answer is a model failure where no complete object can be read:
    `truncated` if it met the token limit, else `unparseable`. An object with all required fields stands above one that lacks
    some, and a draft before an object that was cut is not the answer. A free reply is one only where it is
    empty: a free reply that was cut short and holds text is graded, with `truncated` set.
    """
    if completion is None:
        return Answer("engine_failure", "missing")
    if completion.status in ("refused", "engine_error"):
        return Answer("engine_failure", completion.status)
    if completion.status == "withheld":
        return Answer("model_failure", "withheld")
    cut = completion.status == "truncated"
    text = _sound(completion.text)
    if not text.strip():
        return Answer("model_failure", "reasoning_truncated" if cut and completion.reasoning.strip() else "empty")
    if case.response_schema is None:
        return Answer("scored", reply=text.strip(), truncated=cut)
    names, required = _fields(case.response_schema)
    found: Answer | None = None
    for data in _objects(text):
        if data is None:  # where the text was cut, what began here was to be the answer
            found = None if cut else found
        elif answer := _structured(case, _renamed(data, names), required, cut):
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


def _structured(case: Case, data: dict[str, Any], required: tuple[str, ...], cut: bool) -> Answer | None:
    """Read an object as the answer, or None where a field that is graded is not there or not of its kind."""
    grading = case.grading
    if grading.options:
        said = data.get("answer")
        label = choice(said, grading.options) if isinstance(said, str) else None
        return None if label is None else Answer("scored", data=data, label=label, truncated=cut)
    if not grading.tags:
        return _questions(case, data, cut)
    reply, read = _text(data.get("reply")), read_tags(data["tags"], grading.tags) if "tags" in data else None
    if reply is None or read is None:
        return None
    found, others = read
    work = {name: value for name, value in data.items() if name not in ("reply", "tags")}
    return Answer(
        "scored",
        reply=reply.strip(),
        work=_dump(work) if work else "",
        data=data,
        tags=tuple(tag for tag in grading.tags if tag in found),
        repeats=len(found) - len(set(found)),
        unknown=tuple(dict.fromkeys(_sound(tag)[:SHOWN] for tag in others))[:UNKNOWN],
        missing=tuple(name for name in required if name not in data),
        truncated=cut,
    )


def _questions(case: Case, data: dict[str, Any], cut: bool) -> Answer | None:
    """Read an open twin's yes and no, or any other object that has a reply."""
    asked = [name for name in (case.grading.target, case.grading.control) if name is not None]
    answers = {name: yes for name in asked if (yes := _yes(data.get(name))) is not None}
    reply = _text(data.get("reply")) if not asked else ""
    if len(answers) < len(asked) or reply is None:
        return None
    return Answer("scored", reply=reply.strip(), data=data, questions=answers, truncated=cut)


def _yes(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    said = choice(
        re.sub(r"^\W*(yes|no|true|false)\b", r"\1,", value, count=1, flags=re.IGNORECASE), ("yes", "no", "true", "false")
    )
    return None if said is None else said in ("yes", "true")


def _text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    return _sound(value) if isinstance(value, str) else None


def _dump(value: Any) -> str:
    try:
        return _sound(json.dumps(value, ensure_ascii=False))
    except RecursionError:  # a little deeper than the reader was when it met the same nesting
        return "{}"


def _sound(text: str) -> str:
    """Replace lone surrogates: JSON escapes can hold them, tokenizers and files cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
