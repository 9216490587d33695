"""What there is to look at, each page marked as what it is: the sample report and a reading form, which are committed in
docs/sample/, and, as a hook of mkdocs, a sample board and the demo's report beside it on the site."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from helmbench_hf.board import pages, site
from helmbench_hf.board.marks import Marks
from helmbench_hf.board.results import Results
from helmbench_hf.board.submission import prepare
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.review import agreement
from helmbench_hf.people.sheets import write_sheets
from helmbench_hf.report.page import write_report
from tests.board import made
from tests.docs import invented
from tests.support.checkpoints import tiny_checkpoint

ROOT = Path(__file__).resolve().parents[2]
REPORT, READING = (ROOT / "docs" / "sample" / name for name in ("report.html", "reading.html"))
READ = "P1-B3-S2"
"""The scenario of the sample form: one that no page shows with its labels."""
BANNER = '<div class="banner warning" role="note"><div class="wrap"><p><strong>{}</strong> {}</p></div></div>'
"""Below the header; the style of the report knows the one class, that of the board the other."""
MARK = BANNER.format(
    "A sample: the models and all numbers are invented.", "It shows what the page looks like and says nothing about any model."
)
DEMO = ROOT / "runs" / "demo" / "report.html"
DEMO_MARK = BANNER.format(
    "A real model, SmolLM2-135M, which also judged itself, on <code>smoke</code>.",
    "It shows how the machinery works. None of its numbers mean anything.",
)
NO_DEMO = "<!doctype html><title>Not built</title><p>This site was built without the demo's report: <code>make demo docs</code>."
MODELS = {"example/model-a": 0.55, "example/model-b": 0.45, "example/model-c": 0.1}


def write_sample(path: Path) -> Path:
    """Write the report of a run with invented numbers, marked so."""
    write_report(invented.run(), path)
    path.write_text(_marked(path.read_text(encoding="utf-8"), MARK), encoding="utf-8")
    return path


def write_reading(path: Path) -> Path:
    """Write the first form of `helmbench content sheet --for gold --only P1-B3-S2`; the same command makes its key."""
    found = [row.item for row in agreement(default_benchmark(), READ) if not row.item.another_path]
    with tempfile.TemporaryDirectory() as folder:
        form = write_sheets(found, "gold", Path(folder), seed=1, sheets=2)[0]
        path.write_text(form.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def _marked(page: str, mark: str) -> str:
    return page.replace("</header>", f"</header>\n{mark}", 1)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site, so that links to them are checked like all others."""
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        write_board(Path(work), out / "board")
        for path in sorted(each for each in out.rglob("*") if each.is_file()):
            content = path.read_text(encoding="utf-8")
            if path.suffix == ".html":
                content = _marked(content, MARK)
            files.append(File.generated(config, f"sample/{path.relative_to(out)}", content=content))
    demo = _marked(DEMO.read_text(encoding="utf-8"), DEMO_MARK) if DEMO.exists() else NO_DEMO
    files.append(File.generated(config, "sample/smollm2.html", content=demo))
    return files


def write_board(work: Path, out: Path) -> None:
    """A board of three runs on `smoke`, whose answers are those of a fake engine."""
    with pytest.MonkeyPatch.context() as patch:
        run = made.run(work / "run", tiny_checkpoint(work / "tiny"), patch)
    report = made.checked(prepare(run, submitter="A sample", text="").write(work / "results"))
    runs = [made.entry(report, number, model, value, name="A sample") for number, (model, value) in enumerate(MODELS.items(), 1)]
    for entry in runs:
        shown = replace(report, manifest=entry.run.manifest, scores=entry.scores)
        pages.write_run(shown, out / "runs" / entry.run.manifest.run_id, [])
    site.build(Results("", runs), Marks(), out, test=True)
