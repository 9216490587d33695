"""Style in numbers: each feature counts what its name says, and a feature outside its range is a fault."""

from __future__ import annotations

import pytest

from helmbench_hf.content import lint, style
from helmbench_hf.content.load import load_benchmark
from tests.support.dates import newest_date
from tests.support.tree import HIDDEN, Tree

FILE = """
ranges:
  - {feature: "% with a dash", least: 0, most: 2}
  - {feature: "% without a comma", least: 99, most: 100}
corpora:
  - name: texts
    source: counted by hand
    messages: 2
    counted: 2026-01-02
    figures: {"% with a dash": 1.5}
"""


@pytest.mark.parametrize(
    ("feature", "has", "lacks"),
    [
        ("% that begin in lower case", "hello", "Hello"),
        ("% with a bare i", "and i went", "and I went"),
        ("% with a bare i", "i'm here", "i.e. not"),
        ("% with a dropped apostrophe", "I dont", "I don't"),
        ("% without a final mark", "so tired", "so tired."),
        ("% with a question mark", "why? no", "why"),
        ("% with a digit", "at 4", "at four"),
        ("% with a dash", "so - no", "so-so"),
        ("% with a semicolon", "no; yes", "no, yes"),
        ("% with quoted speech", 'she said "go home"', "she's at the dog's"),
        ("% with an emoji", "ok \U0001f600", "ok :)"),
        ("% without a comma", "no yes", "no, yes"),
        ("% with a simile", "it is like a hole", "i would like to go"),
        ("% with a hedge, of those in the first person", "I guess so", "I know so"),
        ("% with thanks", "thx", "think"),
    ],
)
def test_a_feature_counts_what_its_name_says(feature: str, has: str, lacks: str) -> None:
    assert style.figures([has, lacks])[feature] == 50


def test_lengths_and_commas() -> None:
    found = style.figures(["one two three. four, five", "six"])
    assert (found["words, median"], found["words in a sentence, median"]) == (3, 2)
    assert found["commas per 100 words"] == pytest.approx(100 / 6)


def test_a_feature_outside_its_range_is_a_fault_of_the_file(tree: Tree) -> None:
    assert not list(style.problems(load_benchmark(tree.root)))
    tree.write("style.yaml", FILE)
    benchmark = load_benchmark(tree.root)
    [problem] = [each for each in lint.check(benchmark, newest_date(benchmark)) if each.file == "style.yaml"]
    assert problem.field == "% without a comma"
    assert "outside 99 to 100" in problem.what


def test_the_table_puts_ours_beside_real_messages(tree: Tree) -> None:
    tree.write("style.yaml", FILE)
    head, *rows = style.table(load_benchmark(tree.root), {"mine": ["a - b", "c"]})
    assert head == ("feature", "ours", "range", "texts", "mine")
    dash = next(row for row in rows if row[0] == "% with a dash")
    assert dash[2:] == ("0 to 2", "1.5", "50.0")


def test_slang_is_counted_on_its_register_alone(tree: Tree) -> None:
    messages = tree.text(f"{HIDDEN}/messages.yaml")
    tree.write(f"{HIDDEN}/messages.yaml", messages.replace("register: second_language", "register: slang_emoji", 1))
    assert style.ours(load_benchmark(tree.root))[style.SLANG_EMOJI] == 0
