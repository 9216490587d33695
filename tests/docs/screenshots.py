"""`python -m tests.docs.screenshots`: the pictures in docs/img, from a sample report and a synthetic board, each marked so."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from helmbench_hf.leaderboard.query import Query
from helmbench_hf.report import write_report
from tests.docs.synthetic import board
from tests.leaderboard.boards import served, visiting
from tests.report.browser import chromium, watched
from tests.report.sample import manifest, sample_run

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "img"
MODEL = {"id": "example/sample-model", "commit": "0" * 40, "dtype": "bfloat16", "quantization": "", "template_sha": "0" * 64}
"""No real model's name stands over invented numbers."""
MARK = """() => {
  const mark = document.createElement('div');
  mark.textContent = 'SAMPLE: invented numbers, no model';
  Object.assign(mark.style, {position: 'fixed', right: '0', top: '0', zIndex: 99, background: '#a4262c', color: '#fff',
    font: 'bold 15px sans-serif', padding: '6px 12px'});
  document.body.append(mark);
}"""
BANNER = """() => {
  const mark = document.createElement('div');
  mark.textContent = 'SAMPLE: synthetic models, invented numbers';
  Object.assign(mark.style, {background: '#a4262c', color: '#fff', font: 'bold 15px sans-serif', padding: '6px 20px'});
  document.body.prepend(mark);
}"""
"""Above the page, which fills its width on a phone."""
SHOTS = {"report-top": "", "report-incidents": "#incidents", "report-trade-off": "#trade-off", "report-gap": "#gap"}
"""By file, the section that is shown; the first is the top of the page."""
SHOW = """section => {
  document.querySelector('nav.contents').style.display = 'none';
  document.querySelector(section).scrollIntoView();
}"""
BOARD = {
    "board": Query(),
    "board-parts": Query(view="parts"),
    "board-trade-off": Query(view="scatter"),
    "board-curves": Query(view="curves", models=("synthetic/alpha-70b-instruct", "synthetic/eta-1b")),
    "board-compare": Query(view="compare", models=("synthetic/alpha-70b-instruct",), second="synthetic/delta-8b-instruct"),
    "board-model": Query(view="model", models=("synthetic/delta-8b-instruct",)),
    "board-note": Query(view="transcripts"),
    "board-transcripts": Query(view="transcripts", read=True, second="synthetic/eta-1b"),
    "board-case": Query(view="transcripts", read=True, case="P1-B1-S1-C1-U11-PT22", second="synthetic/eta-1b"),
}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 780}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
WIDTHS: dict[str, dict[str, Any]] = {"": DESKTOP, "-phone": PHONE, "-dark": {**DESKTOP, "color_scheme": "dark"}}
SHIPPED = ("board", "board-phone", "board-dark", "board-trade-off", "board-transcripts", "board-case", "board-note-phone")
"""What the pages of the documentation show; `--all FOLDER` writes every view at every width, to look at."""


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    every = Path(sys.argv[2]) if sys.argv[1:2] == ["--all"] else None
    if every is None:
        reports()
    boards(every)


def boards(every: Path | None) -> None:
    """The board's pages at both widths, and in dark colors."""
    data, index = board()
    with served(data, index=index) as address, chromium() as browser:
        for width, options in WIDTHS.items():
            for name, query in BOARD.items():
                if every is None and name + width not in SHIPPED:
                    continue
                tall = {"viewport": {**options["viewport"], "height": 1150}} if "case" in name else {}
                with visiting(browser, address, **{**options, **tall}) as seen:
                    seen.open(query.address())
                    seen.page.evaluate(BANNER)
                    seen.page.screenshot(path=(every or IMAGES) / f"{name}{width}.png", full_page=every is not None)


def reports() -> None:
    """The sections of the sample report."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = write_report(sample_run(manifest={**manifest(), "model": MODEL}), Path(folder) / "report.html")
        for name, section in SHOTS.items():
            with watched(browser, path, section, viewport={"width": 1120, "height": 700}) as seen:
                seen.page.evaluate(MARK)
                if section:
                    seen.page.evaluate(SHOW, section)
                seen.page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
