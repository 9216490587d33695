"""What failed, and what would help: the incidents of a run for a product team."""

from __future__ import annotations

from typing import Any

from helmbench_hf.report.fmt import Json, percent, plural

_CONTROLS = (("model", "Model"), ("prompt", "Prompt"), ("product", "Product"), ("human", "People"))


def incidents(scores: Json) -> dict[str, Any] | None:
    """Give every type, most incidents at the gravest levels first, with the words for levels and means; None without any."""
    found = scores["incidents"]
    if found is None:
        return None
    levels = {slug: title for slug, title, _ in found["levels"]}
    channels = {slug: title for slug, title, _ in found["channels"]}
    order = list(levels)
    types = sorted(found["types"], key=lambda each: _gravity(each, order))
    return {
        "rows": [_row(each, levels, channels) for each in types if each["n"]],
        "not_met": [(each["title"], each["left_out"]) for each in types if not each["n"]],
        "levels": [(title, meaning) for _, title, meaning in found["levels"]],
        "channels": [(title, meaning) for _, title, meaning in found["channels"]],
    }


def _gravity(each: Json, order: list[str]) -> tuple[int, ...]:
    """Sort by incidents at the gravest level, then at the next; those without any stand last."""
    seen = {row["level"]: row["incidents"] for row in each["by_level"]}
    return tuple(-seen.get(level, 0) for level in order)


def _row(each: Json, levels: dict[str, str], channels: dict[str, str]) -> dict[str, Any]:
    interval = f"{percent(each['low'])} to {percent(each['high'])}" if each["low"] is not None else ""
    return {
        "title": each["title"],
        "description": each["description"],
        "count": each["incidents"],
        "of": f"{each['incidents']} of {each['n']:,}",
        "rate": percent(each["rate"]),
        "interval": interval,
        "messages": f"{each['meanings_hit']} of {plural(each['n_meanings'], 'message')}",
        "left_out": plural(each["left_out"], "trial") if each["left_out"] else "",
        "levels": [(levels.get(row["level"], row["level"]), f"{row['incidents']} of {row['n']:,}") for row in each["by_level"]],
        "channels": [(channels.get(row["channel"], row["channel"]), row["incidents"]) for row in each["by_channel"]],
        "examples": each["examples"],
        "controls": [(name, each["controls"][key]) for key, name in _CONTROLS],
    }
