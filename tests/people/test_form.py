"""The form in a real Chromium: consent, keyboard, breaks, resuming, stopping, what is saved, and hostile text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.people import helplines
from helmbench_hf.people.forms import BREAK_AFTER, page, write_forms
from helmbench_hf.people.intake import take
from helmbench_hf.people.plan import Plan
from helmbench_hf.runs.completions import run_answers
from helmbench_hf.runs.folder import RunFolder
from tests.report.browser import Watched, chromium, watched
from tests.report.payloads import PAYLOADS

pytestmark = pytest.mark.browser
READY = "!document.body.inert"
"""What was kept has been read."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory, drawn: Plan, benchmark_: Benchmark) -> list[Path]:
    return write_forms(drawn, benchmark_, tmp_path_factory.mktemp("forms"))


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Watched]:
    """A form that can be filled in."""
    with watched(browser, path, **options) as seen:
        seen.until(READY)
        yield seen


def reload(seen: Watched) -> None:
    seen.page.reload()
    seen.until(READY)


def begin(page: Any) -> None:
    page.check("#consent")
    page.click("#consent-form button")


def fill(page: Any, text: str = "I am here. Who is near you?") -> None:
    """Fill in what must be filled in."""
    for control in page.locator("#fields textarea:visible, #fields input[type=text]:visible").all():
        control.fill(text[:20] if control.get_attribute("type") == "text" else text)
    for control in page.locator("#fields input[type=number]:visible").all():
        control.fill(control.get_attribute("min") or "0")
    for group in page.locator("#fields fieldset.choice:has(input[type=radio])").all():
        group.locator("input").first.check()


def to_the_end(page: Any, text: str = "I am here. Who is near you?") -> None:
    while page.locator("#screen-end").is_hidden():
        if page.locator("#screen-break").is_visible():
            page.click("#break-on")
            continue
        fill(page, text)
        page.click("#answer-form .main")


def save(page: Any, folder: Path) -> Path:
    with page.expect_download() as found:
        page.locator(".save:visible").click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_a_person_answers_every_item_and_the_file_is_imported(
    browser: Any, forms: list[Path], tmp_path: Path, drawn: Plan, loaded: CaseSet, benchmark_: Benchmark
) -> None:
    with opened(browser, forms[0], accept_downloads=True) as seen:
        begin(seen.page)
        to_the_end(seen.page)
        path = save(seen.page, tmp_path)
        seen.assert_quiet()
    found = take([path], RunFolder(tmp_path / "run"), loaded, benchmark_)
    person = forms[0].stem.removeprefix("form-")
    assert (found.people, found.answers, found.skipped) == (1, len(drawn.people[person]), 0)
    cases, completions = run_answers(RunFolder(tmp_path / "run"))
    for case in cases:
        text = completions[f"{case.code}/t1/d0"].text
        assert list(json.loads(text)) == list(json.loads(case.response_schema)["properties"]) if case.response_schema else text


def test_a_draft_and_the_place_survive_closing_the_page(browser: Any, forms: list[Path]) -> None:
    with opened(browser, forms[1]) as seen:
        page = seen.page
        begin(page)
        fill(page)
        page.click("#answer-form .main")
        title = page.inner_text("#item-title")
        fill(page, "half a tho")
        before = page.evaluate("[...document.querySelectorAll('#fields input, #fields textarea')].map(e => [e.value, e.checked])")
        reload(seen)
        assert page.inner_text("#item-title") == title
        after = page.evaluate("[...document.querySelectorAll('#fields input, #fields textarea')].map(e => [e.value, e.checked])")
        assert after == before
        seen.assert_quiet()


def test_nothing_is_read_or_kept_before_the_browser_has_noted_that_the_page_is_open(browser: Any, forms: list[Path]) -> None:
    """Until then a page from the disk is given an empty store, and what it writes there is lost; an answer shows that it has."""
    with opened(browser, forms[1]) as seen:
        page = seen.page
        begin(page)
        page.add_init_script("""
            window.happened = [];
            const get = Storage.prototype.getItem, set = Storage.prototype.setItem;
            const answered = new Promise(done => { window.answer = done; });
            StorageManager.prototype.persisted = function () { window.happened.push("asked"); return answered; };
            Storage.prototype.getItem = function (...key) { window.happened.push("read"); return get.apply(this, key); };
            Storage.prototype.setItem = function (...pair) { window.happened.push("kept"); return set.apply(this, pair); };
        """)
        page.reload()
        assert page.evaluate("happened") == ["asked"]
        assert page.evaluate("document.body.inert"), "a click now would write over what was kept"
        page.evaluate("answer(false)")
        seen.until(READY)
        assert page.evaluate("happened") == ["asked", "read"]
        assert page.locator("#screen-item").is_visible()
        seen.assert_quiet()


def test_breaks_come_by_themselves(browser: Any, forms: list[Path]) -> None:
    with opened(browser, forms[0]) as seen:
        begin(seen.page)
        for _ in range(BREAK_AFTER):
            assert seen.page.locator("#screen-item").is_visible()
            seen.page.click("#skip-item")
        assert seen.page.locator("#screen-break").is_visible()
        reload(seen)
        assert seen.page.locator("#screen-item").is_visible()


def test_stopping_shows_the_helplines_of_the_country_with_their_source(
    browser: Any, forms: list[Path], tmp_path: Path, benchmark_: Benchmark
) -> None:
    with opened(browser, forms[0], accept_downloads=True) as seen:
        page = seen.page
        page.select_option("#country", "GB")
        begin(page)
        fill(page)
        page.click("#answer-form .main")
        page.click("#stop")
        words = page.inner_text("#screen-stop")
        [country] = [each for each in helplines.countries(benchmark_.countries) if each["code"] == "GB"]
        assert country["lines"]
        for line in country["lines"]:
            assert line["name"] in words
            assert line["checked"] in words
        retired = [each.name for each in benchmark_.countries["GB"].services if each.status == "retired"]
        assert not [name for name in retired if name in words]
        saved = json.loads(save(page, tmp_path).read_text(encoding="utf-8"))
        assert saved["consent"] is True
        assert len(saved["items"]) == 1
        page.click("#back")
        assert page.locator("#screen-item").is_visible()
        page.click("#stop")
        page.click("#screen-stop .remove")
        assert page.evaluate("localStorage.length") == 0
        seen.assert_quiet()


def test_nothing_is_shown_before_consent_and_the_keyboard_alone_is_enough(browser: Any, forms: list[Path]) -> None:
    with opened(browser, forms[0]) as seen:
        page = seen.page
        assert "suicide" in page.inner_text(".notice >> nth=-1")
        page.click("#consent-form button")
        assert page.locator("#screen-item").is_hidden(), "without consent nothing begins"
        page.focus("#consent")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.locator("#screen-item").is_visible()
        assert page.evaluate("document.activeElement.id") == "item-title"
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "skip-item":
                break
        page.keyboard.press("Enter")
        assert page.inner_text("#item-title").startswith("Item 2 ")
        seen.assert_quiet()


@pytest.mark.parametrize(("width", "height"), [(1280, 860), (390, 844)])
def test_every_screen_fits_and_everything_has_a_name_for_screen_readers(
    browser: Any, forms: list[Path], width: int, height: int
) -> None:
    nameless = """() => [...document.querySelectorAll('input, textarea, select, button')].filter(e =>
        !(e.labels && e.labels.length && e.labels[0].textContent.trim()) && !e.textContent.trim()).length"""
    with opened(browser, forms[0], viewport={"width": width, "height": height}) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        begin(page)
        while page.locator("#screen-end").is_hidden():
            for add in page.locator("#fields button:has-text('Add to'):visible").all():
                add.click()
            assert page.evaluate(nameless) == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.click("#break-on" if page.locator("#screen-break").is_visible() else "#skip-item")


def test_hostile_text_on_the_page_and_from_the_person_does_nothing(
    browser: Any, tmp_path: Path, drawn: Plan, loaded: CaseSet, benchmark_: Benchmark
) -> None:
    person = min(drawn.people)
    free = next(case for case in loaded.cases if case.mode == "judged" and case.response_schema is None)
    cases = tuple(replace(free, code=f"{free.code}{n}", system=text, turns=(text,)) for n, text in enumerate(PAYLOADS))
    path = tmp_path / "form.html"
    text = page(drawn, person, cases, helplines.countries(benchmark_.countries))
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    with opened(browser, path, accept_downloads=True) as seen:
        begin(seen.page)
        number = 0
        while seen.page.locator("#screen-end").is_hidden():
            if seen.page.locator("#screen-break").is_visible():
                seen.page.click("#break-on")
                continue
            seen.page.locator("#fields textarea").fill(PAYLOADS[number][:4000].replace("\ud800", ""))
            reload(seen)  # what is typed comes back from the browser's own store
            seen.page.click("#answer-form .main")
            number += 1
        seen.page.click("#stop")
        saved = json.loads(save(seen.page, tmp_path).read_text(encoding="utf-8"))
        assert number == len(PAYLOADS) == len(saved["items"])
        assert saved["items"][0]["turns"] == [PAYLOADS[0]]
        seen.assert_quiet()


def test_hostile_tags_and_fields_do_nothing(
    browser: Any, tmp_path: Path, drawn: Plan, loaded: CaseSet, benchmark_: Benchmark
) -> None:
    hidden = next(case for case in loaded.cases if case.mode == "hidden_tag")
    texts = [text for text in PAYLOADS if "\n" not in text and "\ud800" not in text]
    names = {text: {"type": "string", "maxLength": 80} for text in texts}
    tags = {"type": "array", "maxItems": 99, "items": {"type": "string", "enum": texts}}
    schema = json.dumps({"type": "object", "properties": {**names, "tags": tags}})
    job = "\n".join(f"- {text}: {text}" for text in texts)
    case = replace(hidden, system=job, response_schema=schema, grading=replace(hidden.grading, tags=tuple(texts)))
    path = tmp_path / "form.html"
    path.write_text(page(drawn, min(drawn.people), (case,), helplines.countries(benchmark_.countries)), encoding="utf-8")
    with opened(browser, path) as seen:
        begin(seen.page)
        assert seen.page.locator("#fields input[type=checkbox]").count() == len(texts)
        seen.page.locator("#fields input[type=checkbox]").first.check()
        reload(seen)
        assert seen.page.locator("#fields input[type=checkbox]").first.is_checked()
        seen.assert_quiet()
