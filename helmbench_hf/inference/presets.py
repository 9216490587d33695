"""`configs/models/*.yaml` and `configs/judges/*.yaml`: how the published model families and judges are to be run.

A preset says what a family's authors published and where that was read; what nobody here has seen is `unknown`. It fills
what a person left open, and nothing else: a value that is given always wins.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Discriminator, Field, StringConstraints, Tag

from helmbench_hf.content.load import ContentError, _Reader, default_root
from helmbench_hf.content.schema import Authored, Text
from helmbench_hf.content.strict_yaml import Problem
from helmbench_hf.inference.engine import Thinking
from helmbench_hf.inference.probes import Bos, DeveloperRole, SystemRole

T = TypeVar("T")


def _kind(value: Any) -> str:
    # the brackets keep the kind out of what a fault calls its field
    return "[unknown]" if isinstance(value, str) else "[known]"


OrUnknown = Annotated[Annotated[T, Tag("[known]")] | Annotated[Literal["unknown"], Tag("[unknown]")], Discriminator(_kind)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]
Sources = Annotated[list[Name], Field(min_length=1)]
"""Keys of the file's `sources`."""
Tokens = Annotated[int, Field(ge=1)]


class Source(Authored):
    """A document, a repository's file or a piece of arithmetic, and the day on which it was read."""

    title: Text
    seen: dt.date


class License(Authored):
    """What the weights may be used under, by its usual name."""

    name: Text
    source: Sources


class Size(Authored):
    """One checkpoint."""

    hub: Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$")]
    context: OrUnknown[Tokens]
    """Prompt and answer together, without any extension that has to be configured."""
    gpus: OrUnknown[Annotated[int, Field(ge=1)]]
    """GPUs of 80 GB that its published precision needs, with room for a cache: the size of tensor parallelism."""
    source: Sources


class Draw(Authored):
    """How its authors recommend to sample from it; a field that is left out was not recommended."""

    temperature: Annotated[float, Field(ge=0)]
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: float | None = None
    """Recorded only: helmbench's sampling has none."""
    source: Sources


class SamplingRules(Authored):
    """Recommendations by mode; a family that never thinks has only `plain`, one that always does only `thinking`."""

    thinking: OrUnknown[Draw] | None = None
    plain: OrUnknown[Draw] | None = None


class ThinkingRule(Authored):
    """Whether the family reasons before it answers, and how that is switched."""

    default: Thinking
    switch: Literal["enable_thinking", "thinking", "none"]
    """The template's argument that `--thinking` sets."""
    phrases: list[Text] = Field(default_factory=list)
    """Words in a system or user text that switch it too; helmbench adds none to a case."""
    tokens: OrUnknown[Tokens] | None = None
    """Budget of the reasoning, for `thinking_tokens`."""
    source: Sources


class TemplateFacts(Authored):
    """What the probes of `chat.py` are expected to find in the published template."""

    system_role: Literal[SystemRole, "unknown"]
    developer_role: Literal[DeveloperRole, "unknown"]
    bos: Literal[Bos, "unknown"]
    source: Sources


class ModelPreset(Authored):
    """One family of open-weight chat models."""

    slug: Name
    title: Text
    family: Name
    """Judges of two families are needed to confirm a veto; this is the word that they are told apart by."""
    license: OrUnknown[License]
    sizes: Annotated[dict[Name, Size], Field(min_length=1)]
    default: Name
    """The size that `preset:SLUG` means."""
    sampling: SamplingRules
    thinking: ThinkingRule
    template: OrUnknown[TemplateFacts]
    notes: list[Text] = Field(default_factory=list)
    sources: dict[Name, Source]


class JudgePreset(Authored):
    """One judge: a model preset with what judging asks of it. No preset says that a judge is valid."""

    slug: Name
    title: Text
    model: Name
    size: Name
    mode: Literal["auto", "fast", "evidence"]
    orders: Literal[1, 2]
    thinking: Thinking | None = None
    context: Tokens
    """Window in tokens: the rubric, a case with its reply, and a verdict."""
    why: Text


@dataclass(frozen=True, slots=True)
class Presets:
    """Every preset by slug, and the SHA-256 of the file that each was read from."""

    models: Mapping[str, ModelPreset]
    judges: Mapping[str, JudgePreset]
    files: Mapping[str, str]
    """`models/SLUG.yaml` -> 64 hex digits."""


def default_folder() -> Path:
    """The folder `configs`: of the checkout that runs, else of the installed package."""
    return default_root().parent.parent


def load_presets(root: Path | None = None) -> Presets:
    """Read and check every preset under `root`; raises `ContentError` with every fault, its file and its line."""
    root = root or default_folder()
    reader = _Reader(root)
    models = {preset.slug: preset for preset in reader.all("models", ModelPreset, "slug")}
    judges = {preset.slug: preset for preset in reader.all("judges", JudgePreset, "slug")}
    if problems := reader.problems or list(_faults(reader, models, judges)):
        raise ContentError(problems)
    files = {name: sha256((root / name).read_bytes()).hexdigest() for name in reader.documents}
    return Presets(models, judges, files)


def _faults(reader: _Reader, models: Mapping[str, ModelPreset], judges: Mapping[str, JudgePreset]) -> Iterator[Problem]:
    """What no field says alone: names of files, sizes and sources that are referred to."""

    def at(file: str, path: tuple[str | int, ...], what: str, mend: str) -> Problem:
        return Problem(file, reader.documents[file].line(path), ".".join(map(str, path)), what, mend)

    for file in reader.documents:
        folder, _, name = file.partition("/")
        if name.removesuffix(".yaml") not in (models if folder == "models" else judges):
            yield at(file, ("slug",), "the file is not called by its slug", "give both the same name")
            return
    for slug, model in models.items():
        file = f"models/{slug}.yaml"
        if model.default not in model.sizes:
            yield at(file, ("default",), f"there is no size {model.default}", f"name one of {', '.join(model.sizes)}")
        for path, name in _cited(model.model_dump()):
            if name not in model.sources:
                yield at(file, path, f"there is no source {name}", f"name one of {', '.join(model.sources)}, or add it")
        if model.thinking.default == "on" and model.sampling.thinking is None:
            yield at(file, ("sampling",), "it thinks, and there is no `thinking` sampling", "add it, or write unknown")
    for slug, judge in judges.items():
        file = f"judges/{slug}.yaml"
        if judge.model not in models:
            yield at(file, ("model",), f"there is no model preset {judge.model}", f"name one of {', '.join(models)}")
        elif judge.size not in models[judge.model].sizes:
            sizes = ", ".join(models[judge.model].sizes)
            yield at(file, ("size",), f"{judge.model} has no size {judge.size}", f"name one of {sizes}")


def _cited(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every source that a preset refers to, with the path of the reference."""
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        if key == "source":
            yield from (((*path, key, index), name) for index, name in enumerate(value))
        else:
            yield from _cited(value, (*path, key))
