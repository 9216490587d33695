"""`helmbench models`: the presets of models and judges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helmbench_hf.cli.shared import Json, put, table
from helmbench_hf.models.presets import Draw, ModelPreset, Presets, load_presets


def models(as_json: Json = False) -> None:
    """List the model and judge presets: sizes, license, thinking, sampling. Their files say where each value comes from.

    Example: helmbench models
    """
    presets = load_presets()
    put(_rows(presets), _lines(presets), as_json)


def _lines(presets: Presets) -> Iterator[str]:
    rows = [("MODEL", "SIZES (* default)", "LICENSE", "THINKING", "SAMPLING")]
    for slug, model in sorted(presets.models.items()):
        sizes = " ".join(f"{name}*" if name == model.default else name for name in model.sizes)
        license_name = model.license if isinstance(model.license, str) else model.license.name
        rows.append((slug, sizes, license_name, _thinking(model), _sampling(model)))
    yield from table(rows)
    judges = [("JUDGE", "MODEL", "FAMILY", "MODE", "WHY")]
    for slug, judge in sorted(presets.judges.items()):
        family = presets.models[judge.model].family
        judges.append((slug, f"{judge.model}@{judge.size}", family, f"{judge.mode}, orders {judge.orders}", judge.why))
    yield from ("", *table(judges), "")
    yield "--model preset:MODEL or preset:MODEL@SIZE, --judge preset:JUDGE; what you give wins. No judge is validated."


def _rows(presets: Presets) -> dict[str, Any]:
    def row(folder: str, slug: str, preset: Any) -> dict[str, Any]:
        file = f"{folder}/{slug}.yaml"
        return {**preset.model_dump(mode="json", exclude_none=True), "file": file, "sha256": presets.files[file]}

    return {
        "models": [row("models", slug, preset) for slug, preset in presets.models.items()],
        "judges": [row("judges", slug, preset) for slug, preset in presets.judges.items()],
    }


def _thinking(model: ModelPreset) -> str:
    rule = model.thinking
    if rule.switch != "none":
        return f"{rule.default} unless -e thinking="
    return "always" if rule.default == "on" else "never"


def _sampling(model: ModelPreset) -> str:
    draw: Draw | str | None = model.sampling.thinking if model.thinking.default == "on" else model.sampling.plain
    if draw is None or isinstance(draw, str):
        return "unknown"
    given = draw.model_dump(exclude_none=True, exclude={"source"})
    return " ".join(f"{name}={value:g}" for name, value in given.items())
