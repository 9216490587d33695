"""A run against a server: what is recorded, what continues without the server, and where the key never is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.evaluation import write_scores
from helmbench_hf.models.engine import EngineError, EngineSpec
from helmbench_hf.models.host import run
from helmbench_hf.records import Case
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.generate import JOB, Ask, child
from helmbench_hf.runs.journal import Journal
from helmbench_hf.runs.turns import Settings
from tests.judging.runs import Ear
from tests.support.chat_server import WINDOW, Body, ChatServer, Fate, Status

KEY = "sk-0123456789abcdef"


def ask(server: ChatServer, folder: Path, **engine: Any) -> Ask:
    spec = EngineSpec.parse("endpoint:tiny", base_url=server.url, retries=0, **engine)
    return Ask(run=str(folder), engine=spec, settings=Settings(), design="smoke")


def go(asked: Ask) -> Counter[str]:
    """Run the child's job in this process; give the completions by status after it."""
    child(json.loads(json.dumps(asked.as_payload())), Ear())
    return Counter(completion.status for completion in Journal.read(Path(asked.run) / "completions").values())


def test_a_run_is_answered_recorded_and_continues_without_its_server(few: list[Case], tmp_path: Path) -> None:
    turns = sum(len(case.turns) for case in few)
    with ChatServer() as server:
        asked = ask(server, tmp_path)
        assert go(asked) == {"ok": turns}
        assert len(server.conversations) == turns
    manifest = RunFolder(tmp_path).manifest().to_json()
    model, engine = manifest["model"], manifest["engine"]
    assert (model["id"], model["served"], model["commit"], model["files_sha"]) == ("tiny", "not verified", "", "")
    assert manifest["chat"]["system_role"] == "unknown: rendered by the server"
    assert manifest["engine_label"] == "endpoint"
    assert engine["device"] == server.url.removeprefix("http://").removesuffix("/v1")
    assert (engine["extra"]["served"], engine["max_model_len"]) == ("tiny-chat", WINDOW)
    assert "/models/owner" not in json.dumps(manifest)
    assert all(
        completion.prompt_tokens and not completion.prompt_sha for completion in Journal.read(tmp_path / "completions").values()
    )
    # nothing is missing, so nobody is asked
    assert go(asked) == {"ok": turns}
    with pytest.raises(EngineError, match="No server answers"):
        go(replace(asked, reuse="never"))


def test_answers_of_another_model_under_the_same_name_must_not_mix(few: list[Case], tmp_path: Path) -> None:
    def fate(body: Body, number: int) -> Fate:
        return Status(500) if "response_format" in body else None

    with ChatServer(fate=fate) as server:
        assert go(ask(server, tmp_path))["ok"] > 0
    with ChatServer() as server:
        for engine in ({"structured": "none"}, {}):
            server.models["data"][0]["root"] = "owner/another"
            with pytest.raises(RunError, match="a different engine" if engine else "offers under the name tiny is not the one"):
                go(ask(server, tmp_path, **engine))
        server.models["data"][0]["root"] = "/elsewhere/tiny-chat"
        assert set(go(ask(server, tmp_path))) == {"ok"}
        server.models["data"] = [{"id": "other"}]
        other = replace(ask(server, tmp_path), engine=EngineSpec.parse("endpoint:other", base_url=server.url))
        with pytest.raises(RunError, match="a different model"):
            go(other)


def test_the_key_is_in_no_file_event_or_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", KEY)
    events: list[dict[str, Any]] = []

    def fate(body: Body, number: int) -> Fate:
        said = {"error": {"message": f"Authorization: Bearer {KEY}"}}
        if body["messages"][-1]["content"] == "Hello.":
            return None
        return Status(401 if len(server.asked) > 60 else 500 if len(server.asked) % 2 else 400, body=said)

    with ChatServer(fate=fate) as server:
        payload = replace(ask(server, tmp_path / "run", concurrency=2, key_env="TINY_KEY"), limit=40).as_payload()
        assert run(JOB, payload, events.append, log=tmp_path / "engine.log") == 1
        assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    assert "refuses the key (401): Authorization: Bearer ***" in events[-1]["message"]
    errors = [completion.error for completion in Journal.read(tmp_path / "run" / "completions").values()]
    assert any("Bearer ***" in error for error in errors)
    assert KEY not in json.dumps(events)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY not in path.read_text(), path


def crises(cases: list[Case]) -> set[str]:
    return {case.turns[0] for case in cases if case.message_severity >= 4}


def blocks(messages: set[str]) -> Callable[[Body, int], Fate]:
    said = {"error": {"code": "content_filter", "message": "The prompt was filtered."}}
    return lambda body, number: Status(400, body=said) if body["messages"][-1]["content"] in messages else None


def test_what_a_provider_blocks_is_journaled_graded_and_never_asked_again(few: list[Case], tmp_path: Path) -> None:
    blocked = [case for case in few if case.turns[0] in crises(few)]
    assert any(len(case.turns) > 1 for case in blocked)
    with ChatServer(fate=blocks(crises(few))) as server:
        asked = ask(server, tmp_path)
        found = go(asked)
        assert set(found) == {"ok", "withheld"}
        asked_for = len(server.conversations)
        assert asked_for == sum(found.values()), "nothing is tried twice"
        for reuse in ("missing", "always"):
            assert go(replace(asked, reuse=reuse)) == found
        assert len(server.conversations) == asked_for
    rows = Journal.read(tmp_path / "completions").values()
    assert {row.error for row in rows if row.status == "withheld"} == {"The prompt was filtered."}
    graded = write_scores(tmp_path)
    reasons = {(v.case, v.turn): v.detail["reason"] for v in graded.verdicts if v.status != "scored"}
    # a blocked turn ends its conversation, and is what came of every later turn
    assert {place for place, reason in reasons.items() if reason == "withheld"} == {
        (case.code, turn) for case in blocked for turn in case.grading.turns
    }
    assert {v.status for v in graded.verdicts} <= {"scored", "model_failure"}
    quality = json.loads((tmp_path / "scores.json").read_text())["quality"]
    assert sum(row["withheld"] for row in quality) == sum(len(case.grading.turns) for case in blocked)
    severe = [case for case in blocked if case.message_severity >= 8]
    assert sum(row["withheld_severe"] for row in quality) == sum(len(case.grading.turns) for case in severe) > 0
    assert sum(row["engine_failures"] + row["not_run"] for row in quality) == 0
