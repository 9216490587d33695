"""The folder of a run: where each stage leaves its table, and the manifest that says what exactly ran.

RUN/manifest.json            identity of dataset, model, settings, engine
RUN/completions/*.jsonl      journal of the model's answers
RUN/judgments/<judge>/       journal of each judge's answers, and judge.json
RUN/verdicts.jsonl, scores.json, report.html      derived; written again whenever asked
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helmbench_hf.models.keys import KeyContext
from helmbench_hf.runs.journal import sync_folder

FORMAT = 1
JUDGE = "judge.json"


class RunError(Exception):
    """The run folder cannot be used for what was asked. The message is a sentence."""


class Shape(BaseModel):
    """The fields of a JSON file that are read, and their types; others may stand beside them and are kept."""

    model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=())

    def to_json(self) -> dict[str, Any]:
        """What stands in the file: the fields that were given."""
        return self.model_dump(exclude_unset=True)


class Dataset(Shape):
    """The fields of a `DatasetIdentity` by which a run's cases are found again."""

    name: str
    design: str
    version: str
    content_sha256: str
    source: str
    private: bool = False


class Selection(Shape):
    """Which cases of the dataset a run answers."""

    only: str | None = None
    limit: int | None = None
    shard: str | None = None
    cases: int | None = None

    @property
    def recorded(self) -> bool:
        """Whether the run says which cases it was to answer."""
        return "only" in self.model_fields_set


class RunModel(Shape):
    """What a run answers with, named by its commit, the hash of its files, or that of a policy or of people's answers."""

    id: str
    commit: str | None = None
    files_sha: str | None = None
    sha: str | None = None
    dtype: str | None = None
    template_sha: str | None = None

    @property
    def content(self) -> tuple[str | None, ...]:
        """What names it: its commit or a hash; behind a server its name alone."""
        return self.commit or self.files_sha or self.sha or self.id, self.dtype, self.template_sha


class RunSettings(Shape):
    """The `Settings` of a run; of policies and people the number of draws alone."""

    __pydantic_extra__: dict[str, bool | int | float]
    draws: Annotated[int, Field(ge=1)]


class RunRouter(Shape):
    """The router of a run: its engine and model, how it was asked, and what the keys of its answers rest on."""

    engine: str = ""
    mode: Literal["fast", "schema"]
    key: KeyContext
    model: dict[str, Any]


class RunUser(Shape):
    """The model that worded the person's lines: its engine and weights, and what the keys of its lines rest on."""

    engine: str = ""
    key: KeyContext
    model: dict[str, Any]


class Manifest(Shape):
    """`manifest.json`: what exactly ran."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    helmbench: str = ""
    dataset: Dataset
    selection: Selection = Selection()
    model: RunModel
    chat: dict[str, Any] = {}
    settings: RunSettings
    engine_label: str | None = None
    key: KeyContext | None = None
    """None: of a policy or of people, whose answers rest on no model."""
    preset: dict[str, Any] | None = None
    context_sha: str | None = None
    started: str = ""
    parts: list[dict[str, Any]] = []
    """Of a merged run: what was merged."""
    engine: dict[str, Any] | None = None
    reasoning: dict[str, int] | None = None
    """How many answers came without reasoning, after it, and never because it did not end."""
    history: dict[str, Any] | None = None
    router: RunRouter | None = None
    """What sorted the replies of reactive conversations; None where nothing did."""
    user: RunUser | None = None
    """What worded the person's lines in them; None where they stand as authored."""


class JudgeFile(Shape):
    """`judge.json`: what judged, in which mode, by which rubric."""

    id: str
    family: str
    mode: Literal["fast", "evidence"]
    number: int
    """Order in which the judges of a run were first called."""
    orders: Literal[1, 2]
    rubric: dict[str, str]
    key: KeyContext
    model: dict[str, Any]
    description: dict[str, Any]


Read = TypeVar("Read", bound=Shape)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run; nothing is made until something is written."""

    root: Path

    @property
    def completions(self) -> Path:
        """Journal of the model's answers."""
        return self.root / "completions"

    @property
    def acts(self) -> Path:
        """Journal of what the router said, and the user model where there is one."""
        return self.root / "acts"

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
            raise RunError(f"{self.root} does not contain a run (no manifest.json); make one with `helmbench generate`")
        return read_json(path, Manifest, "restore it, start a new run folder, or update helmbench")

    def write_manifest(self, manifest: Manifest | Mapping[str, Any]) -> None:
        """Replace the manifest: a reader sees the old one or the new one. Raises what `replacing` raises."""
        rows = manifest.to_json() if isinstance(manifest, Manifest) else manifest
        write_json(self.root / "manifest.json", {"format": FORMAT, **rows})

    def judge(self, name: str) -> dict[str, Any] | None:
        """What `judge.json` says of one judge; None where there is none yet. Raises what `read_json` raises."""
        path = self.judgments / name / JUDGE
        how = "restore it, or remove the judge's folder"
        return read_json(path, JudgeFile, how).to_json() if path.exists() else None

    def judges(self) -> list[dict[str, Any]]:
        """What `judge.json` says of each judge of a run, in the order in which they were first called."""
        rows = [row for path in self.judgments.glob(f"*/{JUDGE}") if (row := self.judge(path.parent.name)) is not None]
        return sorted(rows, key=lambda row: (row["number"], row["id"]))


def read_json(path: Path, shape: type[Read], fix: str) -> Read:
    """Read a JSON file of a shape. Raises `RunError` that names the first wrong field and says how to `fix` it."""
    try:
        return shape.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise RunError(
            f"{path} is not in the form that this version of helmbench reads ({where}: {first['msg']}); {fix}"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read ({error}); {fix}") from error


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
            f"{path} cannot be written ({error.strerror}). Everything written before is safe: free up space or fix the "
            f"folder's permissions, then run the same command again."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
