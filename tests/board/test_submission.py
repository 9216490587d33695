"""What a submission holds, and what never goes into one."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helmbench_hf.board.files import COMPLETIONS
from helmbench_hf.board.manifest import Sampling
from helmbench_hf.board.submission import Submission, prepare
from helmbench_hf.board.verify import verify
from helmbench_hf.cli.app import app
from helmbench_hf.cli.scores import write_scores
from helmbench_hf.judging.grade import collect
from helmbench_hf.models.engine import EngineSpec
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.generate import Ask, child
from helmbench_hf.runs.policies import run_policy
from helmbench_hf.runs.turns import Settings
from helmbench_hf.scoring.scores import read_scores
from tests.board import made
from tests.judging.runs import Ear
from tests.support.chat_server import Answer, Body, ChatServer, Fate, Status, model_says

runner = CliRunner()


def edited(run: Path, path: Path, **changes: object) -> Path:
    """A copy of the run whose manifest says something else."""
    manifest = json.loads((run / "manifest.json").read_text())
    path.mkdir()
    for name in ("completions", "judgments", "acts"):
        (path / name).symlink_to(run / name)
    for name, value in changes.items():
        manifest[name] = {**(manifest.get(name) or {}), **value} if isinstance(value, dict) else value
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_a_run_through_the_pipeline_is_accepted(original: Path, submission: Submission, run: Path) -> None:
    write_scores(run)
    report = made.checked(original)
    assert (report.reasons, report.accepted) == ([], True)
    assert report.scores == submission.scores
    assert report.scores is not None
    assert report.scores == read_scores(run / "scores.json"), "as `helmbench score` writes them"
    rows = made.rows_of(original / "verdicts.jsonl")
    assert len(rows) == len(collect(RunFolder(run)).verdicts) > 100
    assert {row["value"] for row in rows} >= {0.0, 1.0}, "the fakes should not all agree"
    assert submission.manifest.place == f"submissions/tiny/{submission.manifest.run_id}"


def test_the_same_run_is_the_same_submission(run: Path, submission: Submission) -> None:
    again = prepare(run, submitter="Somebody Else")
    assert again.manifest.run_id == submission.manifest.run_id
    changed = {name for name in again.content if again.content[name] != submission.content[name]}
    assert changed == {"manifest.json"}


def test_nothing_of_the_machine_goes_along(original: Path, run: Path) -> None:
    names = [str(path.relative_to(original)) for path in original.rglob("*") if path.is_file()]
    assert sorted(names) == [
        "acts/00001-submission.jsonl",
        "completions/00001-submission.jsonl", "judgments/judge-a/00001-submission.jsonl", "judgments/judge-a/judge.json",
        "manifest.json", "scores.json", "verdicts.jsonl",
    ]  # fmt: skip
    text = "".join((original / name).read_text() for name in names if name.endswith(".json"))
    for told in (str(run.parent), str(Path.home()), socket.gethostname(), '"device"', "base_url"):
        assert told not in text
    assert {row["error"] for row in made.rows_of(original / COMPLETIONS)} == {""}


def test_a_submission_is_a_run_folder(original: Path, submission: Submission) -> None:
    """Everything that reads a run reads it, with the same result."""
    graded = collect(RunFolder(original))
    assert len(graded.cases) == 64
    assert [made.row(each) for each in graded.verdicts] == made.rows_of(original / "verdicts.jsonl")
    assert read_scores(original / "scores.json") == submission.scores


def test_every_setting_of_a_run_has_a_range() -> None:
    assert set(Sampling.model_fields) == set(asdict(Settings()))


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("my token is hf_" + "a" * 34, "secret.token"),
        ("made in /home/ann/runs/one", "secret.path"),
        ("see C:\\Users\\ann", "secret.path"),
        ("a\u202eb", "submitter.text"),
        ("a\x1b[31mb", "submitter.text"),
        ("e\u0301", "submitter.text"),
        ("a" * 2001, "submitter.text"),
    ],
)
def test_what_must_not_leave_is_refused(run: Path, said: str, code: str) -> None:
    with pytest.raises(RunError, match=re.escape(code)) as refused:
        prepare(run, text=said)
    assert "hf_a" not in str(refused.value)


def test_a_token_in_an_answer_and_a_path_in_an_option_are_refused(run: Path, tmp_path: Path, checkpoint: Path) -> None:
    key = json.loads((run / "manifest.json").read_text())["key"]
    leaking = edited(run, tmp_path / "a", chat={"thinking": "/home/ann/x"})
    with pytest.raises(RunError, match="manifest"):
        prepare(leaking)
    assert key["model"]["files"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "says", lambda request: "hf_" + "b" * 34)
        told = made.run(tmp_path / "told", checkpoint, patch)
    done = runner.invoke(app, ["submit", str(told), "--dry-run"])
    assert done.exit_code == 1
    assert "secret.token" in done.output
    assert "hf_b" not in done.output


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"selection": {"only": "P1"}}, "--only"),
        ({"selection": {"limit": 3}}, "--limit"),
        ({"selection": {"shard": "1/2"}}, "merge"),
        ({"dataset": {"private": True}}, "private holdout"),
        (
            {"user": {"engine": "vllm:a/b", "key": {"model": {}, "template_sha": "", "engine": "vllm 0.32"}, "model": {}}},
            "without --user-model",
        ),
        ({"key": {"engine": "vllm 0.1"}}, "planned answers"),
    ],
)
def test_a_part_of_a_design_and_a_private_holdout_are_no_submission(run: Path, tmp_path: Path, changes: Any, words: str) -> None:
    with pytest.raises(RunError, match=words):
        prepare(edited(run, tmp_path / "other", **changes))


def test_a_policy_is_no_submission(tmp_path: Path) -> None:
    run_policy("refuse-all", made.load("smoke"), RunFolder(tmp_path / "policy"), None, None)
    with pytest.raises(RunError, match="Only a model's run"):
        prepare(tmp_path / "policy")


def test_open_questions_of_a_judge_hold_a_submission_back(run: Path, tmp_path: Path, checkpoint: Path) -> None:
    half = edited(run, tmp_path / "half")
    (half / "judgments").unlink()
    (half / "judgments" / "judge-a").mkdir(parents=True)
    source = run / "judgments" / "judge-a"
    (half / "judgments" / "judge-a" / "judge.json").write_bytes((source / "judge.json").read_bytes())
    for path in source.glob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        (half / "judgments" / "judge-a" / path.name).write_bytes(b"".join(lines[:-3]))
    with pytest.raises(RunError, match="is missing 3 questions to the judge"):
        prepare(half)


def test_refused_answers_are_submitted_as_engine_failures(checkpoint: Path, tmp_path: Path) -> None:
    talk = next(case for case in made.load("smoke").cases if case.mode == "multi_turn")
    with pytest.MonkeyPatch.context() as patch:
        run = made.run(
            tmp_path / "run",
            checkpoint,
            patch,
            lambda request, _: "refuse" if request.name.startswith(f"{talk.code}/") else "answer",
        )
    report = made.checked(prepare(run).write(tmp_path / "out"))
    assert report.accepted, report.reasons
    assert report.scores is not None
    assert sum(row.engine_failures for row in report.scores.quality) == talk.most_turns, "nothing comes after a refused turn"


def test_what_a_provider_withheld_is_submitted_as_a_result(checkpoint: Path, tmp_path: Path) -> None:
    cases = made.load("smoke").cases
    first = {case.turns[0]: case for case in cases}
    talks = {case.turns[0] for case in cases if case.most_turns > 1}

    def answer(body: Body) -> Answer:
        said, made_up = body["messages"][-1]["content"], model_says(body)
        return Answer(made_up.text, "SAFETY" if said in first and first[said].severity >= 8 else made_up.finish)

    def fate(body: Body, number: int) -> Fate:
        return Status(400, {"error": {"code": "content_filter"}}) if body["messages"][-1]["content"] in talks else None

    with ChatServer(answer, fate=fate) as server:
        spec = EngineSpec.parse("endpoint:tiny", base_url=server.url, retries=0)
        ask = Ask(run=str(tmp_path / "run"), engine=spec, settings=Settings(), design="smoke")
        child(json.loads(json.dumps(ask.as_payload())), Ear())
    made.judge(tmp_path / "run", checkpoint)
    submission = prepare(tmp_path / "run")
    folder = submission.write(tmp_path / "out")
    rows = made.rows_of(folder / COMPLETIONS)
    ends = {(row["finish_reason"], bool(row["text"])) for row in rows if row["status"] == "withheld"}
    assert ends == {("", False), ("safety", True)}
    report = made.checked(folder)
    assert report.accepted, report.reasons
    assert sum(row.withheld for row in submission.scores.quality) > len(talks)
    assert sum(row.engine_failures for row in submission.scores.quality) == 0


def test_two_judges_and_several_draws(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        run = made.run(tmp_path / "run", checkpoint, patch, temperature=0.7, draws=2)
        made.judge(run, checkpoint, "judge-b", "evidence")
    submission = prepare(run, panel="worst")
    report = made.checked(submission.write(tmp_path / "out"))
    assert report.accepted, report.reasons
    assert [judge.mode for judge in submission.judges] == ["fast", "evidence"]
    assert submission.scores.provenance.panel == "worst"


def test_the_commands(run: Path, tmp_path: Path) -> None:
    dry = runner.invoke(app, ["submit", str(run), "--dry-run", "--name", "Ann"])
    assert dry.exit_code == 0, dry.output
    assert "nothing was sent" in dry.output
    assert "completions/00001" in dry.output
    out = runner.invoke(app, ["submit", str(run), "--export", str(tmp_path)])
    assert out.exit_code == 0, out.output
    [folder] = tmp_path.glob("submissions/*/*")
    done = runner.invoke(app, ["verify", str(folder), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["accepted"]) == (0, True)
    assert runner.invoke(app, ["submit", str(run), "--export", str(tmp_path)]).exit_code == 1, "it is there already"
    assert runner.invoke(app, ["verify", str(folder), "--dataset", str(tmp_path)]).exit_code == 2
    (folder / "scores.json").write_text("{}")
    done = runner.invoke(app, ["verify", str(folder)])
    assert done.exit_code == 1
    assert "files.hash" in done.stdout
    assert runner.invoke(app, ["verify", str(tmp_path / "nowhere")]).exit_code == 2
    assert runner.invoke(app, ["verify"]).exit_code == 2


def test_a_later_format_cannot_be_read(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "submission": {"format": 3}}))
    done = runner.invoke(app, ["verify", str(copy)])
    assert done.exit_code == 2
    assert "update helmbench" in done.output


def test_a_dataset_of_another_content_is_not_ours(copy: Path) -> None:
    loaded = made.load("smoke")
    other = replace(loaded, identity=replace(loaded.identity, content_sha256="0" * 64))
    assert made.codes(verify(copy, lambda design: other)) == {"dataset.content"}
