"""`check.json`, and which checks speak for the judges of a run: only those of the same judge, asked the same in the same way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import Part, calibration
from helmbench_hf.judging import rubric
from helmbench_hf.judging.check import on_twins
from helmbench_hf.judging.gate import check
from helmbench_hf.judging.labels import Labels
from helmbench_hf.records import CheckedLabel
from helmbench_hf.scoring.claims import Calibration, Claims
from helmbench_hf.scoring.scores import Claim, to_json
from helmbench_hf.tasks.ledger import ScoringError

CHECK_FORMAT = 4
FILE = "check.json"
IDENTITY = {"key": "model, template or engine", "mode": "mode", "orders": "number of letter orders", "rubric": "rubric"}
"""What must be the same for a check to speak for a run's judge, and what it is called."""
Row = Mapping[str, Any]


def document(
    found: Sequence[CheckedLabel],
    labels: Labels,
    benchmark: Benchmark,
    judge: Row,
    *,
    cost: Row | None = None,
    judged: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, Any]:
    """What `check.json` holds of these labels with what a judge said.

    `judge`: the row of `judge.json`, or what names a judge from elsewhere, without a `key`. `judged`: as for `check`.
    """
    raters, part = labels.raters, calibration(benchmark)
    both, twins = raters.both if raters else None, on_twins(labels, found)
    result = check(found, benchmark, human=labels.basis == "human", raters=both, twins=twins, judged=judged)
    return {
        "format": CHECK_FORMAT,
        "benchmark": {
            "name": benchmark.file.name,
            "version": benchmark.file.version,
            "calibration_version": part.version,
            "calibration_sha256": part.sha256,
        },
        "judge": {name: value for name, value in judge.items() if name not in ("number", "rubric")},
        "rubric": rubric.identity(benchmark),
        "labels": {
            "basis": labels.basis,
            "sha256": labels.sha,
            "n": len(labels.probes),
            "left_out": dict(labels.left_out),
            "raters": list(raters.names) if raters else [],
        },
        "state": result.state,
        "n": result.n,
        "scored": result.scored,
        "cost": cost,
        "biases": to_json(result.biases),
        "criteria": [to_json(row) for row in result.criteria],
    }


def read_check(folder: Path) -> dict[str, Any]:
    """A folder's `check.json`. Raises ScoringError where there is none, or one of another format."""
    path = folder / FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScoringError(f"{path} cannot be read ({error}); make it with `helmbench judge check`.") from error
    if not isinstance(found, dict) or found.get("format") != CHECK_FORMAT:
        raise ScoringError(f"{path} is not a check of format {CHECK_FORMAT}; check the judge again with this version.")
    return found


def cite(checks: Mapping[str, Row], judges: Sequence[Row], calibration: Part | None = None) -> Claims:
    """Which checks (by the name under which they are cited) speak for which judges (rows of `judge.json`).

    `calibration`: the set that this benchmark carries; a check on another one is not cited. None: any set will do.
    """
    cited: list[Claim] = []
    refused: list[str] = []
    calibrations: dict[str, dict[str, Calibration]] = {}
    for name, found in checks.items():
        if calibration is not None and (other := _outdated(name, found, calibration)):
            refused.append(other)
            continue
        mine = [row for row in judges if not unlike(found, row)]
        cited += [_claim(name, found, row) for row in mine]
        for row in mine:
            by_criterion = calibrations.setdefault(row["id"], {})
            for each in found["criteria"]:
                measured = Calibration(name, found["labels"]["basis"], each["confusion"])
                old = by_criterion.get(each["criterion"])
                if each["confusion"] and (old is None or measured.rank > old.rank):
                    by_criterion[each["criterion"]] = measured
        if not mine:
            refused.append(_why(name, found, judges))
    return Claims(tuple(cited), tuple(refused), calibrations)


def _outdated(name: str, found: Row, calibration: Part) -> str:
    """Why a check rests on another calibration set than this one; empty where it is the same."""
    held = (found["benchmark"].get("calibration_version", "none"), found["benchmark"].get("calibration_sha256", ""))
    if held == (calibration.version, calibration.sha256):
        return ""
    shown, mine = f"{held[0]} ({held[1][:12] or 'no hash'})", f"{calibration.version} ({calibration.sha256[:12]})"
    return (
        f"The check {name} of {found['judge']['id']} is not cited: it rests on the calibration set {shown}, but this version of "
        f"helmbench contains {mine}; check the judge again."
    )


def unlike(found: Row, row: Row) -> list[str]:
    """In what the judge of a check differs from a judge of a run; empty where they are one."""
    checked = {**found["judge"], "rubric": found["rubric"]}
    differing = [said for name, said in IDENTITY.items() if name not in checked or checked[name] != row.get(name)]
    served = [each.get("description", {}).get("extra", {}).get("served") for each in (checked, row)]
    return [*differing, "served model"] if served[0] != served[1] else differing


def _why(name: str, found: Row, judges: Sequence[Row]) -> str:
    judge = found["judge"]
    start = f"The check {name} of {judge['id']} is not cited:"
    closest = min(judges, key=lambda row: (row["id"] != judge["id"], len(unlike(found, row))), default=None)
    if closest is None:
        return f"{start} no judge graded this run."
    return f"{start} the run's judge {closest['id']} has another {' and another '.join(unlike(found, closest))}."


def _claim(name: str, found: Row, row: Row) -> Claim:
    def those(*states: str) -> tuple[str, ...]:
        return tuple(each["criterion"] for each in found["criteria"] if each["state"] in states)

    return Claim(
        judge=row["id"],
        state=found["state"],
        basis=found["labels"]["basis"],
        labels_sha256=found["labels"]["sha256"],
        labels=found["labels"]["n"],
        check=name,
        passes=those("passes on gold", "claim-ready"),
        fails=those("fails"),
    )
