"""`python -m tests.docs.screenshots`: the pictures in docs/img, from a sample report, each marked so."""

from __future__ import annotations

import tempfile
from pathlib import Path

from helmbench_hf.report.page import write_report
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
SHOTS = {"report-top": "", "report-incidents": "#incidents", "report-trade-off": "#trade-off", "report-gap": "#gap"}
"""By file, the section that is shown; the first is the top of the page."""
SHOW = """section => {
  document.querySelector('nav.contents').style.display = 'none';
  document.querySelector(section).scrollIntoView();
}"""


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
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
