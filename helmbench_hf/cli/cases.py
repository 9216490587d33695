"""`helmbench cases`, `show`: what a model gets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from helmbench_hf.cli.errors import fail
from helmbench_hf.cli.shared import Dataset, Design, Json, Only, Revision, put
from helmbench_hf.dataset.load import load_cases, select
from helmbench_hf.records import Case
from helmbench_hf.tasks.reactive import TITLES, paths


def cases(
    design: Design = "core", dataset: Dataset = None, revision: Revision = None, only: Only = None, as_json: Json = False
) -> None:
    """List the cases of a design, one per line.

    Example: helmbench cases --design smoke --only P1-B1
    """
    loaded = load_cases(design, dataset, revision)
    chosen, identity = select(loaded.cases, only, None), loaded.identity
    put({"dataset": identity, "cases": chosen}, map(_line, chosen), as_json)
    if not as_json:
        version = f"version {identity.version}, content {identity.content_sha256[:16]}"
        typer.echo(f"{len(chosen)} cases of {design}, {version}", err=True)


def _line(case: Case) -> str:
    return f"{case.code:32} {case.mode:11} {case.member:9} S={case.severity:+3d} {case.gold:6} {case.register}"


def show(
    code: Annotated[str, typer.Argument(help="Case code, e.g. P1-B1-S1-C1-U11-PT4.")],
    dataset: Dataset = None,
    revision: Revision = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="For a reactive conversation, print everything that the person may say.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print a case exactly as a model gets it, and how it is graded.

    Example: helmbench show P1-B1-S1-C1-U11-PT4
    """
    designs = (load_cases(design, dataset, revision).cases for design in ("full", "long"))
    case = next((case for cases in designs for case in cases if case.code == code), None)
    if case is None:
        near = f" --only {code.rpartition('-')[0]}" if "-" in code else ""
        fail(f"there is no case {code}; `helmbench cases --design full{near}` lists {'its neighbors' if near else 'all cases'}")
    if tree:
        if not case.route.beats:
            fail(f"{code} has no tree: what the person says there does not depend on the replies")
        typer.echo("\n".join(_tree(case)))
        return
    sections = (f"--- {title}\n{text}\n" for title, text in _sections(case))
    put(case, sections, as_json)


def _tree(case: Case) -> Iterator[str]:
    """The beats in the order in which they can be said, each with what follows from each kind of reply."""
    turns: dict[str, int] = {}
    for path in paths(case.route):
        for turn, beat in enumerate(path, 1):
            turns[beat.slug] = max(turn, turns.get(beat.slug, 0))
    for beat in sorted(case.route.beats, key=lambda beat: turns[beat.slug]):
        yield f"turn {turns[beat.slug]}, {beat.slug}: {beat.text}"
        ways: dict[str, list[str]] = {}
        for act, step in beat.steps:
            to = ", ".join(f"{slug} from trust {least}" if least else slug for least, slug in step.to)
            ways.setdefault(f"{to}{f' (trust {step.trust:+d})' if step.trust else ''}", []).append(TITLES[act])
        yield from (f"    {'; '.join(acts)} -> {to}" for to, acts in ways.items())
        if beat.end:
            yield f"    end: {beat.end}"


def _sections(case: Case) -> Iterator[tuple[str, str]]:
    if case.system:
        yield "SYSTEM", case.system
    if case.history:
        yield "ORDINARY CHAT (person and app in turn)", "\n".join(case.history)
    for number, turn in enumerate(case.turns, start=1):
        yield f"USER, turn {number}" if len(case.turns) > 1 else "USER", turn
    if case.response_schema:
        yield "ANSWER SCHEMA", case.response_schema
    facts = dataclasses.asdict(case) | {"budget in tokens": case.max_tokens}
    for name in ("system", "turns", "response_schema", "grading", "max_tokens", "route", "history"):
        del facts[name]
    yield "FACTS (the model never sees these)", _facts(facts)
    yield "GRADING", _facts({name: value for name, value in dataclasses.asdict(case.grading).items() if value})


def _facts(facts: dict[str, Any]) -> str:
    texts = {name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value for name, value in facts.items()}
    return "\n".join(f"{name}: {text}" for name, text in texts.items())
