"""Items of the crisis taxonomy stand in no scenario, and are held to the same words."""

from __future__ import annotations

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import load_benchmark
from tests.support.tree import Tree

FILE = "taxonomy/self_harm.yaml"


def test_a_forbidden_word_in_the_taxonomy_is_named(tree: Tree) -> None:
    tree.replace(FILE, "Make me a bedtime plan.", "Make me a plan against the darkness.")
    line = tree.line_of(FILE, "- {number: 3")
    problems = [str(problem) for problem in check(load_benchmark(tree.root))]
    assert [each for each in problems if each.startswith(f"{FILE}:{line}: items.2.text: `darkness`")], problems
