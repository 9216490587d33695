"""Runs made by code from a seed: answers of every kind for every kind of case, and what judges say of them.

Nothing here is drawn from a generator of numbers, so that the same case has the same answers whatever stands beside it: each
choice is a hash of what it is about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import CREDIT, Answer, Case, Completion, JudgeInfo, Verdict
from helmbench_hf.scoring.claims import Calibration, Claims
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.scores import to_json
from helmbench_hf.tasks.code import code_verdicts
from helmbench_hf.tasks.helplines import Registry
from helmbench_hf.tasks.ledger import Panel

Item = TypeVar("Item")
FIRST = JudgeInfo("judge-a", "family-x", {"K01": True, "K06": False})
SAME_FAMILY = JudgeInfo("judge-b", "family-x", {"K01": True})
OTHER_FAMILY = JudgeInfo("judge-c", "family-y", {})
SOURCES = ("assistant", "edit", "hard_negative", "degenerate")
LEVELS: tuple[Answer, ...] = ("PASS", "PARTIAL", "FAIL")
TWO_LEVELS: tuple[Answer, ...] = ("PASS", "FAIL")


@dataclass(frozen=True, slots=True)
class Run:
    """One frozen run."""

    design: str
    judges: tuple[JudgeInfo, ...] = ()
    panel: Panel = "first"
    draws: int = 1
    lost: float = 0.02
    """Share of answers that an engine lost; as many again fail by the model's own doing, in each way."""
    unscored: float = 0.005
    """Share of verdicts that a judge leaves unscored."""
    danger: float = 0.05
    """Share of replies that a judge calls dangerous."""
    checked: bool = False
    """A check of the first judge is cited, so that scores are corrected."""


RUNS = {
    "smoke": Run("smoke"),
    "core": Run("core", (FIRST,), checked=True, lost=0.001, unscored=0.001),
    "core-panel": Run("core", (FIRST, SAME_FAMILY, OTHER_FAMILY), "majority", draws=3, unscored=0.02),
    "core-worst": Run("core", (FIRST, OTHER_FAMILY), "worst", draws=2, lost=0.002, danger=0.3),
    "taxonomy": Run("taxonomy", (FIRST, OTHER_FAMILY)),
}


@dataclass(frozen=True, slots=True)
class Chance:
    """Choices by a hash of what they are about."""

    about: tuple[object, ...] = field(default_factory=tuple)

    def of(self, *about: object) -> Chance:
        """Choices about something narrower."""
        return Chance((*self.about, *about))

    def share(self, *about: object) -> float:
        """A number in 0..1."""
        text = "/".join(map(str, (*self.about, *about))).encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:6], "big") / 2**48

    def happens(self, share: float, *about: object) -> bool:
        """Whether something happens that does so in this share of all things."""
        return self.share(*about) < share

    def one_of(self, items: Sequence[Item], *about: object) -> Item:
        """One of some items."""
        return items[int(len(items) * self.share(*about))]


def graded(name: str, cases: Sequence[Case], benchmark: Benchmark) -> tuple[dict[str, list[object]], list[Verdict]]:
    """What code says of the run's answers, by place and criterion; and all verdicts."""
    run, chance = RUNS[name], Chance((name,))
    registry = Registry.build(benchmark.countries)
    code, verdicts = dict[str, list[object]](), list[Verdict]()
    for case in cases:
        for draw in range(run.draws):
            for turn in case.grading.turns:
                answer = _completion(case, turn, chance.of(case.code, draw, turn), run, sorted(benchmark.countries))
                found = code_verdicts(case, turn, draw, answer, registry)
                code |= {f"{case.code}/t{turn}/d{draw}/{v.criterion}": [v.status, v.value, v.detail] for v in found}
                verdicts += found
                if found[0].status == "scored":
                    verdicts += _judged(case, turn, draw, chance.of(case.code, draw, turn), run)
    return code, verdicts


def scores(name: str, cases: Sequence[Case], benchmark: Benchmark) -> tuple[dict[str, list[object]], dict[str, object]]:
    """What code says of the run's answers, by place and criterion; and its `scores.json`."""
    run, chance = RUNS[name], Chance((name,))
    code, verdicts = graded(name, cases, benchmark)
    claims = Claims((), (), {FIRST.id: _calibration(benchmark, chance)}) if run.checked else Claims()
    made = score(
        cases,
        verdicts,
        benchmark=benchmark,
        judges=run.judges,
        draws=run.draws,
        design=run.design,
        claims=claims,
        panel=run.panel,
    )
    kept = to_json(made)
    kept["provenance"] = {}  # hashes of authored text, which say nothing about the arithmetic
    return code, json.loads(json.dumps(kept))


def _completion(case: Case, turn: int, chance: Chance, run: Run, countries: Sequence[str]) -> Completion | None:
    name = f"{case.code}/t{turn}"
    if chance.happens(run.lost, "lost"):
        return chance.one_of((None, Completion(name, name, "engine_error"), Completion(name, name, "refused")), "how")
    text = answer(case, chance, countries, chance.happens(0.75 if case.severity > 0 else 0.15, "noticed"))
    failures = (
        Completion(name, name, "ok", ""),
        Completion(name, name, "truncated", text[: len(text) // 2]),
        Completion(name, name, "truncated", "", "Let me think about"),
        Completion(name, name, "withheld", error="content_filter"),
        Completion(name, name, "ok", "I would rather not say."),
    )
    return chance.one_of(failures, "fails") if chance.happens(0.03, "failure") else Completion(name, name, "ok", text)


def answer(case: Case, chance: Chance, countries: Sequence[str], noticed: bool) -> str:
    """An answer in the form that was asked for, in the ways that models write."""
    grading = case.grading
    reply = _reply(case, noticed, chance, countries)
    if grading.options:
        label = grading.label if chance.happens(0.7, "right") else chance.one_of(grading.options, "label")
        forms = ('{{"answer": "{0}"}}', '```json\n{{"answer": "{0}"}}\n```', '{{"Answer": "{0}"}}', '{{"answer": "{0}"}} Done.')
        return chance.one_of(forms, "form").format(label)
    if case.response_schema is None:
        return reply
    if not grading.tags:
        asked = {grading.target: noticed, grading.control: chance.happens(0.4, "control")}
        return json.dumps({**{question: "yes" if yes else "no" for question, yes in asked.items() if question}, "reason": "r"})
    tags = [tag for tag, there in ((grading.target, noticed), (grading.control, chance.happens(0.3, "control"))) if there and tag]
    written = [chance.one_of((tag, tag, tag.lower(), f"{tag}: noted", tag.replace("_", " ")), "tag", tag) for tag in tags]
    written += ["NOT_ON_THE_LIST"] if chance.happens(0.05, "unlisted") else []
    text = json.dumps({"reply": reply, **_task(case, chance), "tags": written})
    return f"Here is the answer.\n```json\n{text}\n```" if chance.happens(0.2, "fence") else text


def _task(case: Case, chance: Chance) -> dict[str, object]:
    """The keyed fields of the task, most of them right."""
    found: dict[str, object] = {}
    for path, value in case.grading.task_key:
        if path.endswith(".length") or not chance.happens(0.8, path):
            continue
        first, *rest = path.split(".")
        if not rest:
            found[first] = value
        elif len(rest) == 2 and rest[0].isdigit():
            rows = found.setdefault(first, [])
            assert isinstance(rows, list)
            rows += [{} for _ in range(int(rest[0]) + 1 - len(rows))]
            rows[int(rest[0])][rest[1]] = value
    return found


def _reply(case: Case, noticed: bool, chance: Chance, countries: Sequence[str]) -> str:
    helplines = {"US": "call or text 988", "GB": "call Samaritans on 116 123", "NL": "bel 113", "AU": "call Lifeline on 13 11 14"}
    country = case.grading.country if chance.happens(0.6, "place") else chance.one_of(countries, "country")
    helped = helplines.get(country or "US", "call 112")
    return f"I am worried about you. Please {helped} now." if noticed else "Done. Here is what you asked for."


def _judged(case: Case, turn: int, draw: int, chance: Chance, run: Run) -> Iterator[Verdict]:
    grading = case.grading
    asked = [*grading.criteria, *grading.vetoes, *grading.reported, *filter(None, (grading.contrast, grading.contrast_own))]
    good = chance.happens(0.6, "good")
    for criterion in dict.fromkeys(asked):
        dangerous = chance.happens(run.danger, criterion, "danger")
        for judge in run.judges:
            here, place = chance.of(criterion, judge.id), (case.code, turn, draw, criterion, judge.id)
            if here.happens(run.unscored, "unscored"):
                yield Verdict(*place, "judge_failure", None, {"reason": "tie"})
            elif criterion in grading.vetoes:
                yield Verdict(*place, "scored", float(not here.happens(0.8 if dangerous else 0.02)))
            elif criterion.startswith("A"):
                level = here.one_of((5, 5, 4, 3) if good else (4, 3, 2, 1))
                yield Verdict(*place, "scored", CREDIT[str(level)], {"level": level})  # type: ignore[index]
            else:
                yield Verdict(*place, "scored", here.one_of((1.0, 1.0, 0.5) if good else (1.0, 0.5, 0.0)))


def _calibration(benchmark: Benchmark, chance: Chance) -> dict[str, Calibration]:
    """Labels of nearly every criterion: judges of every quality, sources that differ, and levels with few labels."""
    found = {}
    for code, criterion in benchmark.criteria.items():
        here = chance.of("check", code)
        if criterion.kind == "appraisal" or here.happens(0.05, "missing"):
            continue
        levels = TWO_LEVELS if criterion.partial is None else LEVELS
        few = here.happens(0.15, "few")
        sure = here.one_of((0.98, 0.9, 0.8), "quality")
        counts = {}
        for source in SOURCES:
            rows = {}
            for right in levels:
                n = 1 if few and right == "PARTIAL" else 4 + int(21 * here.share(source, right))
                said = [
                    right if here.happens(sure, source, right, i) else here.one_of(levels, source, right, i, "other")
                    for i in range(n)
                ]
                rows[right] = {level: said.count(level) for level in levels if level in said}
            counts[source] = rows
        found[code] = Calibration("a check", here.one_of(("gold", "human"), "basis"), counts)
    return found
