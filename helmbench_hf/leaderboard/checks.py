"""Checks of judges (`check.json`) as a submission cites them: what their claims and corrections rest on, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import calibration
from helmbench_hf.leaderboard.files import RejectedError, quoted
from helmbench_hf.leaderboard.manifest import Key, ModelName, Rubric, Sha, Slug, Strict, Version, Word, leaks
from helmbench_hf.records import Answer, CheckedLabel
from helmbench_hf.run_folder import RunError
from helmbench_hf.scoring.claims import CHECK_FORMAT, cite, read_check
from helmbench_hf.scoring.judge_check import State, check

Counted = Annotated[int, Field(ge=0, le=10_000)]
Source = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._:/+(),-]{0,120}$")]
"""How the replies came about, also by which model."""
Confusion = dict[Source, dict[Answer, dict[Answer, Counted]]]


class Labels(Strict):
    """What the judge was held against."""

    basis: Literal["gold", "human"]
    sha256: Sha
    n: Counted


class Served(Strict):
    """What a server said that it serves."""

    served: ModelName | None = None


class Description(Strict):
    """The one fact of the judge's engine that its identity needs."""

    extra: Served


class Calibrated(Strict):
    """The benchmark under which it was made, and its calibration set."""

    name: Word
    version: Version
    calibration_version: Version
    calibration_sha256: Sha


class CheckJudge(Strict):
    """The judge that was checked."""

    id: Slug
    family: Slug
    mode: Literal["fast", "evidence"]
    orders: Literal[1, 2]
    key: Key
    description: Description


class Criterion(Strict):
    """One criterion."""

    criterion: Slug
    state: State
    confusion: Confusion


class Check(Strict):
    """A check, reduced."""

    format: Annotated[int, Field(ge=CHECK_FORMAT, le=CHECK_FORMAT)]
    benchmark: Calibrated
    judge: CheckJudge
    rubric: Rubric
    labels: Labels
    state: State
    criteria: Annotated[list[Criterion], Field(max_length=200)]


def cited(folders: Sequence[Path], rows: Sequence[Mapping[str, Any]], benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """The checks of these folders by name, reduced. RunError for one that speaks for no judge of the run (`rows`)."""
    found: dict[str, dict[str, Any]] = {}
    carried = calibration(benchmark) if folders else None
    for folder in folders:
        name, whole = folder.resolve().name, read_check(folder)
        if name in found:
            raise RunError(f"two checks have the folder name {name}; scores cite a check by it, so rename one")
        if refused := cite({name: whole}, rows, carried).refused:
            raise RunError(f"{refused[0]} Leave it out.")
        found[name] = _reduced(whole)
    return found


def _reduced(whole: Mapping[str, Any]) -> dict[str, Any]:
    served = whole["judge"].get("description", {}).get("extra", {}).get("served")
    judge = {name: whole["judge"][name] for name in ("id", "family", "mode", "orders", "key")}
    judge["description"] = {"extra": {} if served is None else {"served": served}}
    criteria = [{name: row[name] for name in ("criterion", "state", "confusion")} for row in whole["criteria"]]
    labels = {name: whole["labels"][name] for name in ("basis", "sha256", "n")}
    return {
        **{name: whole[name] for name in ("format", "rubric", "state")},
        "benchmark": {name: whole["benchmark"][name] for name in Calibrated.model_fields},
        "labels": labels,
        "judge": judge,
        "criteria": criteria,
    }


def read(found: Any, name: str, benchmark: Benchmark) -> dict[str, Any]:
    """A parsed check of a submission. Raises `RejectedError` where it is of another shape or says what its counts do not."""
    try:
        model = Check.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RejectedError("check.field", f"{name}, {quoted(where)}: {first['msg']}") from error
    codes = [row.criterion for row in model.criteria]
    if len(set(codes)) < len(codes) or not set(codes) <= set(benchmark.criteria):
        raise RejectedError("check.field", f"{name} names a criterion twice or one that the benchmark does not have")
    if leak := next(leaks(found, name), None):
        raise RejectedError(*leak)
    _check_states(model, name, benchmark)
    plain: dict[str, Any] = found
    return plain


def _check_states(model: Check, name: str, benchmark: Benchmark) -> None:
    """The gate once more, from the counts alone: labels without a verdict are not in them and could only lower it."""
    labels = list(_labels(model))
    if len(labels) > model.labels.n:
        raise RejectedError("check.counts", f"{name} counts {len(labels)} verdicts on {model.labels.n} labels")
    again = check(labels, benchmark, human=model.labels.basis == "human")
    passed = {row.criterion for row in again.criteria if row.state in ("passes on gold", "claim-ready")}
    best = "claim-ready" if model.labels.basis == "human" else "passes on gold"
    for row in model.criteria:
        if row.state in ("passes on gold", "claim-ready") and (row.criterion not in passed or row.state != best):
            raise RejectedError("check.state", f"{name} calls {row.criterion} {row.state}, which its own counts do not show")


def _labels(model: Check) -> Iterator[CheckedLabel]:
    for row in model.criteria:
        for source, rows in row.confusion.items():
            for right, said in rows.items():
                for answer, n in said.items():
                    yield from (CheckedLabel("R", row.criterion, right, answer, 0, source=source) for _ in range(n))
