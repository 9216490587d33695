"""A finished run as a submission: its run folder, copied by a closed list of files and fields."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.board import files
from helmbench_hf.board.checks import check_files, recheck
from helmbench_hf.board.files import RejectedError
from helmbench_hf.board.manifest import FORMAT, Judge, Manifest, Sorter, picked, read_judge, read_manifest, run_id
from helmbench_hf.board.replay import replay, segment
from helmbench_hf.board.verify import sha_of, too_little, verify
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.judging.grade import judge_answers, verdict_row
from helmbench_hf.runs.completions import run_dataset
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.journal import Journal
from helmbench_hf.scoring.scores import Scores, to_json


@dataclass(frozen=True, slots=True)
class Submission:
    """What would be sent."""

    manifest: Manifest
    judges: Sequence[Judge]
    content: Mapping[str, bytes]
    """By relative name."""
    scores: Scores

    def write(self, folder: Path) -> Path:
        """Write it under `folder` as in the results repository; give its own folder. Raises RunError where that exists."""
        target = folder / self.manifest.place
        if target.exists():
            raise RunError(f"{target} already exists; remove it, or give another folder")
        for name, content in self.content.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(content)
        return target

    def shown(self) -> list[str]:
        """What would go, line by line, for a person who decides."""
        manifest, printed = self.manifest, self.scores.headline.printed
        score = "no composite" if printed is None else f"composite {printed:.1f} of 100"
        judges = ", ".join(judge.id for judge in self.judges) or "none"
        lines = [
            f"{manifest.model.id} on {manifest.dataset.design} v{manifest.dataset.version}: {score}",
            f"judges: {judges}; panel: {manifest.submission.panel}; answers a case: {manifest.settings.draws}",
            f"run {manifest.run_id}",
        ]
        return lines + [f"{len(content):>12,} bytes  {manifest.place}/{name}" for name, content in sorted(self.content.items())]


def prepare(
    run: Path,
    *,
    checks: Sequence[Path] = (),
    labels: Path | None = None,
    panel: str = "first",
    submitter: str = "",
    text: str = "",
) -> Submission:
    """Make the submission of a finished run, and verify it as the board would.

    `labels`: the file of human labels behind a check. Everything is derived from the journals again; nothing of the run's
    `verdicts.jsonl` and `scores.json` is used. Raises RunError where the run is not finished or cannot be submitted, or holds
    what must not leave the machine.
    """
    folder, benchmark = RunFolder(run), default_benchmark()
    raw = folder.manifest().to_json()
    _check_complete(raw, folder)
    loaded = run_dataset(folder)
    try:
        manifest = _manifest(raw, panel, submitter, text)
        rows = folder.judges()
        judges = [read_judge(picked(Judge, row), f"judge.json of {row['id']}") for row in rows]
        stored = Journal.read(folder.completions).everything()
        said = {row["id"]: judge_answers(folder, row, benchmark).everything() for row in rows}
        acts = Journal.read(folder.acts).everything()
        found = replay(loaded, manifest, stored, [(judge, said[judge.id]) for judge in judges], benchmark, acts)
        _check_answered(found.missing, run, "planned answers", "the command that began it")
        content = {files.COMPLETIONS: segment(stored, found.asked)}
        if manifest.router is not None:
            content[files.ACTS] = segment(acts, found.sorts)
        for judge in judges:
            asked, place = found.questions[judge.id], f"{files.JUDGMENTS}/{judge.id}"
            open_ = [plan.name for key, plan in asked.items() if key not in said[judge.id]]
            _check_answered(open_, run, f"questions to the judge {judge.id}", "`helmbench grade`")
            content |= {f"{place}/{files.JUDGE}": _json(judge.row()), f"{place}/{files.SEGMENT}": segment(said[judge.id], asked)}
        content |= check_files(checks, labels, rows, benchmark)
        cited = {path.resolve().name: recheck(content, path.resolve().name, benchmark) for path in checks}
        scores = found.scores(loaded, manifest, judges, cited, benchmark)
        if short := too_little(scores, benchmark.scoring.minimum_coverage):
            raise RunError(f"{run} cannot be submitted: {short}. Rerun what failed, or grade it again (`helmbench grade`).")
        content[files.VERDICTS] = "".join(f"{json.dumps(verdict_row(each))}\n" for each in found.verdicts).encode("ascii")
        content[files.SCORES] = _json(to_json(scores))
        manifest = _signed(manifest, content)
    except RejectedError as error:
        raise RunError(f"{error.said} ({error.code})") from error
    made = Submission(manifest, judges, {files.MANIFEST: _json(manifest.model_dump()), **content}, scores)
    _check_accepted(made, loaded)
    return made


def _check_complete(manifest: Mapping[str, Any], folder: RunFolder) -> None:
    if not manifest.get("key") or not manifest.get("engine"):
        raise RunError(
            f"{folder.root} does not record what its keys are derived from: its answers come from a policy, a person or "
            "an earlier version of helmbench. Only a model's run can be submitted; make one with `helmbench generate`."
        )
    if manifest.get("user"):
        raise RunError(
            f"In {folder.root} a model wrote the person's lines. That is experimental, and no board accepts it; run again "
            "without --user-model."
        )
    if manifest["dataset"].get("private"):
        raise RunError(f"{folder.root} contains answers to a private holdout, which would reveal it; it must never be submitted")
    selection = manifest.get("selection", {})
    if any(selection.get(name) is not None for name in ("only", "limit", "shard")):
        raise RunError(
            f"{folder.root} answers only part of the design {manifest['dataset']['design']}; a submission must answer all "
            "of it. Run it without --only or --limit, and put shards together with `helmbench merge`."
        )


def _check_answered(missing: Sequence[str], run: Path, what: str, how: str) -> None:
    if missing:
        raise RunError(
            f"{run} is missing {len(missing)} {what}, starting with {missing[0]}; a submission must be a complete run. "
            f"Finish it with {how}."
        )


def _manifest(raw: Mapping[str, Any], panel: str, name: str, text: str) -> Manifest:
    """The manifest before the files are known."""
    repo, _, commit = raw["dataset"]["source"].partition("@")
    source = raw["dataset"]["source"] if commit or repo == "embedded" else "folder"
    origin = {
        "format": FORMAT,
        "run_id": "0" * 16,
        "panel": panel,
        "files": {},
        "submitter": {"name": name, "text": text},
        "exported": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    added = {"helmbench": __version__, "dataset": {**raw["dataset"], "source": source}, "submission": origin}
    if raw.get("router"):
        added["router"] = picked(Sorter, raw["router"])
    return read_manifest(picked(Manifest, {**raw, **added}))


def _signed(manifest: Manifest, content: Mapping[str, bytes]) -> Manifest:
    """With the hashes of its files, and its own."""
    row = manifest.model_dump()
    row["submission"]["files"] = {name: {"sha256": sha_of(data), "bytes": len(data)} for name, data in sorted(content.items())}
    row["submission"]["run_id"] = run_id(json.loads(_json(row)))
    return read_manifest(row)


def _check_accepted(made: Submission, loaded: CaseSet) -> None:
    with tempfile.TemporaryDirectory(prefix="helmbench-") as scratch:
        report = verify(made.write(Path(scratch)), lambda design: loaded)
    if not report.accepted:
        raise RunError(f"this run would be rejected:\n{report.summary()}")


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode("ascii")
