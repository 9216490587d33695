"""One HTML file that holds everything and loads nothing.

The page's own policy (a meta tag) forbids every request and every script and style but the two of this package, named by
hash, and makes the browser refuse text as markup. All texts pass `text.deep` first and are escaped by the template.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmbench_hf.report import contrasts, corrections, dimensions, incidents, plots, tables, tested, transcripts, view
from helmbench_hf.report.fmt import Json, figure
from helmbench_hf.report.model import ReportInput
from helmbench_hf.report.text import deep, embed, visible
from helmbench_hf.run_folder import replacing
from helmbench_hf.scoring.result import FORMAT
from helmbench_hf.scoring.verdicts import ScoringError

if TYPE_CHECKING:
    from jinja2 import Environment

MINIMUM_PAIRS = 30
"""Said in words on the page; the scores have already left out what lies below it."""


def write_report(run: ReportInput, path: Path) -> Path:
    """Write the report, whole or not at all, and give its path.

    Raises ValueError where the scores are of another format, and RunError where the page cannot be written.
    """
    page = render(run)
    with replacing(path) as file:
        file.write(page)
    return path


def render(run: ReportInput) -> str:
    """Give the page as text."""
    scores, manifest, policies = deep(dict(run.scores)), deep(dict(run.manifest)), deep(list(run.policies))
    check_format(scores)
    from markupsafe import Markup

    environment = _environment()
    css, js = (_asset(environment, name) for name in ("report.css", "report.js"))
    context = {
        **_identity(scores, manifest),
        **_scores(scores, policies, _titles(run)),
        "repeats": contrasts.repeats(scores, _part(manifest, "settings")),
        **_transcripts(run),
        "css": Markup(css),
        "js": Markup(js),
        "policy": content_policy(css, js),
        "minimum": MINIMUM_PAIRS,
        "content_note": visible(run.content_note, 2000),
        "board": run.board,
    }
    return environment.get_template("report.html.j2").render(context)


def check_format(scores: Json) -> None:
    """Refuse scores of another format."""
    if scores.get("format") != FORMAT:
        raise ScoringError(
            f"the scores are of format {scores.get('format')}, this report reads format {FORMAT}: score the run again"
        )


def content_policy(css: str, js: str) -> str:
    """Give the Content-Security-Policy: nothing is loaded, nothing runs but this script and this style."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(js)}'",
            f"style-src '{_hash(css)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _scores(scores: Json, policies: list[Json], titles: Mapping[str, str]) -> dict[str, Any]:
    profile_scale, profile = view.profile(scores)
    behavior_scale, behaviors = view.behaviors(scores)
    quality, quality_total = tables.quality(scores, titles)
    confirmed, unconfirmed = tables.vetoes(scores)
    known = {**titles, **{found["code"]: found["title"] for found in scores["scenarios"]}}
    return {
        "top": view.summary(scores),
        "profile": profile,
        "profile_scale": profile_scale,
        "behaviors": behaviors,
        "behavior_scale": behavior_scale,
        "absent": view.absent(scores),
        "floors": tables.floors(scores),
        "scenarios": view.scenarios(scores),
        "indices": tables.indices(scores),
        "curves": plots.curves(scores["curves"]),
        "midpoints": contrasts.midpoints(scores["curves"]),
        "scatter": plots.scatter(scores["operating"], policies),
        "policies": tables.policies(policies),
        "gap": contrasts.gap(scores),
        "heat": tables.heat(scores),
        "questions": tested.questions(scores),
        "effects": tables.effects(scores),
        "people": tested.people(scores),
        "ladders": tested.ladders(scores),
        "incidents": incidents.incidents(scores),
        "trust": dimensions.trust(scores),
        "classification": dimensions.classification(scores, known),
        "appraisal": dimensions.appraisal(scores, known),
        "knew_handled": dimensions.knew_handled(scores),
        "quality": quality,
        "quality_total": quality_total,
        "tag_reply": contrasts.tag_reply(scores),
        "criteria": tables.criteria(scores),
        "agreement": tables.agreement(scores),
        "corrected": corrections.scores_table(scores),
        "correction": corrections.criteria(scores),
        "correction_reason": scores["correction"]["reason"],
        "correction_spread": corrections.spread(scores),
        "confirmed": confirmed,
        "unconfirmed": unconfirmed,
    }


def _transcripts(run: ReportInput) -> dict[str, Any]:
    from markupsafe import Markup

    data = transcripts.payload(run.transcripts)
    return {
        "transcript_count": len(run.transcripts),
        "transcripts_left_out": max(0, run.cases - len(run.transcripts)),
        "transcript_data": Markup(embed(data)),
        "filters": transcripts.filters(run.transcripts),
    }


def _titles(run: ReportInput) -> dict[str, str]:
    """Give the titles of the scenarios that were run, scored or not; open twins go by their hidden scenario's."""
    return {visible(t.get("scenario", ""), 80): visible(t.get("title", ""), 200) for t in run.transcripts}


def _identity(scores: Json, manifest: Json) -> dict[str, Any]:
    origin, model, times = scores["provenance"], _part(manifest, "model"), _part(manifest, "times")
    name = visible(model.get("id") or "Unnamed model", 160)
    dataset = _part(manifest, "dataset")
    when = str(times.get("finished") or times.get("started") or "")[:10]
    facts = {
        "design": origin["design"],
        "version": origin["benchmark_version"],
        "when": when,
        "canary": dataset.get("canary", ""),
    }
    owner, _, short = name.rpartition("/")
    return {
        "model": name,
        "owner": owner,
        "model_name": short,
        "facts": facts,
        "provenance": tables.provenance(scores, manifest),
        "citation": _citation(scores, name, model, when),
    }


def _citation(scores: Json, name: str, model: Json, when: str) -> str:
    origin, overall = scores["provenance"], figure(scores["headline"]["overall"]["score"])
    done, total = view.covered(scores)
    told = f"served: {model['served']}" if model.get("served") else "identity not recorded"
    identity = model.get("commit") or model.get("files_sha") or told
    judges = ", ".join(judge["id"] for judge in origin["judges"]) or "none"
    return (
        f"The HELMbench authors. {origin['benchmark']}: Harm-reduction Evaluation for LLMs & Mental-health, "
        f"version {origin['benchmark_version']}.\n"
        f"Design {origin['design']} ({origin['cases']} cases, {done} of {total} behaviors), "
        f"content sha256 {origin['content_sha256']}, cases sha256 {origin['cases_sha256']}, "
        f"scoring {origin['scoring_version']}.\n"
        f"Model {name} ({identity}); judge: {judges}{_panel(origin)}; {view.gate(scores).state.lower()}."
        + (f" Run of {when}." if when else "")
        + (" Smoke design: no number may be cited." if origin["design"] == "smoke" else f" Composite, raw: {overall.spoken}.")
    )


def _panel(origin: Json) -> str:
    return f", panel {origin['panel']}" if len(origin["judges"]) > 1 else ""


def _part(manifest: Json, name: str) -> Json:
    found = manifest.get(name)
    return found if isinstance(found, dict) else {}


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("helmbench_hf.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
