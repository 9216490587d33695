"""The closed list of fields of a submission's `manifest.json` and `judge.json`, and what each may hold.

The same list does two things: `picked` takes these fields from a run's own files, so that nothing of a machine travels along,
and `read_manifest` and `read_judge` refuse any other field.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from helmbench_hf.board.files import RejectedError, quoted
from helmbench_hf.hashing import digest
from helmbench_hf.models.chat import ServerTemplate
from helmbench_hf.models.identity import ModelIdentity
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.report.text import visible
from helmbench_hf.runs.router import Router
from helmbench_hf.runs.turns import Settings

FORMAT = 2
"""Of a submission; 1 was a folder of compressed files."""
_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,95}"
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
ShaOrNone = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
Word = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9 ._:+!-]{0,79})?$")]
RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
ModelName = Annotated[str, StringConstraints(pattern=rf"^{_MODEL}(/{_MODEL})?$")]
"""ASCII only: no letter that looks like another, no mark that changes the reading direction."""
Count = Annotated[int, Field(ge=0, le=2**27)]
SmallCount = Annotated[int, Field(ge=0, le=2**16)]


def _real_time(text: str) -> str:
    try:
        real = re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", text) and datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").year >= 2024
    except ValueError:
        real = False
    if not real:
        raise RejectedError("manifest.time", "started or exported is not a real time since 2024, as in 2026-01-31T23:59:59Z")
    return text


def _plain_words(text: str) -> str:
    """Free text is shown to people: nothing unseen in it but line breaks, and only the one form that is compared."""
    odd = next((letter for letter in text if letter != "\n" and _unseen(letter)), None)
    if odd is not None:
        raise ValueError(f"it contains the invisible character {odd!a}; remove it")
    if unicodedata.normalize("NFC", text) != text or (text and not any(map(str.isalnum, text))):
        raise ValueError("it has no letters, or is not in Unicode NFC form")
    return text


def _unseen(letter: str) -> bool:
    kind = unicodedata.category(letter)
    return kind[0] == "C" or (kind[0] == "Z" and letter != " ") or letter == "\u2800" or visible(letter) != letter


Time = Annotated[str, AfterValidator(_real_time)]
Words = AfterValidator(_plain_words)


class Strict(BaseModel):
    """Base: no unknown field, no silent conversion of types, no infinite number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())


class Dataset(Strict):
    """What was asked."""

    name: Word
    design: Literal["core", "full", "smoke", "taxonomy", "long"]
    version: Word
    scoring_version: Word
    content_sha256: Sha
    source: Annotated[str, StringConstraints(pattern=rf"^(embedded|folder|{_MODEL}/{_MODEL}@[0-9a-f]{{40,64}})$")]
    """`embedded`: the copy inside helmbench. `folder`: a local copy. Else a Hub repository at a commit."""


class Model(Strict):
    """`ModelIdentity`, field by field."""

    id: ModelName
    commit: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40,64})?$")]
    files_sha: ShaOrNone
    dtype: Word
    quantization: Word
    template_sha: ShaOrNone
    versions: Annotated[dict[Slug, Word], Field(max_length=40)]
    served: Word

    def for_key(self) -> dict[str, str]:
        """What of it enters the keys."""
        return ModelIdentity(**self.model_dump()).for_key()

    @property
    def weights(self) -> str:
        """What names the weights, whatever their precision: two judges with the same are one judge."""
        name = self.id.casefold()
        return f"served {name}" if self.served else self.files_sha or f"{name}@{self.commit}"


class Key(Strict):
    """`KeyContext`: what all keys of a journal share."""

    model: dict[str, Any]
    template_sha: ShaOrNone
    engine: Word
    template_kwargs: dict[str, Any]

    def context(self) -> KeyContext:
        """As the pipeline's record."""
        return KeyContext(**self.model_dump())


class Chat(Strict):
    """How the prompts were put to the model."""

    system_role: Word
    folded: bool | None
    thinking: Word


class Served(Strict):
    """What a server said that it serves."""

    served: ModelName | None = None


class Engine(Strict):
    """What ran the model."""

    name: Word
    version: Word
    dtype: Word
    max_model_len: Count
    batch_limit: Count
    threads: SmallCount
    block_size: SmallCount
    extra: Served


class Sampling(Strict):
    """`Settings`, field by field, each within what an engine can take."""

    temperature: Annotated[float, Field(ge=0, le=5)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    top_k: Annotated[int, Field(ge=-1, le=2**20)]
    min_p: Annotated[float, Field(ge=0, le=1)]
    repetition_penalty: Annotated[float, Field(gt=0, le=10)]
    presence_penalty: Annotated[float, Field(ge=-2, le=2)]
    seed: Annotated[int, Field(ge=0, le=2**53)]
    draws: Annotated[int, Field(ge=1, le=64)]
    free_form: bool
    thinking_tokens: Annotated[int, Field(ge=0, le=2**20)]


class File(Strict):
    """One of the submission's files."""

    sha256: Sha
    bytes: Annotated[int, Field(ge=0, le=2**40)]


class Submitter(Strict):
    """Who submits, in their own words."""

    name: Annotated[str, StringConstraints(max_length=80, pattern=r"^[^\n]*$"), Words]
    text: Annotated[str, StringConstraints(max_length=2000), Words]


class Origin(Strict):
    """What a submission adds to a run's manifest."""

    format: Literal[2]
    run_id: RunId
    panel: Literal["first", "majority", "worst"]
    files: Annotated[dict[str, File], Field(max_length=100)]
    submitter: Submitter
    exported: Time


class Sorter(Strict):
    """What sorted the replies of reactive conversations."""

    mode: Literal["fast", "schema"]
    model: Model
    key: Key

    def router(self) -> Router:
        """As the pipeline's record."""
        return Router(self.key.context(), self.mode, ServerTemplate())


class Manifest(Strict):
    """All of `manifest.json`: that of the run folder, with what makes it a submission."""

    format: Literal[1]
    helmbench: Word
    dataset: Dataset
    model: Model
    key: Key
    chat: Chat
    engine: Engine
    settings: Sampling
    started: Time
    submission: Origin
    router: Sorter | None = None

    @model_validator(mode="after")
    def _times_follow(self) -> Self:
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        if not self.started <= self.submission.exported <= tomorrow:
            raise RejectedError("manifest.time", "started and exported must follow each other and not lie in the future")
        return self

    @property
    def run_id(self) -> str:
        """The submission's name: a hash of the manifest."""
        return self.submission.run_id

    @property
    def place(self) -> str:
        """Its folder in the results repository."""
        return f"submissions/{slug_of(self.model.id)}/{self.run_id}"

    def chosen(self) -> Settings:
        """The settings as the pipeline's record. Raises `RejectedError` where they contradict each other."""
        try:
            return Settings(**self.settings.model_dump())
        except ValueError as error:
            raise RejectedError("settings.field", str(error)) from error


class Rubric(Strict):
    """What a judge was asked."""

    version: Word
    sha256: Sha


class Description(Strict):
    """The one fact of a judge's engine that its identity needs."""

    extra: Served


class Judge(Strict):
    """`judge.json`: one judge."""

    id: Slug
    family: Slug
    mode: Literal["fast", "evidence"]
    number: SmallCount
    orders: Literal[1, 2]
    rubric: Rubric
    model: Model
    key: Key
    description: Description

    def row(self) -> dict[str, Any]:
        """As the pipeline reads it."""
        return self.model_dump(exclude_unset=True)


Shape = TypeVar("Shape", bound=Strict)


def picked(shape: type[BaseModel], raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `raw` that `shape` lists and no others, at every level."""
    found = {}
    for name, field in shape.model_fields.items():
        if name in raw:
            inner, value = field.annotation, raw[name]
            nested = isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, Mapping)
            found[name] = picked(inner, value) if nested else value  # type: ignore[arg-type]
    return found


def run_id(manifest: Mapping[str, Any]) -> str:
    """16 hex digits over the manifest but for this name, the submitter and the export time: one run, one name."""
    kept = {name: value for name, value in manifest["submission"].items() if name not in ("run_id", "submitter", "exported")}
    return digest({**manifest, "submission": kept})[:16]


CODES = {
    "model.id": "model.name",
    "submission.submitter": "submitter.text",
    "submission.format": "manifest.format",
    "format": "manifest.format",
    "settings": "settings.field",
}
"""Code of a fault in the manifest by where it lies; any other is `manifest.field`."""


def read_manifest(found: Any) -> Manifest:
    """A parsed `manifest.json`. Raises `RejectedError` with the first fault."""
    return _without_leaks(read(Manifest, found, "manifest.json", "manifest.field", CODES), found, "manifest.json")


def read_judge(found: Any, name: str) -> Judge:
    """A parsed `judge.json`. Raises `RejectedError` with the first fault."""
    return _without_leaks(read(Judge, found, name, "judge.field"), found, name)


def read(shape: type[Shape], found: Any, name: str, code: str, codes: Mapping[str, str] = MappingProxyType({})) -> Shape:
    """Plain JSON as a record. Raises `RejectedError` with the first fault, under `code` or the code of its place."""
    try:
        return shape.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        code = next((special for start, special in codes.items() if where.startswith(start)), code)
        raise RejectedError(code, f"{name}, {quoted(where)}: {ascii(first['msg'])[1:-1]}") from error


def _without_leaks(record: Shape, found: Any, name: str) -> Shape:
    for leak in leaks(found, name):
        raise RejectedError(*leak)
    return record


def slug_of(model: str) -> str:
    """Folder of a model: `owner/Model-1B` -> `owner--model-1b`."""
    return re.sub(r"[^a-z0-9._-]", "-", model.lower().replace("/", "--"))


_GLYPHS = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))


def folded(name: str) -> str:
    """A name as the eye takes it: without case, kinds of dash, and letters that look alike. Two equal ones are one name."""
    seen = re.sub(r"[._:+-]", "-", unicodedata.normalize("NFKC", name).casefold())
    for written, shown in _GLYPHS:
        seen = seen.replace(written, shown)
    return seen


TOKENS = re.compile(r"\bhf_[A-Za-z0-9]{20,}|\b(?:sk|pk)-[A-Za-z0-9_-]{24,}|\bgh[pousr]_[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b")
"""Access tokens of the services that runs meet."""
PATHS = re.compile(r"(?:^|[\s\"'=:(,;])(?:/[\w.+-]+/[\w.+-]|~/|\\\\[\w.-]+|[A-Za-z]:[\\/])|file:")
"""Absolute paths of a machine, in names and options."""


def leaks(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """(code, sentence) for each text in plain JSON that holds a token or an absolute path; the text itself is not repeated."""
    if isinstance(value, str):
        if TOKENS.search(value):
            yield "secret.token", f"{where} holds what looks like an access token; revoke it and remove it"
        if PATHS.search(value):
            yield "secret.path", f"{where} holds an absolute path of a machine; remove it"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from leaks(name, f"a field's name in {where}")
            yield from leaks(inner, f"{where}, {quoted(name)}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaks(inner, where)
