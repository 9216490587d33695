"""`helmbench models`, and what `preset:` means in `--model` and `--judge`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from helmbench_hf.cli.content import Json, fail

if TYPE_CHECKING:
    from helmbench_hf.models.presets import Draw, ModelPreset, Presets


def models(as_json: Json = False) -> None:
    """List the model and judge presets: sizes, license, thinking, sampling. Their files say where each value was read."""
    from helmbench_hf.content.load import ContentError
    from helmbench_hf.models.presets import load_presets

    try:
        presets = load_presets()
    except ContentError as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps(_rows(presets), indent=2, ensure_ascii=False))
        return
    rows = [("MODEL", "SIZES (* default)", "LICENSE", "THINKING", "SAMPLING")]
    for slug, model in sorted(presets.models.items()):
        sizes = " ".join(f"{name}*" if name == model.default else name for name in model.sizes)
        license_name = model.license if isinstance(model.license, str) else model.license.name
        rows.append((slug, sizes, license_name, _thinking(model), _sampling(model)))
    typer.echo(_table(rows))
    judges = [("JUDGE", "MODEL", "FAMILY", "MODE", "WHY")]
    for slug, judge in sorted(presets.judges.items()):
        family = presets.models[judge.model].family
        judges.append((slug, f"{judge.model}@{judge.size}", family, f"{judge.mode}, orders {judge.orders}", judge.why))
    typer.echo(f"\n{_table(judges)}")
    typer.echo("\n--model preset:MODEL or preset:MODEL@SIZE, --judge preset:JUDGE; what you give wins. No judge is validated.")


def preset_name(model: str) -> tuple[str, str] | None:
    """Split `preset:NAME` or `vllm:preset:NAME` into (engine with its colon, NAME); None for any other model."""
    from helmbench_hf.models.presets import MARK

    engine, mark, name = model.partition(MARK)
    return (engine, name) if mark and (not engine or engine.endswith(":")) else None


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
        return f"{rule.default} unless --thinking"
    return "always" if rule.default == "on" else "never"


def _sampling(model: ModelPreset) -> str:
    draw: Draw | str | None = model.sampling.thinking if model.thinking.default == "on" else model.sampling.plain
    if draw is None or isinstance(draw, str):
        return "unknown"
    given = draw.model_dump(exclude_none=True, exclude={"source"})
    return " ".join(f"{name}={value:g}" for name, value in given.items())


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell; the last one runs on."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return "\n".join("  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows)
