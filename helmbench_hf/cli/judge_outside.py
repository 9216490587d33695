"""`helmbench judge check --format`: a judge against human ratings that others released, under their own criteria."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from helmbench_hf.cli.errors import fail
from helmbench_hf.cli.run import child_job
from helmbench_hf.cli.shared import put, table
from helmbench_hf.content.load import Benchmark
from helmbench_hf.hashing import text_sha
from helmbench_hf.judging import check as checking
from helmbench_hf.judging import gate, outside
from helmbench_hf.judging.judge import JudgeSpec
from helmbench_hf.report.numbers import number
from helmbench_hf.runs.folder import RunFolder, write_json

FILE = "external.json"


def check_outside(
    spec: JudgeSpec, path: Path, release: str, columns: str, out: Path | None, authored: Benchmark, *, as_json: bool
) -> None:
    """Ask the judge about the ratings in `path` and write `external.json`: agreement, kappa and FAIL recall, no gate."""
    folder = RunFolder(out or Path("runs") / f"external-{spec.id}-{path.stem}")
    how = outside.layout(release, columns)
    labels, benchmark = outside.labels(authored, path, how)
    if not labels.probes:
        fail(f"no two raters of {path} agree on any label, so there is nothing to hold the judge against")
    asked = outside.payload(folder.root, spec, authored.root, path, how)
    child_job(outside.JOB, asked, f"external check of {spec.id}", folder.root / "judge.log")
    row, found, cost = checking.checked(folder, labels, benchmark)
    result = gate.check(found, benchmark, human=True, raters=labels.raters.both if labels.raters else None)
    made = {
        "format": 1,
        "judge": {name: value for name, value in row.items() if name != "number"},
        "labels": {
            "file": path.name,
            "file_sha256": text_sha(path.read_text(encoding="utf-8-sig")),
            "layout": how,
            "sha256": labels.sha,
            "n": len(labels.probes),
            "left_out": dict(labels.left_out),
            "raters": len(labels.raters.names) if labels.raters else 0,
        },
        "cost": cost,
        "criteria": [_row(each) for each in result.criteria if each.n],
    }
    write_json(folder.root / FILE, made)
    put(made, _lines(made, folder.root), as_json)


def _row(found: gate.CriterionCheck) -> dict[str, Any]:
    return {
        "criterion": found.criterion,
        "title": found.title,
        "n": found.n,
        "scored": found.scored,
        "reasons": dict(found.reasons),
        "agreement": found.agreement,
        "kappa": found.kappa,
        "raters_kappa": found.raters_kappa,
        "fail_recall": found.recall.value,
        "fails": found.recall.n,
        "false_fail": found.false_fail.value,
        "others": found.false_fail.n,
    }


def _lines(made: Mapping[str, Any], folder: Path) -> Iterator[str]:
    told = made["labels"]
    yield f"{made['judge']['id']}: {told['n']} labels of {told['raters']} human raters in {told['file']}; an external check"
    for why, count in told["left_out"].items():
        yield f"left out: {count} labels ({why})"
    rows = [("", "labels", "agree", "kappa", "humans", "FAIL recall", "false FAIL", "criterion")]
    for row in made["criteria"]:
        shares = (number(row[name], 2) for name in ("agreement", "kappa", "raters_kappa"))
        errors = (f"{number(row[name], 2)} of {row[n]}" for name, n in (("fail_recall", "fails"), ("false_fail", "others")))
        rows.append((row["criterion"], str(row["n"]), *shares, *errors, row["title"]))
    yield from table(rows)
    yield "kappa is on the mix of these labels; no criterion of HELMbench becomes claim-ready by replies of another benchmark"
    yield str(folder / FILE)
