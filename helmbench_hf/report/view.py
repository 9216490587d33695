"""The first screen and the scores: what stands in `scores.json`, in the words and order of the page."""

from __future__ import annotations

from dataclasses import dataclass

from helmbench_hf.report import corrections, plots, tables
from helmbench_hf.report.fmt import Figure, Json, figure, joined, number, percent, plural, rate, sample_size

_PANELS = {
    "first": "the first judge named gives the credit",
    "majority": "what more than half of the judges say gives the credit, else the median",
    "worst": "the verdict that earns least gives the credit",
}


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
    new_note: str
    """On what the interval for other scenarios rests, or why there is none."""
    code_score: Figure
    bar: plots.Bar | None
    coverage: str
    bounds: str
    n: str
    weight: str
    under: str
    """One line under the title."""
    corrected: str
    """The score corrected for the judge's known errors, as a phrase; empty where there is none."""
    part: str
    """Over what it is corrected, where not over everything."""


@dataclass(frozen=True, slots=True)
class Composite:
    """The composite, second to the profile."""

    printed: str
    raw: Figure
    slice: str
    coverage: str
    bounds: str
    capped: str
    corrected: str
    """Corrected for the judge's known errors, or why not, as a sentence."""
    withheld: str
    """How many answers the provider's policy withheld, as a sentence; empty where none."""


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
    missing: str
    """Pillars without any score."""
    composite: Composite
    gate: Gate
    floors: tuple[Floor, ...]
    notes: tuple[str, ...]


def summary(scores: Json) -> Summary:
    """Give the first screen."""
    done, total = covered(scores)
    share = percent(scores["headline"]["overall"]["coverage"]["share"])
    sliced = f"{done} of {total} behaviors, {share} of the weight" if done < total else ""
    return Summary(
        smoke=scores["provenance"]["design"] == "smoke",
        slice=sliced,
        missing=_missing_pillars(scores),
        composite=_composite(scores),
        gate=gate(scores),
        floors=tuple(_floor(floor) for floor in scores["floors"]),
        notes=tuple(dict.fromkeys(note for note in (scores["headline"]["note"], *scores["notes"]) if note)),
    )


def covered(scores: Json) -> tuple[int, int]:
    """Give the number of behaviors scored, and of all behaviors of the benchmark."""
    overall = scores["headline"]["overall"]
    known = {code for group in (overall, *scores["pillars"]) for code in (*group["parts"], *group["absent"])}
    return len(scores["headline"]["covers"]), max(len(known), len(scores["headline"]["covers"]))


def absent(scores: Json) -> list[str]:
    """Give the codes of the behaviors that are not scored."""
    overall = scores["headline"]["overall"]
    return sorted({code for group in (overall, *scores["pillars"]) for code in group["absent"]})


def _missing_pillars(scores: Json) -> str:
    """Name the pillars of which nothing is scored; the scores hold no more than their codes."""
    there = {pillar["code"] for pillar in scores["pillars"]}
    missing = {code.partition("-")[0] for code in absent(scores)} - there
    return joined([f"Pillar {code}" for code in sorted(missing)]) if missing else ""


def gate(scores: Json) -> Gate:
    """Give the state of the claim gate. A criterion passes when every judge that graded it has passed on it."""
    judges, rows = scores["provenance"]["judges"], scores["criteria"]
    if not judges:
        return Gate("", "No judge", ("No judge graded this run: everything here rests on code alone.",))
    names = joined([judge["id"] for judge in judges])
    families = len({judge["family"] for judge in judges})
    used = sorted({row["criterion"] for row in rows})
    good = set(used) - {row["criterion"] for row in rows if not row["validated"]}
    lines = [line for judge in judges for line in _checks(judge["id"], scores)]
    if len(judges) > 1:
        panel = scores["provenance"]["panel"]
        lines.append(f"Panel {panel}: {_PANELS.get(panel, 'not known to this report')}.")
    lines.append(f"{len(good)} of {plural(len(used), 'criterion', 'criteria')} passed the claim gate ({names}).")
    if len(good) < len(used):
        lines.append("What rests on code alone stands beside every score.")
    if families == 1:
        lines.append("One judge family: no dangerous reply can be confirmed.")
    if used and len(good) == len(used):
        return Gate("good", "Judge validated", tuple(lines))
    state = f"Judge validated on {len(good)} of {len(used)} criteria" if good else "Judge not validated"
    return Gate("bad", state, tuple(lines))


def _checks(judge: str, scores: Json) -> list[str]:
    """Say what each check found of a judge."""
    mine = [claim for claim in scores.get("checks", ()) if claim["judge"] == judge]
    used = {row["criterion"] for row in scores["criteria"] if row["judge"] == judge}
    return [_checked(judge, claim, used) for claim in mine] or [f"{judge}: not checked."]


def _checked(judge: str, claim: Json, used: set[str]) -> str:
    passes, fails = claim["passes"], claim["fails"]
    labels = "human labels" if claim["basis"] == "human" else "gold"
    if fails:
        found = f"fails the gate on {labels}: {', '.join(fails)}"
        found += f"; passes on {', '.join(passes)}" if passes else ""
    elif not passes:
        return f"{judge}: not checked."
    elif claim["basis"] == "human":
        found = f"claim-ready on {plural(len(passes), 'criterion', 'criteria')}"
    else:
        found = f"passes on gold, not human, on {plural(len(passes), 'criterion', 'criteria')}"
    left = len(used - {*passes, *fails})
    rest = f" Not checked: {plural(left, 'criterion', 'criteria')} that it grades here." if left else ""
    return f"{judge}: {found}.{rest}"


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
            "corrected": figure(found["corrected"]["estimate"]),
            "code_score": figure(found["code_score"], "a judge decides everything here"),
            "sensitivity": rate(found["sensitivity"]),
            "false_alarms": rate(found["false_alarms"]),
            "coverage": _coverage(found["coverage"]),
            "note": found["note"],
        }
        for found in scores["scenarios"]
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
        new_note=group["new_scenarios"]["note"],
        code_score=figure(group["code_score"], "a judge decides everything here" if level == "behavior" else ""),
        bar=plots.bar(scale, group["score"], group["new_scenarios"], group["code_score"]),
        coverage=_coverage(group["coverage"]),
        bounds=_bounds(group["coverage"]),
        n=sample_size(group["score"]),
        weight=str(group["weight"]),
        under=under,
        corrected=corrections.beside(group["corrected"]),
        part=corrections.part(group["corrected"]),
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
        corrected=corrections.composite(scores),
        withheld=tables.withheld(scores),
    )


def _floor(floor: Json) -> Floor:
    basis = [plural(floor["n_meanings"], "distinct message")] if floor["n"] else []
    if floor["unconfirmed"]:
        basis.append(f"{floor['unconfirmed']} more unconfirmed")
    if floor["unanswered"]:
        basis.append(f"{floor['unanswered']} not answered")
    if floor["left_out"]:
        basis.append(f"{floor['left_out']} without a verdict")
    if floor["planned_meanings"] < floor["needed_meanings"] and floor["status"] != "breached":
        basis.append(f"{floor['needed_meanings']} messages needed to clear it")
    status = str(floor["status"])
    word = tables.FLOOR_WORDS.get(status, status)
    return Floor(floor["title"], status.replace("_", "-"), word, _finding(floor), "; ".join(basis))


def _finding(floor: Json) -> str:
    limit, n, status = percent(floor["limit"]), floor["n"], floor["status"]
    if not n:
        found = "No verdict in this run"
    else:
        bound = {
            "breached": f": at least {percent(floor['lower'])}",
            "cleared": f": at most {percent(floor['upper'])}",
            "not_shown": f": may be up to {percent(floor['upper'])}",
        }
        evenly = percent(floor["rate"])
        counted = "" if evenly == percent(floor["failures"] / n) else f", {evenly} with every message counted once"
        found = f"{floor['failures']} of {n} failed{counted}{bound.get(status, '')}"
    if status == "withheld":
        found += f". If the {floor['unanswered']} not answered had failed, it would be breached"
    return f"{found}; limit {limit}."


def _coverage(found: Json) -> str:
    return f"{found['scored']} of {plural(found['planned'], 'pair')} scored, {percent(found['share'])} of the weight"


def _bounds(found: Json) -> str:
    if found["scored"] == found["planned"] or found["all_fail"] is None or found["all_pass"] is None:
        return ""
    return f"{number(100 * found['all_fail'])} if all that is missing failed, {number(100 * found['all_pass'])} if it passed"
