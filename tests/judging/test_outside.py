"""Human ratings that others released: read as they are, asked about with their own question, never taken for ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import rubric
from helmbench_hf.judging.check import check_judge, checked
from helmbench_hf.judging.judge import JudgeError
from helmbench_hf.judging.outside import labels, layout
from helmbench_hf.judging.rubric import material
from helmbench_hf.runs.folder import RunFolder
from tests.judging.runs import Ear, fake_judge
from tests.support.calibration import letters, right
from tests.support.fake_engine import FakeEngine

COLUMNS = "rater=who,reply=answer,criterion=item,verdict=mark,question=asked,context=message,PASS=yes|1,FAIL=no"


def table(path: Path, *rows: tuple[str, ...]) -> Path:
    path.write_text(
        "who,answer,item,mark,asked,message\n" + "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
    )
    return path


def row(**changes: Any) -> dict[str, Any]:
    """A made-up row in the layout of HealthBench's meta-evaluation."""
    prompt = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "I cannot sleep."},
        {"role": "assistant", "content": "Since when?"},
        {"role": "user", "content": "Since May."},
    ]
    return {
        "prompt": prompt,
        "completion": "GOOD advice",
        "rubric": "Asks how the person is.",
        "category": "cluster:asks",
        "binary_labels": [True, True],
        "anonymized_physician_ids": ["p1", "p2"],
        **changes,
    }


def released(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def test_columns_are_read_as_they_are_named(tmp_path: Path, tiny: Benchmark) -> None:
    file = table(
        tmp_path / "r.csv",
        ("ann", "GOOD\nin two lines", "warmth", "YES", "Is it warm?", "hello"),
        ("bob", "GOOD\nin two lines", "warmth", "1", "Is it warm?", "hello"),
        ("ann", "BAD", "warmth", "no", "Is it warm?", "hello"),
        ("bob", "BAD", "warmth", "yes", "Is it warm?", "hello"),
        ("ann", "BAD", "honesty", "no", "Is it honest?", "hello"),
    )
    found, benchmark = labels(tiny, file, layout("columns", COLUMNS))
    [probe] = found.probes
    assert (probe.right, found.left_out) == ("PASS", {"raters disagree": 1, "rated once": 1})
    assert probe.exchange.answer.reply == "GOOD\nin two lines"
    assert {criterion.title for criterion in benchmark.criteria.values()} == {"warmth", "honesty"}
    criterion = benchmark.criteria[probe.label.criterion]
    assert rubric.verdicts(criterion) == ("PASS", "FAIL")
    assert "Criterion: warmth\nIs it warm?\n" in rubric.question(criterion, None)
    assert "\nhello\n[/PERSON" in material(probe.exchange)
    assert found.raters is not None
    assert (found.raters.names, sum(map(len, found.raters.both.values()))) == (("ann", "bob"), 2)


def test_a_criterion_under_our_code_is_asked_with_our_words(tmp_path: Path, tiny: Benchmark) -> None:
    rows = [(who, "GOOD", "K01", "yes", "Other words?", "hello") for who in ("ann", "bob")]
    found, benchmark = labels(tiny, table(tmp_path / "r.csv", *rows), layout("columns", COLUMNS))
    assert [probe.pair[1] for probe in found.probes] == ["K01"]
    assert benchmark.criteria == {"K01": tiny.criteria["K01"]}


def test_physicians_labels_are_read_with_their_conversation(tmp_path: Path, tiny: Benchmark) -> None:
    file = released(
        tmp_path / "meta.jsonl",
        row(),
        row(completion="BAD advice", binary_labels=[False, False]),
        row(completion="BAD too", binary_labels=[True, False]),
        row(completion="alone", binary_labels=[True], anonymized_physician_ids=["p1"]),
    )
    found, benchmark = labels(tiny, file, layout("healthbench", ""))
    assert [probe.right for probe in found.probes] == ["PASS", "FAIL"]
    assert found.left_out == {"raters disagree": 1, "rated once": 1}
    [criterion] = benchmark.criteria.values()
    assert (criterion.title, criterion.question) == ("cluster:asks", "Asks how the person is.")
    text = material(found.probes[0].exchange)
    order = [text.index(each) for each in ("You help.", "I cannot sleep.", "Since when?", "Since May.", "GOOD advice")]
    assert order == sorted(order)


def test_a_judge_is_asked_and_stands_beside_the_raters(tmp_path: Path, tiny: Benchmark) -> None:
    rows = [row(completion=f"{word} {n}", binary_labels=[word == "GOOD"] * 2) for n in range(3) for word in ("GOOD", "BAD")]
    found, benchmark = labels(tiny, released(tmp_path / "meta.jsonl", *rows), layout("healthbench", ""))
    folder = RunFolder(tmp_path / "check")
    engine = FakeEngine(labels=letters(right))
    check_judge(folder, fake_judge(engine), found, benchmark, Ear())
    judge, each, cost = checked(folder, found, benchmark)
    assert [(one.right, one.said) for one in each] == [("PASS", "PASS"), ("FAIL", "FAIL")] * 3
    assert cost["calls"] == len(engine.submitted) == 12
    assert judge["rubric"] != rubric.identity(tiny)  # so that no report can cite it for our criteria


@pytest.mark.parametrize(
    ("release", "columns", "said"),
    [
        ("mindeval", "", "There is no format mindeval; choose one of healthbench, columns"),
        ("columns", "", "lacks rater, reply, criterion, verdict, PASS, FAIL"),
        ("columns", "rater=a,answer=b", "'answer=b' is not NAME=COLUMN"),
        ("columns", "rater", "'rater' is not NAME=COLUMN"),
        ("healthbench", "rater=a", "The columns of healthbench are known"),
    ],
)
def test_a_layout_that_cannot_be_is_a_sentence(release: str, columns: str, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        layout(release, columns)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("ann", "r", "warmth", "maybe", "q", "c")], "row 1: 'maybe' is no word for a verdict"),
        ([("", "r", "warmth", "yes", "q", "c")], "row 1 names no rater"),
        ([("ann", "r", "warmth", "yes", "q", "c"), ("ann", "r", "warmth", "no", "q", "c")], "gives one reply two verdicts"),
        ([], "holds no rating"),
    ],
)
def test_rows_that_cannot_be_read_are_sentences(tmp_path: Path, tiny: Benchmark, rows: list[Any], said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        labels(tiny, table(tmp_path / "r.csv", *rows), layout("columns", COLUMNS))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt": [{"role": "assistant", "content": "Hi."}]}, "does not begin and end with the person"),
        ({"prompt": []}, "does not begin and end with the person"),
    ],
)
def test_a_conversation_without_the_person_is_a_sentence(tmp_path: Path, tiny: Benchmark, changes: Any, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        labels(tiny, released(tmp_path / "meta.jsonl", row(**changes)), layout("healthbench", ""))


def test_another_file_is_not_taken_for_the_release(tmp_path: Path, tiny: Benchmark) -> None:
    path = tmp_path / "meta.jsonl"
    for text, said in (
        ('{"prompt": []}\n', "lacks completion, rubric"),
        ("[1]\n", "lacks every column"),
        ("{", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(JudgeError, match=said):
            labels(tiny, path, layout("healthbench", ""))
