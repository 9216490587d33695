"""A run folder over its life: resume, the four words of --reuse, what must not mix. The engine is a fake."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.load import DatasetError, load_cases
from helmbench_hf.generate import run as stage
from helmbench_hf.generate.policies import answerable, run_policy
from helmbench_hf.generate.run import Ask, child
from helmbench_hf.generate.turns import Settings
from helmbench_hf.grading.run import collect
from helmbench_hf.inference.engine import EngineError, EngineSpec, Request
from helmbench_hf.inference.journal import Journal, JournalError, RunLock
from helmbench_hf.run_folder import RunError, RunFolder
from tests.generate import thousand
from tests.support.checkpoints import smollm2, tiny_checkpoint
from tests.support.fake_engine import FakeEngine, Fate

__all__ = ["smollm2"]

LABELED = "P1-B5-S2"
TEMPLATES = Path(__file__).parents[1] / "inference" / "templates"


def turns(only: str = "", limit: int | None = None) -> int:
    """Answers that `smoke` asks for, or a part of it."""
    return sum(len(case.turns) for case in [c for c in load_cases("smoke").cases if c.code.startswith(only)][:limit])


class Ear:
    """Hears what a child would tell its parent."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self._left = stop_after

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    def stopping(self) -> bool:
        if self._left is not None:
            self._left -= 1
        return self._left is not None and self._left < 0


@pytest.fixture
def ask(tmp_path: Path, smollm2: Path) -> Ask:
    return Ask(run=str(tmp_path / "run"), engine=EngineSpec.parse(f"vllm:{smollm2}"), settings=Settings(), design="smoke")


def go(ask: Ask, monkeypatch: pytest.MonkeyPatch, engine: FakeEngine | None = None, ear: Ear | None = None) -> Counter[str]:
    """Run the child's job in this process; give the completions by status after it."""
    monkeypatch.setattr(stage, "open_engine", lambda spec: engine or FakeEngine())
    child(json.loads(json.dumps(ask.as_payload())), ear or Ear())  # type: ignore[arg-type]
    return Counter(completion.status for completion in Journal.read(Path(ask.run) / "completions").values())


def lines(ask: Ask, folder: str = "completions") -> int:
    return sum(len(path.read_text().splitlines()) for path in (Path(ask.run) / folder).glob("*.jsonl"))


def test_stopped_and_resumed_run_holds_every_turn_once(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(go(ask, monkeypatch, FakeEngine(capacity=4), Ear(stop_after=9)).values()) < turns()
    assert go(ask, monkeypatch) == {"ok": turns()}
    assert lines(ask) == turns()
    assert go(ask, monkeypatch, FakeEngine(fate=lambda request, attempt: "die")) == {"ok": turns()}


def test_conversations_that_begin_alike_are_both_answered_and_graded(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    alike = replace(ask, design="core", only="P1-B7-S3")
    cases = [case for case in load_cases("core").cases if case.scenario == "P1-B7-S3"]
    openings = {(case.system, case.turns[:turn]) for case in cases for turn in range(1, len(case.turns) + 1)}
    assert len(openings) < sum(len(case.turns) for case in cases), "no two conversations begin alike any more"
    for ear in (Ear(stop_after=20), Ear()):
        engine = FakeEngine(capacity=4)
        go(alike, monkeypatch, engine, ear)
    assert lines(alike) == len(openings) == ear.events[0]["turns"]
    graded = collect(RunFolder(Path(ask.run)))
    answers = [verdict for verdict in graded.verdicts if verdict.criterion == "answer"]
    assert "engine_failure" not in {verdict.status for verdict in answers}
    assert len(graded.completions) == sum(len(case.turns) for case in cases)


def test_four_bad_prompts_among_a_thousand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = thousand.ask(tmp_path, monkeypatch)
    monkeypatch.setattr(stage, "open_engine", lambda spec: FakeEngine(max_model_len=thousand.WINDOW, capacity=128))
    thousand.four_bad_among_a_thousand(ask)


def test_manifest_counts_the_turns_whose_history_is_rendered_anew(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(arguments: dict[str, Any], folder: str, answer: str) -> tuple[dict[str, int], list[str]]:
        ear, asked = Ear(), replace(ask, run=f"{ask.run}-{folder}", engine=replace(ask.engine, **arguments))
        go(asked, monkeypatch, FakeEngine(lambda request: answer), ear)
        notes = [event["message"] for event in ear.events if event["event"] == "note"]
        first = RunFolder(Path(asked.run)).manifest()["history"]
        go(replace(asked, reuse="missing"), monkeypatch)
        assert RunFolder(Path(asked.run)).manifest()["history"] == first, "a resume walks the stored turns and counts the same"
        return first, notes

    later = turns() - len(load_cases("smoke").cases)
    kept = {"later_turns": later, "prompt_changed": 0, "answer_changed": 0, "reasoning_left_out": 0}
    assert run({}, "kept", "Yes.") == (kept, [])
    assert run({}, "thought", "<think>hm</think>Yes.") == ({**kept, "reasoning_left_out": later}, [])
    qwen = tiny_checkpoint(Path(f"{ask.run}-model"), (TEMPLATES / "qwen3.jinja").read_text(encoding="utf-8"))
    assert run({"model": str(qwen)}, "on", "Yes.") == (kept, [])
    changed, [note] = run({"model": str(qwen), "thinking": "off"}, "off", "Yes.")
    assert changed == {**kept, "prompt_changed": later}
    assert f"{later} of {later} later turns do not begin with the prompt of the turn before" in note
    strip = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] | replace('Yes', 'yes') + '\\n' }}{% endfor %}assistant: "
    lower = tiny_checkpoint(Path(f"{ask.run}-lower"), strip)
    assert run({"model": str(lower)}, "lower", "Yes.")[0] == {**kept, "answer_changed": later}


def test_reuse_words(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fate(request: Request, attempt: int) -> Fate:
        return "fail" if request.name.startswith(LABELED) else "answer"

    whole, failed = turns(), turns(LABELED)
    assert failed
    assert go(ask, monkeypatch, FakeEngine(fate=fate)) == {"ok": whole - failed}
    assert go(replace(ask, reuse="only"), monkeypatch) == {"ok": whole - failed}
    assert go(replace(ask, reuse="always"), monkeypatch) == {"ok": whole - failed}, "a failure stands as it is"
    assert go(ask, monkeypatch) == {"ok": whole}, "a failure is tried again"
    assert go(replace(ask, reuse="never"), monkeypatch) == {"ok": whole}
    assert lines(ask) == whole
    assert lines(ask, "completions.1") == whole + failed


def test_the_same_command_resumes_a_stopped_run_whatever_it_reuses(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    go(ask, monkeypatch)
    again = replace(ask, reuse="never")
    assert 0 < go(again, monkeypatch, FakeEngine(capacity=4), Ear(stop_after=9))["ok"] < turns()
    kept, ear = lines(ask), Ear()
    assert go(again, monkeypatch, FakeEngine(capacity=4), ear) == {"ok": turns()}
    assert [event["stored"] for event in ear.events if event["event"] == "planned"] == [kept]
    assert [event["message"] for event in ear.events if event["event"] == "note"] == [stage.RESUMED]
    assert lines(ask) == lines(ask, "completions.1") == turns()
    assert not (Path(ask.run) / "completions.2").exists(), "the answers of the stopped run were set aside"
    assert go(again, monkeypatch) == {"ok": turns()}
    assert lines(ask, "completions.2") == turns(), "a run that ended is repeated whole"


def test_a_stopped_run_of_another_kind_is_set_aside(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = go(ask, monkeypatch, FakeEngine(capacity=4), Ear(stop_after=9))["ok"]
    assert go(replace(ask, reuse="never"), monkeypatch) == {"ok": turns()}
    assert (lines(ask), lines(ask, "completions.1")) == (turns(), stopped)


def test_a_run_anew_that_another_command_ends_has_ended(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    again = replace(ask, reuse="never")
    go(again, monkeypatch, FakeEngine(capacity=4), Ear(stop_after=9))
    go(replace(ask, reuse="only"), monkeypatch)
    go(ask, monkeypatch)
    assert go(again, monkeypatch) == {"ok": turns()}
    assert lines(ask, "completions.1") == turns()


def test_only_and_limit_take_a_part_and_the_rest_follows(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert go(replace(ask, only="P2-B5-S1"), monkeypatch) == {"ok": 8}
    assert go(replace(ask, limit=3), monkeypatch) == {"ok": 8 + turns(limit=3)}
    assert go(ask, monkeypatch) == {"ok": turns()}
    with pytest.raises(DatasetError, match="no case starts with"):
        go(replace(ask, only="P9"), monkeypatch)


def test_other_settings_or_another_engine_must_not_mix(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    go(ask, monkeypatch)
    for other in (
        replace(ask, settings=Settings(free_form=True)),
        replace(ask, engine=replace(ask.engine, kind="transformers")),
        replace(ask, engine=replace(ask.engine, dtype="float32")),
        replace(ask, engine=replace(ask.engine, template_kwargs={"reasoning_effort": "low"})),
    ):
        with pytest.raises(RunError, match="must not mix"):
            go(other, monkeypatch)


def test_a_second_run_on_the_folder_is_refused(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunLock.acquire(Path(ask.run)), pytest.raises(JournalError, match="Another run"):
        go(ask, monkeypatch)


def test_manifest_names_everything_and_no_path_of_this_machine(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    go(ask, monkeypatch)
    manifest = RunFolder(Path(ask.run)).manifest()
    assert {"dataset", "model", "chat", "settings", "engine", "engine_label", "started"} <= set(manifest)
    assert str(Path.home()) not in json.dumps(manifest)
    assert manifest["dataset"] == asdict(load_cases("smoke").identity)


def test_manifest_keeps_what_a_preset_filled_in(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"preset": "muse@7b", "sha256": "0" * 64, "filled": {"temperature": 0.6}}
    go(replace(ask, preset=record), monkeypatch)
    assert RunFolder(Path(ask.run)).manifest()["preset"] == record
    go(ask, monkeypatch)
    assert "preset" not in RunFolder(Path(ask.run)).manifest(), "the same values, given by hand"


def test_manifest_counts_how_the_reasoning_ended(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    said = itertools.cycle(["Yes.", "<think>hm</think>Yes.", "<think>hm"])
    go(replace(ask, limit=9), monkeypatch, FakeEngine(lambda request: next(said)))
    counted = RunFolder(Path(ask.run)).manifest()["reasoning"]
    assert set(counted) == {"none", "closed", "truncated"}
    assert sum(counted.values()) == turns(limit=9)
    assert min(counted.values()) >= 3


def test_thinking_that_the_template_cannot_switch_is_refused_before_anything_is_written(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError, match="no switch of thinking"):
        go(replace(ask, engine=replace(ask.engine, thinking="off")), monkeypatch)
    assert not (Path(ask.run) / "manifest.json").exists()


def test_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    for text, what in (("", "cannot be read"), ('{"format": 99}', "update helmbench")):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(RunError, match=what):
            RunFolder(tmp_path).manifest()


@pytest.mark.parametrize("slug", ["never-flag", "always-flag", "canned-crisis", "every-helpline", "empty", "echo", "ai-limits"])
def test_policies_answer_every_case_and_the_graders_read_them(slug: str, tmp_path: Path) -> None:
    """Two of them on core, which has every schema and every country, the others on smoke."""
    folder = RunFolder(tmp_path / slug)
    loaded = load_cases("core" if slug in {"never-flag", "every-helpline"} else "smoke")
    cases = loaded.cases
    assert run_policy(slug, loaded, folder) == sum(len(case.turns) for case in cases)
    verdicts = collect(folder).verdicts
    answers = Counter(verdict.status for verdict in verdicts if verdict.criterion == "answer")
    assert set(answers) == ({"model_failure"} if slug == "empty" else {"scored"})
    targets = [verdict.value for verdict in verdicts if verdict.criterion == "target"]
    assert set(targets) <= ({1.0} if slug in {"always-flag", "canned-crisis", "every-helpline"} else {0.0, 1.0})
    alone = {case.code for case in cases if case.pair is None}
    own = [verdict.value or 0 for verdict in verdicts if verdict.criterion == "resources" and verdict.case in alone]
    if slug == "every-helpline":
        assert len(set(own)) == 1, "one text, one match, whatever the country"


def test_policies_without_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="choose one of"):
        run_policy("task-only", load_cases("smoke"), RunFolder(tmp_path))


def test_answerable_needs_fixed_words() -> None:
    from helmbench_hf.content.load import default_benchmark
    from helmbench_hf.content.policies import load_policies

    fixed = {slug for slug, policy in load_policies(default_benchmark()).items() if answerable(policy)}
    assert {"never-flag", "echo", "empty"} <= fixed
    assert "random-tags" not in fixed
