"""`python -m tests.docs.screenshots`: what is in docs/sample, and the pictures of the sample report in docs/img."""

from __future__ import annotations

from pathlib import Path

from tests.docs.samples import READING, REPORT, write_reading, write_sample
from tests.report.browser import chromium, watched

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "img"
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
    """Write the report and every picture."""
    IMAGES.mkdir(exist_ok=True)
    path = write_sample(REPORT)
    write_reading(READING)
    with chromium() as browser:
        for name, section in SHOTS.items():
            with watched(browser, path, section, viewport={"width": 1120, "height": 700}) as seen:
                seen.page.evaluate(MARK)
                if section:
                    seen.page.evaluate(SHOW, section)
                seen.page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
