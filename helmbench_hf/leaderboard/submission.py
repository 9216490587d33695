"""A finished run as a submission: the folder that goes to the results repository, made from a closed list of fields.

submissions/<model>/<run id>/manifest.json            what ran (manifest.py)
                             completions.jsonl.gz     the model's answers, one row a request
                             judgments/<judge>.jsonl.gz   each judge's answers, from which verdicts are derived again
                             verdicts.jsonl.gz, scores.json
                             checks/<name>.json       checks of judges that the scores cite
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.generate.turns import Settings
from helmbench_hf.grading.exchanges import run_dataset
from helmbench_hf.grading.judging import judge_rows
from helmbench_hf.grading.run import judge_answers
from helmbench_hf.inference.journal import Journal
from helmbench_hf.inference.keys import KeyContext
from helmbench_hf.leaderboard import files
from helmbench_hf.leaderboard.checks import cited
from helmbench_hf.leaderboard.manifest import FORMAT, Manifest, read_manifest, run_id
from helmbench_hf.leaderboard.recompute import Answers, code_verdicts, find_answers, find_judged, find_scores
from helmbench_hf.leaderboard.rows import completion_row, packed, verdict_row
from helmbench_hf.records import Case, Completion
from helmbench_hf.run_folder import RunError, RunFolder
from helmbench_hf.scoring.result import FORMAT as SCORES_FORMAT


@dataclass(frozen=True, slots=True)
class Submission:
    """What would be sent."""

    manifest: Manifest
    content: Mapping[str, bytes]
    """By relative name."""
    scores: Mapping[str, Any]

    def write(self, folder: Path) -> Path:
        """Write it under `folder` as in the results repository; give its own folder. Raises RunError where that exists."""
        target = folder / self.manifest.place
        if target.exists():
            raise RunError(f"{target} is there already; remove it, or give another folder to --export")
        for name, content in self.content.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(content)
        return target


def prepare(
    run: Path, *, checks: Sequence[Path] = (), panel: str = "first", submitter: str = "", text: str = "", now: float | None = None
) -> Submission:
    """Make the submission of a run that is finished.

    Everything is derived from the journals once more; nothing of `verdicts.jsonl` and `scores.json` is taken over. Raises
    RunError where the run is not finished or was not made for a submission, and RejectedError where it holds what must not leave
    the machine.
    """
    folder, benchmark = RunFolder(run), default_benchmark()
    manifest = folder.manifest()
    _check_whole(manifest, folder)
    cases, settings = run_dataset(manifest, folder).cases, Settings(**manifest["settings"])
    stored = Journal.read(folder.completions).everything()
    answers = find_answers(cases, KeyContext(**manifest["key"]), settings, stored)
    if answers.missing:
        raise RunError(
            f"{run} lacks {len(answers.missing)} planned answers, the first is {answers.missing[0]}; a submission is a whole "
            "run. Finish it with the command that began it."
        )
    rows = judge_rows(folder)
    content = {files.COMPLETIONS: packed(completion_row(stored[key], name) for key, name in answers.names.items())}
    verdicts = list(code_verdicts(cases, answers, settings.draws, benchmark))
    for row in rows:
        said = judge_answers(folder, row, benchmark).everything()
        name, content_of, derived = _judge_file(row, cases, answers, settings.draws, said, benchmark)
        content[name] = content_of
        verdicts += derived
    found = cited(checks, rows, benchmark)
    scores = find_scores(
        cases, verdicts, rows, found, benchmark=benchmark, draws=settings.draws, design=manifest["dataset"]["design"],
        content_sha256=manifest["dataset"]["content_sha256"], panel=panel,
    )  # fmt: skip
    if short := too_little(scores, benchmark.scoring.minimum_coverage):
        raise RunError(f"{run} cannot be submitted: {short}. Grade it again (`helmbench grade`), or run what failed once more.")
    content[files.VERDICTS] = packed(map(verdict_row, verdicts))
    content[files.SCORES] = _json(scores)
    content |= {f"{files.CHECKS}/{name}.json": _json(check) for name, check in found.items()}
    described = _manifest(manifest, rows, answers, panel, content)
    described["submitter"] = {"name": submitter, "text": text}
    described["times"] = {"started": manifest["started"], "exported": _utc(time.time() if now is None else now)}
    described["run_id"] = run_id(described)
    made = read_manifest(described)
    return Submission(made, {files.MANIFEST: _json(described), **content}, scores)


def _check_whole(manifest: Mapping[str, Any], folder: RunFolder) -> None:
    if not manifest.get("key"):
        raise RunError(
            f"{folder.root} does not record what its keys rest on: its answers are a policy's, a person's, or were made by an "
            "earlier helmbench. Only a model's run can be submitted; make one with `helmbench generate`."
        )
    if manifest["dataset"].get("private"):
        raise RunError(f"{folder.root} answers a private holdout, and its answers would give that away; it is never submitted")
    selection = manifest.get("selection", {})
    if any(selection.get(name) is not None for name in ("only", "limit", "shard")):
        raise RunError(
            f"{folder.root} answers a part of the design {manifest['dataset']['design']}; a submission answers all of it. Run it "
            "without --only and --limit, and put shards together with `helmbench merge`."
        )


def _judge_file(
    row: Mapping[str, Any],
    cases: Sequence[Case],
    answers: Answers,
    draws: int,
    said: Mapping[str, Completion],
    benchmark: Benchmark,
) -> tuple[str, bytes, list[Any]]:
    judged = find_judged(row, cases, answers, draws, said, benchmark)
    if missing := [name for key, name in judged.names.items() if key not in said]:
        raise RunError(
            f"The judge {row['id']} has {len(missing)} questions open, the first is {missing[0]}; a submission is a whole run. "
            "Finish it with `helmbench grade`."
        )
    rows = (completion_row(said[key], name) for key, name in judged.names.items())
    return f"{files.JUDGMENTS}/{row['id']}.jsonl.gz", packed(rows), judged.verdicts


def _manifest(
    manifest: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], answers: Answers, panel: str, content: Mapping[str, bytes]
) -> dict[str, Any]:
    engine = manifest.get("engine")
    kept = ("name", "version", "dtype", "max_model_len", "batch_limit", "threads", "block_size")
    return {
        "format": FORMAT,
        "helmbench": __version__,
        "scores_format": SCORES_FORMAT,
        "dataset": _dataset(manifest["dataset"]),
        "model": _model(manifest["model"]),
        "key": manifest["key"],
        "chat": {name: manifest["chat"][name] for name in ("system_role", "folded", "thinking")},
        "engine": {**{name: engine[name] for name in kept}, "served": engine.get("extra", {}).get("served")} if engine else None,
        "settings": manifest["settings"],
        "judges": [_judge(row) for row in rows],
        "panel": panel,
        "missing": [{"request": name, "reason": reason} for name, reason in answers.ended],
        "files": {name: {"sha256": sha_of(data), "bytes": len(data)} for name, data in sorted(content.items())},
    }


def _dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    repo, _, commit = dataset["source"].partition("@")
    known = {"id": repo, "sha": commit} if commit else {"id": "embedded" if repo == "embedded" else "folder", "sha": ""}
    kept = {name: dataset[name] for name in ("name", "design", "version", "scoring_version", "content_sha256")}
    return {**known, "tag": f"v{dataset['version']}", **kept}


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "commit", "files_sha", "dtype", "quantization", "template_sha", "versions", "served")
    return {name: model[name] for name in names}


def _judge(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in ("id", "family", "mode", "orders", "rubric", "key")}
    return {**kept, "model": _model(row["model"]), "served": row["description"].get("extra", {}).get("served")}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


def too_little(scores: Mapping[str, Any], minimum: float) -> str:
    """Why a run may not stand on a board: too little of the weight that its design plans was scored. Empty where it may."""
    coverage = scores["headline"]["overall"]["coverage"]
    planned, share = coverage["planned_share"], coverage["share"]
    if share >= minimum * planned - 1e-9:
        return ""
    return (
        f"only {100 * share / planned:.3g}% of the weight that its design plans was scored, and {100 * minimum:g}% is the least"
    )


def sha_of(content: bytes) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def shown(submission: Submission) -> list[str]:
    """What would go, line by line, for a person who decides."""
    manifest = submission.manifest
    printed = submission.scores["headline"]["printed"]
    score = "no composite" if printed is None else f"composite {printed:.1f} of 100"
    judges = ", ".join(judge.id for judge in manifest.judges) or "none"
    lines = [
        f"{manifest.model.id} on {manifest.dataset.design} {manifest.dataset.tag}: {score}",
        f"judges: {judges}; panel: {manifest.panel}; answers a case: {manifest.settings['draws']}",
        f"run {manifest.run_id}; answers missing with a reason: {len(manifest.missing)}",
    ]
    return lines + [f"{len(content):>12,} bytes  {manifest.place}/{name}" for name, content in sorted(submission.content.items())]
