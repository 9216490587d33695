"""The folder of a run: where each stage leaves its table, and the manifest that says what exactly ran.

RUN/manifest.json            identity of dataset, model, settings, engine
RUN/completions/*.jsonl      journal of the model's answers
RUN/judgments/<judge>/       journal of each judge's answers, and judge.json
RUN/verdicts.jsonl, scores.json, report.html      derived; made anew whenever asked
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TextIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helmbench_hf.inference.journal import sync_folder

FORMAT = 1
Manifest = dict[str, Any]


class RunError(Exception):
    """The run folder cannot be used for what was asked. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run; nothing is made until something is written."""

    root: Path

    @property
    def completions(self) -> Path:
        """Journal of the model's answers."""
        return self.root / "completions"

    @property
    def judgments(self) -> Path:
        """One folder a judge."""
        return self.root / "judgments"

    @property
    def scores(self) -> Path:
        """Every number, with its n."""
        return self.root / "scores.json"

    @property
    def report(self) -> Path:
        """The page."""
        return self.root / "report.html"

    def manifest(self) -> Manifest:
        """What ran. Raises RunError where there is no run here, or one of another format."""
        path = self.root / "manifest.json"
        if not path.exists():
            raise RunError(f"{self.root} holds no run (no manifest.json); make one with `helmbench generate`")
        return read_json(path, _Run, "restore it, start a new run folder, or update helmbench")

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest whole: a reader sees the old one or the new one."""
        write_json(self.root / "manifest.json", {"format": FORMAT, **manifest})


class Shape(BaseModel):
    """The fields of a JSON file that are read, and their types; others may stand beside them."""

    model_config = ConfigDict(strict=True, protected_namespaces=())


class KeyShape(Shape):
    """`KeyContext`, field by field."""

    model_config = ConfigDict(extra="forbid")
    model: dict[str, Any]
    template_sha: str
    engine: str
    template_kwargs: dict[str, Any] = {}


class _Dataset(Shape):
    name: str
    design: str
    version: str
    content_sha256: str
    source: str


class _Selection(Shape):
    only: str | None = None
    limit: int | None = None
    shard: str | None = None


class _Model(Shape):
    id: str


class _Settings(Shape):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, bool | int | float]
    draws: Annotated[int, Field(ge=1)]


class _Run(Shape):
    """`manifest.json`."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    dataset: _Dataset
    selection: _Selection = _Selection()
    model: _Model
    settings: _Settings
    key: KeyShape | None = None
    """None: of a policy or of people, whose answers rest on no model."""
    chat: dict[str, Any] = {}
    engine: dict[str, Any] | None = None
    history: dict[str, Any] | None = None
    parts: list[dict[str, Any]] = []
    started: str = ""


def read_json(path: Path, shape: type[Shape], mend: str) -> dict[str, Any]:
    """A JSON file as it stands, once it has the shape. Raises `RunError` that names the first wrong field and says `mend`."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        shape.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise RunError(f"{path} is not of the form that this helmbench reads ({where}: {first['msg']}); {mend}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read ({error}); {mend}") from error
    return found


def write_json(path: Path, data: Any) -> None:
    """Write JSON in ASCII as `replacing` does: what a model or a person wrote steers no terminal that shows the file."""
    with replacing(path) as file:
        json.dump(data, file, indent=1, allow_nan=False)
        file.write("\n")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Give a file that takes the place of `path` when the block ends: a kill or a power failure leaves the old one or the new.

    Raises `RunError` where it cannot be written; the old file stands then, and nothing is left beside it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # a lone surrogate that a model wrote becomes its JSON escape
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written ({error.strerror}). Everything before is safe: make room or fix the folder's rights, "
            "then run the same command again."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
