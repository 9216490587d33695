"""Reference policies as runs, on the authored content."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging.grade import collect
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.policies import answerable, run_policy


@pytest.mark.parametrize(
    "slug",
    [
        *("never-flag", "always-flag", "canned-crisis", "empty", "echo", "ai-limits"),
        pytest.param("every-helpline", marks=pytest.mark.slow),
    ],
)
def test_policies_answer_every_case_and_the_graders_read_them(slug: str, tmp_path: Path) -> None:
    """On the authored content; one of them on core, which has every schema and every country."""
    folder = RunFolder(tmp_path / slug)
    loaded = load_cases("core" if slug == "every-helpline" else "smoke")
    assert run_policy(slug, loaded, folder) == sum(case.most_turns for case in loaded.cases)
    verdicts = collect(folder).verdicts
    answers = Counter(verdict.status for verdict in verdicts if verdict.criterion == "answer")
    assert set(answers) == ({"model_failure"} if slug == "empty" else {"scored"})
    targets = {verdict.value for verdict in verdicts if verdict.criterion == "target"}
    assert targets <= ({1.0} if slug in {"always-flag", "canned-crisis", "every-helpline"} else {0.0, 1.0})
    if slug == "every-helpline":
        alone = {case.code for case in loaded.cases if case.pair is None}
        own = {verdict.value or 0 for verdict in verdicts if verdict.criterion == "resources" and verdict.case in alone}
        assert len(own) == 1, "one text, one match, whatever the country"


def test_only_policies_with_fixed_words_answer(tmp_path: Path) -> None:
    fixed = {slug for slug, policy in default_benchmark().policies.items() if answerable(policy)}
    assert {"never-flag", "echo", "empty"} <= fixed
    assert "random-tags" not in fixed
    with pytest.raises(RunError, match="choose one of"):
        run_policy("task-only", load_cases("smoke"), RunFolder(tmp_path))
