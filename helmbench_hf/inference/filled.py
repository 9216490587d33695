"""What a preset fills in: model, engine and sampling of one run, and of one judge. Plain values; nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from helmbench_hf.inference.engine import EngineError, Thinking
from helmbench_hf.inference.presets import JudgePreset, ModelPreset, Presets, Size
from helmbench_hf.inference.probes import ChatFacts

MARK = "preset:"
PROMPT_ROOM = 8192
"""Tokens of the window beside the budget of thinking: prompt and answer. Published contexts are far longer, and an engine
that must hold one whole context does not start for want of memory."""
SAMPLED = ("temperature", "top_p", "top_k", "min_p", "presence_penalty")


@dataclass(frozen=True, slots=True)
class Filled:
    """What a preset gives to a run or a judge."""

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
        parts = [f"preset {record['preset']} ({record['file']}, {record['sha256'][:12]}): {self.model}"]
        parts += [f"{name}={value}" for name, value in record["filled"].items()]
        parts += [f"{name} as given" for name in record["given"]]
        parts += [f"{name} unknown" for name in record["unknown"]]
        return ", ".join(parts)


def fill_model(
    presets: Presets, name: str, thinking: Thinking | None, given_engine: Iterable[str], given_settings: Iterable[str]
) -> Filled:
    """Fill in what `SLUG` or `SLUG@SIZE` says, wherever the names given by the person leave it open.

    `thinking` is what was asked for; None is the family's default. Raises `EngineError` for a preset or a size that is not
    there.
    """
    preset, key, size = _find(presets.models, name)
    thinks = (thinking or preset.thinking.default) == "on"
    draw = preset.sampling.thinking if thinks else preset.sampling.plain
    known: dict[str, Any] = {}
    unknown: list[str] = []
    if draw is None or isinstance(draw, str):
        unknown.append("sampling")
    else:
        known |= {field: value for field in SAMPLED if (value := getattr(draw, field)) is not None}
    settings = _open(known, given_settings)
    budget = preset.thinking.tokens if thinks else 0
    if budget is None or isinstance(budget, str):
        unknown.append("thinking_tokens")
        budget = 0
    elif budget:
        settings |= _open({"thinking_tokens": budget}, given_settings)
        known["thinking_tokens"] = budget
    engine = _engine(size, PROMPT_ROOM + budget)
    record = {
        **_record(presets, f"models/{preset.slug}.yaml", f"{preset.slug}@{key}", size),
        "unknown": unknown + [field for field in ("context", "gpus") if getattr(size, field) == "unknown"],
    }
    return _filled(preset, size, _open(engine, given_engine), settings, [*known, *engine], record)


def fill_judge(presets: Presets, slug: str, given: Iterable[str]) -> tuple[JudgePreset, Filled]:
    """Give a judge's preset and what it fills in of its engine. Raises `EngineError` where there is none of that name."""
    if slug not in presets.judges:
        raise EngineError(f"There is no judge preset {slug}; there are {', '.join(sorted(presets.judges))}.")
    judge = presets.judges[slug]
    preset, _, size = _find(presets.models, f"{judge.model}@{judge.size}")
    engine = _engine(size, judge.context)
    if judge.thinking is not None:
        engine["thinking"] = judge.thinking
    unknown = [field for field in ("context", "gpus") if getattr(size, field) == "unknown"]
    record = {**_record(presets, f"judges/{slug}.yaml", slug, size), "unknown": unknown}
    record["model"] = f"{judge.model}@{judge.size}"
    record["model_sha256"] = presets.files[f"models/{judge.model}.yaml"]
    return judge, _filled(preset, size, _open(engine, given), {}, list(engine), record)


def differences(preset: ModelPreset, facts: ChatFacts) -> list[str]:
    """Say where the template that is really there differs from what the preset expects of it."""
    found = [] if preset.thinking.switch == (facts.thinking_switch or "none") else ["thinking_switch"]
    if not isinstance(preset.template, str):
        expected = preset.template.model_dump(exclude={"source"})
        found += [name for name, value in expected.items() if value not in ("unknown", getattr(facts, name))]
    return found


def _find(models: Mapping[str, ModelPreset], name: str) -> tuple[ModelPreset, str, Size]:
    slug, at, key = name.partition("@")
    if slug not in models:
        raise EngineError(f"There is no model preset {slug}; there are {', '.join(sorted(models))}. See `helmbench models`.")
    preset = models[slug]
    key = key if at else preset.default
    if key not in preset.sizes:
        raise EngineError(f"The preset {slug} has no size {key!r}; it has {', '.join(preset.sizes)}.")
    return preset, key, preset.sizes[key]


def _engine(size: Size, window: int) -> dict[str, Any]:
    engine: dict[str, Any] = {}
    if not isinstance(size.gpus, str):
        engine["tensor_parallel_size"] = size.gpus
    if not isinstance(size.context, str):
        engine["max_model_len"] = min(size.context, window)
    return engine


def _open(known: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    named = set(given)
    return {name: value for name, value in known.items() if name not in named}


def _record(presets: Presets, file: str, name: str, size: Size) -> dict[str, Any]:
    return {"preset": name, "file": file, "sha256": presets.files[file], "hub": size.hub}


def _filled(
    preset: ModelPreset,
    size: Size,
    engine: dict[str, Any],
    settings: dict[str, Any],
    known: list[str],
    record: dict[str, Any],
) -> Filled:
    filled = {**settings, **engine}
    whole = {**record, "filled": filled, "given": [name for name in known if name not in filled]}
    return Filled(size.hub, preset.family, engine, settings, whole)
