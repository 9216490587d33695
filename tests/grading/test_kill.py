"""Grading is killed at any moment, and the same command finishes the rest and repeats nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from helmbench_hf.grading import exchanges, judging, run
from helmbench_hf.grading.judge import criteria_of
from helmbench_hf.inference import host
from helmbench_hf.inference.journal import Journal, ReadReport, read_rows
from helmbench_hf.matrix.expand import expand
from helmbench_hf.run_folder import RunFolder
from tests.grading import runs
from tests.grading.runs import good
from tests.support.waiting import until

JOB = "tests.grading.jobs:judge"
COMMAND = "import sys, json; from helmbench_hf.inference.host import run; sys.exit(run({!r}, json.loads({!r}), lambda e: print(json.dumps(e), flush=True)))"  # noqa: E501


def test_killed_again_and_again(tmp_path: Path, tiny, monkeypatch) -> None:
    cases = [case for case in expand(tiny) if criteria_of(case)]
    folder = RunFolder(tmp_path / "run")
    folder.write_manifest(runs.manifest(runs.identity(tiny.file.version), len(cases)))
    runs.answer_all(folder, cases, good)
    planned = sum(len(criteria_of(case)) * len(case.grading.turns) for case in cases)
    payload = {"root": str(tiny.root), "run": str(folder.root)}
    journal, chance = folder.judgments / "judge-a", random.Random(7)
    before: Mapping[str, object] = {}
    for _ in range(3):
        # killed beside whatever it does then: a step that never ends comes soon, so it cannot be through
        command = COMMAND.format(JOB, json.dumps({**payload, "stalls": 9}))
        process = subprocess.Popen([sys.executable, "-c", command])
        wanted = len(before) + chance.randint(1, 9)
        until(lambda wanted=wanted: len(Journal.read(journal)) >= wanted, f"{wanted} verdicts are kept")
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = Journal.read(journal)
    assert len(before) < planned
    events: list[dict[str, object]] = []
    assert host.run(JOB, payload, events.append) == 0
    stored = Journal.read(journal)
    keys = Counter(row["key"] for row in read_rows(journal, ReadReport()))
    assert set(keys.values()) == {1}
    assert stored.duplicates == stored.malformed == 0
    for module in (exchanges, judging, run):
        monkeypatch.setattr(module, "default_benchmark", lambda: tiny)
    monkeypatch.setattr(exchanges, "load_cases", lambda *_: runs.case_set(cases, tiny.file.version))
    found = [verdict for verdict in run.verdicts(folder) if verdict.grader == "judge-a"]
    assert len(found) == planned
    assert {verdict.status for verdict in found} == {"scored"}


def test_a_failure_in_the_child_arrives_as_its_sentence(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    spec = run.JudgeSpec(id="judge-a", engine=f"vllm:{tmp_path}", family="none")
    assert run.grade(tmp_path, [spec], events.append, log=tmp_path / "log") == 1
    assert [event["event"] for event in events] == ["error"]
    assert "config.json is missing" in str(events[0]["message"])
    assert run.grade(tmp_path, [], events.append) == 0
