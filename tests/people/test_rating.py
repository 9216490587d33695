"""Rating: what is asked, what is kept, how far raters agree, and labels that a check of a judge takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.judging.judge import JudgeError, criteria_of
from helmbench_hf.judging.labels import find_labels
from helmbench_hf.people.plan import PeopleError
from helmbench_hf.people.rating import Ratings, prepare
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from tests.people.conftest import rated_run

RATERS = ("R1", "R2")
Rating = Callable[..., AbstractContextManager[Ratings]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, loaded: CaseSet) -> RunFolder:
    return rated_run(tmp_path_factory.mktemp("rate") / "run", loaded, 12, lambda case: f"I hear you, {case.perturbation}.")


@pytest.fixture
def rating(run: RunFolder, tmp_path: Path, benchmark_: Benchmark) -> Rating:
    """Open the rating in `tmp_path`, or open it again."""

    @contextmanager
    def opened(limit: int = 12, seed: int = 1, raters: Sequence[str] = RATERS) -> Iterator[Ratings]:
        rated = prepare(run, tmp_path, benchmark_, raters, limit=limit, criteria=(), seed=seed)
        with Journal.open(tmp_path / "ratings", "rate") as journal:
            yield Ratings(rated, benchmark_, tmp_path, journal)

    return opened


def test_every_criterion_gets_its_share_and_raters_have_orders_of_their_own(rating: Rating) -> None:
    with rating(limit=14) as ratings:
        orders = [ratings.rated.order(rater) for rater in RATERS]
        counts = Counter(task.criterion for task in orders[0])
        assert sum(counts.values()) == 14
        assert max(counts.values()) - min(counts.values()) <= 1
        assert orders[0] != orders[1]
        assert {task.id for task in orders[0]} == {task.id for task in orders[1]}
        assert all(task.criterion in criteria_of(task.exchange.case) for task in orders[0])


def test_every_click_survives_and_the_last_verdict_counts(rating: Rating, tmp_path: Path) -> None:
    with rating() as ratings:
        ratings.add("R1", "consent")
        first = ratings.next("R1")
        assert first is not None
        ratings.add("R1", "verdict", first.id, "FAIL")
        second = ratings.next("R1")
        assert second is not None
        assert second != first
        ratings.add("R1", "verdict", second.id, "")
        ratings.add("R1", "verdict", first.id, "PASS")
        links = dict(ratings.rated.links)
    segment = sorted((tmp_path / "ratings").glob("*.jsonl"))[-1]
    with segment.open("ab") as file:
        file.write(b'{"v": 1, "torn')
    with rating() as again:
        assert again.rated.links == links
        assert again.raters["R1"].consented
        assert again.raters["R1"].said == {first.id: "PASS", second.id: ""}
        assert again.next("R1") not in (first, second)
        assert again.labels() == [("R1", first.reply, first.criterion, "PASS")]
        assert not again.raters["R2"].said


@pytest.mark.parametrize(
    ("event", "task", "verdict"),
    [("verdict", "nothing", "PASS"), ("verdict", "", "MAYBE"), ("verdict", "", "5"), ("delete", "", ""), ("", "", "")],
)
def test_what_is_no_click_of_ours_is_refused(rating: Rating, event: str, task: str, verdict: str) -> None:
    with rating() as ratings:
        with pytest.raises(PeopleError):
            ratings.add("R1", event, task or next(iter(ratings.rated.tasks)), verdict)
        assert ratings.labels() == []


def test_agreement_is_that_of_a_hand_count(rating: Rating) -> None:
    with rating(limit=30) as ratings:
        assert all(row.n == 0 for row in ratings.agreement().judge_pairs)
        table: Counter[tuple[str, str]] = Counter()
        for number, task in enumerate(ratings.rated.tasks.values()):
            one, two = ("PASS", "FAIL")[number % 2], ("PASS", "FAIL")[number % 3 == 0]
            ratings.add("R1", "verdict", task.id, one)
            if number % 5:
                ratings.add("R2", "verdict", task.id, two)
                table[one, two] += 1
        [found] = [row for row in ratings.agreement().judge_pairs if row.criterion == "all"]
        n = table.total()
        same = (table["PASS", "PASS"] + table["FAIL", "FAIL"]) / n
        passes = [sum(count for pair, count in table.items() if pair[side] == "PASS") / n for side in (0, 1)]
        chance = passes[0] * passes[1] + (1 - passes[0]) * (1 - passes[1])
        assert found.n == n
        assert found.kappa == pytest.approx((same - chance) / (1 - chance))
        [panel] = [row for row in ratings.agreement().panel if row.criterion == "all"]
        assert (panel.verdicts, panel.alpha.n_pairs) == (2 * n, n)


def test_labels_are_taken_by_a_check_of_a_judge(rating: Rating, tmp_path: Path, benchmark_: Benchmark) -> None:
    with rating() as ratings:
        tasks = list(ratings.rated.tasks.values())
        for task in tasks:
            ratings.add("R1", "verdict", task.id, "FAIL")
            ratings.add("R2", "verdict", task.id, "PASS" if task is tasks[0] else "FAIL")
    labels = find_labels(benchmark_, (), tmp_path / "labels.csv")
    assert labels.basis == "human"
    assert labels.left_out == {"raters disagree": 1}
    assert {(*probe.pair, probe.right) for probe in labels.probes} == {(task.reply, task.criterion, "FAIL") for task in tasks[1:]}
    assert labels.raters is not None
    assert labels.raters.names == RATERS
    shown = {task.reply: task.exchange for task in tasks}
    for probe in labels.probes:
        of_rater = shown[probe.pair[0]]
        assert probe.exchange.case == of_rater.case
        assert (probe.exchange.answer, probe.exchange.earlier) == (of_rater.answer, of_rater.earlier)
        assert probe.source == "model: SecretModel-7B"


def test_labels_without_their_replies_or_of_another_version_are_refused(
    rating: Rating, tmp_path: Path, benchmark_: Benchmark
) -> None:
    with rating() as ratings:
        for rater in RATERS:
            ratings.add(rater, "verdict", next(iter(ratings.rated.tasks)), "FAIL")
    path = tmp_path / "replies.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(json.dumps({**row, "case_sha": "0" * 64}) for row in rows), encoding="utf-8")
    with pytest.raises(JudgeError, match="has different text in this benchmark"):
        find_labels(benchmark_, (), tmp_path / "labels.csv")
    path.unlink()
    with pytest.raises(JudgeError, match=r"keep `replies\.jsonl`"):
        find_labels(benchmark_, (), tmp_path / "labels.csv")


def test_a_folder_holds_one_rating_of_two_raters_or_more(rating: Rating) -> None:
    with rating():
        pass
    with pytest.raises(PeopleError, match="another folder"), rating(seed=2):
        pass
    for raters in (("R1",), ("R1", "R1"), ("R1", "<b>")):
        with pytest.raises(PeopleError, match="two raters"), rating(raters=raters):
            pass
