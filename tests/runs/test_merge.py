"""Runs of several machines as one run. The engines are fakes; the cases are few of the tiny benchmark."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging.grade import collect, judge_run
from helmbench_hf.models.engine import EngineSpec, Request
from helmbench_hf.models.identity import model_info
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs import generate as stage
from helmbench_hf.runs.folder import RunError, RunFolder, write_json
from helmbench_hf.runs.generate import Ask, child
from helmbench_hf.runs.journal import Journal, JournalError, run_lock
from helmbench_hf.runs.merge import merge
from helmbench_hf.runs.turns import Settings
from tests.judging.runs import Ear, answer_all, fake_judge, good, identity, put
from tests.judging.runs import manifest as plain_manifest
from tests.support.fake_engine import FakeEngine, Fate, echo

Generate = Callable[..., Path]


@pytest.fixture(scope="module")
def few(tiny: Benchmark, few_cases: list[Case]) -> Iterator[list[Case]]:
    """Taken for the dataset by every test of this module, so that runs can be shared."""
    with pytest.MonkeyPatch.context() as patch:
        put(patch, tiny, few_cases)
        yield few_cases


@pytest.fixture(scope="module")
def generate(checkpoint: Path, few: list[Case]) -> Iterator[Generate]:
    """Run the stage into a folder on a fake engine, `changes` being fields of `Ask`; give the folder."""
    spec = EngineSpec.parse(f"vllm:{checkpoint}")
    model = model_info(spec)

    def run(root: Path, fake: FakeEngine | None = None, **changes: Any) -> Path:
        ask = Ask(run=str(root), engine=spec, settings=Settings(), design="smoke")
        patch.setattr(stage, "open_engine", lambda spec: fake or FakeEngine())
        child(json.loads(json.dumps(replace(ask, **changes).as_payload())), Ear())
        return root

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "model_info", lambda wanted: model if wanted == spec else model_info(wanted))
        yield run


@pytest.fixture(scope="module")
def uncut(generate: Generate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that was never cut."""
    return generate(tmp_path_factory.mktemp("merge") / "uncut")


@pytest.fixture
def thirds(generate: Generate, tmp_path: Path) -> list[Path]:
    return [generate(tmp_path / f"part{number}", shard=f"{number}/3") for number in (1, 2, 3)]


def answers(root: Path) -> dict[str, Completion]:
    return dict(Journal.read(root / "completions"))


def lines(root: Path) -> list[bytes]:
    return [line for path in sorted((root / "completions").glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def state(*roots: Path) -> dict[Path, tuple[bytes, int]]:
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def journal(root: Path, *completions: Completion) -> Path:
    with Journal.open(root / "completions", "test") as opened:
        for completion in completions:
            opened.append(completion)
    return opened.path


def manifest(root: Path, **changes: Any) -> None:
    """Change what a run says of itself."""
    write_json(root / "manifest.json", {**json.loads((root / "manifest.json").read_text()), **changes})


@settings(max_examples=12)
@given(n=st.integers(1, 9), data=st.data())
def test_shards_merged_in_any_order_are_the_whole_run(
    generate: Generate, uncut: Path, tmp_path_factory: pytest.TempPathFactory, n: int, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("parts")
    parts = [generate(root / f"p{i}", FakeEngine(seed=i, capacity=3), shard=f"{i}/{n}") for i in range(1, n + 1)]
    before = state(*parts)
    order = data.draw(st.permutations(parts))
    merged = merge(root / "out", order)
    assert state(*parts) == before
    assert answers(root / "out") == answers(uncut)
    assert (merged.answers, merged.added, merged.open) == (len(answers(uncut)), len(answers(uncut)), {})
    assert collect(RunFolder(root / "out")).verdicts == collect(RunFolder(uncut)).verdicts
    merge(root / "again", parts)
    assert lines(root / "again") == lines(root / "out"), "the order of the names decides nothing"
    assert sorted(lines(root / "out")) == sorted(line for part in parts for line in lines(part)), "lines are copied as they are"


def test_a_merged_run_says_what_it_is_made_of(thirds: list[Path], uncut: Path, tmp_path: Path) -> None:
    merge(tmp_path / "out", thirds)
    found, single = RunFolder(tmp_path / "out").manifest().to_json(), RunFolder(uncut).manifest().to_json()
    assert [(row["run"], row["shard"], row["answers"]) for row in found["parts"]] == [
        (part.name, f"{number}/3", len(answers(part))) for number, part in enumerate(thirds, 1)
    ]
    histories = [row["history"] or {} for row in found["parts"]]  # of what each part rendered
    history = single.pop("history")
    assert {name: sum(each.get(name, 0) for each in histories) for name in history} == history
    assert {**found, "started": "", "parts": []} == {**single, "started": "", "parts": []}
    assert str(tmp_path) not in json.dumps(found)


def test_the_same_command_again_adds_what_has_come_since(thirds: list[Path], tmp_path: Path) -> None:
    [segment] = (thirds[1] / "completions").glob("*.jsonl")
    written = segment.read_bytes()
    segment.write_bytes(b"".join(written.splitlines(keepends=True)[:2]))
    first = merge(tmp_path / "out", thirds)
    before = state(tmp_path / "out" / "completions")
    assert merge(tmp_path / "out", thirds[::-1]).added == 0
    assert state(tmp_path / "out" / "completions") == before
    segment.write_bytes(written)
    second = merge(tmp_path / "out", thirds)
    assert second.added == second.answers - first.answers > 0
    assert not second.open
    assert before.items() <= state(tmp_path / "out" / "completions").items(), "nothing is rewritten"


def test_what_is_missing_is_said_by_shard_and_a_merged_run_can_be_completed(
    thirds: list[Path], generate: Generate, uncut: Path, tmp_path: Path
) -> None:
    merged = merge(tmp_path / "out", [thirds[2], thirds[0]])
    cases = {name.partition("/")[0] for name in (row.request for row in answers(thirds[1]).values())}
    assert merged.open == {"2/3": len(cases)}
    with pytest.raises(RunError, match="holds a run without shards, not shard 2/3"):
        generate(tmp_path / "out", shard="2/3")
    engine = FakeEngine()
    generate(tmp_path / "out", engine)
    assert {request.key for request in engine.submitted} == set(answers(thirds[1]))
    assert answers(tmp_path / "out") == answers(uncut)
    assert [row["run"] for row in RunFolder(tmp_path / "out").manifest().to_json()["parts"]] == ["part1", "part3"]
    assert not merge(tmp_path / "out", [thirds[0], thirds[2]]).open


def test_a_merge_that_was_cut_short_is_resumed(thirds: list[Path], uncut: Path, tmp_path: Path) -> None:
    room = iter(range(9))
    real = Journal.append

    def full(self: Journal, completion: Completion) -> None:
        if next(room, None) is None:
            raise JournalError("the disk is full")
        real(self, completion)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "append", full)
        with pytest.raises(JournalError, match="full"):
            merge(tmp_path / "out", thirds)
    assert len(answers(tmp_path / "out")) == 9
    assert merge(tmp_path / "out", thirds).added == len(answers(uncut)) - 9
    assert answers(tmp_path / "out") == answers(uncut)


def test_runs_that_took_other_cases_are_merged_too(few: list[Case], generate: Generate, tmp_path: Path) -> None:
    parts = [generate(tmp_path / only, only=only) for only in ("P1-B5", "P2", "P1-B5-S1")]
    merged = merge(tmp_path / "out", parts)
    cases = [case for case in few if case.behavior == "P1-B5" or case.pillar == "P2"]
    assert (merged.answers, merged.open) == (sum(len(case.turns) for case in cases), {})
    assert len(lines(tmp_path / "out")) == merged.answers, "what two runs hold alike is kept once"
    assert [case.code for case in collect(RunFolder(tmp_path / "out")).cases] == [case.code for case in cases]
    everything = merge(tmp_path / "more", [*parts, generate(tmp_path / "all", shard="1/2")])
    left = len(few) - len({row.request.partition("/")[0] for row in answers(tmp_path / "more").values()})
    assert everything.open == {"": left}


def test_failures_and_refusals_give_way_to_answers(thirds: list[Path], uncut: Path, tmp_path: Path) -> None:
    stored = list(answers(uncut).values())
    worse = [replace(row, status="engine_error", text="") for row in stored[:10]]
    worse += [replace(row, status="refused", text="", error="too long") for row in stored[10:20]]
    bad = Path(shutil.copytree(thirds[0], tmp_path / "bad"))
    shutil.rmtree(bad / "completions")
    journal(bad, *worse)
    merge(tmp_path / "out", [bad, *thirds])
    assert Journal.read(tmp_path / "out" / "completions").everything() == answers(uncut)
    alone = merge(tmp_path / "alone", [bad])
    assert (alone.answers, alone.added) == (10, 20), "a failure is kept, and is no answer"
    assert merge(tmp_path / "alone", [bad]).added == 0


@pytest.mark.parametrize(("how", "status"), [("refuse", "refused"), ("withhold", "withheld")])
def test_such_a_turn_ends_its_conversation_and_leaves_nothing_open(
    generate: Generate, tmp_path: Path, how: Fate, status: str
) -> None:
    def fate(request: Request, attempt: int) -> Fate:
        return how if request.name.startswith("P2-B5-S1") else "answer"

    parts = [generate(tmp_path / f"part{number}", FakeEngine(fate=fate), shard=f"{number}/2") for number in (1, 2)]
    assert merge(tmp_path / "out", parts).open == {}
    assert Counter(row.status for row in answers(tmp_path / "out").values())[status] == 4


def test_runs_without_a_model_are_merged_like_others(few: list[Case], tiny: Any, tmp_path: Path) -> None:
    for only, name in (("P1", "one"), ("P2", "one"), ("P2-B2", "other")):
        cases = [case for case in few if case.code.startswith(only)]
        made = plain_manifest(identity(tiny.file.version), len(cases))
        folder = RunFolder(tmp_path / f"{only}-{name}")
        folder.write_manifest({**made, "selection": {"only": only, "limit": None}, "model": {"id": name}})
        answer_all(folder, cases, good)
    assert not merge(tmp_path / "out", [tmp_path / "P1-one", tmp_path / "P2-one"]).open
    with pytest.raises(RunError, match="differ in their model"):
        merge(tmp_path / "else", [tmp_path / "P1-one", tmp_path / "P2-B2-other"])


def refused(out: Path, runs: list[Path], what: str) -> None:
    """The merge is refused, and changes no file."""
    before = state(out, *runs)
    with pytest.raises(RunError, match=what):
        merge(out, runs)
    assert state(out, *runs) == before


def test_two_answers_to_one_question_are_refused_by_file(thirds: list[Path], tmp_path: Path) -> None:
    told = next(iter(answers(thirds[0]).values()))
    [first] = (thirds[0] / "completions").glob("*.jsonl")
    journal(thirds[2], replace(told, key="0" * 64))
    refused(tmp_path / "out", thirds, "in different words")
    other = journal(thirds[1], replace(told, text="something else"))
    refused(tmp_path / "out", thirds[::-1], rf"{first} and {other} hold different answers to {told.request}")


def test_an_answer_of_the_merged_run_itself_counts_as_one(thirds: list[Path], generate: Generate, tmp_path: Path) -> None:
    segment = next((thirds[1] / "completions").glob("*.jsonl"))
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:2]))
    merge(tmp_path / "out", thirds)
    generate(tmp_path / "out")
    generate(thirds[1], FakeEngine(answer=lambda request: echo(request) + "!"), shard="2/3")
    before = state(tmp_path / "out")
    with pytest.raises(RunError, match=r"out/completions/.* and .*part2/completions/.* hold different answers"):
        merge(tmp_path / "out", thirds)
    after = state(tmp_path / "out")
    assert {path for path in after if before.get(path) != after[path]} <= {tmp_path / "out" / "run.lock"}


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("settings", {"temperature": 0.5, "draws": 2}, "differ in their settings"),
        ("chat", {"template_kwargs": {"enable_thinking": False}}, "differ in their setting of the chat template"),
        ("engine_label", "vllm 9.9", "differ in their engine"),
        ("model", {"files_sha": "0"}, "differ in their model"),
        ("context_sha", "0", "differ in their argument of engine or template"),
        ("dataset", {"content_sha256": "0"}, "differ in their content of the dataset"),
        ("dataset", {"design": "core"}, "differ in their design"),
        ("dataset", {"version": "9.9.9"}, "differ in their dataset version"),
        ("selection", {"limit": 7}, "because of --limit"),
    ],
)
def test_runs_that_differ_in_more_than_their_cases_are_refused(
    thirds: list[Path], tmp_path: Path, field: str, value: Any, what: str
) -> None:
    old = RunFolder(thirds[1]).manifest().to_json()[field]
    manifest(thirds[1], **{field: {**old, **value} if isinstance(value, dict) else value})
    refused(tmp_path / "out", thirds, what)


def test_two_models_behind_one_served_name_are_not_merged(thirds: list[Path], tmp_path: Path) -> None:
    for folder, served in zip(thirds, ("lab/model", "lab/model", "lab/other"), strict=True):
        manifest(folder, engine={**RunFolder(folder).manifest().to_json().get("engine", {}), "extra": {"served": served}})
    refused(tmp_path / "out", thirds, "differ in their model behind the same served name")
    assert merge(tmp_path / "two", thirds[:2]).added


def test_a_folder_that_holds_something_else_is_refused(thirds: list[Path], uncut: Path, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("mine")
    merge(tmp_path / "two", thirds[:2])
    other_run = Path(shutil.copytree(uncut, tmp_path / "run"))
    for out in (full, tmp_path / "two", other_run):
        refused(out, thirds, "is not empty and not a merge of these runs")
    (tmp_path / "empty").mkdir()
    assert merge(tmp_path / "empty", thirds).added


def test_what_cannot_be_merged_is_a_sentence(thirds: list[Path], tmp_path: Path) -> None:
    for out in (thirds[0], thirds[0] / "merged", tmp_path):
        refused(out, thirds, "is inside the other")
    refused(tmp_path / "out", [thirds[0], thirds[1], tmp_path / "x" / ".." / "part1"], "named twice")
    refused(tmp_path / "out", [thirds[0], tmp_path / "nowhere"], "does not contain a run")
    manifest(thirds[1], selection={"cases": 3})
    refused(tmp_path / "out", thirds, "does not record which cases")


def test_a_merged_run_that_is_being_written_is_refused(thirds: list[Path], tmp_path: Path) -> None:
    with run_lock(tmp_path / "out"), pytest.raises(JournalError, match="Another run"):
        merge(tmp_path / "out", thirds)
    assert merge(tmp_path / "out", thirds).added, "a lock alone is no content"


def test_a_shard_folder_holds_one_shard(generate: Generate, tmp_path: Path) -> None:
    part = generate(tmp_path / "part", shard="1/3")
    before = answers(part)
    for changes, what in (
        ({"shard": "2/3"}, "holds shard 1/3, not shard 2/3"),
        ({"shard": "1/4"}, "holds shard 1/3, not shard 1/4"),
        ({}, "holds shard 1/3, not a run without shards"),
        ({"shard": "1/3", "only": "P1"}, "holds shard 1/3, not shard 1/3 of other cases"),
        ({"shard": "1/3", "limit": 50}, "of other cases"),
        ({"shard": "1/3", "design": "core"}, "of other cases"),
    ):
        with pytest.raises(RunError, match=what):
            generate(part, **changes)
    generate(part, FakeEngine(fate=lambda request, attempt: "die"), shard="1/3")
    assert answers(part) == before


def labels(request: Request) -> list[float]:
    return [-0.7, -1.6, -2.3, -3.0, -3.9][: len(request.labels)]


def judge(*roots: Path, **spec: Any) -> None:
    for root in roots:
        judge_run(RunFolder(root), fake_judge(FakeEngine(labels=labels), **spec), Ear())


TWO = ({"id": "first", "family": "one"}, {"id": "second", "family": "two", "weights": "other"})


def test_judgments_are_merged_as_answers_are(thirds: list[Path], uncut: Path, tmp_path: Path) -> None:
    single = Path(shutil.copytree(uncut, tmp_path / "single"))
    for spec in TWO:
        judge(*thirds, single, **spec)
    before = state(*thirds)
    merged = merge(tmp_path / "out", thirds)
    assert (merged.judges, merged.left_out) == (("first", "second"), "")
    assert state(*thirds) == before
    found, expected = collect(RunFolder(tmp_path / "out")), collect(RunFolder(single))
    assert found.verdicts == expected.verdicts
    assert found.judges == expected.judges
    assert Counter(verdict.grader for verdict in found.verdicts)["second"] > 0
    judged = state(tmp_path / "out" / "judgments")
    merge(tmp_path / "out", thirds)
    assert {path for path, kept in state(tmp_path / "out" / "judgments").items() if judged[path] != kept} <= {
        tmp_path / "out" / "judgments" / spec["id"] / "run.lock" for spec in TWO
    }


def test_judgments_of_some_parts_are_a_beginning(thirds: list[Path], tmp_path: Path) -> None:
    judge(thirds[0], thirds[1], **TWO[0])
    judge(thirds[1], **TWO[1])
    assert merge(tmp_path / "out", thirds).judges == ("first", "second")
    for spec in TWO:
        judge(tmp_path / "out", **spec)
    assert {verdict.status for verdict in collect(RunFolder(tmp_path / "out")).verdicts if verdict.grader != "code"} == {"scored"}
    assert [row["id"] for row in RunFolder(tmp_path / "out").judges()] == ["first", "second"]


def test_judgments_in_another_order_are_left_out(thirds: list[Path], tmp_path: Path) -> None:
    for part, specs in zip(thirds, (TWO, TWO, TWO[::-1]), strict=True):
        for spec in specs:
            judge(part, **spec)
    merged = merge(tmp_path / "out", thirds)
    assert merged.judges == ()
    assert "was graded by other judges or in another order" in merged.left_out
    assert RunFolder(tmp_path / "out").judges() == []
    assert collect(RunFolder(tmp_path / "out")).judges == ()


def test_the_command_says_what_is_there_and_what_is_missing(thirds: list[Path], tmp_path: Path) -> None:
    def said(out: Path, *runs: Path) -> str:
        result = CliRunner().invoke(app, ["merge", str(out), *map(str, runs)])
        return result.stdout if result.exit_code == 0 else result.stderr

    out, complete = tmp_path / "out", tmp_path / "all"
    text = said(out, thirds[0], thirds[2])
    assert f"{len(answers(out))} answers are in {out}, {len(answers(out))} of them new" in text
    assert " conversations of shard 2/3\ncomplete it with `helmbench generate" in text
    assert "is not empty and not a merge of these runs" in said(out, *thirds)
    assert f"of them new\nnext: helmbench grade --run {complete}" in said(complete, *thirds)
    judge(*thirds, **TWO[0])
    assert f"judgments of first are there too\nnext: helmbench report --run {complete}" in said(complete, *thirds)
    assert CliRunner().invoke(app, ["report", "--run", str(complete)]).exit_code == 0
    assert (complete / "report.html").read_text().count("part2")
