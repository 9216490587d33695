"""A judge behind a server: evidence, one verdict a criterion, and a sentence where it cannot be fast."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.cli.asking import judge_spec
from helmbench_hf.judging.grade import collect, judge_run
from helmbench_hf.judging.judge import JudgeError, find_judge
from tests.judging.runs import Ear, planned
from tests.support.chat_server import Body, ChatServer, Fate, Status


def judge(server: ChatServer, **settings: Any) -> Any:
    said = {"base_url": server.url, "retries": 0, **settings}
    return find_judge(judge_spec(",".join(["endpoint:tiny", *(f"{name}={value}" for name, value in said.items())])))


def test_a_served_judge_gives_evidence(folder, chosen) -> None:
    with ChatServer() as server:
        judge_run(folder, judge(server), Ear())
        asked = len(server.asked)
    found = [verdict for verdict in collect(folder).verdicts if verdict.grader == "tiny"]
    assert len(found) == planned(chosen)
    assert {verdict.status for verdict in found} == {"scored"}
    [row] = folder.judges()
    assert (row["mode"], row["engine"], row["model"]["served"]) == ("evidence", "endpoint:tiny", "not verified")
    assert row["key"]["engine"] == "endpoint"
    # every answer is there: the server may be gone
    ear = Ear()
    judge_run(folder, judge(server), ear)
    assert ear.named("planned")["open"] == 0
    assert len(server.asked) == asked


def test_a_judge_whose_provider_blocks_it_says_nothing_about_the_model(folder) -> None:
    """A blocked judgment is a missing verdict; it is journaled, and not asked for again."""

    def fate(body: Body, number: int) -> Fate:
        trial = body["messages"][-1]["content"] == "Hello."
        return None if trial else Status(400, {"error": {"code": "content_filter", "message": "Filtered."}})

    with ChatServer(fate=fate) as server:
        judge_run(folder, judge(server), Ear())
        asked = len(server.conversations)
        judge_run(folder, judge(server), Ear())
        assert len(server.conversations) == asked
    found = [verdict for verdict in collect(folder).verdicts if verdict.grader == "tiny"]
    assert asked
    assert {(v.status, v.value, v.detail["reason"]) for v in found} == {("judge_failure", None, "withheld")}
    assert {v.status for v in collect(folder).verdicts if v.grader == "code"} == {"scored"}


def test_it_cannot_be_fast(folder) -> None:
    with ChatServer() as server, pytest.raises(JudgeError, match=r"cannot work in fast mode: the engine endpoint gives no label"):
        judge_run(folder, judge(server, mode="fast"), Ear())
    assert folder.judges() == []


def test_verdicts_of_another_model_under_the_same_name_must_not_mix(folder) -> None:
    patience = iter(range(10))
    with ChatServer() as server:
        judge_run(folder, judge(server), Ear(patience=lambda: next(patience) > 5))
        server.models["data"][0]["root"] = "owner/another"
        with pytest.raises(JudgeError, match="a different model under the same name"):
            judge_run(folder, judge(server), Ear())


@pytest.mark.parametrize(
    ("text", "id_", "family"),
    [
        ("endpoint:Qwen/Qwen3-8B,base_url=http://127.0.0.1:8000/v1", "Qwen3-8B", "qwen"),
        ("endpoint:qwen3:8b,base_url=http://127.0.0.1:8000/v1", "qwen3-8b", "qwen"),
        ("endpoint:demo,base_url=http://127.0.0.1:8000/v1,family=smollm", "demo", "smollm"),
    ],
)
def test_a_served_judge_on_the_command_line(text: str, id_: str, family: str) -> None:
    spec = judge_spec(text)
    assert (spec.id, spec.family) == (id_, family)
    assert spec.engine_spec().extra == {"base_url": "http://127.0.0.1:8000/v1"}
    assert spec.engine_spec().kind == "endpoint"
