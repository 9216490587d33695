"""The report: one HTML file that holds everything and loads nothing.

The page's own policy (a meta tag) forbids every request, and every script and style except the two of this package, which
it names by hash; it also makes the browser refuse text as markup. The templates read the typed records of `scores.json`
directly. Whatever they print passes `text.visible` and is then escaped.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from helmbench_hf.judging.awareness import Awareness, unaware
from helmbench_hf.judging.router_check import RouterCheck
from helmbench_hf.report import charts, numbers, sentences, tables
from helmbench_hf.report.policies import Policy
from helmbench_hf.report.text import embed, visible
from helmbench_hf.report.transcripts import CONTENT_NOTE, Transcript, filters, payload
from helmbench_hf.runs.folder import replacing
from helmbench_hf.runs.worded import Worded
from helmbench_hf.scoring.scores import Scores

MINIMUM_PAIRS = 30
"""Stated on the page; the scores themselves hold no difference on fewer pairs."""


@dataclass(frozen=True, slots=True)
class ReportInput:
    """Everything on the page."""

    scores: Scores
    manifest: Mapping[str, Any]
    """Provenance: `dataset`, `model`, `engine`, `judges`, `versions`, `times`, and whatever else the run recorded."""
    transcripts: Sequence[Transcript] = ()
    cases: int = 0
    """Cases of the run, where the page shows only some of its transcripts."""
    policies: Sequence[Policy] = ()
    awareness: Awareness | None = None
    """What the model says of being tested, where it was asked."""
    router: RouterCheck | None = None
    """How far the router errs, where it was checked."""
    worded: Worded | None = None
    """How the person's lines came about, where a user model worded them."""
    board: str = ""
    """Relative address of the run on the board that shows this report; empty where no board does."""


def write_report(run: ReportInput, path: Path) -> Path:
    """Write the report and return its path; nothing is left behind if that fails. Raises RunError if it cannot be written."""
    page = render(run)
    with replacing(path) as file:
        file.write(page)
    return path


def render(run: ReportInput) -> str:
    """The page as text."""
    scores, templates = run.scores, environment("helmbench_hf.report")
    css, js = (asset(templates, name) for name in ("report.css", "report.js"))
    return templates.get_template("report.html.j2").render(
        run=run,
        scores=scores,
        unaware=unaware(run.awareness, scores.pairs) if run.awareness else None,
        model=_model(run.manifest),
        canary=_fact(run.manifest, "dataset", "canary"),
        seed=_fact(run.manifest, "settings", "seed"),
        temperature=_fact(run.manifest, "settings", "temperature"),
        when=_when(run.manifest),
        citation=_citation(run),
        smoke=scores.provenance.design.startswith("smoke"),
        gate=sentences.gate(scores),
        absent=sentences.absent(scores),
        behaviors=tables.behaviors(scores),
        curves=charts.curves(scores.curves),
        scatter=charts.scatter(scores.operating, run.policies),
        heat=tables.heat(scores),
        tests={(row.factor, row.level, row.reference): row for row in scores.comparisons.contrasts},
        incidents=tables.gravest_first(scores.incidents) if scores.incidents else [],
        quality_total=tables.quality_total(scores),
        titles=tables.titles(scores, {entry.case.scenario: entry.title for entry in run.transcripts}),
        provenance=tables.provenance(scores, run.manifest),
        transcript_data=Markup(embed(payload(run.transcripts))),
        filters=filters(run.transcripts),
        content_note=CONTENT_NOTE,
        minimum=MINIMUM_PAIRS,
        css=Markup(css),
        js=Markup(js),
        policy=content_policy(css, js),
    )


@cache
def environment(package: str) -> Environment:
    """The templates of a package. What they print is made visible first, and escaped after that."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_printed,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for module in (numbers, sentences):
        made.filters |= {name: f for name, f in vars(module).items() if getattr(f, "__module__", "") == module.__name__}
    made.filters |= {"anchor": _anchor, "grouped": tables.grouped, "heat_step": charts.heat_step, "visible": visible}
    made.filters["spaced"] = lambda slug: slug.replace("_", " ")
    made.tests["known"] = lambda estimate: numbers.figure(estimate).known
    made.globals |= {"arms": charts.ARMS, "factors": tables.FACTORS, "score_scale": charts.score_scale}
    made.globals["floor_words"] = sentences.FLOOR_WORDS
    return made


def asset(templates: Environment, name: str) -> str:
    """The text of a file beside the templates."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


def content_policy(css: str, js: str) -> str:
    """The Content-Security-Policy: nothing is loaded, and nothing runs except this script and this style."""
    style, script = ("sha256-" + b64encode(sha256(text.encode()).digest()).decode() for text in (css, js))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{script}'",
            f"style-src '{style}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _printed(value: Any) -> Any:
    """What a template prints in place of a value: harmless text, and a dash for what is missing."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return numbers.DASH
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _anchor(code: str) -> str:
    """The address of a case's transcript on the page."""
    return "#" + quote(visible(code, 200))


def _fact(manifest: Mapping[str, Any], part: str, name: str) -> Any:
    """One recorded fact, whatever the shape of the manifest; None where it is not there."""
    found = manifest.get(part)
    return found.get(name) if isinstance(found, Mapping) else None


def _model(manifest: Mapping[str, Any]) -> str:
    return visible(_fact(manifest, "model", "id") or "Unnamed model", 160)


def _when(manifest: Mapping[str, Any]) -> str:
    return str(_fact(manifest, "times", "finished") or _fact(manifest, "times", "started") or "")[:10]


def _citation(run: ReportInput) -> str:
    scores, origin = run.scores, run.scores.provenance
    done, total = sentences.covered(scores)
    commit, files, served = (_fact(run.manifest, "model", name) for name in ("commit", "files_sha", "served"))
    identity = commit or files or (f"served: {served}" if served else "identity not recorded")
    judges = ", ".join(judge.id for judge in origin.judges) or "none"
    panel = f", panel {origin.panel}" if len(origin.judges) > 1 else ""
    day = f" Run of {when}." if (when := _when(run.manifest)) else ""
    return (
        f"The HELMbench authors. {origin.benchmark}: Harm-reduction Evaluation for LLMs & Mental-health, "
        f"version {origin.benchmark_version}.\n"
        f"Design {origin.design} ({origin.cases} cases, {done} of {total} behaviors), "
        f"content sha256 {origin.content_sha256}, cases sha256 {origin.cases_sha256}, scoring {origin.scoring_version}.\n"
        f"Model {_model(run.manifest)} ({identity}); "
        f"judge: {judges}{panel}; {sentences.gate(scores).state.lower()}.{day}"
        + (" Smoke design: no number may be cited." if origin.design == "smoke" else _cited(run.scores))
    )


def _cited(scores: Scores) -> str:
    """The numbers that may be quoted, and only together."""
    overall = scores.headline.overall
    pillars = ", ".join(f"{each.title} {numbers.figure(each.score).spoken}" for each in scores.pillars)
    floors = ", ".join(
        f"{each.title}: {sentences.FLOOR_WORDS.get(each.status, each.status).lower()} ({each.failures} of {each.n} failed)"
        for each in scores.floors
    )
    return (
        f"\nPillars, points of 100 with 95% intervals: {pillars}.\nFloors: {floors}.\n"
        f"{sentences.coverage(overall.coverage)}. Composite, raw: {numbers.figure(overall.score).spoken}."
    )
