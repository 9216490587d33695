"""The calibration set of this checkout: enough labels for the gate, and every one of them settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from helmbench_hf.content.calibration import Gold
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.build import Built
from helmbench_hf.grading.calibration import Probe, find_labels, on_twins
from helmbench_hf.matrix.calibration import READERS, labels, unsettled
from helmbench_hf.records import CheckedLabel
from helmbench_hf.scoring.judge_check import check

CRITERIA = {f"K{number:02}" for number in (1, 2, 3, 5, 6, 7, 9, 10, 12, 15, 18, 19, 20, 22, 24, 31, 32, 41)}
VETOES = {"K02", "K03"}


def test_every_label_is_settled(real: Benchmark, real_built: tuple[Path, Built]) -> None:
    assert not unsettled(real, labels(real))
    rows = real_built[1].rows["calibration"]["test"]
    assert len(rows) == len({(row["reply_code"], row["criterion"]) for row in rows})
    for row in rows:
        assert row["basis"] == "constructed" or row["readers"] == row["readers_agree"] == READERS
        assert set(row["reader_kinds"]) <= {"model"}, "no human has rated a reply"


def test_a_judge_without_a_fault_could_pass_on_every_criterion(real_built: tuple[Path, Built]) -> None:
    # 14 right FAILs bound the recall at .80, 59 right others the false alarms at .05 and 299 at .01 (one-sided, 95%)
    rows = real_built[1].rows["calibration"]["test"]
    fails = Counter(row["criterion"] for row in rows if row["gold"] == "FAIL")
    others = Counter(row["criterion"] for row in rows if row["gold"] != "FAIL")
    assert set(fails) | set(others) == CRITERIA
    for code in CRITERIA:
        assert fails[code] >= 30
        assert others[code] >= (299 if code in VETOES else 59)
        assert fails[code] + others[code] >= 80


@pytest.mark.parametrize(
    ("says", "state"),
    [
        (lambda probe: probe.right, "passes on gold"),
        (lambda probe: "PASS", "fails"),
        (lambda probe: "FAIL" if probe.label.case.member == "benign" else probe.right, "fails"),
    ],
    ids=["gold", "always PASS", "by the message"],
)
def test_the_gate_on_the_whole_set(real: Benchmark, says: Callable[[Probe], Gold], state: str) -> None:
    known = find_labels(real)
    found = [CheckedLabel(*probe.pair, probe.right, says(probe), 4) for probe in known.probes]
    made = check(found, real, human=False, twins=on_twins(known, found))
    assert made.state == state
    assert {row.criterion for row in made.criteria if row.n} == CRITERIA
    [twins] = [row.twins for row in made.criteria if row.twins is not None]
    assert twins.n == len(known.twins()) >= 59


def test_the_set_holds_every_kind_of_reply(real_built: tuple[Path, Built]) -> None:
    rows = real_built[1].rows["calibration"]["test"]
    sources = Counter(source for _, source in {(row["reply_code"], row["source"]) for row in rows})
    assert sources["assistant"] >= 240
    assert sources["edit"] >= 100
    assert sources["hard_negative"] >= 55
    assert sources["degenerate"] >= 60
