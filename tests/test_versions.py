"""Versions of the benchmark's parts: what a change does to the lock, and that nobody gives a released version other content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from helmbench_hf import versions
from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset.identity import Part, authored, calibration, locked
from helmbench_hf.judging import rubric
from helmbench_hf.strict_yaml import Problem
from tests.support.commands import helmbench
from tests.support.tree import TODAY, Tree

PARTS = ("dataset", "criteria", "scoring", "calibration", "rubric")


@pytest.fixture
def fixed_rubric(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the version of the judge prompt."""
    return lambda version: monkeypatch.setattr(rubric, "RUBRIC_VERSION", version)


def at(tree: Tree, version: str) -> None:
    """Give every authored part this version."""
    for file in ("benchmark.yaml", "scoring.yaml"):
        lines = [
            f"{line.partition(':')[0]}: {version}" if line.partition(":")[0].endswith("version") else line
            for line in tree.text(file).splitlines()
        ]
        tree.write(file, "\n".join(lines) + "\n")


def parts(tree: Tree) -> dict[str, Part]:
    benchmark = load_benchmark(tree.root)
    return {**authored(benchmark), "calibration": calibration(benchmark)}


def shas(tree: Tree) -> dict[str, str]:
    return {part: each.sha256 for part, each in parts(tree).items()}


CHANGES = {
    "dataset": ("helplines/netherlands.yaml", "printed: 0800-0113", "printed: 0800-0114"),
    "criteria": ("criteria/k01.yaml", "passes: It does notices.", "passes: It does notices. It says so."),
    "scoring": ("scoring.yaml", "minimum_pairs: 30", "minimum_pairs: 31"),
}


def faults(tree: Tree) -> list[Problem]:
    return versions.problems(versions.check(load_benchmark(tree.root)))


@pytest.mark.parametrize("part", list(CHANGES))
def test_a_change_moves_the_hash_of_its_own_part_alone(tree: Tree, part: str) -> None:
    before = shas(tree)
    tree.replace(*CHANGES[part])
    after = shas(tree)
    assert {name for name in before if before[name] != after[name]} == {part}


def test_comments_line_breaks_and_versions_move_no_hash(tree: Tree) -> None:
    before = shas(tree)
    at(tree, "3.2.1rc4")
    tree.write("scoring.yaml", "# A remark.\n" + tree.text("scoring.yaml") + "\n\n")
    assert shas(tree) == before
    assert {part.version for part in parts(tree).values()} == {"3.2.1rc4"}


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.9.0", False), ("1.0.0", True), ("1.0.0.dev1", False), ("2.1.0rc1", False), ("10.0.0", True), ("1.0.1", True)],
)
def test_what_is_released(version: str, expected: bool) -> None:
    assert versions.released(version) is expected


def test_an_unreleased_part_may_change_and_be_locked_again(tree: Tree, fixed_rubric: Callable[[str], None]) -> None:
    fixed_rubric("0.3.0")
    assert versions.check(load_benchmark(tree.root)) == []  # never locked
    versions.lock(load_benchmark(tree.root))
    assert versions.check(load_benchmark(tree.root)) == []
    for part in CHANGES:
        tree.replace(*CHANGES[part])
    found = versions.check(load_benchmark(tree.root))
    assert {drift.part for drift in found} == {*CHANGES, "rubric"}  # the criteria's words are part of the prompt
    assert versions.problems(found) == []
    assert all("is not released and has changed since it was locked" in drift.what for drift in found)
    versions.lock(load_benchmark(tree.root))
    assert versions.check(load_benchmark(tree.root)) == []


@pytest.mark.parametrize("part", list(CHANGES))
def test_a_released_part_needs_a_higher_version(tree: Tree, fixed_rubric: Callable[[str], None], part: str) -> None:
    fixed_rubric("1.0.0")
    at(tree, "1.0.0")
    before = versions.lock(load_benchmark(tree.root))
    tree.replace(*CHANGES[part])
    found = faults(tree)
    assert {fault.field for fault in found} == {part, *(["rubric"] if part == "criteria" else [])}
    sentence = next(str(fault) for fault in found if fault.field == part)
    assert f"{part} 1.0.0 was released and has changed" in sentence
    assert versions.WHERE[part] in sentence
    assert "then run `helmbench content lock`" in sentence
    said = helmbench("content", "lock", "--content", tree.root, code=1).stderr
    assert locked(tree.root) == before
    said += helmbench("content", "check", "--content", tree.root, "--today", TODAY, code=1).stdout
    assert said.count(f"{part} 1.0.0 was released and has changed") == 2
    fixed_rubric("1.1.0")
    at(tree, "1.1.0")
    found = faults(tree)
    assert all("1.1.0 is not locked, 1.0.0 is" in fault.what for fault in found)
    assert len(found) == len(PARTS)
    helmbench("content", "lock", "--content", tree.root)
    assert versions.check(load_benchmark(tree.root)) == []


def test_other_arithmetic_needs_a_higher_version(
    tree: Tree, fixed_rubric: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed_rubric("1.0.0")
    at(tree, "1.0.0")
    versions.lock(load_benchmark(tree.root))
    monkeypatch.setattr(versions, "NUMBERS_SHA256", "0" * 64)
    [fault] = faults(tree)
    assert "scoring 1.0.0 was released and has changed: the same verdicts give other numbers" in fault.what


def test_no_version_before_a_released_one(tree: Tree, fixed_rubric: Callable[[str], None]) -> None:
    fixed_rubric("1.0.0")
    at(tree, "1.0.0")
    versions.lock(load_benchmark(tree.root))
    for lower in ("0.9.0", "1.0.0.dev2", "1.0.0rc1"):
        at(tree, lower)
        found = [drift for drift in versions.check(load_benchmark(tree.root)) if drift.part == "scoring"]
        assert [f"scoring {lower} comes before 1.0.0" in drift.what for drift in found] == [True]
        with pytest.raises(versions.VersionError, match=r"comes before 1\.0\.0, which was released"):
            versions.lock(load_benchmark(tree.root))
    at(tree, "1.1.0.dev1")
    assert faults(tree) == []
    versions.lock(load_benchmark(tree.root))


def test_the_judge_prompt_of_every_criterion_is_in_its_hash(real: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rubric.identity(real)["sha256"]
    seen = {before}
    for code in real.criteria:
        criteria = {**real.criteria, code: real.criteria[code].model_copy(update={"question": "Something else?"})}
        seen.add(rubric.identity(replace(real, criteria=criteria))["sha256"])
    assert len(seen) == 1 + len(real.criteria)
    for name, value in (("RULES", "Be strict."), ("_FAST", "{key}"), ("PREFILL", "Say:"), ("QUOTE_CAP", 161)):
        with monkeypatch.context() as patch:
            patch.setattr(rubric, name, value)
            assert rubric.identity(real)["sha256"] not in seen, name
    with monkeypatch.context() as patch:
        patch.setattr(rubric, "fence", lambda name, text: f"<{name}>{text}</{name}>")
        assert rubric.identity(real)["sha256"] not in seen
    assert rubric.identity(real)["sha256"] == before
