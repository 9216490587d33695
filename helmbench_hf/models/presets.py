"""`configs/models/*.yaml` and `configs/judges/*.yaml`: how the published model families and judges are to be run.

A preset says what a family's authors published and where that was read; what was not verified is `unknown`. It supplies
defaults for what a person left open; a value that is given always wins.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from helmbench_hf.content.load import ContentError, Reader, default_root
from helmbench_hf.content.schema import Authored, Text
from helmbench_hf.models.engine import EngineError, Thinking
from helmbench_hf.strict_yaml import Problem

T = TypeVar("T")
MARK = "preset:"
PROMPT_ROOM = 8192
"""Tokens of the window beside the budget of thinking: prompt and answer. Published contexts are far longer, and an engine
that must hold one whole context does not start for want of memory."""


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
    source: Sources


class SamplingRules(Authored):
    """Recommendations by mode; a family that never thinks has only `plain`, one that always does only `thinking`."""

    thinking: OrUnknown[Draw] | None = None
    plain: OrUnknown[Draw] | None = None


class ThinkingRule(Authored):
    """Whether the family reasons before it answers, and how that is switched."""

    default: Thinking
    switch: Literal["enable_thinking", "thinking", "none"]
    """The template's argument that `-e thinking=on|off` sets."""
    tokens: OrUnknown[Tokens] | None = None
    """Budget of the reasoning, for `thinking_tokens`."""
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
    notes: list[Text] = Field(default_factory=list)
    sources: dict[Name, Source]

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.default not in self.sizes:
            raise ValueError(f"there is no size {self.default}; default must be one of {', '.join(self.sizes)}")
        if self.thinking.default == "on" and self.sampling.thinking is None:
            raise ValueError("it thinks, but there is no `thinking` sampling; add it, or write unknown")
        if unknown := sorted(set(_cited(self.model_dump())) - self.sources.keys()):
            raise ValueError(f"there is no source {unknown[0]}; name one of {', '.join(self.sources)}, or add it")
        return self


def _cited(data: Any) -> Iterator[str]:
    """Every source that a preset refers to."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from value if key == "source" else _cited(value)


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
    reader = Reader(root)
    models = reader.library("models", ModelPreset, "slug")
    judges = reader.library("judges", JudgePreset, "slug")
    if problems := reader.problems or list(_faults(reader, models, judges)):
        raise ContentError(problems)
    files = {name: sha256((root / name).read_bytes()).hexdigest() for name in reader.documents}
    return Presets(models, judges, files)


def _faults(reader: Reader, models: Mapping[str, ModelPreset], judges: Mapping[str, JudgePreset]) -> Iterator[Problem]:
    """What no file says alone: the name of each file, and the models that judges refer to."""
    for file, document in reader.documents.items():
        name = file.rpartition("/")[2].removesuffix(".yaml")
        if document.data["slug"] != name:
            what = f"the file is called {name}, and its slug is {document.data['slug']}"
            yield Problem(file, document.line(("slug",)), "slug", what, "give both the same name")
    for slug, judge in judges.items():
        if judge.model not in models or judge.size not in models[judge.model].sizes:
            file, what = f"judges/{slug}.yaml", f"there is no model preset {judge.model}@{judge.size}"
            yield Problem(file, reader.documents[file].line(("model",)), "model", what, "see `helmbench models`")


@dataclass(frozen=True, slots=True)
class Filled:
    """The defaults that a preset supplies to a run or a judge."""

    model: str
    """Hub id."""
    family: str
    engine: Mapping[str, Any]
    """Fields of `EngineSpec` that were left open."""
    settings: Mapping[str, Any]
    """Fields of the sampling settings that were left open; a judge's are its own."""
    record: Mapping[str, Any]
    """For the manifest, as plain JSON: preset, size, file with its hash, what was filled, given instead, not known."""

    @property
    def shown(self) -> str:
        """One line for the person at the terminal."""
        record = self.record
        words = [f"preset {record['preset']} ({record['file']}, {record['sha256'][:12]}): {self.model}"]
        words += [f"{name}={value}" for name, value in record["filled"].items()]
        words += [f"{name} as given" for name in record["given"]]
        words += [f"{name} unknown" for name in record["unknown"]]
        return ", ".join(words)


def fill_model(
    presets: Presets, name: str, thinking: Thinking | None, given_engine: Iterable[str], given_settings: Iterable[str]
) -> Filled:
    """Supply what `SLUG` or `SLUG@SIZE` says, wherever the names given by the person leave it open.

    `thinking` is what was asked for; None is the family's default. Raises `EngineError` for a preset or a size that is not
    there.
    """
    preset, key, size = _find(presets.models, name)
    thinks = (thinking or preset.thinking.default) == "on"
    draw = preset.sampling.thinking if thinks else preset.sampling.plain
    budget = preset.thinking.tokens if thinks else 0
    settings: dict[str, Any] = {}
    unknown = []
    if isinstance(draw, Draw):
        settings = draw.model_dump(exclude={"source"}, exclude_none=True)
    else:
        unknown.append("sampling")
    if not isinstance(budget, int):
        unknown.append("thinking_tokens")
        budget = 0
    elif budget:
        settings["thinking_tokens"] = budget
    row = _row(presets, f"models/{preset.slug}.yaml", f"{preset.slug}@{key}", size, unknown)
    return _filled(preset, size, _engine(size, PROMPT_ROOM + budget), settings, {*given_engine, *given_settings}, row)


def fill_judge(presets: Presets, slug: str, given: Iterable[str]) -> tuple[JudgePreset, Filled]:
    """Give a judge's preset and what it supplies to its engine. Raises `EngineError` where there is none of that name."""
    if slug not in presets.judges:
        raise EngineError(f"There is no judge preset {slug}; choose from {', '.join(sorted(presets.judges))}.")
    judge = presets.judges[slug]
    preset, _, size = _find(presets.models, f"{judge.model}@{judge.size}")
    engine = {**_engine(size, judge.context), **({"thinking": judge.thinking} if judge.thinking else {})}
    row = _row(presets, f"judges/{slug}.yaml", slug, size, [])
    row |= {"model": f"{judge.model}@{judge.size}", "model_sha256": presets.files[f"models/{judge.model}.yaml"]}
    return judge, _filled(preset, size, engine, {}, set(given), row)


def _find(models: Mapping[str, ModelPreset], name: str) -> tuple[ModelPreset, str, Size]:
    slug, at, key = name.partition("@")
    if slug not in models:
        raise EngineError(f"There is no model preset {slug}; choose from {', '.join(sorted(models))}. See `helmbench models`.")
    preset = models[slug]
    key = key if at else preset.default
    if key not in preset.sizes:
        raise EngineError(f"The preset {slug} has no size {key!r}; it has {', '.join(preset.sizes)}.")
    return preset, key, preset.sizes[key]


def _engine(size: Size, window: int) -> dict[str, Any]:
    gpus = {} if isinstance(size.gpus, str) else {"tensor_parallel_size": size.gpus}
    return gpus if isinstance(size.context, str) else {**gpus, "max_model_len": min(size.context, window)}


def _row(presets: Presets, file: str, name: str, size: Size, unknown: list[str]) -> dict[str, Any]:
    unknown = unknown + [field for field in ("context", "gpus") if getattr(size, field) == "unknown"]
    return {"preset": name, "file": file, "sha256": presets.files[file], "hub": size.hub, "unknown": unknown}


def _filled(
    preset: ModelPreset, size: Size, engine: dict[str, Any], settings: dict[str, Any], given: set[str], row: dict[str, Any]
) -> Filled:
    """Leave out what the person gave, and record both."""
    row |= {"filled": {}, "given": [name for name in (*settings, *engine) if name in given]}
    for found in (settings, engine):
        for name in given & found.keys():
            del found[name]
        row["filled"] |= found
    return Filled(size.hub, preset.family, engine, settings, row)
