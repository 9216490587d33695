"""The pages of one run: its report, and its transcripts with each judge's quotation marked in the reply.

Everything here passed `report.text.visible` and is escaped by the template; no page holds a script of its own but the report,
which names its one script by hash.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from helmbench_hf.board.verify import Report
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.report.page import ReportInput, environment, write_report
from helmbench_hf.report.policies import Policy
from helmbench_hf.report.text import visible
from helmbench_hf.report.transcripts import CONTENT_NOTE, Transcript, filters, payload, transcripts
from helmbench_hf.runs.folder import replacing

PACKAGE = "helmbench_hf.board"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
POLICY += "; require-trusted-types-for 'script'; trusted-types 'none'"
"""Content-Security-Policy of every page."""


def write_page(template: str, path: Path, **context: Any) -> None:
    """One page, complete or not at all."""
    with replacing(path) as file:
        made = environment(PACKAGE).get_template(template)
        file.write(made.render(policy=POLICY, content_note=CONTENT_NOTE, **context))


def write_run(report: Report, folder: Path, policies: Sequence[Policy]) -> None:
    """`index.html` (the report), `transcripts.html` (a list), and a page of transcripts for each scenario.

    `report`: of an accepted submission. `policies`: the reference policies on its cases.
    """
    assert report.manifest is not None
    assert report.scores is not None
    manifest, benchmark = report.manifest, default_benchmark()
    described = manifest.model_dump(exclude={"key": True, "submission": {"files"}})
    described |= {"judges": [judge.row() for judge in report.judges]}
    back = f"../../index.html#run={manifest.run_id}"
    write_report(ReportInput(report.scores, described, policies=policies, board=back), folder / "index.html")
    said: list[Transcript] = []
    for draw in range(manifest.settings.draws):
        said += transcripts(report.cases, report.answers, report.verdicts, benchmark, draw)
    twins = {case.code: (case.twin, case.scenario) for case in report.cases}
    listed = [_shown(entry, twins) for entry in said]
    name = visible(manifest.model.id, 200)
    facts = {"run": manifest.run_id, "model": name, "draws": manifest.settings.draws, "up": "../../"}
    outcomes = dict(filters(said)["outcome"])
    write_page("transcripts.html.j2", folder / "transcripts.html", rows=listed, outcomes=outcomes, **facts)
    for scenario, cases in groupby(sorted(listed, key=lambda each: each["scenario"]), key=lambda each: str(each["scenario"])):
        write_page("cases.html.j2", folder / f"{scenario}.html", scenario=scenario, cases=list(cases), **facts)


def _shown(entry: Transcript, twins: Mapping[str, tuple[str | None, str]]) -> dict[str, Any]:
    """One answer to one case, as `report.transcripts.payload` words it, with its quotations marked."""
    made = payload([entry])
    [case] = made["cases"]
    marked = [_marked(reply["shown"], _quotes(entry, turn)) for turn, reply in enumerate(case["replies"], start=1)]
    twin = twins[entry.case.code][0] or ""
    return {
        **case,
        "id": f"{case['case']}-d{entry.draw + 1}",
        "scenario": entry.case.scenario,
        "member": visible(entry.case.member, 40),
        "system": made["systems"][0] if made["systems"] else "",
        "marked": marked,
        "twin": f"{twins[twin][1]}.html#{twin}-d{entry.draw + 1}" if twin in twins else "",
    }


def _quotes(entry: Transcript, turn: int) -> Iterator[tuple[str, str]]:
    """(words, whose and on what) of every quotation from this turn's reply."""
    for shown in entry.verdicts:
        verdict = shown.verdict
        quote = verdict.detail.get("quote")
        if verdict.turn == turn and isinstance(quote, str) and quote:
            yield quote, visible(f"{verdict.criterion} ({verdict.grader})", 200)


def _marked(text: str, quotes: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """The text in pieces, each with the quotations that it is part of. Letters and digits are compared, as for the judge."""
    letters, places = [], []
    for place, letter in enumerate(text):
        for bare in re.findall(r"[^\W_]", unicodedata.normalize("NFKC", letter).casefold()):
            letters.append(bare)
            places.append(place)
    bare_text, inside = "".join(letters), [""] * len(text)
    for quote, name in quotes:
        begin = 0
        for piece in re.split(r"\.\.\.|…", quote):
            bare = "".join(re.findall(r"[^\W_]", unicodedata.normalize("NFKC", piece).casefold()))
            at = bare_text.find(bare, begin) if bare else -1
            if at >= 0:
                begin = at + len(bare)
                for place in range(places[at], places[begin - 1] + 1):
                    inside[place] = f"{inside[place]}; {name}" if inside[place] else name
    return [
        ("".join(letter for letter, _ in run), name)
        for name, run in groupby(zip(text, inside, strict=True), lambda each: each[1])
    ]
