"""What a submission holds, and what never goes into one."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.cli.scores import write_scores
from helmbench_hf.generate.policies import run_policy
from helmbench_hf.generate.run import Ask, child
from helmbench_hf.generate.turns import Settings
from helmbench_hf.grading.run import collect
from helmbench_hf.inference.engine import EngineSpec
from helmbench_hf.leaderboard.files import RejectedError
from helmbench_hf.leaderboard.submission import Submission, prepare
from helmbench_hf.run_folder import RunError, RunFolder
from tests.grading.runs import Ear
from tests.leaderboard import made
from tests.support.chat_server import Answer, Body, ChatServer, Fate, Status, model_says

runner = CliRunner()


def edited(run: Path, path: Path, **changes: object) -> Path:
    """A copy of the run whose manifest says something else."""
    manifest = json.loads((run / "manifest.json").read_text())
    path.mkdir()
    for name in ("completions", "judgments"):
        (path / name).symlink_to(run / name)
    for name, value in changes.items():
        manifest[name] = {**manifest[name], **value} if isinstance(value, dict) else value
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_a_run_through_the_pipeline_is_accepted(original: Path, submission: Submission, run: Path) -> None:
    write_scores(run)
    report = made.checked(original)
    assert (report.reasons, report.accepted) == ([], True)
    assert report.scores == submission.scores
    assert report.scores is not None
    scores = json.loads((run / "scores.json").read_text())
    assert report.scores == scores, "as `helmbench score` writes them"
    rows = made.rows_of(original / "verdicts.jsonl.gz")
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
        "completions.jsonl.gz", "judgments/judge-a.jsonl.gz", "manifest.json", "scores.json", "verdicts.jsonl.gz",
    ]  # fmt: skip
    manifest = (original / "manifest.json").read_text()
    for told in (str(run.parent), str(Path.home()), socket.gethostname(), '"device"', '"error"', "base_url"):
        assert told not in manifest
    assert set(made.rows_of(original / "completions.jsonl.gz")[0]) == {
        "key", "request", "status", "text", "reasoning", "finish_reason", "prompt_tokens", "cached_tokens", "output_tokens",
        "prompt_sha", "attempt", "label_logprobs",
    }  # fmt: skip


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
    with pytest.raises(RejectedError) as refused:
        prepare(run, text=said)
    assert refused.value.code == code
    assert "hf_a" not in refused.value.said


def test_a_token_in_an_answer_and_a_path_in_an_option_are_refused(run: Path, tmp_path: Path, checkpoint: Path) -> None:
    key = json.loads((run / "manifest.json").read_text())["key"]
    leaking = edited(run, tmp_path / "a", chat={"thinking": "/home/ann/x"})
    with pytest.raises(RejectedError, match="manifest"):
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
    ("selection", "word"), [({"only": "P1"}, "--only"), ({"limit": 3}, "--limit"), ({"shard": "1/2"}, "merge")]
)
def test_a_part_of_a_design_is_no_submission(run: Path, tmp_path: Path, selection: dict[str, object], word: str) -> None:
    with pytest.raises(RunError, match=word):
        prepare(edited(run, tmp_path / "part", selection=selection))


def test_a_run_on_a_private_holdout_stays_at_home(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="private holdout"):
        prepare(edited(run, tmp_path / "private", dataset={"private": True}))


def test_an_unfinished_run_and_a_policy_are_no_submission(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="planned answers"):
        prepare(edited(run, tmp_path / "other", key={"engine": "vllm 0.1"}))
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
    with pytest.raises(RunError, match="3 questions open"):
        prepare(half)


def test_refused_and_failed_answers_are_listed_with_their_reason(checkpoint: Path, tmp_path: Path) -> None:
    turns = {case.code for case in made.load("smoke").cases if len(case.turns) > 1}
    with pytest.MonkeyPatch.context() as patch:
        run = made.run(
            tmp_path / "run", checkpoint, patch, lambda request, _: "refuse" if request.name.split("/")[0] in turns else "answer"
        )
    submission = prepare(run)
    reasons = {each.request: each.reason for each in submission.manifest.missing}
    assert reasons
    assert all(reason == ("refused" if "/t1/" in name else "earlier_turn") for name, reason in reasons.items())
    folder = submission.write(tmp_path / "out")
    report = made.checked(folder)
    assert report.accepted, report.reasons
    assert any("refused" in note for note in report.notes)
    lying = made.sign(folder, lambda manifest: manifest["missing"].pop())
    assert made.codes(made.checked(lying)) == {"rows.listed"}


def test_what_a_provider_withheld_is_submitted_as_a_result(checkpoint: Path, tmp_path: Path) -> None:
    cases = made.load("smoke").cases
    first = {case.turns[0]: case for case in cases}
    talks = {case.turns[0] for case in cases if len(case.turns) > 1}

    def answer(body: Body) -> Answer:
        said, made_up = body["messages"][-1]["content"], model_says(body)
        return Answer(made_up.text, "SAFETY" if said in first and first[said].severity >= 8 else made_up.finish)

    def fate(body: Body, number: int) -> Fate:
        return Status(400, {"error": {"code": "content_filter"}}) if body["messages"][-1]["content"] in talks else None

    with ChatServer(answer, fate=fate) as server:
        spec = EngineSpec.parse("endpoint:tiny", base_url=server.url, retries=0)
        ask = Ask(run=str(tmp_path / "run"), engine=spec, settings=Settings(), design="smoke")
        child(json.loads(json.dumps(ask.as_payload())), Ear())  # type: ignore[arg-type]
    made.judge(tmp_path / "run", checkpoint)
    manifest = RunFolder(tmp_path / "run").manifest()
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({name: manifest[name] for name in manifest if name != "engine"}))
    submission = prepare(tmp_path / "run")
    folder = submission.write(tmp_path / "out")
    rows = made.rows_of(folder / "completions.jsonl.gz")
    ends = {(row["finish_reason"], bool(row["text"])) for row in rows if row["status"] == "withheld"}
    assert ends == {("", False), ("safety", True)}
    assert {each.reason for each in submission.manifest.missing} == {"earlier_turn"}
    report = made.checked(folder)
    assert report.accepted, report.reasons
    assert any("policy withheld" in note for note in report.notes)
    assert sum(row["withheld"] for row in submission.scores["quality"]) > len(talks)
    assert sum(row["engine_failures"] for row in submission.scores["quality"]) == 0


def test_two_judges_and_several_draws(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        run = made.run(tmp_path / "run", checkpoint, patch, temperature=0.7, draws=2)
        made.judge(run, checkpoint, "judge-b", "evidence")
    submission = prepare(run, panel="worst")
    report = made.checked(submission.write(tmp_path / "out"))
    assert report.accepted, report.reasons
    assert [judge.mode for judge in submission.manifest.judges] == ["fast", "evidence"]
    assert submission.scores["provenance"]["panel"] == "worst"


def test_the_commands(run: Path, tmp_path: Path) -> None:
    dry = runner.invoke(app, ["submit", str(run), "--dry-run", "--name", "Ann"])
    assert dry.exit_code == 0, dry.output
    assert "nothing was sent" in dry.output
    assert "completions.jsonl.gz" in dry.output
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
    (copy / "manifest.json").write_text(json.dumps({**manifest, "format": 2}))
    done = runner.invoke(app, ["verify", str(copy)])
    assert done.exit_code == 2
    assert "update helmbench" in done.output


def test_a_dataset_of_another_content_is_not_ours(copy: Path) -> None:
    from helmbench_hf.leaderboard.verify import verify

    loaded = made.load("smoke")
    other = replace(loaded, identity=replace(loaded.identity, content_sha256="0" * 64))
    assert made.codes(verify(copy, lambda design: other)) == {"dataset.content"}
