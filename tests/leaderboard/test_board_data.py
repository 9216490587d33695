"""Which submissions are shown, in which tables, and what the numbers beside the scores are."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import CommitOperationAdd
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.leaderboard import collect as collecting
from helmbench_hf.leaderboard.collect import Accepted, Refused, collect, fetch_results
from helmbench_hf.leaderboard.data import group_id, prepare, slim
from helmbench_hf.leaderboard.marks import Mark, Marks, combined, contamination, difference, read_marks
from helmbench_hf.leaderboard.query import Query, read_query
from helmbench_hf.leaderboard.reports import Reports
from helmbench_hf.run_folder import RunError
from helmbench_hf.scoring import ranks
from helmbench_hf.scoring.compare import compare
from helmbench_hf.scoring.result import Estimate
from tests.leaderboard import boards, made
from tests.report import sample
from tests.support.hub import Hub

ROOT = Path(__file__).parents[2]
runner = CliRunner()


@pytest.fixture
def results(original: Path, tmp_path: Path) -> Path:
    """A results folder with one submission, of the design smoke."""
    shutil.copytree(original, tmp_path / "results" / "submissions" / original.parent.name / original.name)
    return tmp_path / "results"


@pytest.fixture
def smoke_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole run of core takes minutes; the small one stands for it."""
    monkeypatch.setattr(collecting, "SHOWN_DESIGNS", ("smoke",))


def look(root: Path, cache: Path, marks: Marks | None = None) -> tuple[list[Accepted], list[Refused]]:
    return collect(root, marks or Marks(), made.load, cache)


def test_smoke_is_never_shown(results: Path, tmp_path: Path) -> None:
    shown, refused = look(results, tmp_path / "cache")
    assert shown == []
    assert [[code for code, _ in each.reasons] for each in refused] == [["board.design"]]


@pytest.mark.usefixtures("smoke_shown")
def test_a_verified_run_is_shown_and_its_result_is_kept(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [first], refused = look(results, tmp_path / "cache")
    assert refused == []
    assert first.scores == json.loads((first.folder / "scores.json").read_text())
    assert any("submitter's word" in note for note in first.notes)

    def never(*_: Any) -> Any:
        raise AssertionError("it was verified again")

    monkeypatch.setattr(collecting, "verify", never)
    [again], _ = look(results, tmp_path / "cache")
    assert again == first
    shutil.copytree(tmp_path / "cache" / "verified", results / "board" / "verified")
    assert look(results, tmp_path / "empty")[0] == [first], "results of the maintainers count, too"


@pytest.mark.usefixtures("smoke_shown")
def test_the_report_of_a_run_holds_its_own_answers_and_is_refused_after_a_change(results: Path, tmp_path: Path) -> None:
    shown, _ = look(results, tmp_path / "cache")
    data = prepare(shown, [], Marks(), lambda design: ())
    [entry] = data.groups[0].entries
    reports = Reports(tmp_path / "cache", made.load)
    page = reports.page(entry, ())
    assert f"{len(made.load('smoke').cases)} transcripts" in page
    first = made.rows_of(entry.folder / "completions.jsonl.gz")[0]["text"]
    assert json.dumps(first, ensure_ascii=False)[1:20] in page
    assert f"<title>{entry.label}" in page
    assert f'<a href="?view=model&amp;model={entry.run}">Back to the board</a>' in page
    (entry.folder / "scores.json").write_text("{}")
    assert reports.page(entry, ()) == page, "what was verified is kept"
    with pytest.raises(RunError, match="changed after it was verified"):
        Reports(tmp_path / "other", made.load).page(entry, ())


@pytest.mark.usefixtures("smoke_shown")
def test_a_stored_result_counts_for_its_bytes_version_and_cases_alone(results: Path, tmp_path: Path) -> None:
    [first], _ = look(results, tmp_path / "cache")
    scores = json.loads((first.folder / "scores.json").read_text())
    scores["headline"]["printed"] = 99.0
    (first.folder / "scores.json").write_text(json.dumps(scores))
    shown, [refused] = look(results, tmp_path / "cache")
    assert shown == []
    assert [code for code, _ in refused.reasons] == ["files.hash"]


@pytest.mark.usefixtures("smoke_shown")
@pytest.mark.parametrize("changes", [{"helmbench": "0.0.9"}, {"content_sha256": "00" * 32}, {"content_sha256": ""}])
def test_a_stored_result_of_another_version_is_made_again(
    results: Path, tmp_path: Path, changes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    look(results, tmp_path / "cache")
    [path] = (tmp_path / "cache" / "verified").iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    asked: list[Path] = []
    real = collecting.verify
    monkeypatch.setattr(collecting, "verify", lambda root, load: (asked.append(root), real(root, load))[1])
    assert len(look(results, tmp_path / "cache")[0]) == 1
    assert len(asked) == 1


@pytest.mark.usefixtures("smoke_shown")
def test_withdrawn_linked_and_foreign_folders_are_not_shown(results: Path, tmp_path: Path) -> None:
    [folder] = (results / "submissions").glob("*/*")
    mark = Marks(runs={folder.name: Mark(withdrawn="The prompt was wrong.")})
    shown, [refused] = look(results, tmp_path / "cache", mark)
    assert (shown, refused.reasons) == ([], (("board.withdrawn", "The prompt was wrong."),))
    (results / "submissions" / "linked").symlink_to(folder.parent)
    (folder.parent / "0123456789abcdef").mkdir()
    shown, others = look(results, tmp_path / "cache")
    assert [each.folder for each in shown] == [folder]
    assert [each.reasons[0][0] for each in others] == ["files.missing"]


def test_a_repository_is_read_as_of_one_commit(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    with Hub() as hub:
        hub.repo("helmbench/results")
        api = hub.api("helmbench")
        adds = [CommitOperationAdd(str(path.relative_to(results)), path) for path in results.rglob("*") if path.is_file()]
        api.create_commit("helmbench/results", adds, commit_message="a run", repo_type="dataset")
        root, address = fetch_results("helmbench/results", None, tmp_path / "cache", api)
        assert address.endswith(f"/datasets/helmbench/results/tree/{root.name}")
        [(_, refused)] = [look(root, tmp_path / "cache")]
        assert refused[0].reasons[0][0] == "board.design", "plain files: a link would be files.link"
        assert hub.hosts == {"127.0.0.1"}
    assert fetch_results(str(results), None, tmp_path) == (results, "")
    with pytest.raises(RunError, match="no folder, and no OWNER/NAME"):
        fetch_results("../nowhere", None, tmp_path)


def test_the_command_prepares_and_says_what_is_not_shown(results: Path, tmp_path: Path) -> None:
    found = runner.invoke(app, ["leaderboard", "--results", str(results), "--cache", str(tmp_path / "cache"), "--prepare"])
    assert found.exit_code == 0, found.output
    assert "0 runs in 0 tables; 1 submissions are not shown" in found.output
    found = runner.invoke(app, ["leaderboard", "--results", str(tmp_path / "none")])
    assert found.exit_code == 1
    assert "no folder" in found.output


def test_the_space_serves_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    space = run_path(str(ROOT / "space" / "app.py"), run_name="space")
    said: list[Any] = []
    names = space["main"].__globals__

    def opened(results: str, revision: str | None, *, test: bool) -> tuple[str, Reports]:
        said.append((results, revision, test))
        return "data", Reports(ROOT, made.load)

    monkeypatch.setitem(names, "open_board", opened)
    monkeypatch.setitem(names, "serve", lambda data, page, index, host: said.append((data, host)))
    space["main"]()
    assert said == [("helmbench/results", None, False), ("data", None)]


def test_a_folder_without_submissions_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no folder `submissions`"):
        look(tmp_path, tmp_path / "cache")


def test_ranks_are_those_of_the_study_and_nothing_orders_a_tier() -> None:
    runs = [boards.accepted(number, name) for number, name in enumerate(boards.NAMES, 1)]
    [group] = boards.board(runs).groups
    expected = ranks.board([run.scores for run in runs], list(boards.NAMES))
    assert {entry.label: (entry.place.rank, entry.place.last) for entry in group.entries if entry.place} == {
        each.run: (each.rank, each.last) for each in expected.standings
    }
    assert group.rule == expected.rule
    for one, two in zip(group.entries, group.entries[1:], strict=False):
        assert one.place is not None
        assert two.place is not None
        assert (one.place.rank, one.label) < (two.place.rank, two.label)


def test_ranks_that_were_kept_are_taken_for_the_same_bytes_alone(tmp_path: Path) -> None:
    runs = [boards.accepted(number, name) for number, name in enumerate(boards.NAMES[:2], 1)]

    def rule(chosen: list[Accepted]) -> str:
        data = prepare(chosen, [], Marks(), lambda design: (), stores=(tmp_path,))
        return data.groups[0].rule

    first = rule(runs)
    [path] = (tmp_path / "ranks").iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rule": "kept"}))
    assert rule(runs) == rule(runs[::-1]) == "kept"
    assert rule([runs[0], replace(runs[1], digest="f" * 64)]) == first


@pytest.mark.parametrize(
    "origin", [{"design": "full"}, {"draws": 1}, {"panel": "worst"}, {"cases_sha256": "00" * 32}, {"judges": []}]
)
def test_what_cannot_be_compared_stands_in_another_table(origin: dict[str, Any]) -> None:
    data = boards.board([boards.accepted(1, "a/a"), boards.accepted(2, "b/b"), boards.accepted(3, "c/c", **origin)])
    assert [[entry.label for entry in group.entries] for group in data.groups] == [["a/a", "b/b"], ["c/c"]]
    assert data.groups[1].entries[0].place is None, "one run alone has no rank"
    assert group_id(boards.scores(1)) != group_id(boards.scores(1, **origin))


def test_two_runs_of_one_model_are_told_apart() -> None:
    data = boards.board([boards.accepted(1, "a/a"), boards.accepted(2, "a/a")])
    assert sorted(entry.label for entry in data.groups[0].entries) == [f"a/a ({boards.run_id(n)})" for n in (1, 2)]
    found = data.entry("a/a")
    assert found is not None
    assert found.run == boards.run_id(2), "the name alone gives the later run"


def test_small_tables_compare_like_whole_ones() -> None:
    one, two = boards.scores(1), boards.scores(2)
    assert compare(slim(one), slim(two)) == compare(one, two)
    assert len(json.dumps(slim(one))) < len(json.dumps(one))


def welch(a: list[float], b: list[float]) -> tuple[float, float, float]:
    from scipy.stats import ttest_ind

    found = ttest_ind(a, b, equal_var=False)
    interval = found.confidence_interval(0.95)
    return float(np.mean(a) - np.mean(b)), float(interval.low), float(interval.high)


def mean_of(values: list[float]) -> Estimate:
    n = len(values)
    return Estimate(float(np.mean(values)), None, None, n, n, float(np.std(values, ddof=1) / np.sqrt(n)), float(n - 1))


samples = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=3, max_size=40).filter(lambda xs: len(set(xs)) > 2)


@given(samples, samples)
def test_public_minus_holdout_is_welchs(a: list[float], b: list[float]) -> None:
    found = difference(mean_of(a), mean_of(b))
    assert (found.value, found.low, found.high) == pytest.approx(welch(a, b), abs=1e-9)


def test_a_sign_of_contamination_needs_older_models_and_a_clear_interval() -> None:
    def estimate(value: float, se: float | None = 0.02) -> Estimate:
        return Estimate(value, None, None, 300, 200, se, 199.0)

    assert not contamination(estimate(0.3), []).sign
    found = contamination(estimate(0.3), [estimate(0.04), estimate(0.06)])
    assert found.net is not None
    assert found.net.value == pytest.approx(0.25)
    assert found.net.se == pytest.approx((0.02**2 + 0.02**2 / 2) ** 0.5)
    assert found.sign
    assert not contamination(estimate(0.1), [estimate(0.08)]).sign
    assert not contamination(estimate(-0.3), [estimate(0.0)]).sign, "worse in public is none"
    assert combined([(1.0, estimate(0.3, None))]).low is None


def test_holdouts_are_set_against_the_same_holdout_and_design() -> None:
    def mark(value: float, **changes: Any) -> dict[str, Any]:
        holdout = {"design": "core", "content_sha256": "cd" * 32, "date": "2026-11-20", "value": value, "low": None, "high": None}
        return {
            "holdout": {**holdout, "se": 0.05, "df": 60.0, "n_pairs": 70, "n_meanings": 60, **changes.pop("holdout", {})},
            **changes,
        }

    marks = Marks.model_validate({
        "runs": {
            boards.run_id(1): mark(-0.5),
            boards.run_id(2): mark(-0.1, reference=True),
            boards.run_id(3): mark(-0.1, reference=True, holdout={"content_sha256": "ef" * 32}),
            boards.run_id(4): mark(0.0, holdout={"design": "full"}),
        }
    })  # fmt: skip
    entries = {entry.run: entry for group in boards.five(marks).groups for entry in group.entries}
    public = sample.sample_scores()["headline"]["overall"]["score"]["value"]
    first, second = entries[boards.run_id(1)].contamination, entries[boards.run_id(2)].contamination
    assert first is not None
    assert second is not None
    assert first.raw.value == pytest.approx(public + 0.5)
    assert first.references == 1
    assert first.net is not None
    assert first.net.value == pytest.approx(0.4)
    assert second.net is None, "a reference is not held against others"
    assert entries[boards.run_id(4)].contamination is None
    assert entries[boards.run_id(5)].contamination is None


def test_marks_are_read_strictly(tmp_path: Path) -> None:
    assert read_marks(tmp_path) == Marks()
    path = tmp_path / "board" / "marks.json"
    path.parent.mkdir()
    path.write_text('{"format": 1, "runs": {"0123456789abcdef": {"level": "re-run", "checked": "2026-11-20"}}}')
    assert read_marks(tmp_path).runs["0123456789abcdef"].level == "re-run"
    for text in ('{"runs": {"0123456789abcdef": {"level": "certified"}}}', '{"runs": {"x": {}}}', "{", '{"more": 1}'):
        path.write_text(text)
        with pytest.raises(RunError, match=r"marks\.json"):
            read_marks(tmp_path)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.builds(
        Query,
        view=st.sampled_from(["board", "parts", "compare", "model", "report"]),
        group=words,
        sort=words,
        turned=st.booleans(),
        by=st.sampled_from(["behavior", "crisis"]),
        models=st.lists(words.filter(bool), max_size=4, unique=True).map(tuple),
        second=words,
        scenario=words,
        outcome=words,
        case=words,
        draw=st.integers(1, 999_999),
        page=st.integers(1, 999_999),
        read=st.booleans(),
    )
)
def test_an_address_says_what_it_said(query: Query) -> None:
    assert read_query(query.address()[1:]) == query


@given(st.text(max_size=3000))
def test_any_address_is_read(text: str) -> None:
    query = read_query(text)
    assert len(query.models) <= 4
    assert len(query.group) <= 200
    assert min(query.page, query.draw) >= 1
