"""What a board shows: verified runs alone, no copy under another name, nobody who gains by what is missing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helmbench_hf.board import site
from helmbench_hf.board.copies import share_alike, sketch
from helmbench_hf.board.manifest import folded
from helmbench_hf.board.marks import Marks, above_holdout, read_marks
from helmbench_hf.board.results import Results, collect
from helmbench_hf.board.submission import prepare
from helmbench_hf.cli.app import app
from helmbench_hf.runs.folder import RunError
from helmbench_hf.scoring.scores import Estimate
from tests.board import made
from tests.support.checkpoints import tiny_checkpoint

runner = CliRunner()


def look(root: Path, marks: Marks | None = None, *, test: bool = True) -> Results:
    pages = list[str]()
    found = collect(
        root, marks or Marks(), made.load, lambda report: pages.append(report.summary()), lambda line: None, test=test
    )
    assert len(pages) == len(found.entries), "pages of the runs that are shown, and of no other"
    return found


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The attack: the same answers by other weights under another name, with keys, judge and hashes all in order."""
    root = tmp_path_factory.mktemp("copied")
    other = tiny_checkpoint(root / "mighty", window=8192)
    with pytest.MonkeyPatch.context() as patch:
        said = made.says

        def nearly(request: Any) -> str:
            return said(request).replace("worried about you", "worried for you")

        patch.setattr(made, "says", nearly)
        return prepare(made.run(root / "run", other, patch)).write(root / "out")


@pytest.fixture
def two(copy: Path, copied: Path) -> Path:
    """A results folder with a run and its copy."""
    root = copy.parents[2]
    shutil.copytree(copied, root / "submissions" / copied.parent.name / copied.name)
    return root


def test_only_verified_runs_of_a_shown_design(copy: Path) -> None:
    found = look(copy.parents[2], test=False)
    assert ([each.code for _, why in found.refused for each in why], found.entries) == (["board.design"], [])
    forged = copy.parents[1] / "forged" / ("0" * 16)
    shutil.copytree(copy, forged)
    (copy.parents[1] / "link").symlink_to(copy.parent)
    found = look(copy.parents[2])
    assert [each.run.manifest.run_id for each in found.entries] == [copy.name]
    assert [(place, why[0].code) for place, why in found.refused] == [(f"submissions/forged/{'0' * 16}", "files.place")]


def test_a_copy_under_another_name_is_named_and_held(two: Path, copy: Path, copied: Path) -> None:
    found = look(two)
    assert [each.run.manifest.model.id for each in found.entries] == ["tiny"]
    [(place, [reason])] = found.refused
    assert (place.split("/")[1], reason.code) == ("mighty", "copy.replies")
    assert f"tiny, run {copy.name}" in reason.said
    marks = Marks.model_validate({"runs": {copied.name: {"beside": [copy.name]}}})
    assert {each.run.manifest.model.id for each in look(two, marks).entries} == {"tiny", "mighty"}
    done = runner.invoke(app, ["verify", str(two / "submissions" / "mighty" / copied.name), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["held"]


def test_another_model_is_no_copy() -> None:
    words = [f"reply {n} " + " ".join(f"word{(n * k) % 97}" for k in range(1, 30)) for n in range(20)]
    one = sketch({f"r{n}": made.completion(text) for n, text in enumerate(words)})
    same = sketch({f"r{n}": made.completion(f"{text.upper()}!! Really.") for n, text in enumerate(words)})
    other = sketch({f"r{n}": made.completion(words[(n + 7) % 20]) for n in range(20)})
    assert share_alike(one, same) == 1
    assert share_alike(one, other) == 0
    assert share_alike(dict(list(one.items())[:5]), same) == 0, "five replies say nothing"


@pytest.mark.parametrize(
    ("one", "other"),
    [("tiny", "Tiny"), ("tiny_", "tiny-"), ("tiny.1", "tiny-l"), ("modern", "rnodern"), ("Qwen/Qwen3-8B", "qwen/qwen3_8b")],
)
def test_names_that_look_alike_are_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)
    assert folded("Qwen/Qwen3-8B") != folded("Qwen/Qwen3-0.6B")


def test_a_name_that_looks_like_another_is_held(copy: Path) -> None:
    other = copy.parents[1] / "x" / "y"
    shutil.copytree(copy, other)
    forged = made.sign(other, lambda manifest: manifest["model"].update(id="TINY"))
    assert forged.parent == copy.parent, "one folder for both"
    found = look(copy.parents[2])
    assert [why[0].code for _, why in found.refused] == ["model.confusable"]
    assert len(found.entries) == 1


@pytest.mark.parametrize("status", ["fail", "refuse"])
def test_a_run_that_leaves_too_much_out_is_not_accepted(status: Any, checkpoint: Path, tmp_path: Path) -> None:
    """The attack: every failing case becomes an engine failure, so that only what went well is counted."""

    def fate(request: Any, _: int) -> Any:
        return "answer" if sum(map(ord, request.name.split("/")[0])) % 3 else status

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("helmbench_hf.board.submission.too_little", lambda scores, minimum: "")
        patch.setattr("helmbench_hf.board.submission._check_accepted", lambda made, loaded: None)
        run = made.run(tmp_path / "run", checkpoint, patch, fate)
        folder = prepare(run).write(tmp_path / "out")
    assert made.codes(made.checked(folder)) == {"scores.coverage"}
    with pytest.raises(RunError, match="cannot be submitted: only"):
        prepare(run)


def test_a_missing_pair_is_the_lowest_in_the_ranks(original: Path) -> None:
    scores = made.checked(original).scores
    assert scores is not None
    pairs = tuple(replace(pair, value=None) if pair.headline else pair for pair in scores.pairs)
    filled = site._filled(replace(scores, pairs=pairs))
    assert {pair.value for pair in filled.pairs if pair.headline} == {-1.0}


def test_marks_withdraw_a_run_and_are_read_strictly(copy: Path, tmp_path: Path) -> None:
    root = copy.parents[2]
    assert read_marks(root) == Marks()
    (root / "board").mkdir()
    path = root / "board" / "marks.json"
    path.write_text(json.dumps({"format": 1, "runs": {copy.name: {"withdrawn": "wrong weights"}}}))
    found = look(root, read_marks(root))
    assert [(each.code, each.said) for _, why in found.refused for each in why] == [("board.withdrawn", "wrong weights")]
    for text in ("{", '{"runs": {"x": {}}}', '{"format": 2}', '{"runs": {"' + copy.name + '": {"level": "good"}}}'):
        path.write_text(text)
        with pytest.raises(RunError, match=r"docs/board\.md"):
            read_marks(root)
    with pytest.raises(RunError, match="has no folder"):
        look(tmp_path / "nothing")


def test_a_holdout_difference_is_net_of_reference_models() -> None:
    public, holdout = (Estimate(value, value - 0.04, value + 0.04, 100, 50, 0.02, 49.0) for value in (0.5, 0.4))
    raw = above_holdout(public, holdout, [])
    assert (raw.value, raw.se) == (pytest.approx(0.1), pytest.approx(0.02 * 2**0.5))
    net = above_holdout(public, holdout, [(public, holdout)])
    assert net.value == pytest.approx(0)
    assert net.se == pytest.approx(0.04)
    assert above_holdout(replace(public, value=None), holdout, []).value is None


def test_the_command_says_what_it_cannot_read(tmp_path: Path) -> None:
    for words in (("build", "--results", str(tmp_path), "--out", "x"), ("build", "--results", "no name", "--out", "x")):
        assert runner.invoke(app, ["board", *words]).exit_code == 1
