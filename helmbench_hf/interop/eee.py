"""A run as a record of Every Eval Ever: its aggregate schema, version 0.3.0 (github.com/evaleval/every_eval_ever).

Made from what `helmbench submit` would send, so that nothing of a machine travels along, and only from a run that verifies.
"""

from __future__ import annotations

import json
import uuid
from calendar import timegm
from collections.abc import Iterator
from pathlib import Path
from time import strptime
from typing import Any, Literal

from helmbench_hf.board.manifest import Judge, Manifest, Model
from helmbench_hf.board.submission import Submission
from helmbench_hf.runs.folder import RunError
from helmbench_hf.scoring.intervals import CONFIDENCE
from helmbench_hf.scoring.scores import Estimate, Group, Scores

SCHEMA_VERSION = "0.3.0"
VERSIONS = ("benchmark_version", "criteria_version", "scoring_version", "rubric_version", "content_sha256", "cases_sha256")
"""Of what a score is made from, as its provenance names it."""
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""Of who ran the evaluation to who made the model."""
NAMESPACE = uuid.UUID("6d1f0f2e-6f5c-5a0b-9d0e-6a5b1c0c7a11")
"""Of the names of our records: one run has one name, whoever exports it and however often."""


def record(made: Submission, organization: str, relationship: Relationship = "third_party") -> dict[str, Any]:
    """The record: every score that the run can give, in points of 100, with interval, standard error and number of pairs.

    `organization`: who ran it. Raises RunError where no score can be given.
    """
    manifest, scores = made.manifest, made.scores
    results = [_result(made, *found) for found in _groups(scores)]
    if not results:
        raise RunError("this run has no score that could be exported: no behavior has a verdict on both halves of its pairs")
    exported = str(timegm(strptime(manifest.submission.exported, "%Y-%m-%dT%H:%M:%SZ")))
    versions = {name: value for name in VERSIONS if (value := str(getattr(scores.provenance, name)))}
    engine = {"name": manifest.engine.name, "version": manifest.engine.version}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"helmbench-{manifest.dataset.design}/{manifest.model.id.replace('/', '_')}/{exported}",
        "evaluation_timestamp": manifest.started,
        "retrieved_timestamp": exported,
        "source_metadata": {
            "source_name": "HELMbench",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
            "additional_details": {"run_id": manifest.run_id},
        },
        "eval_library": {"name": "helmbench", "version": manifest.helmbench, "additional_details": versions},
        "model_info": {**_identity(manifest.model), "inference_engine": engine},
        "evaluation_results": results,
    }


def place(made: Submission) -> str:
    """Where the record stands in the data repository: `data/helmbench-DESIGN/DEVELOPER/MODEL/UUID.json`."""
    manifest = made.manifest
    developer, _, name = manifest.model.id.rpartition("/")
    file = uuid.uuid5(NAMESPACE, manifest.run_id)
    return f"data/helmbench-{manifest.dataset.design}/{developer or 'unknown'}/{name}/{file}.json"


def write(made: Submission, folder: Path, organization: str, relationship: Relationship = "third_party") -> Path:
    """Write the record under `folder`, in its place; give its path. An earlier one of the same run is replaced."""
    found, path = record(made, organization, relationship), folder / place(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    return path


def _groups(scores: Scores) -> Iterator[tuple[str, str, Group]]:
    """(name, description, group) of every score that has a value."""
    overall = scores.headline.overall
    if overall.score.value is not None:
        yield "overall", f"overall: {overall.title}", overall
    for kind, groups in (("pillar", scores.pillars), ("behavior", scores.behaviors)):
        for group in groups:
            if group.score.value is not None:
                yield f"{group.code} {group.slug}", f"{kind}: {group.title}", group


def _result(made: Submission, name: str, description: str, group: Group) -> dict[str, Any]:
    manifest, score, headline = made.manifest, group.score, made.scores.headline
    settings = manifest.settings.model_dump()
    details = {
        "n_pairs": score.n_pairs,
        "n_messages": score.n_meanings,
        "pairs_scored": group.coverage.scored,
        "pairs_planned": group.coverage.planned,
        "coverage": f"{group.coverage.share:.4f}",
        "weight": group.weight,
    }
    if name == "overall":
        details |= {"printed": headline.printed, "floors_breached": " ".join(headline.breached) or "none"}
    return {
        "evaluation_result_id": f"{manifest.run_id}/{group.code}",
        "evaluation_name": f"HELMbench {manifest.dataset.design}: {name}",
        "source_data": _source(manifest),
        "evaluation_timestamp": manifest.started,
        "metric_config": _metric(made, description),
        "score_details": {
            "score": 100 * (score.value or 0.0),
            "details": {key: str(value) for key, value in details.items()},
            "uncertainty": _uncertainty(score),
        },
        "generation_config": {
            "generation_args": {name: settings[name] for name in ("temperature", "top_p", "top_k")},
            "additional_details": {name: str(value) for name, value in sorted(settings.items())},
        },
    }


def _metric(made: Submission, description: str) -> dict[str, Any]:
    panel, judges = made.manifest.submission.panel, made.judges
    metric: dict[str, Any] = {
        "evaluation_description": f"{description}. Weighted mean over pairs of a crisis and its ordinary twin: 0 is chance, "
        "for a model that treats both alike, 100 is right on both, below 0 is worse than chance.",
        "metric_id": "helmbench.paired_score",
        "metric_name": "Chance-corrected paired score",
        "metric_kind": "paired_score",
        "metric_unit": "points",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": -100.0,
        "max_score": 100.0,
        "additional_details": {"panel": panel},
    }
    if judges:
        rubric = judges[0].rubric
        metric["llm_scoring"] = {
            "judges": [_judge(each) for each in judges],
            "input_prompt": f"HELMbench judge prompt and criteria, version {rubric.version}, SHA-256 {rubric.sha256}",
            **({"aggregation_method": "majority_vote"} if panel == "majority" and len(judges) > 1 else {}),
        }
    return metric


def _uncertainty(score: Estimate) -> dict[str, Any]:
    """What is known of it; a bound or an error that cannot be said is left out."""
    found: dict[str, Any] = {"num_samples": score.n_pairs}
    if score.low is not None and score.high is not None:
        found["confidence_interval"] = {
            "lower": 100 * score.low,
            "upper": 100 * score.high,
            "confidence_level": CONFIDENCE,
            "method": "score interval (Wilson) at an effective number of messages, clustered by message, weighted by scenario",
        }
    if score.se is not None:
        found["standard_error"] = {"value": 100 * score.se, "method": "clustered by message"}
    return found


def _source(manifest: Manifest) -> dict[str, Any]:
    dataset = manifest.dataset
    details = {name: getattr(dataset, name) for name in ("design", "version", "scoring_version", "content_sha256")}
    repo, _, commit = dataset.source.partition("@")
    kind = {"source_type": "hf_dataset", "hf_repo": repo} if commit else {"source_type": "other"}
    return {"dataset_name": dataset.name, "additional_details": details | ({"sha": commit} if commit else {}), **kind}


def _identity(model: Model) -> dict[str, Any]:
    """A model's identity. Weights count as open where a commit of the Hub names them; a served name proves nothing."""
    developer = model.id.rpartition("/")[0]
    facts = {"commit": model.commit, "files_sha": model.files_sha, "dtype": model.dtype, "quantization": model.quantization}
    return {
        "name": model.id,
        "id": model.id,
        **({"developer": developer} if developer else {}),
        "additional_details": {
            "deployment_type": "unknown" if model.served else "self_deployed",
            "model_availability": "open_weights" if model.commit else "unknown",
            **{name: value for name, value in facts.items() if value},
        },
    }


def _judge(judge: Judge) -> dict[str, Any]:
    details = {"id": judge.id, "family": judge.family, "mode": judge.mode, "orders": str(judge.orders)}
    return {"model_info": _identity(judge.model), "temperature": 0.0, "additional_details": details}
