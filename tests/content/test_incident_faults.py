"""`incidents.yaml` and the contrasts of `scoring.yaml`: each fault is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import Benchmark, load_benchmark
from tests.content.fault import Fault, assert_named, damage, refusal
from tests.support.tree import TODAY, Tree

FILE, SCORING = "incidents.yaml", "scoring.yaml"
MISSED = "- {mode: [hidden_tag], member: [crisis], gold: [flag], tag: unset, reply: failed}"
ALARM = "- {member: [benign], fails: [K06]}"
LOGS = "  - {slug: logs, title: Logs, meaning: The answer was lost.}\n"
CONTRAST = """  - factor: persona
    level: workplace
    reference: neutral
    title: Does a persona change it?
    why: A persona is what products add first.
"""

FAULTS = [
    Fault("no fact", FILE, MISSED, "- {mode: [hidden_tag]}", "- {mode: [hidden_tag]}", "incidents.0.when.0",
        "at least one fact", "fields it names"),
    Fault("answer with another fact", FILE, "tag: unset, reply: failed", "answer: unusable, reply: failed", MISSED[:10],
        "incidents.0.when.0", "stands alone", "fields it names"),
    Fault("unknown fact", FILE, "tag: unset", "tags: unset", MISSED[:10], "incidents.0.when.0.tags", "not permitted",
        "write `tag`"),
    Fault("unknown mode", FILE, "[hidden_tag]", "[hidden]", MISSED[:10], "incidents.0.when.0.mode.0", "got 'hidden'",
        "'hidden_tag'"),
    Fault("no rule", FILE, f"    when:\n      {ALARM}\n", "    when: []\n", "when: []", "incidents.1.when", "at least 1 item",
        "at least 1"),
    Fault("missing control", FILE, "    human: Read a sample.\n", "", "- slug: missed", "incidents.0.human", "required",
        "add `human`"),
    Fault("two levels", FILE, "  - {slug: slight, title: Slight, meaning: Note it.}\n", "", "levels:", "levels", "at least 3",
        "at least 3"),
    Fault("means left out", FILE, LOGS, "", 1, "", "logs, registry, tags", "fields it names"),
    Fault("review without a role", FILE, "review: unreviewed", "review: reviewed", "review:", "incidents.1.review",
        "got 'reviewed'", "unreviewed"),
    Fault("unknown criterion", FILE, "[K06]", "[K09]", ALARM[:10], "incidents.1.when.0.fails", "no criterion K09",
        "add it to criteria/"),
    Fault("a veto as a plain FAIL", FILE, "[K06]", "[K02]", ALARM[:10], "incidents.1.when.0.fails", "of the kind veto",
        "use `vetoes`"),
    Fault("unknown level", FILE, "{other: slight}", "{other: mild}", "{other:", "incidents.1.severity.other", "no level mild",
        "grave, middling, slight"),
    Fault("no level for a kind of case", FILE, "{severe: grave, crisis: middling}", "{severe: grave}", "{severe:",
        "incidents.0.severity", "no level for crisis", "every kind of case"),
    Fault("unknown kind of case", FILE, "{other: slight}", "{others: slight}", "{others:", "incidents.1.severity.others",
        "input should be", "'other'"),
    Fault("two types of one name", FILE, "slug: alarm", "slug: missed\n    ", "slug: missed\n    \n", "incidents.1.slug",
        "missed stands twice", "its own slug"),
    Fault("two levels of one name", FILE, "slug: middling", "slug: grave", "slug: grave, title: Middling", "levels.1.slug",
        "grave stands twice", "its own slug", 2),
    Fault("two sentences", FILE, "model: Train on it.", "model: Train on it. Then test.", "Then test", "incidents.0.model",
        "one sentence", "exactly one"),
    Fault("no full stop", FILE, "model: Train on it.", "model: Train on it", "model: Train on it\n", "incidents.0.model",
        "one sentence", "exactly one"),
    Fault("method detail", FILE, "No tag and no care.", "No tag, and bleach was named.", "description: No tag",
        "incidents.0.description", "method detail", "take it out"),
    Fault("a claim", FILE, "product: Add a check.", "product: Add a check that is proven to help.", "proven to",
        "incidents.0.product", "claims more than is known", "not that it works"),
    Fault("unknown factor", SCORING, "factor: persona", "factor: weather", "factor: weather", "primary_contrasts.0.factor",
        "got 'weather'", "'persona'"),
    Fault("a contrast without its reason", SCORING, "    why: A persona is what products add first.\n", "", "- factor:",
        "primary_contrasts.0.why", "required", "add `why`"),
    Fault("a contrast twice", SCORING, CONTRAST, CONTRAST * 2, 1, "", "persona workplace neutral twice", "fields it names"),
    Fault("an error of one", SCORING, "familywise_error: 0.05", "familywise_error: 1.0", "familywise_error:", "familywise_error",
        "got 1.0", "less than 1"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_fault_is_named(
    fault: Fault, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = damage(tree, fault)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == fault.count, "\n".join(lines)
    assert_named(lines, where, fault.field, fault.what, fault.mend)


def test_a_benchmark_may_have_no_incidents(tree: Tree) -> None:
    (tree.root / FILE).unlink()
    benchmark = load_benchmark(tree.root)
    assert benchmark.incidents is None
    assert check(benchmark, TODAY) == []


def test_the_authored_ones_are_unreviewed_and_named_by_what_cannot_be_missed(real: Benchmark) -> None:
    assert real.incidents is not None
    assert {each.review for each in real.incidents.incidents} == {"unreviewed"}
    vetoed = {when.vetoes for each in real.incidents.incidents for when in each.when} - {None}
    assert vetoed == {"confirmed", "unconfirmed"}


def test_primary_contrasts_are_about_ten_and_can_be_met(real: Benchmark) -> None:
    chosen = real.scoring.primary_contrasts
    assert 8 <= len(chosen) <= 12
    personas = {condition.persona for condition in real.conditions.values()}
    levels = {condition.level for condition in real.conditions.values()}
    assert {each.level for each in chosen if each.factor == "persona"} <= personas
    assert {each.level for each in chosen if each.factor == "safety_level"} <= levels
