"""Random damage: nothing crashes, and nothing is accepted with other numbers (benchmarks/mutations.py runs ten thousand)."""

from __future__ import annotations

from pathlib import Path

from tests.support import mutations


def test_three_hundred_random_changes(tmp_path: Path) -> None:
    original = mutations.small(tmp_path)
    outcome = mutations.run(original, tmp_path / "damaged", range(10**6, 10**6 + 300))
    assert outcome.changed == []
    assert outcome.tried == 300
    assert sum(outcome.rejected.values()) + sum(outcome.accepted.values()) == 300
    assert len(outcome.rejected) > 10, "the damage is of many kinds"
