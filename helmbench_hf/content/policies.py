"""`policies.yaml`: the reference policies, what they say and how every criterion would grade it.

They are not models: each is a rule that ignores the message (or knows its length or single words of it), so that readers can
see what a score is worth. Verdicts stand in a table, because the text is the same whoever it answers.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from helmbench_hf.content.cues import Cues
from helmbench_hf.content.lexicon import CRISIS_WORDS
from helmbench_hf.content.load import Benchmark, ContentError, _Reader
from helmbench_hf.content.schema import Authored, Country, CriterionCode, Slug, Text
from helmbench_hf.content.strict_yaml import Problem
from helmbench_hf.records import Answer, Case

FILE = "policies.yaml"
NOTES_LEVEL = 3
"""From this level on, remembered notes alone would make one worry."""


class Policy(Authored):
    """One reference policy. Either it has its own `verdicts`, or it speaks like two others by turns, or it says nothing."""

    slug: Slug
    title: Text
    message_blind: bool
    """It never looks at the message: its expected score may not be above chance."""
    tags: Literal["never", "always", "random", "notes", "keyword", "length", "words"]
    """When it marks target and control: `notes` where level 3 or more is remembered, `keyword` by a word list, `length` and
    `words` by what the other scenarios teach (content/cues.py)."""
    label: Literal["first", "random", "length", "words"] = "first"
    """Which label it chooses. `length` and `words` draw at random where the message does not hold the answers' texts."""
    answers: bool = True
    """False: the answer is always empty."""
    reply: Text | None = None
    """What it says, where that is one text for everybody."""
    helplines: Literal["every"] | list[Country] = Field(default_factory=list)
    """Countries whose registered crisis lines it adds to the text."""
    verdicts: dict[CriterionCode, Answer] = Field(default_factory=dict)
    when_flagged: Slug | None = None
    """It speaks like this policy where it marks the target ..."""
    otherwise: Slug | None = None
    """... and like this one elsewhere."""

    @model_validator(mode="after")
    def _one_voice(self) -> Policy:
        if (self.when_flagged is None) != (self.otherwise is None):
            raise ValueError("`when_flagged` and `otherwise` go together")
        voices = [bool(self.verdicts), self.when_flagged is not None, not self.answers]
        if sum(voices) != 1:
            raise ValueError("give exactly one of `verdicts`, `when_flagged` with `otherwise`, and `answers: false`")
        if self.when_flagged is not None and self.tags == "random":
            raise ValueError("a policy that speaks by its marks cannot mark at random")
        if self.helplines and self.reply is None:
            raise ValueError("`helplines` are added to a `reply`; give one")
        return self


class PoliciesFile(Authored):
    """The whole file."""

    policies: list[Policy]


def load_policies(benchmark: Benchmark) -> dict[str, Policy]:
    """The reference policies by slug, in the order of the file; raises ContentError with every fault.

    Each table must hold every criterion that some scenario of the benchmark uses.
    """
    reader = _Reader(benchmark.root)
    file = reader.one(benchmark.root / FILE, PoliciesFile)
    if file is None:
        raise ContentError(reader.problems)
    lines = reader.documents[FILE]
    problems: list[Problem] = []
    slugs = [policy.slug for policy in file.policies]
    for index, policy in enumerate(file.policies):
        for what, mend in _faults(policy, index, file.policies, used_criteria(benchmark)):
            problems.append(Problem(FILE, lines.line(("policies", index)), policy.slug, what, mend))
    if problems:
        raise ContentError(problems)
    return dict(zip(slugs, file.policies, strict=True))


def used_criteria(benchmark: Benchmark) -> frozenset[str]:
    """Every criterion that a judge is asked about in some case: credited, vetoing, reported, or the contrast."""
    found = set(benchmark.scoring.always_vetoes)
    for loaded in benchmark.scenarios:
        lists = loaded.scenario.criteria
        found |= {*lists.crisis, *lists.benign, *lists.ambiguous, *lists.vetoes, *lists.reported}
        found |= {loaded.scenario.contrast.criterion} if loaded.scenario.contrast else set()
        found |= {code for pair in loaded.pairs for code in pair.criteria}
        found |= {code for code in benchmark.criteria if code.startswith("A")} if loaded.scenario.appraisal else set()
    return frozenset(found)


def _faults(policy: Policy, index: int, policies: list[Policy], used: frozenset[str]) -> list[tuple[str, str]]:
    faults = []
    if policy.slug in [other.slug for other in policies[:index]]:
        faults.append((f"{policy.slug} stands twice", "give it its own slug"))
    voices = {other.slug for other in policies if other.verdicts}
    for slug in (policy.when_flagged, policy.otherwise):
        if slug is not None and slug not in voices:
            faults.append((f"there is no policy {slug} with verdicts", f"name one of {', '.join(sorted(voices))}"))
    missing = sorted(used - set(policy.verdicts)) if policy.verdicts else []
    if missing:
        faults.append((f"no verdict on {', '.join(missing)}", "grade the text by the criterion's anchors and add it"))
    return faults


def reply_text(policy: Policy, benchmark: Benchmark) -> str | None:
    """The constant text with the registered crisis lines it names, one a line; None where the text is not constant."""
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
    """How likely the policy is to mark the target of this case, after the messages up to `turn`; the control likewise."""
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
    """How likely the policy is to choose the right label of this case."""
    options = case.grading.options
    if policy.label == "first":
        return float(case.grading.label == options[0])
    if policy.label != "random" and (texts := _texts(case)):
        return float(case.grading.label == options[cues.picks(policy.label, texts, _source(case))])
    return 1.0 / len(options)


def _source(case: Case) -> str:
    """The scenario that the message was written for."""
    return case.meaning.partition("/")[0]


def _texts(case: Case) -> list[str]:
    """What stands behind each option in the message (`A. ...`); nothing where the options are not spelled out there."""
    letters = "|".join(map(re.escape, case.grading.options))
    found = re.split(rf"^(?:{letters})\. ", case.turns[0], flags=re.MULTILINE)[1:]
    return found if len(found) == len(case.grading.options) else []
