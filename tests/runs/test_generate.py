"""A run folder over its life: resume, the four words of --reuse, what must not mix. The engine is a fake."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.load import DatasetError
from helmbench_hf.judging.grade import collect
from helmbench_hf.models.engine import EngineError, EngineSpec, Request
from helmbench_hf.records import Case
from helmbench_hf.runs import generate as stage
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.generate import Ask, child
from helmbench_hf.runs.journal import Journal, JournalError, run_lock
from helmbench_hf.runs.turns import Settings
from tests.judging.runs import Ear, identity, put
from tests.support.checkpoints import CHATML, tiny_checkpoint
from tests.support.fake_engine import FakeEngine, Fate

LABELED = "P1-B5-S2"
TEMPLATES = Path(__file__).parents[1] / "models" / "templates"


def turns(cases: Sequence[Case], only: str = "") -> int:
    return sum(len(case.turns) for case in cases if case.code.startswith(only))


def stop_after(count: int) -> Ear:
    left = iter(range(count))
    return Ear(patience=lambda: next(left, None) is None)


@pytest.fixture
def ask(tmp_path: Path, checkpoint: Path, few: list[Case]) -> Ask:
    return Ask(run=str(tmp_path / "run"), engine=EngineSpec.parse(f"vllm:{checkpoint}"), settings=Settings(), design="smoke")


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Counter[str]]:
    """Run the child's job in this process; give the completions by status after it."""

    def run(ask: Ask, engine: FakeEngine | None = None, ear: Ear | None = None) -> Counter[str]:
        monkeypatch.setattr(stage, "open_engine", lambda spec: engine or FakeEngine())
        child(json.loads(json.dumps(ask.as_payload())), ear or Ear())
        return Counter(completion.status for completion in Journal.read(Path(ask.run) / "completions").values())

    return run


def lines(ask: Ask, folder: str = "completions") -> int:
    return sum(len(path.read_text().splitlines()) for path in (Path(ask.run) / folder).glob("*.jsonl"))


def manifest(ask: Ask) -> dict[str, Any]:
    return RunFolder(Path(ask.run)).manifest().to_json()


def test_stopped_and_resumed_run_holds_every_turn_once(ask: Ask, few: list[Case], go: Any) -> None:
    assert sum(go(ask, FakeEngine(capacity=4), stop_after(9)).values()) < turns(few)
    assert go(ask) == {"ok": turns(few)}
    assert lines(ask) == turns(few)
    assert go(ask, FakeEngine(fate=lambda request, attempt: "die")) == {"ok": turns(few)}, "nothing is left to ask"


def test_conversations_that_begin_alike_are_both_answered_and_graded(
    ask: Ask, tiny: Any, few: list[Case], go: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = next(case for case in few if len(case.turns) > 1)
    cases = [replace(talk, code=f"{talk.code}{n}", turns=(talk.turns[0], f"ending {n}")) for n in (1, 2)]
    put(monkeypatch, tiny, cases)
    for ear in (stop_after(2), Ear()):
        go(ask, FakeEngine(capacity=1), ear)
    assert lines(ask) == ear.named("planned")["turns"] == 3
    graded = collect(RunFolder(Path(ask.run)))
    assert [v.status for v in graded.verdicts if v.criterion == "answer"] == ["scored", "scored"]
    assert len(graded.completions) == 4


BAD = {17: ("x" * 256, "prompt"), 40: ("", "empty"), 66: ("Please break.", "cannot be said"), 99: ("smile: \ud83d", "surrogate")}
BREAKS = (
    "{% for m in messages %}{% if 'break.' in m['content'] %}{{ raise_exception('this cannot be said') }}{% endif %}{% endfor %}"
)


def test_four_bad_prompts_among_a_hundred_are_typed_rows(
    tmp_path: Path, tiny: Any, few: list[Case], go: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over-long, empty, breaking the template, un-encodable; a second call runs nothing."""
    texts = [BAD[number][0] if number in BAD else f"Say {number}." for number in range(100)]
    short = replace(few[0], system="", response_schema=None, max_tokens=4)
    put(monkeypatch, tiny, [replace(short, code=f"N{number}", turns=(text,)) for number, text in enumerate(texts)])
    spec = EngineSpec.parse(f"vllm:{tiny_checkpoint(tmp_path / 'tiny', BREAKS + CHATML, 256)}")
    ask = Ask(run=str(tmp_path / "run"), engine=spec, settings=Settings(free_form=True))
    go(ask, FakeEngine(max_model_len=256, capacity=128))
    records = Journal.read(tmp_path / "run" / "completions")
    refused = {each.request: each.error for each in records.values() if each.status == "refused"}
    assert (len(records), set(refused)) == (100, {f"N{number}/t1/d0" for number in BAD})
    assert all(reason in refused[f"N{number}/t1/d0"] for number, (_, reason) in BAD.items())
    again = Ear()
    go(ask, ear=again)
    assert [(event["event"], event["stored"], event["open"]) for event in again.events] == [("planned", 100, 0)]


def test_manifest_counts_the_turns_whose_history_is_rendered_anew(ask: Ask, few: list[Case], go: Any) -> None:
    def run(model: Path | None, folder: str, answer: str, **arguments: Any) -> tuple[dict[str, int], list[str]]:
        engine = replace(ask.engine, **({"model": str(model)} if model else {}), **arguments)
        ear, asked = Ear(), replace(ask, run=f"{ask.run}-{folder}", engine=engine)
        go(asked, FakeEngine(lambda request: answer), ear)
        first = manifest(asked)["history"]
        go(asked)
        assert manifest(asked)["history"] == first, "a resume walks the stored turns and counts the same"
        return first, [event["message"] for event in ear.events if event["event"] == "note"]

    later = turns(few) - len(few)
    kept = {"later_turns": later, "prompt_changed": 0, "answer_changed": 0, "reasoning_left_out": 0}
    assert run(None, "kept", "Yes.") == (kept, [])
    assert run(None, "thought", "<think>hm</think>Yes.") == ({**kept, "reasoning_left_out": later}, [])
    qwen = tiny_checkpoint(Path(f"{ask.run}-model"), (TEMPLATES / "qwen3.jinja").read_text(encoding="utf-8"))
    changed, [note] = run(qwen, "off", "Yes.", thinking="off")
    assert changed == {**kept, "prompt_changed": later}
    assert f"{later} of {later} later turns do not begin with the prompt of the turn before" in note
    strip = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] | replace('Yes', 'yes') + '\\n' }}{% endfor %}assistant: "
    assert run(tiny_checkpoint(Path(f"{ask.run}-lower"), strip), "lower", "Yes.")[0] == {**kept, "answer_changed": later}


def test_reuse_words(ask: Ask, few: list[Case], go: Any) -> None:
    def fate(request: Request, attempt: int) -> Fate:
        return "fail" if request.name.startswith(LABELED) else "answer"

    every, failed = turns(few), turns(few, LABELED)
    assert failed
    assert go(ask, FakeEngine(fate=fate)) == {"ok": every - failed}
    assert go(replace(ask, reuse="only")) == {"ok": every - failed}
    assert go(replace(ask, reuse="always")) == {"ok": every - failed}, "a failure stands as it is"
    assert go(ask) == {"ok": every}, "a failure is tried again"
    assert go(replace(ask, reuse="never")) == {"ok": every}
    assert (lines(ask), lines(ask, "completions.1")) == (every, every + failed)


def test_a_run_anew_that_was_stopped_is_resumed_until_it_has_ended(ask: Ask, few: list[Case], go: Any) -> None:
    stopped = go(ask, FakeEngine(capacity=4), stop_after(9))["ok"]
    again = replace(ask, reuse="never")
    assert 0 < go(again, FakeEngine(capacity=4), stop_after(9))["ok"] < turns(few)
    assert lines(ask, "completions.1") == stopped, "a stopped run of another kind is set aside"
    kept, ear = lines(ask), Ear()
    go(replace(ask, reuse="only"))
    assert go(again, FakeEngine(capacity=4), ear) == {"ok": turns(few)}
    assert (ear.named("planned")["stored"], ear.named("note")["message"]) == (kept, stage.RESUMED)
    assert not (Path(ask.run) / "completions.2").exists(), "its answers were not set aside"
    assert go(again) == {"ok": turns(few)}
    assert lines(ask, "completions.2") == turns(few), "a run that ended is repeated"
    go(again, FakeEngine(capacity=4), stop_after(9))
    go(ask)
    assert go(again) == {"ok": turns(few)}
    assert lines(ask, "completions.4") == turns(few), "any command that asks the rest ends it"


def test_only_and_limit_take_a_part_and_the_rest_follows(ask: Ask, few: list[Case], go: Any) -> None:
    assert go(replace(ask, only="P2-B5-S1")) == {"ok": 8}
    assert go(replace(ask, limit=3)) == {"ok": 8 + turns(few[:3])}
    assert go(ask) == {"ok": turns(few)}
    with pytest.raises(DatasetError, match="no case starts with"):
        go(replace(ask, only="P9"))


@pytest.mark.parametrize("changes", [{"dtype": "float32"}, {"template_kwargs": {"reasoning_effort": "low"}}, {}])
def test_other_settings_or_another_engine_must_not_mix(ask: Ask, go: Any, changes: dict[str, Any]) -> None:
    go(replace(ask, limit=2))
    settings = ask.settings if changes else Settings(free_form=True)
    with pytest.raises(RunError, match="must not be mixed"):
        go(replace(ask, settings=settings, engine=replace(ask.engine, **changes)))


def test_a_second_run_on_the_folder_is_refused(ask: Ask, go: Any) -> None:
    with run_lock(Path(ask.run)), pytest.raises(JournalError, match="Another run"):
        go(ask)


def test_manifest_names_everything_and_no_path_of_this_machine(ask: Ask, tiny: Any, go: Any) -> None:
    record = {"preset": "muse@7b", "sha256": "0" * 64, "filled": {"temperature": 0.6}}
    go(replace(ask, preset=record))
    found = manifest(ask)
    assert list(found) == [
        "format", "helmbench", "dataset", "selection", "model", "chat", "settings", "engine_label", "key", "preset",
        "context_sha", "started", "engine", "reasoning", "history",
    ]  # fmt: skip
    assert str(Path.home()) not in json.dumps(found)
    assert found["dataset"] == asdict(identity(tiny.file.version))
    assert found["preset"] == record
    go(ask)
    assert "preset" not in manifest(ask), "the same values, given by hand"


def test_manifest_counts_how_the_reasoning_ended(ask: Ask, few: list[Case], go: Any) -> None:
    said = itertools.cycle(["Yes.", "<think>hm</think>Yes.", "<think>hm"])
    go(replace(ask, limit=9), FakeEngine(lambda request: next(said)))
    counted = manifest(ask)["reasoning"]
    assert set(counted) == {"none", "closed", "truncated"}
    assert (sum(counted.values()), min(counted.values()) >= 3) == (turns(few[:9]), True)


def test_thinking_that_the_template_cannot_switch_is_refused_before_anything_is_written(ask: Ask, go: Any) -> None:
    with pytest.raises(EngineError, match="no switch for thinking"):
        go(replace(ask, engine=replace(ask.engine, thinking="off")))
    assert not (Path(ask.run) / "manifest.json").exists()
