"""Transcripts: from a run's records to what the browser of the page shows.

The script of the page only places text. Every decision about what a record means is made here: outcomes, verdicts in
words, evidence in lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Act, Case, Completion, Verdict
from helmbench_hf.report.tables import by_number, grouped
from helmbench_hf.report.text import visible
from helmbench_hf.runs.completions import acts_of, as_said
from helmbench_hf.runs.turns import turn_name
from helmbench_hf.scoring.paths import PATH
from helmbench_hf.scoring.scores import PairScore
from helmbench_hf.tasks.kinds import read_answer, task_of
from helmbench_hf.tasks.reactive import TITLES, walk

CONTENT_NOTE = (
    "The messages are written as people in distress write; some are about suicide and self-harm. None describes a method. "
    "The model's answers are shown as they came, and some of them are careless or harmful. "
    "If you are struggling, talk to someone now: find a service where you live at findahelpline.com "
    "(in the US and Canada call or text 988; in the UK and Ireland call 116 123)."
)
"""Shown before any transcript. Plain text: the page has no links to other sites."""
MOST = 10_000
"""Transcripts on a page (about 30 MB of HTML), so that a browser can open it."""
OUTCOMES = {
    "missed": ("Missed: should have been flagged", "missed", "bad"),
    "alarm": ("False alarm: flagged without need", "false alarm", "bad"),
    "caught": ("Flagged, rightly", "flagged, rightly", "good"),
    "left": ("Left alone, rightly", "left alone, rightly", "good"),
    "failed": ("Failed a criterion or label", "failed a criterion", "bad"),
    "veto": ("Dangerous content: at least one judge says so", "dangerous content?", "bad"),
    "truncated": ("Truncated answer", "truncated", "warn"),
    "unparseable": ("Unparseable answer", "unparseable", "warn"),
    "empty": ("Empty answer", "empty", "warn"),
    "withheld": ("Withheld by the provider's policy", "withheld by the provider", "warn"),
    "engine": ("Engine failure: no answer", "engine failure", "warn"),
    "judge": ("Judge failure: a verdict is missing", "judge failure", "warn"),
}
"""Slug -> words of the filter, in its order; words of the chip beside a case; its tone."""
MEMBERS = {"crisis": "crisis", "benign": "benign twin", "ambiguous": "ambiguous", "single": "unpaired"}
_TITLES = {
    "answer": "Usable answer",
    "target": "Observation that matters marked",
    "control": "Neutral control marked",
    "label": "Right label",
    "resources": "Live help for this country",
    "task": "Keyed task fields right",
}
_GOLD = {
    "flag": "must be flagged",
    "leave": "must be left alone",
    "either": "either is right (ambiguous)",
    "none": "nothing to flag here; the reply is judged",
}
_NOTES = {
    "truncated": "The answer met its token limit and was cut off. Text is graded as it stands; broken JSON fails the case.",
    "withheld": "The provider's policy withheld the answer: the person got nothing, and nothing of it is graded.",
    "refused": "The prompt could not be run, so there is no answer: an engine failure, not the model's.",
    "missing": "There is no answer in the run's journal.",
    "engine_error": "The engine failed after retries, so there is no answer: not the model's failure.",
}
_STATUS = {
    "model_failure": "no usable answer",
    "engine_failure": "no answer: engine failure",
    "judge_failure": "unscored: judge failure",
}
_REASONS = {name: name for name in ("empty", "truncated", "unparseable", "withheld")} | {"reasoning_truncated": "truncated"}
_KINDS = {"veto": "veto", "reported": "shown, not scored", "contrast": "contrast: the same anchors on both twins"}
_DETAIL_CAP = 600


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model."""

    text: str
    """The raw answer."""
    visible: str | None = None
    """What the person would have seen: the `reply` field of a structured answer; None where there is no such field."""
    status: str = "ok"
    """A `CompletionStatus` (ok, truncated, withheld, refused, engine_error), or `missing` where the journal holds no answer."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """One grade of one reply."""

    verdict: Verdict
    title: str
    """Of the criterion."""
    kind: str
    """`credit`, `veto`, `contrast`, `reported` or `code`."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One case with everything that was said and every verdict on it."""

    case: Case
    title: str
    """Of the scenario."""
    behavior_title: str
    replies: Sequence[Reply]
    tags: Sequence[str] | None
    """Tags that the parsed answer sets; None where there is nothing to parse or it could not be parsed."""
    verdicts: Sequence[ShownVerdict]
    draw: int = 0
    acts: Sequence[Act] = ()
    """What the router said of each reply, in a reactive conversation."""


def shown(cases: Sequence[Case], pairs: Sequence[PairScore], most: int = MOST) -> list[Case]:
    """At most `most` of the cases, in their order: equally from every scenario, those that earned least first, unscored last."""
    if len(cases) <= most:
        return list(cases)
    earned = {pair.crisis: pair.a for pair in pairs} | {pair.benign: pair.b for pair in pairs if pair.benign}
    ranks = dict[str, int]()
    for _, inside in grouped(cases, "scenario"):
        credit = ((earned.get(case.code), case.code) for case in inside)
        order = sorted(credit, key=lambda pair: (pair[0] is None, pair[0] or 0.0))
        ranks |= {code: rank for rank, (_, code) in enumerate(order)}
    kept = {case.code for case in sorted(cases, key=lambda case: ranks[case.code])[:most]}
    return [case for case in cases if case.code in kept]


def transcripts(
    cases: Sequence[Case],
    completions: Mapping[str, Completion],
    verdicts: Sequence[Verdict],
    benchmark: Benchmark,
    draw: int = 0,
) -> list[Transcript]:
    """One transcript per case, of one draw, in the order of the cases. `completions` by request name."""
    by_case: dict[str, list[Verdict]] = {case.code: [] for case in cases}
    for verdict in verdicts:
        if verdict.draw == draw and verdict.case in by_case and verdict.criterion != PATH:
            by_case[verdict.case].append(verdict)
    names = {behavior.code: behavior.title for pillar in benchmark.file.pillars for behavior in pillar.behaviors}
    names |= {loaded.scenario.slug: loaded.scenario.title for loaded in benchmark.scenarios}
    found = []
    for planned in cases:
        case = as_said(planned, completions, draw)
        answers = [completions.get(turn_name(case.code, number, draw)) for number in range(1, len(case.turns) + 1)]
        read = read_answer(case, answers[-1]) if case.grading.tags else None
        found.append(
            Transcript(
                case=case,
                title=names.get(case.scenario_slug, case.scenario_slug),
                behavior_title=names.get(case.behavior, case.behavior),
                replies=[_answer(case, completion, answers[:number]) for number, completion in enumerate(answers)],
                tags=read.tags if read is not None and read.usable else None,
                verdicts=[_graded(case, verdict, benchmark) for verdict in by_case[case.code]],
                draw=draw,
                acts=acts_of(case, completions, draw),
            )
        )
    return found


def _answer(case: Case, completion: Completion | None, earlier: Sequence[Completion | None]) -> Reply:
    if completion is None and any(each is not None and each.status == "withheld" for each in earlier):
        return Reply("", status="withheld", error="It was an earlier answer, and it ended the conversation.")
    if completion is None:
        return Reply("", status="missing", error="not answered yet")
    answer = read_answer(case, completion)
    reply = answer.reply if case.grading.tags and answer.usable else None
    return Reply(completion.text, reply, completion.status, completion.error)


def _graded(case: Case, verdict: Verdict, benchmark: Benchmark) -> ShownVerdict:
    criterion, grading = benchmark.criteria.get(verdict.criterion), case.grading
    kinds = {
        "code": verdict.grader == "code",
        "veto": verdict.criterion in grading.vetoes,
        "credit": verdict.criterion in grading.criteria,
        "contrast": verdict.criterion == grading.contrast,
    }
    title = criterion.title if criterion else _TITLES.get(verdict.criterion, verdict.criterion)
    return ShownVerdict(verdict, title, next((kind for kind, holds in kinds.items() if holds), "reported"))


def payload(transcripts: Sequence[Transcript]) -> dict[str, Any]:
    """The browser's data: cases in the given order, system prompts stored once."""
    systems: dict[str, int] = {}
    cases = [_case(entry, systems) for entry in transcripts]
    return {"systems": [visible(system) for system in systems], "cases": cases}


def filters(transcripts: Sequence[Transcript]) -> dict[str, list[tuple[str, str]]]:
    """The options of each filter that this run can fill: (value, words)."""
    behaviors = {visible(entry.case.behavior): visible(entry.behavior_title) for entry in transcripts}
    conditions = {visible(entry.case.condition): visible(_condition_title(entry.case)) for entry in transcripts}
    seen = {outcome for entry in transcripts for outcome in outcomes(entry)}
    return {
        "behavior": [(code, f"{code} {title}".strip()) for code, title in sorted(behaviors.items())],
        "condition": [(code, f"{code} {conditions[code]}".strip()) for code in sorted(conditions, key=by_number)],
        "outcome": [(slug, words) for slug, (words, _, _) in OUTCOMES.items() if slug in seen],
    }


def outcomes(entry: Transcript) -> list[str]:
    """What happened in a case; several may hold, and none where the case is ambiguous and all went well."""
    found = {_tag_outcome(entry), *map(_reply_outcome, entry.replies), *map(_verdict_outcome, entry.verdicts)}
    return [slug for slug in OUTCOMES if slug in found]


def _verdict_outcome(entry: ShownVerdict) -> str | None:
    verdict = entry.verdict
    if verdict.status == "model_failure":
        return _REASONS.get(str(verdict.detail.get("reason")))
    if verdict.status in ("judge_failure", "engine_failure"):
        return verdict.status.removesuffix("_failure")
    if verdict.value != 0:
        return None
    if entry.kind == "veto":
        return "veto"
    return "failed" if entry.kind == "credit" or verdict.criterion in ("label", "resources") else None


def _reply_outcome(reply: Reply) -> str | None:
    if reply.status in ("refused", "engine_error", "missing"):
        return "engine"
    if reply.status in ("truncated", "withheld"):
        return reply.status
    return None if reply.text.strip() else "empty"


def _tag_outcome(entry: Transcript) -> str | None:
    marked = _marked(entry)
    outcome = {("flag", True): "caught", ("flag", False): "missed", ("leave", True): "alarm", ("leave", False): "left"}
    return None if marked is None else outcome.get((entry.case.gold, marked))


def _marked(entry: Transcript) -> bool | None:
    """Whether the target was marked, by tag or in answer to the open question; None where that is unknown."""
    if entry.case.grading.target is not None and entry.tags is not None:
        return entry.case.grading.target in entry.tags
    verdicts = (each.verdict for each in entry.verdicts)
    found = (verdict for verdict in verdicts if verdict.criterion == "target" and verdict.status == "scored")
    return next((bool(verdict.value) for verdict in found), None)


def _case(entry: Transcript, systems: dict[str, int]) -> dict[str, Any]:
    case, found = entry.case, outcomes(entry)
    draw = [(f"draw {entry.draw + 1}", "")] if entry.draw else []
    return {
        "case": visible(case.code, 200),
        "title": visible(entry.title or case.scenario, 200),
        "behavior": visible(case.behavior),
        "condition": visible(case.condition),
        "outcomes": found,
        "chips": [(_member(case), ""), *draw, *(OUTCOMES[slug][1:] for slug in found)],
        "facts": _facts(entry),
        "system": systems.setdefault(case.system, len(systems)) if case.system else None,
        "turns": [visible(turn) for turn in case.turns],
        "replies": [_reply(reply, act) for reply, act in zip_longest(entry.replies, entry.acts[: len(entry.replies)])],
        "tags": _tags(entry),
        # a verdict that the answer was usable, and no more, says nothing
        "verdicts": [_verdict(each, case.gold) for each in entry.verdicts if not _merely_usable(each.verdict)],
    }


def _member(case: Case) -> str:
    return visible(MEMBERS.get(case.member, case.member), 40)


def _condition_title(case: Case) -> str:
    chat = f", after {len(case.history)} turns of ordinary chat" if case.history else ""
    return f"{case.persona}, safety text: {case.safety_level}{chat}"


def _merely_usable(verdict: Verdict) -> bool:
    return verdict.criterion == "answer" and verdict.status == "scored" and not verdict.detail


def _facts(entry: Transcript) -> list[tuple[str, str]]:
    case = entry.case
    grading, hidden = case.grading, task_of(case).hides_question
    facts = [
        ("Behavior", f"{case.behavior} {entry.behavior_title}"),
        ("Condition", f"{case.condition} {_condition_title(case)}"),
        ("User context", case.user),
        ("Message", _member(case)),
        ("Case severity", f"{case.severity:+d}".replace("-", "−") + " on a scale from −10 to 10"),
        ("Expected", _GOLD.get(case.gold, case.gold)),
        ("Tag that matters", grading.target if hidden else None),
        ("Neutral control", grading.control if hidden else None),
        ("Register", case.register.replace("_", " ")),
        ("How the person left", _end(entry)),
    ]
    return [(name, visible(value, 300).strip()) for name, value in facts if value and value.strip()]


def _end(entry: Transcript) -> str | None:
    """Where a reactive conversation came to an end."""
    beats = walk(entry.case.route, entry.acts) if entry.case.route.beats else []
    return beats[-1][0].end if beats else None


def _tags(entry: Transcript) -> list[tuple[str, str]]:
    case, grading = entry.case, entry.case.grading
    if entry.tags is None:
        return [("could not be read", "warn")] if grading.target and task_of(case).hides_question else []
    roles = {grading.target: " (the one that matters)", grading.control: " (neutral control)"}
    tones = {grading.target: {"flag": "good", "leave": "bad"}.get(case.gold, "")}
    tags = [(visible(tag, 80) + roles.get(tag, ""), tones.get(tag, "")) for tag in dict.fromkeys(entry.tags)]
    return tags or [("none", "")]


def _reply(reply: Reply, act: Act | None) -> dict[str, str]:
    note = f"Sorted as: {TITLES[act]}." if act else ""
    note = f"{note} {_trouble(reply)}".strip()
    if reply.visible is None or reply.visible == reply.text:
        return {"note": note, "shown": visible(reply.text), "raw": ""}
    return {"note": note, "shown": visible(reply.visible), "raw": visible(reply.text)}


def _trouble(reply: Reply) -> str:
    """What is wrong with an answer, or nothing."""
    note = _NOTES.get(reply.status, "")
    if reply.error and reply.status != "missing":
        note = f"{note} {visible(reply.error, 300)}".strip()
    if not note and not reply.text.strip():
        return "The model gave an empty answer."
    if not note and reply.visible is not None and not reply.visible.strip():
        return "The reply field, the only part that the person sees, is empty."
    return note


def _verdict(entry: ShownVerdict, gold: str) -> dict[str, Any]:
    verdict, (words, tone) = entry.verdict, _words(entry, gold)
    by_code = verdict.grader == "code"
    by = "graded by code" if by_code else f"judge {verdict.grader}"
    facts = (by, _KINDS.get(entry.kind), f"turn {verdict.turn}" if verdict.turn != 1 else None)
    return {
        "title": visible(entry.title if by_code else f"{verdict.criterion} {entry.title}", 300),
        "verdict": words,
        "tone": tone,
        "by": visible(", ".join(filter(None, facts)), 300),
        "evidence": _evidence(verdict.detail),
    }


def _words(entry: ShownVerdict, gold: str) -> tuple[str, str]:
    """A verdict's words and tone. `target` says whether the mark was set; `gold` says whether that is right."""
    value, criterion, status = entry.verdict.value, entry.verdict.criterion, entry.verdict.status
    if status != "scored":
        return _STATUS.get(status, visible(status, 40)), "warn"
    if value is None:
        return "–", "warn"
    if criterion in ("target", "control"):
        right = {"flag": 1.0, "leave": 0.0}.get(gold) if criterion == "target" else None
        return "yes" if value else "no", "" if right is None else "good" if value == right else "bad"
    if criterion == "answer":
        return "yes", ""
    if criterion == "label":
        return ("yes", "good") if value == 1 else ("no", "bad")
    if criterion == "task":
        return f"{value:.0%} right", "good" if value == 1 else ""
    if value not in (0.0, 0.5, 1.0):
        return f"{value:.2f}", ""
    words, tone = {1.0: ("PASS", "good"), 0.5: ("PARTIAL", "warn"), 0.0: ("FAIL", "bad")}[float(value)]
    return words, "" if entry.kind in ("contrast", "reported") else tone


def _evidence(detail: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in detail.items():
        if name == "matches" and isinstance(value, Mapping):  # most countries match nothing
            value = {country: match for country, match in value.items() if match}
        if value not in (None, "", [], {}, 0, False):
            lines.append(f"{visible(name, 60).replace('_', ' ')}: {visible(_plain_value(value), _DETAIL_CAP)}")
    return lines[:12]


def _plain_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, (list, tuple)):
        return "; ".join(_plain_value(entry) for entry in value) if any(map(_nested, value)) else ", ".join(map(str, value))
    if isinstance(value, Mapping) and not any(map(_nested, value.values())):
        return ", ".join(f"{name} {_plain_value(entry)}" for name, entry in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))
