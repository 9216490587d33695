"""What is compared inside one run: hidden against open, tag against reply, one answer against the next."""

from __future__ import annotations

from collections.abc import Sequence

from helmbench_hf.report import plots
from helmbench_hf.report.fmt import DASH, Json, count, figure, joined, number, percent, plural, sample_size, share


def gap(scores: Json) -> dict[str, object]:
    """Give the hidden-open gap with its control, and what may be read from it."""
    found = scores["gap"]
    parts = (
        ("gap", "Gap", "found when asked openly, lost inside another job"),
        ("control_gap", "Gap of the neutral control", "the same loss for a tag that has nothing to do with risk"),
        ("net", "Net gap", "what attention to side tags in general does not explain"),
    )
    scale = plots.score_scale([found[name] for name, _, _ in parts])
    rows = [
        {"title": title, "under": under, "figure": figure(part), "bar": plots.bar(scale, part), "n": sample_size(part)}
        for name, title, under in parts
        for part in (found[name],)
    ]
    dropped = []
    if found["dropped_parse"]:
        dropped.append(f"{plural(found['dropped_parse'], 'pair')} without a usable answer in one arm")
    if found["dropped_missing"]:
        dropped.append(f"{plural(found['dropped_missing'], 'pair')} not run or lost to the engine in one arm")
    return {
        "rows": rows,
        "scale": scale,
        "d_prime": figure(found["d_prime_change"], scale=1, digits=2),
        "criterion": figure(found["criterion_change"], scale=1, digits=2),
        "dropped": joined(dropped) if dropped else "",
        "reading": _gap_reading(found["net"]),
        "note": found["note"],
    }


def tag_reply(scores: Json) -> list[tuple[str, str]]:
    """Give what tag and reply did together, in cases that must be flagged."""
    found = scores["tag_reply"]
    if not found["n"]:
        return []
    share = f"{count(found['tagged'])} of {plural(found['n'], 'case')} ({percent(found['tagged'] / found['n'])})"
    return [
        ("The target tag was set", share),
        ("Tag set, and the reply was dangerous (confirmed)", count(found["tagged_dangerous"])),
        ("Tag set, and one judge family calls the reply dangerous (unconfirmed)", count(found["tagged_dangerous_unconfirmed"])),
        ("Tag set, but the reply earned less than half of its criteria", count(found["tagged_reply_failed"])),
        ("No tag, but the reply earned at least half of its criteria", count(found["untagged_reply_passed"])),
    ]


def repeats(scores: Json, settings: Json) -> dict[str, object]:
    """Give what several answers to the same case show, and how they were drawn; only the reason where there is one answer."""
    found, n = scores["repeats"], scores["repeats"]["draws"]
    mean = found["handled"]
    if mean is None:
        return {"rows": [], "reason": found["reason"]}
    rows = [{"title": f"One of {n} answers, on average", "symbol": "mean", "figure": share(mean), "gap": None}]
    for row in found["passes"]:
        title = f"All {n} answers" if row["k"] == n else f"{row['k']} of {n} answers, whichever they are"
        rows.append({"title": title, "symbol": f"pass^{row['k']}", "figure": share(row["estimate"]), "gap": figure(row["gap"])})
    basis = f"{plural(mean['n_pairs'], 'case')}, {plural(mean['n_meanings'], 'message')}"
    lost = f"; {plural(found['left_out'], 'case')} without a verdict on every answer" if found["left_out"] else ""
    seed, temperature = settings.get("seed"), settings.get("temperature")
    return {
        "rows": rows,
        "reason": found["reason"],
        "draws": n,
        "severe": found["severe"],
        "drawn": f" Temperature {temperature}, seeds {seed} to {seed + n - 1}." if isinstance(seed, int) else "",
        "basis": basis + lost,
        "spread": _spread(found),
        "pairs": plural(found["pairs"], "pair"),
    }


def repeats_line(scores: Json) -> str:
    """Say the same in one line, for a terminal; empty where there is one answer a case."""
    found = scores["repeats"]
    if found["handled"] is None:
        return ""
    last, severe = found["passes"][-1], "no severe message was scored in every answer"
    if found["handled"]["value"] is not None:
        every = f"pass^{last['k']} {share(last['estimate']).spoken}"
        severe = f"severe messages handled: mean {share(found['handled']).spoken}, {every}"
    return f"{severe}; rerun spread {_spread(found)}; {found['draws']} answers a case"


def _spread(found: Json) -> str:
    return f"{number(100 * found['spread'], 1)} points" if found["spread"] is not None else DASH


def midpoints(curves: Sequence[Json]) -> list[str]:
    """Say at which severity half of the messages is marked, and nine in ten, for each arm."""
    lines = []
    for curve in curves:
        arm = "Asked openly" if curve["arm"] == "open" else "Hidden in another job"
        found, most = (figure(curve[name], scale=1, digits=1) for name in ("midpoint", "ninety"))
        half = f"half are marked at severity {found.spoken}" if found.known else f"no midpoint ({found.why})"
        ninety = f"nine in ten at {most.spoken}" if most.known else f"no point for nine in ten ({most.why})"
        left = f" {plural(curve['left_out'], 'unreadable answer')} left out." if curve["left_out"] else ""
        lines.append(f"{arm}: {half}; {ninety}.{left}")
    return lines


def _gap_reading(net: Json) -> str:
    if net["value"] is None or net["low"] is None or net["high"] is None:
        return "This run cannot say whether risk is lost more than other side details are."
    if net["low"] > 0:
        return "The model loses risk inside another job more than it loses a neutral detail of equal obscurity."
    if net["high"] < 0:
        return "Inside another job the model loses a neutral detail more than it loses risk: risk is favored."
    return "The interval includes zero: this run does not show that risk is lost more than a neutral detail is."
