"""Each kind of forgery is rejected with a reason of its own, by a forger who makes every hash right again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.board import files
from helmbench_hf.hashing import text_sha
from tests.board.made import checked, codes, edit_json, edit_rows, put, rows_of, sign, write_rows

ANSWERS, VERDICTS, JUDGE = files.COMPLETIONS, files.VERDICTS, f"judgments/judge-a/{files.SEGMENT}"
Rows = list[dict[str, Any]]
Edit = Callable[[Rows], object]
FAKE = text_sha("another")


def forged(copy: Path, name: str, edit: Edit) -> set[str]:
    return codes(checked(edit_rows(copy, name, edit)))


def at(rows: Rows, **wanted: object) -> dict[str, Any]:
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def judged(rows: Rows) -> dict[str, Any]:
    """A free reply that a judge has read: no later turn rests on it."""
    several = {row["request"].split("/")[0] for row in rows if "/t2/" in row["request"]}
    free = [row for row in rows if row["text"].startswith("I am worried about you (1)")]
    return next(row for row in free if row["request"].split("/")[0] not in several)


def first_of_several(rows: Rows) -> dict[str, Any]:
    later = next(row["request"] for row in rows if "/t2/" in row["request"])
    return at(rows, request=later.replace("/t2/", "/t1/"))


def first(**changes: Any) -> Edit:
    return lambda rows: rows[0].update(changes)


@pytest.mark.parametrize(
    ("name", "edit", "expected"),
    [
        (ANSWERS, lambda rows: rows.pop(), "rows.missing"),
        (ANSWERS, lambda rows: rows.extend(rows * 9), "rows.many"),
        (ANSWERS, lambda rows: rows.append(rows[0]), "rows.twice"),
        (ANSWERS, lambda rows: rows.__setitem__(1, rows[0]), "rows.twice"),
        (ANSWERS, first(key=FAKE), "rows.key"),
        (ANSWERS, lambda rows: rows[0].update(request=rows[1]["request"]), "rows.name"),
        (ANSWERS, lambda rows: judged(rows).update(text="I would never say that."), "verdict.other-reply"),
        (ANSWERS, lambda rows: first_of_several(rows).update(text="Another answer."), "rows.key"),
        (ANSWERS, lambda rows: rows[0].update(prompt_sha=rows[1]["prompt_sha"]), "rows.prompt"),
        (ANSWERS, first(prompt_sha=""), "rows.prompt"),
        (ANSWERS, first(output_tokens=10**7), "rows.budget"),
        (ANSWERS, first(text="a" * 2_000_000), "rows.budget"),
        (ANSWERS, first(status="refused", text="", finish_reason=""), "verdict.edited"),
        (ANSWERS, first(status="truncated", finish_reason=""), "rows.status"),
        (ANSWERS, first(status="refused", finish_reason=""), "rows.status"),
        (ANSWERS, first(status="withheld", finish_reason="stop"), "rows.status"),
        (ANSWERS, first(status="withheld", finish_reason="", text="", prompt_sha=""), "rows.prompt"),
        (ANSWERS, first(prompt_tokens=True), "rows.shape"),
        (ANSWERS, first(prompt_tokens=-1), "rows.shape"),
        (ANSWERS, first(extra=1), "rows.shape"),
        (ANSWERS, lambda rows: rows[0].pop("attempt"), "rows.shape"),
        (ANSWERS, first(label_logprobs=[0.0]), "rows.shape"),
        (ANSWERS, first(key="A" * 64), "rows.shape"),
        (ANSWERS, lambda rows: rows.__setitem__(0, "row"), "rows.shape"),
        (ANSWERS, first(error="at /srv/x"), "rows.shape"),
        (ANSWERS, first(text="hf_" + "c" * 34), "secret.token"),
        (JUDGE, lambda rows: rows.pop(), "verdict.unanswered"),
        (JUDGE, lambda rows: rows.append(rows[0]), "verdict.twice"),
        (JUDGE, first(key=FAKE), "verdict.other-reply"),
        (JUDGE, lambda rows: rows[0].update(request=rows[1]["request"]), "verdict.name"),
        (JUDGE, first(label_logprobs=None), "rows.status"),
        (JUDGE, first(label_logprobs=None, finish_reason="stop"), "verdict.mode"),
        (JUDGE, first(label_logprobs=[-0.1, "x"]), "rows.shape"),
        (JUDGE, first(label_logprobs=[0.5, 0.5]), "rows.shape"),
        (JUDGE, lambda rows: rows[0].update(label_logprobs=rows[0]["label_logprobs"][::-1]), "verdict.edited"),
        (JUDGE, first(status="engine_error", text="", finish_reason="", label_logprobs=None), "verdict.edited"),
        (JUDGE, first(text="a" * 100_000), "rows.budget"),
        (VERDICTS, lambda rows: rows.pop(), "verdict.edited"),
        (VERDICTS, lambda rows: rows.__setitem__(1, rows[0]), "verdict.edited"),
        (VERDICTS, lambda rows: rows.append({**rows[0], "criterion": "K99"}), "verdict.edited"),
        (VERDICTS, lambda rows: at(rows, value=0.0).update(value=1.0), "verdict.edited"),
        (VERDICTS, lambda rows: at(rows, value=1.0).update(value=True), "verdict.edited"),
        (VERDICTS, lambda rows: at(rows, grader="judge-a")["detail"].update(mass=0.5), "verdict.edited"),
        (VERDICTS, first(status="judge_failure"), "verdict.edited"),
        (VERDICTS, first(completion=FAKE), "verdict.edited"),
        (VERDICTS, first(turn="1"), "verdict.edited"),
        (VERDICTS, first(note="x"), "verdict.edited"),
        (VERDICTS, lambda rows: rows[0].pop("value"), "verdict.edited"),
    ],
)
def test_rows(copy: Path, name: str, edit: Edit, expected: str) -> None:
    assert expected in forged(copy, name, edit)


def test_a_verdict_that_follows_its_forged_answer_still_needs_its_scores(copy: Path) -> None:
    """The judge's answer and its verdict agree, and the scores are the old ones."""
    rows, verdicts = rows_of(copy / JUDGE), rows_of(copy / VERDICTS)
    for row in rows:
        row["label_logprobs"] = sorted(row["label_logprobs"], reverse=True)
    write_rows(copy / JUDGE, rows)
    for verdict in verdicts:
        if verdict["grader"] == "judge-a":
            best = max(verdict["detail"]["p"].values())
            order = verdict["detail"]["orders"][0]
            verdict |= {"value": 1.0}
            verdict["detail"]["p"] = {word: best if word == order[0] else min(verdict["detail"]["p"].values()) for word in order}
    write_rows(copy / VERDICTS, verdicts)
    assert codes(checked(sign(copy))) == {"scores.edited"}


@pytest.mark.parametrize(
    "edit",
    [
        lambda scores: scores["headline"].update(printed=99.0),
        lambda scores: scores["headline"]["overall"]["score"].update(value=0.9),
        lambda scores: scores["headline"]["overall"]["score"].update(n_pairs=10**6),
        lambda scores: scores["floors"].pop(),
        lambda scores: scores["floors"][0].update(status="cleared"),
        lambda scores: scores["notes"].clear(),
        lambda scores: scores["pairs"].reverse(),
        lambda scores: scores.update(extra=1),
        lambda scores: scores.pop("gap"),
        lambda scores: scores.update(format=True),
        lambda scores: scores.update(format=float(scores["format"])),
        lambda scores: scores["provenance"].update(draws=1.0000000009),
    ],
)
def test_scores(copy: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    assert codes(checked(edit_json(copy, "scores.json", edit))) == {"scores.edited"}


def test_float_noise_is_no_forgery(copy: Path) -> None:
    def nudge(scores: dict[str, Any]) -> None:
        next(pair for pair in scores["pairs"] if pair["weight"])["weight"] *= 1 + 1e-13

    assert checked(edit_json(copy, "scores.json", nudge)).accepted


JUDGED = "judgments/judge-a/judge.json"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("dataset.version", "9.9.9"), "dataset.version"),
        (put("dataset.content_sha256", FAKE), "dataset.content"),
        (put("dataset.design", "core"), "dataset.content"),
        (put("dataset.design", "everything"), "manifest.field"),
        (put("dataset.source", "/srv/data"), "manifest.field"),
        (put("helmbench", "9.9"), "harness.version"),
        (put("submission.format", 0), "manifest.format"),
        (put("format", "1"), "manifest.format"),
        (put("model.files_sha", FAKE), "model.identity"),
        (put("model.template_sha", FAKE), "model.identity"),
        (put("model.dtype", "bfloat16"), "model.identity"),
        (put("model.served", "not verified"), "model.identity"),
        (put("model.id", "Qwen/Qwen3-8B"), "model.name"),
        (put("key.template_kwargs", {"enable_thinking": False}), "rows.key"),
        (put("key.model.extra", {"quantization": "fp8"}), "rows.key"),
        (put("settings.temperature", 0.5), "rows.key"),
        (put("settings.thinking_tokens", 64), "rows.key"),
        (put("settings.draws", 2), "settings.field"),
        (put("settings.draws", "1"), "settings.field"),
        (put("submission.panel", "worst"), "scores.edited"),
        (put("host", "server-1"), "manifest.field"),
        (put("model.path", "x"), "manifest.field"),
        (put("submission.submitter.text", "a\u202eb"), "submitter.text"),
        (put("submission.submitter.name", "\ud800"), "submitter.text"),
        (put("key.template_kwargs", {"cache": "/srv/cache/x"}), "secret.path"),
        (put("key.model.extra", {"download": "hf_" + "d" * 34}), "secret.token"),
        (put("submission.files", {}), "files.unknown"),
    ],
)
def test_versions_and_identities(copy: Path, change: Callable[[dict[str, Any]], object], expected: str) -> None:
    found = codes(checked(sign(copy, change)))
    assert expected in found, found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("rubric.sha256", FAKE), "judge.rubric"),
        (put("model.files_sha", FAKE), "judge.identity"),
        (put("mode", "evidence"), "verdict.other-reply"),
        (put("orders", 2), "verdict.unanswered"),
        (put("key.engine", "vllm 0.1"), "verdict.other-reply"),
        (put("family", "qwen"), "scores.edited"),
        (put("id", "judge-b"), "judge.field"),
        (put("id", "../../etc"), "judge.field"),
        (put("url", "http://10.0.0.1"), "judge.field"),
    ],
)
def test_what_describes_a_judge(copy: Path, change: Callable[[dict[str, Any]], object], expected: str) -> None:
    assert expected in codes(checked(edit_json(copy, JUDGED, change)))


def second_judge(copy: Path, name: str, **changes: Any) -> Path:
    """The judge once more under another name, with the same answers."""
    first = copy / "judgments" / "judge-a"
    described = {**json.loads((first / files.JUDGE).read_text()), "id": name, "number": 1, **changes}
    other = Path(shutil.copytree(first, copy / "judgments" / name))
    (other / files.JUDGE).write_text(json.dumps(described))
    listed = {f"judgments/{name}/{file}": {} for file in (files.JUDGE, files.SEGMENT)}
    return sign(copy, lambda manifest: manifest["submission"]["files"].update(listed))


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("JUDGE-A", {"family": "other"}, "judge.field"),
        ("judge_a", {"family": "other"}, "judge.field"),
        ("second", {"family": "other"}, "judge.family"),
        ("second", {"family": "TINY"}, "judge.family"),
        ("second", {"number": 0}, "judge.field"),
        ("code", {}, "judge.field"),
    ],
)
def test_one_set_of_weights_is_one_judge(copy: Path, name: str, changes: dict[str, Any], expected: str) -> None:
    """The attack: one model under two names and two families confirms its own verdicts on dangerous replies."""
    assert expected in codes(checked(second_judge(copy, name, **changes)))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("started", "yesterday"), "manifest.time"),
        (put("started", "2099-01-01T00:00:00Z"), "manifest.time"),
        (put("started", "2026-02-30T00:00:00Z"), "manifest.time"),
        (put("started", "1999-01-01T00:00:00Z"), "manifest.time"),
        (put("started", "\u0662\u0660\u0662\u0665-01-01T00:00:00Z"), "manifest.time"),
        (put("submission.exported", "2024-01-01T00:00:00Z"), "manifest.time"),
        (put("helmbench", "\u0660.1.0"), "manifest.field"),
        (put("engine", None), "manifest.field"),
        (put("engine.name", "transformers"), "model.identity"),
        (put("engine.version", "9.9"), "model.identity"),
        (put("engine.max_model_len", 2**53), "manifest.field"),
        (put("settings.top_p", -3.0), "settings.field"),
        (put("settings.temperature", 1e308), "settings.field"),
        (put("settings.repetition_penalty", 0.0), "settings.field"),
        (put("settings.draws", 10**9), "settings.field"),
        (put("settings.seed", 1.5), "settings.field"),
        (put("submission.submitter.name", "\u3164"), "submitter.text"),
        (put("submission.submitter.name", "A\u200bnn"), "submitter.text"),
        (put("submission.submitter.name", "..."), "submitter.text"),
        (put("submission.submitter.name", "Ann\nExample"), "submitter.text"),
    ],
)
def test_what_cannot_be_true_of_a_run(copy: Path, change: Callable[[dict[str, Any]], object], expected: str) -> None:
    assert codes(checked(sign(copy, change))) == {expected}


@pytest.mark.parametrize(
    "name",
    [
        "Qwen/Qwеn3-8B",  # a Cyrillic e
        "ｑwen3",  # full width
        "qwen\u202e3",
        "Qwen3 8B",
        "../qwen",
        "a/b/c",
        "qwen\x1b[31m",
        "qwen\n",
        "",
        "a" * 300,
        "-rf",
    ],
)
def test_names_of_models_are_plain_ascii(copy: Path, name: str) -> None:
    report = checked(sign(copy, put("model.id", name)))
    assert codes(report) == {"model.name"}
    assert all(reason.said.isascii() and reason.said.isprintable() for reason in report.reasons)


def test_an_edit_without_new_hashes(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "started": "2026-01-01T00:00:00Z"}))
    assert codes(checked(copy)) == {"manifest.run-id"}


def test_the_wrong_place(copy: Path) -> None:
    other = copy.parent.with_name("gpt-9")
    copy.parent.rename(other)
    assert codes(checked(other / copy.name)) == {"files.place"}
