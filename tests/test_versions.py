"""Versions of the benchmark's parts: what a change does to the lock, and that nobody gives a released version other content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from helmbench_hf import versions
from helmbench_hf.cli.app import app
from helmbench_hf.content.load import Benchmark, ContentError, load_benchmark
from helmbench_hf.dataset.identity import LOCK, Part, authored, calibration, locked
from helmbench_hf.judging import rubric
from tests.support.tree import TODAY, Tree

runner = CliRunner()
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


CHANGES: dict[str, tuple[str, str, str]] = {
    "dataset": ("helplines/netherlands.yaml", "printed: 0800-0113", "printed: 0800-0114"),
    "criteria": ("criteria/k01.yaml", "It does notices.", "It surely does notices."),
    "scoring": ("scoring.yaml", "minimum_pairs: 30", "minimum_pairs: 31"),
}


def criterion_file(tree: Tree) -> str:
    [path] = [path for path in (tree.root / "criteria").glob("*.yaml") if "code: K01" in path.read_text()]
    return str(path.relative_to(tree.root))


def change(tree: Tree, part: str) -> None:
    file, old, new = CHANGES[part]
    if part == "criteria":
        file = criterion_file(tree)
        old = next(line for line in tree.text(file).splitlines() if line.startswith("passes: "))
        new = f"{old} It says so."
    tree.replace(file, old, new)


@pytest.mark.parametrize("part", list(CHANGES))
def test_a_change_moves_the_hash_of_its_own_part_alone(tree: Tree, part: str) -> None:
    before = shas(tree)
    change(tree, part)
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
        change(tree, part)
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
    change(tree, part)
    faults = versions.problems(versions.check(load_benchmark(tree.root)))
    assert {fault.field for fault in faults} == {part, *(["rubric"] if part == "criteria" else [])}
    sentence = next(str(fault) for fault in faults if fault.field == part)
    assert f"{part} 1.0.0 was released and has changed" in sentence
    assert versions.WHERE[part] in sentence
    assert "then run `helmbench content lock`" in sentence
    result = runner.invoke(app, ["content", "lock", "--content", str(tree.root)])
    assert (result.exit_code, locked(tree.root)) == (1, before)
    assert f"{part} 1.0.0 was released and has changed" in result.stderr
    shown = runner.invoke(app, ["content", "check", "--content", str(tree.root), "--today", str(TODAY)])
    assert shown.exit_code == 1
    assert f"{part} 1.0.0 was released and has changed" in shown.stdout
    fixed_rubric("1.1.0")
    at(tree, "1.1.0")
    faults = versions.problems(versions.check(load_benchmark(tree.root)))
    assert all("1.1.0 is not locked, 1.0.0 is" in fault.what for fault in faults)
    assert len(faults) == len(PARTS)
    assert runner.invoke(app, ["content", "lock", "--content", str(tree.root)]).exit_code == 0
    assert versions.check(load_benchmark(tree.root)) == []


def test_other_arithmetic_needs_a_higher_version(
    tree: Tree, fixed_rubric: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed_rubric("1.0.0")
    at(tree, "1.0.0")
    versions.lock(load_benchmark(tree.root))
    monkeypatch.setattr(versions, "NUMBERS_SHA256", "0" * 64)
    [fault] = versions.problems(versions.check(load_benchmark(tree.root)))
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
    assert versions.problems(versions.check(load_benchmark(tree.root))) == []
    versions.lock(load_benchmark(tree.root))


def test_a_lock_that_cannot_be_read_is_a_sentence(tree: Tree) -> None:
    (tree.root / LOCK).write_text("{")
    with pytest.raises(ContentError, match="restore it from version control"):
        locked(tree.root)


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
