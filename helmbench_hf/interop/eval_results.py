"""Scores on a model's own page of the Hub: `.eval_results/helmbench.yaml` in its repository.

The Hub shows one number a task, without interval and direction, so higher is better in every task, and the interval stands in
the notes. Its format sets no bounds: a pillar below chance goes out below 0, and the composite as it is printed, with its raw
value in the notes.
"""

from __future__ import annotations

from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, HfApi, eval_result_entries_to_yaml

from helmbench_hf.board.pull_request import propose
from helmbench_hf.board.submission import Submission
from helmbench_hf.runs.folder import RunError
from helmbench_hf.scoring.scores import Estimate

PATH = ".eval_results/helmbench.yaml"
DATASET = "helmbench/v1"
DESIGN = "core"
"""The one design whose scores go to a model's page."""


def eval_results(made: Submission) -> str:
    """The file's text: one entry for the composite and one for each pillar that has a score.

    Raises RunError where the run is not of `core`, its model is none of the Hub, or the composite does not cover
    every behavior.
    """
    manifest, scores = made.manifest, made.scores
    if manifest.dataset.design != DESIGN:
        raise RunError(f"this run used the design {manifest.dataset.design}; a model's page shows only scores for {DESIGN}")
    if not manifest.model.commit:
        raise RunError(
            f"{manifest.model.id} is a folder or a model behind a server, not a commit on the Hub; nothing shows that its "
            f"score belongs to a model there"
        )
    overall = scores.headline.overall
    if scores.headline.printed is None:
        raise RunError(
            f"this run has no composite: {overall.score.note}; finish it, and grade it with a judge (`helmbench grade`)"
        )
    shared: dict[str, Any] = {"dataset_id": DATASET, "date": manifest.started}
    if commit := manifest.dataset.source.partition("@")[2]:
        shared["dataset_revision"] = commit
    listed = [("overall", scores.headline.printed, overall)]
    for pillar in scores.pillars:
        if pillar.score.value is not None:
            listed.append((pillar.slug, 100 * pillar.score.value, pillar))
    entries = [
        EvalResultEntry(task_id=task, value=round(value, 2), notes=_notes(made, task, group.score), **shared)
        for task, value, group in listed
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=False, width=130)


def _notes(made: Submission, task: str, score: Estimate) -> str:
    """What a reader of one number must know beside it."""
    manifest = made.manifest
    judges = ", ".join(judge.id for judge in made.judges) or "none"
    facts = [f"HELMbench v{manifest.dataset.version}, n={score.n_pairs} pairs"]
    if task == "overall":
        facts.append(f"{100 * (score.value or 0.0):.1f} before clipping at 0 and capping at a breached floor")
    if score.low is not None and score.high is not None:
        facts.append(f"95% interval {100 * score.low:.1f} to {100 * score.high:.1f}")
    facts.append(f"judges: {judges}, panel {manifest.submission.panel}")
    if task == "overall":
        facts.append(f"floors breached: {', '.join(made.scores.headline.breached) or 'none'}")
    facts.append(f"commit {manifest.model.commit[:12]}, run {manifest.run_id}")
    return "; ".join(facts)


def open_pull_request(api: HfApi, model: str, made: Submission, text: str) -> str:
    """Open a pull request that puts the file into the model's repository, and give its address; an open one is given instead.

    Raises RunError where the run is another model's or there is no token, PublishError where the Hub refuses.
    """
    manifest = made.manifest
    if model != manifest.model.id:
        raise RunError(f"the model of this run is {manifest.model.id}; its scores do not belong on the page of {model}")
    title = f"HELMbench v{manifest.dataset.version} results, run {manifest.run_id}"
    said = "Scores of a run that verifies with `helmbench verify`."
    return propose(api, model, "model", title, said, {PATH: text.encode("utf-8")})
