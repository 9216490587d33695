"""Reviews by people: what they say of an item holds while the item stands, and `content check` names what cannot hold."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset.human_review import FILE, Review, column, items, problems, review, reviews, stored
from helmbench_hf.dataset.review import ReviewError
from tests.support.tree import HIDDEN, TODAY, Tree

ADA = Review("", "", "Ada Example", "clinician", "2026-01-02", "ok")
EVA = Review("", "", "Éva Nagy", "lived experience, peer worker", "2026-01-03", "change", "Nobody says so.")
PAIR = "P1-B1-S1/pair 1"


def read(tree: Tree) -> Benchmark:
    return load_benchmark(tree.root)


def test_every_authored_item_has_a_name_of_its_own(real: Benchmark) -> None:
    named = items(real)
    assert {"K01", "C4", "people/ananya", "histories/anyone", "P1-B1-S1", PAIR, "P2-B2-S1/single 1"} < set(named)
    written = [(loaded.source, item) for loaded in real.scenarios if loaded.authored for _, item in loaded.messages.items()]
    written += [("taxonomy", item) for file in real.taxonomy for item in file.items]
    assert {id(item) for _, item in written} <= {id(item) for item in named.values()}
    by_row = {(source, item.meaning, item.speech) for source, item in written}
    assert len(by_row) == len(written), "rows find the review of a message by these"


def test_two_people_review_an_item_and_one_of_them_again(tree: Tree) -> None:
    review(read(tree), [PAIR, "K01"], ADA)
    review(read(tree), [PAIR], EVA)
    review(read(tree), [PAIR], replace(ADA, verdict="change", comment="Too long.", date="2026-01-05"))
    said = reviews(read(tree))
    assert {name: [(each.name, each.verdict) for each in found] for name, found in said.items()} == {
        "K01": [("Ada Example", "ok")],
        PAIR: [("Ada Example", "change"), ("Éva Nagy", "change")],
    }
    assert column(read(tree))[PAIR] == (
        "reviewed by Ada Example (clinician), 2026-01-05: change; "
        "reviewed by Éva Nagy (lived experience, peer worker), 2026-01-03: change"
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "left"),
    [
        (f"{HIDDEN}/messages.yaml", "I will not need it after that.", "I do not need it after that.", {"P1-B1-S1", "K01"}),
        (f"{HIDDEN}/scenario.yaml", "title: Key list", "title: Keys", {PAIR, "K01"}),
        ("criteria/k01.yaml", "title:", "# a comment is no change\ntitle:", {PAIR, "P1-B1-S1", "K01"}),
    ],
)
def test_an_item_that_changes_is_unreviewed_again(file: str, old: str, new: str, left: set[str], tree: Tree) -> None:
    review(read(tree), [PAIR, "P1-B1-S1", "K01"], ADA)
    tree.replace(file, old, new)
    assert set(reviews(read(tree))) == left
    assert len(stored(read(tree))) == 3, "what people said is kept"
    assert list(problems(read(tree), TODAY)) == []


def test_an_item_that_is_not_there_is_refused_with_its_like(tree: Tree) -> None:
    with pytest.raises(ReviewError, match=r"no item P1-B1-S1/pair1; did you mean P1-B1-S1/pair 1"):
        review(read(tree), ["K01", "P1-B1-S1/pair1"], ADA)
    assert not (tree.root / FILE).exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "  "}, "the name is"),
        ({"role": "\u200b"}, "the role is"),
        ({"role": "clinician), (x"}, "the role is"),
        ({"name": "Ada\nExample"}, "the name is"),
        ({"verdict": "fine"}, "ok or change"),
        ({"verdict": "change"}, "what to change"),
        ({"comment": "a\u202eb"}, "on one line"),
        ({"date": "2026-13-45"}, "month"),
    ],
)
def test_a_review_says_who_in_which_role_and_when(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(ADA, **change)


def test_the_check_names_reviews_of_nothing_and_of_days_to_come(tree: Tree) -> None:
    review(read(tree), ["K01", PAIR], ADA)
    assert list(problems(read(tree), TODAY)) == []
    assert [(each.line, each.field) for each in problems(read(tree), dt.date(2026, 1, 1))] == [(1, "date"), (2, "date")]
    tree.replace(FILE, '"K01"', '"K99"')
    [problem] = problems(read(tree), TODAY)
    assert "there is no item K99" in str(problem)
    tree.write(FILE, tree.text(FILE).replace('"ok"', '"fine"'))
    with pytest.raises(ReviewError, match=r"human\.jsonl, line 1, cannot be used \(the verdict is 'fine'"):
        reviews(read(tree))
