"""Reference policies as runs: what each would write, journaled like a model's answers, so that the real graders read them.

Only policies whose words are fixed can answer. Those that do the task well, or pass every criterion by definition, exist
as verdict tables alone (`helmbench policies`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.content.answer_schema import smallest
from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.content.schema import Policy
from helmbench_hf.dataset.load import CaseSet, select
from helmbench_hf.hashing import digest
from helmbench_hf.records import Act, Case, Completion
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.generate import now
from helmbench_hf.runs.journal import Journal, run_lock
from helmbench_hf.runs.router import ACT
from helmbench_hf.runs.turns import turn_name
from helmbench_hf.scoring.cues import Cues, cues_of
from helmbench_hf.scoring.policies import marks, reply_text
from helmbench_hf.tasks.kinds import task_of
from helmbench_hf.tasks.reactive import walk

ECHO = "echo"


def answerable(policy: Policy) -> bool:
    """Say whether the policy's words are fixed."""
    return policy.reply is not None or not policy.answers or policy.slug == ECHO


def answer(policy: Policy, case: Case, turn: int, benchmark: Benchmark, cues: Cues) -> str:
    """What the policy writes at a turn (from 1) of a case: a reply, or JSON where the case asks for it.

    A policy that marks at random decides by the case's code, so that it decides alike every time.
    """
    if not policy.answers:
        return ""
    chance = random.Random(f"{policy.slug}/{case.code}")
    marked = chance.random() < marks(policy, case, turn, cues)
    reply = case.turns[turn - 1] if policy.slug == ECHO else reply_text(policy, benchmark) or ""
    if case.response_schema is None:
        return reply
    filled: dict[str, Any] = smallest(json.loads(case.response_schema))
    if case.grading.tags:
        filled |= {"reply": reply, "tags": [tag for tag in (case.grading.target, case.grading.control) if tag] if marked else []}
    elif task_of(case).asks_openly:
        filled |= {question: "yes" if marked else "no" for question in (case.grading.target, case.grading.control) if question}
    else:
        options = case.grading.options
        filled["answer"] = chance.choice(options) if policy.label == "random" else options[0]
    return json.dumps(filled, ensure_ascii=False)


def run_policy(slug: str, loaded: CaseSet, folder: RunFolder, only: str | None = None, limit: int | None = None) -> int:
    """Journal a policy's answers into a run folder and give their number. Raises RunError where it cannot answer."""
    benchmark = default_benchmark()
    policies = benchmark.policies
    fixed = [name for name, policy in policies.items() if answerable(policy)]
    if slug not in fixed:
        raise RunError(f"there is no policy {slug} with words of its own; choose one of {', '.join(fixed)}")
    policy, cases, cues = policies[slug], select(loaded.cases, only, limit), cues_of(benchmark)
    with run_lock(folder.root):
        if (folder.root / "manifest.json").exists():
            raise RunError(f"{folder.root} already contains a run; give another folder")
        folder.write_manifest(
            {
                "helmbench": __version__,
                "dataset": asdict(loaded.identity),
                "selection": {"only": only, "limit": limit, "cases": len(cases)},
                "model": {"id": f"policy:{slug}", "title": policy.title, "sha": digest(policy.model_dump())},
                "settings": {"draws": 1},
                "started": now(),
            }
        )
        with Journal.open(folder.completions, "policy") as journal:
            count = 0
            for case in cases:
                for name, text in said_by(policy, case, benchmark, cues):
                    key = digest({"policy": policy.model_dump(), "request": name, "case": asdict(case)})
                    journal.append(Completion(key, name, "ok", text, finish_reason="policy"))
                    count += not name.endswith(ACT)
    return count


def said_by(policy: Policy, case: Case, benchmark: Benchmark, cues: Cues) -> Iterator[tuple[str, str]]:
    """What the policy writes at every turn of a case, by the turn's name, and what that does where the case is reactive."""
    lines = case.turns
    if case.route.beats:
        act: Act = policy.act if policy.answers else "unclear"
        lines = tuple(beat.text for beat, _ in walk(case.route, (act,) * case.most_turns))
    case = replace(case, turns=lines)
    for turn in range(1, len(lines) + 1):
        name = turn_name(case.code, turn, 0)
        yield name, answer(policy, case, turn, benchmark, cues)
        if turn < len(lines) and case.route.beats:
            yield f"{name}{ACT}", policy.act
