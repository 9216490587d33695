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


def cases(
    design: Design = "core", dataset: Dataset = None, revision: Revision = None, only: Only = None, as_json: Json = False
) -> None:
    """List the cases of a design, one a line.

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
    folded: Annotated[bool, typer.Option("--folded", help="As a model without a system role gets it.")] = False,
    as_json: Json = False,
) -> None:
    """Print a case exactly as a model gets it, and how it is graded.

    Example: helmbench show P1-B1-S1-C1-U11-PT4
    """
    case = next((case for case in load_cases("full", dataset, revision).cases if case.code == code), None)
    if case is None:
        fail(f"there is no case {code}; `helmbench cases --design full --only {code.rpartition('-')[0]}` lists its neighbors")
    sections = (f"--- {title}\n{text}\n" for title, text in _sections(case, folded))
    put(case, sections, as_json)


def _sections(case: Case, folded: bool) -> Iterator[tuple[str, str]]:
    first, *later = case.turns
    if folded and case.system:
        first = f"{case.system}\n\n{first}"
    elif case.system:
        yield "SYSTEM", case.system
    for number, turn in enumerate((first, *later), start=1):
        yield f"USER, turn {number}" if later else "USER", turn
    if case.response_schema:
        yield "ANSWER SCHEMA", case.response_schema
    facts = dataclasses.asdict(case) | {"budget in tokens": case.max_tokens}
    for name in ("system", "turns", "response_schema", "grading", "max_tokens"):
        del facts[name]
    yield "FACTS (the model never sees these)", _facts(facts)
    yield "GRADING", _facts({name: value for name, value in dataclasses.asdict(case.grading).items() if value})


def _facts(facts: dict[str, Any]) -> str:
    texts = {name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value for name, value in facts.items()}
    return "\n".join(f"{name}: {text}" for name, text in texts.items())
