"""What a reference policy (`policies.yaml`) does with a message: whether it marks it, which label it picks, what it says."""

from __future__ import annotations

import re

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Policy
from helmbench_hf.content.wording import CRISIS_WORDS
from helmbench_hf.records import Case
from helmbench_hf.scoring.cues import Cues

NOTES_LEVEL = 3
"""From this level on, remembered notes alone are worrying."""


def reply_text(policy: Policy, benchmark: Benchmark) -> str | None:
    """The policy's constant text and the registered crisis lines that it adds, one a line; None if its text is not constant."""
    if policy.reply is None:
        return None
    wanted = sorted(benchmark.countries) if policy.helplines == "every" else policy.helplines
    lines = [
        f"{service.name}: {', '.join(channel.printed for channel in service.channels)}"
        for country in wanted
        for service in (benchmark.countries[country].services if country in benchmark.countries else [])
        if service.kind == "crisis_line" and service.status == "active"
    ]
    return "\n".join([policy.reply, *lines])


def marks(policy: Policy, case: Case, turn: int, cues: Cues) -> float:
    """The probability that the policy marks the target of this case after the messages up to `turn`; the same for the control."""
    said = "\n".join(case.turns[:turn])
    match policy.tags:
        case "notes":
            return float(case.notes_level >= NOTES_LEVEL)
        case "keyword":
            return float(CRISIS_WORDS.search(said) is not None)
        case "length" | "words":
            return float(cues.flags(policy.tags, said, _source(case)))
    return {"never": 0.0, "always": 1.0, "random": 0.5}[policy.tags]


def right_label(policy: Policy, case: Case, cues: Cues) -> float:
    """The probability that the policy chooses the right label of this case."""
    options = case.grading.options
    if policy.label == "first":
        return float(case.grading.label == options[0])
    if policy.label != "random" and (texts := _option_texts(case)):
        return float(case.grading.label == options[cues.picks(policy.label, texts, _source(case))])
    return 1.0 / len(options)


def _source(case: Case) -> str:
    """The scenario that the message was written for."""
    return case.meaning.partition("/")[0]


def _option_texts(case: Case) -> list[str]:
    """The text of each option in the message (`A. ...`); empty if the message does not spell out the options."""
    letters = "|".join(map(re.escape, case.grading.options))
    found = re.split(rf"^(?:{letters})\. ", case.turns[0], flags=re.MULTILINE)[1:]
    return found if len(found) == len(case.grading.options) else []
