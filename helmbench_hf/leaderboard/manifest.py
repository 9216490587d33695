"""`manifest.json` of a submission: a closed list of fields, so that nothing of a machine travels along unseen.

It holds no path, no host, no environment and no token; `leaks` looks for what got in through a name or an option.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from helmbench_hf.generate.turns import Settings
from helmbench_hf.inference.identity import ModelIdentity
from helmbench_hf.inference.keys import KeyContext, digest
from helmbench_hf.leaderboard.files import RejectedError, quoted

FORMAT = 1
MOST_DRAWS = 64
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
ShaOrNone = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
Commit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40,64})?$")]
Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._:+-]{0,79}$")]
WordOrNone = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9 ._:+-]{0,79})?$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,39}$")]
Time = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:+-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._:+-]{0,95})?$")]
"""ASCII alone: no letter that looks like another, no mark that turns the reading direction."""
Count = Annotated[int, Field(ge=0, le=2**40)]


class Strict(BaseModel):
    """Base: no unknown field, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())


class Dataset(Strict):
    """What was asked."""

    id: ModelName
    """Hub id, `embedded` for the copy inside helmbench, or `folder`."""
    name: Word
    design: Literal["core", "full", "smoke", "taxonomy"]
    version: Version
    scoring_version: Version
    tag: Version
    sha: Commit
    """Commit of the Hub's repository; empty where it was not loaded from there."""
    content_sha256: Sha


class Model(Strict):
    """`ModelIdentity`, field by field."""

    id: ModelName
    commit: Commit
    files_sha: ShaOrNone
    dtype: WordOrNone
    quantization: WordOrNone
    template_sha: ShaOrNone
    versions: dict[Slug, Version]
    served: WordOrNone

    def identity(self) -> ModelIdentity:
        """As the pipeline's record."""
        return ModelIdentity(**self.model_dump())


class Key(Strict):
    """`KeyContext`: what all keys share."""

    model: dict[str, Any]
    template_sha: ShaOrNone
    engine: Word
    template_kwargs: dict[str, Any]

    def context(self) -> KeyContext:
        """As the pipeline's record."""
        return KeyContext(**self.model_dump())


class Chat(Strict):
    """How the prompts were put to the model."""

    system_role: WordOrNone
    folded: bool | None
    thinking: WordOrNone


class Engine(Strict):
    """What ran the model."""

    name: Word
    version: Version
    dtype: WordOrNone
    max_model_len: Count
    batch_limit: Count
    threads: Count
    block_size: Count
    served: ModelName | None


class Rubric(Strict):
    """What a judge was asked."""

    version: Version
    sha256: Sha


class Judge(Strict):
    """One judge, in the order in which they were called."""

    id: Slug
    family: Slug
    mode: Literal["fast", "evidence"]
    orders: Literal[1, 2]
    rubric: Rubric
    model: Model
    key: Key
    served: ModelName | None

    def row(self) -> dict[str, Any]:
        """As `judge.json` says it, for what grades and cites."""
        kept = {name: getattr(self, name) for name in ("id", "family", "mode", "orders")}
        extra = {} if self.served is None else {"served": self.served}
        described = {"rubric": self.rubric.model_dump(), "key": self.key.model_dump(), "description": {"extra": extra}}
        return {**kept, **described}


class File(Strict):
    """One of the submission's files."""

    sha256: Sha
    bytes: Count


class Missing(Strict):
    """A planned answer that there is none of."""

    request: Annotated[str, StringConstraints(max_length=120)]
    reason: Literal["refused", "engine_error", "earlier_turn"]
    """`earlier_turn`: the conversation ended before it, at a turn that was refused, failed or was withheld."""


class Submitter(Strict):
    """Who submits, in their own words."""

    name: Annotated[str, StringConstraints(max_length=80)]
    text: Annotated[str, StringConstraints(max_length=2000)]


class Times(Strict):
    """UTC."""

    started: Time
    exported: Time


class Manifest(Strict):
    """The whole of it."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    run_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    helmbench: Version
    scores_format: Count
    dataset: Dataset
    model: Model
    key: Key
    chat: Chat
    engine: Engine | None
    settings: dict[str, bool | int | float]
    judges: Annotated[list[Judge], Field(max_length=5)]
    panel: Literal["first", "majority", "worst"]
    missing: list[Missing]
    files: dict[str, File]
    submitter: Submitter
    times: Times

    @property
    def slug(self) -> str:
        """Folder of the model: its name in lower case, with `--` for the slash."""
        return slug_of(self.model.id)

    @property
    def place(self) -> str:
        """Where the submission stands in the results repository."""
        return f"submissions/{self.slug}/{self.run_id}"

    def chosen(self) -> Settings:
        """The settings. Raises `RejectedError` where one is unknown, missing, or of another type."""
        known = {each.name: type(each.default) for each in fields(Settings)}
        wrong = [name for name in {*known, *self.settings} if not _is(self.settings.get(name), known.get(name))]
        if wrong:
            raise RejectedError(
                "settings.field", f"settings lack {quoted(sorted(wrong)[0])}, do not know it, or have it as another type"
            )
        try:
            found = Settings(**self.settings)  # type: ignore[arg-type]
        except ValueError as error:
            raise RejectedError("settings.field", str(error)) from error
        if not 1 <= found.draws <= MOST_DRAWS or not 0 <= found.thinking_tokens <= 1 << 20 or found.temperature < 0:
            raise RejectedError("settings.field", f"draws are 1 to {MOST_DRAWS}, thinking_tokens and temperature are not below 0")
        return found


def _is(value: Any, kind: type | None) -> bool:
    return kind is not None and (type(value) is kind or (kind is float and type(value) is int))


def slug_of(model: str) -> str:
    """`owner/Model-1B` -> `owner--model-1b`."""
    return re.sub(r"[^a-z0-9.-]", "-", model.lower().replace("/", "--"))


_GLYPHS = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))


def look_alike(slug: str, known: Iterable[str]) -> str | None:
    """Another known model's folder whose name looks the same in print, or nothing."""
    return next((other for other in sorted(known) if other != slug and _looks(other) == _looks(slug)), None)


def _looks(slug: str) -> str:
    for written, seen in _GLYPHS:
        slug = slug.replace(written, seen)
    return slug


def run_id(manifest: Mapping[str, Any]) -> str:
    """Name of a submission by content: 16 hex digits over the manifest but for this name, the submitter and the export time."""
    kept = {name: value for name, value in manifest.items() if name not in ("run_id", "submitter", "times")}
    return digest({**kept, "started": manifest["times"]["started"]})[:16]


CODES = {"model.id": "model.name", "submitter": "submitter.text", "format": "manifest.format", "judges": "judge.field"}
"""Code of a fault by where it lies; any other is `manifest.field`."""


def read_manifest(found: Any) -> Manifest:
    """A parsed `manifest.json`. Raises `RejectedError` with the first fault."""
    try:
        manifest = Manifest.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        code = next((code for start, code in CODES.items() if where.startswith(start)), "manifest.field")
        raise RejectedError(code, f"manifest.json, {quoted(where)}: {first['msg']}") from error
    _check_text(manifest.submitter.name, "name", "")
    _check_text(manifest.submitter.text, "text", "\n")
    if found := next(leaks(manifest.model_dump()), None):
        raise RejectedError(*found)
    return manifest


def _check_text(text: str, name: str, allowed: str) -> None:
    """Free text is shown to people: no control, format or direction mark, and in the one form that is compared."""
    odd = next((letter for letter in text if unicodedata.category(letter)[0] == "C" and letter not in allowed), None)
    if odd is not None:
        raise RejectedError("submitter.text", f"the submitter's {name} holds the invisible character {odd!a}; take it out")
    if unicodedata.normalize("NFC", text) != text:
        raise RejectedError("submitter.text", f"the submitter's {name} is not in Unicode's form NFC; write it in that form")


TOKENS = re.compile(r"\bhf_[A-Za-z0-9]{20,}|\b(?:sk|pk)-[A-Za-z0-9_-]{24,}|\bgh[pousr]_[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b")
"""Access tokens of the services that runs meet."""
PATHS = re.compile(r"(?:^|[\s\"'=:(,;])(?:/[\w.+-]+/[\w.+-]|~/|\\\\[\w.-]+|[A-Za-z]:[\\/])|file:")
"""Absolute paths of a machine, in names and options."""


def leaks(value: Any, where: str = "manifest.json") -> Iterator[tuple[str, str]]:
    """(code, sentence) for each text in plain JSON that holds a token or an absolute path; the text itself is not repeated."""
    if isinstance(value, str):
        if TOKENS.search(value):
            yield "secret.token", f"{where} holds what looks like an access token; revoke it and take it out"
        if PATHS.search(value):
            yield "secret.path", f"{where} holds an absolute path of a machine; take it out"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from leaks(name, f"a field's name in {where}")
            yield from leaks(inner, f"{where}, {quoted(name)}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaks(inner, where)
