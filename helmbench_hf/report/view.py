"""The first screen and the scores: what stands in `scores.json`, in the words and order of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helmbench_hf.report import plots
from helmbench_hf.report.fmt import Figure, Json, count, figure, joined, number, percent, plural, rate


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One line of a chart of scores, with the numbers that its table prints."""

    code: str
    title: str
    level: str
    """`pillar`, `behavior` or `scenario`."""
    critical: bool
    score: Figure
    new: Figure
    code_score: Figure
    bar: plots.Bar | None
    coverage: str
    bounds: str
    n: str
    weight: str
    under: str
    """One line under the title."""


@dataclass(frozen=True, slots=True)
class Composite:
    """The composite, second to the profile."""

    printed: str
    raw: Figure
    slice: str
    coverage: str
    bounds: str
    capped: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether the judges may be believed."""

    tone: str
    state: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Floor:
    """One safety floor in words."""

    title: str
    status: str
    word: str
    finding: str
    basis: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The first screen."""

    smoke: bool
    slice: str
    composite: Composite
    gate: Gate
    floors: tuple[Floor, ...]
    notes: tuple[str, ...]


_FLOOR_WORDS = {"breached": "Breached", "cleared": "Cleared", "not_shown": "Not shown"}


def summary(scores: Json) -> Summary:
    """Give the first screen."""
    done, total = covered(scores)
    overall = scores["headline"]["overall"]
    sliced = f"{done} of {total} behaviors, {overall['weight_scored']} of {overall['weight']} points" if done < total else ""
    return Summary(
        smoke=scores["provenance"]["design"] == "smoke",
        slice=sliced,
        composite=_composite(scores),
        gate=gate(scores),
        floors=tuple(_floor(floor) for floor in scores["floors"]),
        notes=tuple(dict.fromkeys(note for note in (scores["headline"]["note"], *scores["notes"]) if note)),
    )


def covered(scores: Json) -> tuple[int, int]:
    """Give the number of behaviors scored, and of all behaviors of the benchmark."""
    total = sum(len(pillar["parts"]) + len(pillar["absent"]) for pillar in scores["pillars"])
    return len(scores["headline"]["covers"]), max(total, len(scores["headline"]["covers"]))


def gate(scores: Json) -> Gate:
    """Give the state of the claim gate. A criterion passes when every judge that graded it has passed on it."""
    judges, rows = scores["provenance"]["judges"], scores["criteria"]
    if not judges:
        return Gate("", "No judge", ("No judge graded this run: everything here rests on code alone.",))
    names = joined([judge["id"] for judge in judges])
    families = len({judge["family"] for judge in judges})
    used = sorted({row["criterion"] for row in rows})
    good = set(used) - {row["criterion"] for row in rows if not row["validated"]}
    lines = [f"{len(good)} of {plural(len(used), 'criterion', 'criteria')} passed the claim gate ({names})."]
    if len(good) < len(used):
        lines.append("What rests on code alone stands beside every score.")
    if families == 1:
        lines.append("One judge family: no dangerous reply can be confirmed.")
    if used and len(good) == len(used):
        return Gate("good", "Judge validated", tuple(lines))
    state = f"Judge validated on {len(good)} of {len(used)} criteria" if good else "Judge not validated"
    return Gate("bad", state, tuple(lines))


def profile(scores: Json) -> tuple[plots.Scale, list[ScoreRow]]:
    """Give the pillars, for the first screen."""
    groups = scores["pillars"]
    scale = plots.score_scale([group["score"] for group in groups])
    return scale, [_group(group, "pillar", scale) for group in groups]


def behaviors(scores: Json) -> tuple[plots.Scale, list[ScoreRow]]:
    """Give pillars with their behaviors under them."""
    groups = [*scores["pillars"], *scores["behaviors"]]
    scale = plots.score_scale([entry for group in groups for entry in (group["score"], group["new_scenarios"])])
    rows = []
    for pillar in scores["pillars"]:
        rows.append(_group(pillar, "pillar", scale))
        rows += [_group(found, "behavior", scale) for found in scores["behaviors"] if found["code"] in pillar["parts"]]
    return scale, rows


def scenarios(scores: Json) -> list[dict[str, object]]:
    """Give the table of scenarios."""
    kinds = {"hidden_tag": "hidden tag", "multi_turn": "conversation"}
    return [
        {
            "code": found["code"],
            "title": found["title"],
            "kind": kinds.get(found["kind"], found["kind"]),
            "condition": found["condition"],
            "score": figure(found["score"]),
            "code_score": figure(found["code_score"], "a judge decides everything here"),
            "sensitivity": rate(found["sensitivity"]),
            "false_alarms": rate(found["false_alarms"]),
            "coverage": _coverage(found["coverage"]),
            "note": found["note"],
        }
        for found in scores["scenarios"]
    ]


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
        {"title": title, "under": under, "figure": figure(part), "bar": plots.bar(scale, part), "n": _n(part)}
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


def _group(group: Json, level: str, scale: plots.Scale) -> ScoreRow:
    done, total = len(group["parts"]), len(group["parts"]) + len(group["absent"])
    under = f"{done} of {plural(total, 'behavior')}" if level == "pillar" else ""
    return ScoreRow(
        code=group["code"],
        title=group["title"],
        level=level,
        critical=group["critical"],
        score=figure(group["score"]),
        new=figure(group["new_scenarios"]),
        code_score=figure(group["code_score"], "a judge decides everything here" if level == "behavior" else ""),
        bar=plots.bar(scale, group["score"], group["new_scenarios"], group["code_score"]),
        coverage=_coverage(group["coverage"]),
        bounds=_bounds(group["coverage"]),
        n=_n(group["score"]),
        weight=str(group["weight"]) if level == "behavior" else f"{group['weight_scored']} of {group['weight']}",
        under=under,
    )


def _composite(scores: Json) -> Composite:
    headline, (done, total) = scores["headline"], covered(scores)
    overall, printed = headline["overall"], headline["printed"]
    titles = {floor["slug"]: floor["title"] for floor in scores["floors"]}
    named = joined([titles.get(slug, slug) for slug in headline["breached"]]) if headline["breached"] else ""
    return Composite(
        printed="–" if printed is None else number(printed),
        raw=figure(overall["score"]),
        slice=f"slice: {done} of {total} behaviors" if done < total else f"all {total} behaviors",
        coverage=_coverage(overall["coverage"]),
        bounds=_bounds(overall["coverage"]),
        capped=f"A breached floor holds it at 50 or below: {named}." if named else "",
    )


def _floor(floor: Json) -> Floor:
    limit, n = percent(floor["limit"]), floor["n"]
    if not n:
        finding = f"No verdict in this run; limit {limit}."
    elif floor["status"] == "breached":
        finding = f"{floor['failures']} of {n} failed: at least {percent(floor['lower'])}; limit {limit}."
    elif floor["status"] == "cleared":
        finding = f"{floor['failures']} of {n} failed: at most {percent(floor['upper'])}; limit {limit}."
    else:
        finding = f"{floor['failures']} of {n} failed: may be up to {percent(floor['upper'])}; limit {limit}."
    basis = [plural(floor["n_meanings"], "distinct message")] if n else []
    if floor["unconfirmed"]:
        basis.append(f"{floor['unconfirmed']} more unconfirmed")
    if floor["left_out"]:
        basis.append(f"{floor['left_out']} without a verdict")
    if floor["note"]:
        basis.append(str(floor["note"]))
    status = str(floor["status"])
    return Floor(floor["title"], status.replace("_", "-"), _FLOOR_WORDS.get(status, status), finding, "; ".join(basis))


def _coverage(found: Json) -> str:
    return f"{found['scored']} of {plural(found['planned'], 'pair')} scored"


def _bounds(found: Json) -> str:
    if found["scored"] == found["planned"] or found["all_fail"] is None or found["all_pass"] is None:
        return ""
    return f"{number(100 * found['all_fail'])} if all that is missing failed, {number(100 * found['all_pass'])} if it passed"


def _n(estimate: Json) -> str:
    return f"{plural(estimate['n_pairs'], 'pair')}, {plural(estimate['n_meanings'], 'message')}"


def _gap_reading(net: Json) -> str:
    if net["value"] is None or net["low"] is None or net["high"] is None:
        return "This run cannot say whether risk is lost more than other side details are."
    if net["low"] > 0:
        return "The model loses risk inside another job more than it loses a neutral detail of equal obscurity."
    if net["high"] < 0:
        return "Inside another job the model loses a neutral detail more than it loses risk: risk is favored."
    return "The interval includes zero: this run does not show that risk is lost more than a neutral detail is."


def midpoints(curves: Sequence[Json]) -> list[str]:
    """Say at which severity half of the messages is marked, for each arm."""
    lines = []
    for curve in curves:
        arm = "Asked openly" if curve["arm"] == "open" else "Hidden in another job"
        found, lost = figure(curve["midpoint"], scale=1, digits=1), curve["left_out"]
        half = f"half are marked at severity {found.spoken}" if found.known else f"no midpoint ({found.why})"
        left = f" {plural(lost, 'unreadable answer')} left out." if lost else ""
        lines.append(f"{arm}: {half}.{left}")
    return lines
