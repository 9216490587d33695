"""Who looked at an item, and when, shows in the rows and changes nothing that runs are compared by."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf import versions
from helmbench_hf.content.load import load_benchmark
from helmbench_hf.dataset.build import Built, build
from helmbench_hf.dataset.difference import KEYS
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.dataset.rows import CASE_CONFIGS, Row
from helmbench_hf.grading import rubric
from helmbench_hf.matrix import calibration, review
from helmbench_hf.scoring.compare import compare
from helmbench_hf.scoring.golden import DRAWS, JUDGES, fixed_verdicts
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score
from tests.support.calibration import UNSETTLED, plant_calibration
from tests.support.tree import COUNTRY, HIDDEN, Tree, plant

REVIEWED = "reviewed by Ada Example (clinician), 2026-01-02"
Shown = Callable[[Row], bool]


@dataclass(frozen=True)
class Look:
    """Somebody looked at something: what that writes, and the row in which it shows; None: the item has no row."""

    write: Callable[[Tree], None]
    config: str | None
    shown: Shown


def named(row: Row) -> bool:
    return bool(row["review"] == REVIEWED)


def line(file: str, before: str, indent: int = 0) -> Callable[[Tree], None]:
    """Write `review:` as a line of its own after this text."""
    return lambda tree: tree.replace(file, before, f"{before}\n{' ' * indent}review: {REVIEWED}")


def read_blind(tree: Tree) -> None:
    """A person reads the first message of the matrix as it stands."""
    item = review.items(load_benchmark(tree.root), "P1-B1-S1")[0]
    said = review.Read(item.perturbation, item.sha, "Ada Example", "human", "2026-01-02", item.gold or "")
    review.store(tree.root, {item.scenario: [said]})


def looked_real(tree: Tree) -> None:
    """A person says that the first message does not look machine-written."""
    item = review.items(load_benchmark(tree.root), "P1-B1-S1")[0]
    said = {"scenario": item.scenario, "perturbation": item.perturbation, "sha": item.sha, "sure": 0, "why": ""}
    tree.write("review/realism.jsonl", json.dumps(said) + "\n")


def read_label(tree: Tree, pair: tuple[str, str] = ("R001", "K01"), verdict: str | None = None) -> None:
    """One more reader of a label, who agrees with it unless a verdict is given."""
    label = next(each for each in calibration.labels(load_benchmark(tree.root)) if (each.reply.code, each.criterion) == pair)
    said: Any = verdict or label.gold
    read = calibration.Read(*pair, label.sha, "Ada Example", "human", "2026-01-02", said)
    calibration.store(tree.root, [read])


LOOKS = {
    "message": Look(line(f"{HIDDEN}/messages.yaml", "    meaning: shed-key", 4), "perturbations", named),
    "single message": Look(line(f"{COUNTRY}/messages.yaml", "    meaning: last-rent", 4), "perturbations", named),
    "scenario": Look(line(f"{HIDDEN}/scenario.yaml", "title: Key list"), "scenarios", named),
    "condition": Look(line("conditions/workplace.yaml", "slug: workplace"), "conditions", named),
    "person": Look(line("people/ana.yaml", "slug: ana"), "user_contexts", named),
    "criterion": Look(line("criteria/k01.yaml", "slug: notices"), "criteria", named),
    "taxonomy": Look(
        lambda tree: tree.replace("taxonomy/self_harm.yaml", "meaning: freezer,", f'meaning: freezer, review: "{REVIEWED}",'),
        "crisis_taxonomy",
        named,
    ),
    "incident": Look(
        lambda tree: tree.replace("incidents.yaml", "review: unreviewed", f"review: {REVIEWED}"), None, lambda row: False
    ),
    "helpline": Look(
        lambda tree: tree.replace("helplines/brazil.yaml", "checked: 2026-01-05", "checked: 2026-01-06"),
        "helplines",
        lambda row: bool(row["checked"] == "2026-01-06"),
    ),
    "blind reading": Look(read_blind, "perturbations", lambda row: row["blind_kinds"] == ["human"]),
    "looks real": Look(looked_real, "perturbations", lambda row: bool(row["looks_machine_written"] == 0)),
    "calibration": Look(read_label, "calibration", lambda row: bool(row["readers"] == row["readers_agree"] == 4)),
}


@dataclass(frozen=True)
class Made:
    """Everything that one state of the authored files gives: the lock, the dataset, and the scores of fixed verdicts."""

    lock: dict[str, Any]
    built: Built
    scores: dict[str, Any]
    card: str

    def rows(self, config: str) -> list[Row]:
        return [row for items in self.built.rows[config].values() for row in items]


def made(root: Path, out: Path) -> Made:
    benchmark = load_benchmark(root)
    built = build(benchmark, out)
    loaded = load_cases("full", str(out))
    verdicts = list(fixed_verdicts(loaded.cases, sorted(benchmark.countries)))
    scores = score(
        loaded.cases, verdicts, benchmark=benchmark, judges=JUDGES, draws=DRAWS, design="full",
        content_sha256=loaded.identity.content_sha256, rubric=rubric.identity(benchmark),
    )  # fmt: skip
    return Made(versions.parts(benchmark), built, to_json(scores), (out / "README.md").read_text())


def planted(root: Path) -> Tree:
    tree = plant(root)
    plant_calibration(tree)
    return tree


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("unreviewed")
    return made(planted(folder / "authored").root, folder / "out")


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_review_changes_nothing_that_runs_are_compared_by(before: Made, look: Look, tmp_path: Path) -> None:
    tree = planted(tmp_path / "authored")
    look.write(tree)
    after = made(tree.root, tmp_path / "out")
    assert after.scores["provenance"] == before.scores["provenance"]
    assert after.lock == before.lock
    assert compare(before.scores, after.scores).overall.estimate.value == 0
    for config in CASE_CONFIGS:
        assert after.built.manifest["configs"][config] == before.built.manifest["configs"][config]
    for config, names in KEYS.items():
        keys = [[row[name] for name in names] for row in after.rows(config)]
        assert keys == [[row[name] for name in names] for row in before.rows(config)]
    if look.config is not None:
        assert any(map(look.shown, after.rows(look.config)))
        assert not any(map(look.shown, before.rows(look.config)))
        # the file holds the review, so its own hash says so
        assert after.built.manifest["configs"][look.config] != before.built.manifest["configs"][look.config]


def test_readers_who_change_which_labels_count_change_the_calibration_set(before: Made, tmp_path: Path) -> None:
    tree = planted(tmp_path / "authored")
    read_label(tree, UNSETTLED)  # three agree now, and one does not: it stays unsettled
    assert versions.parts(load_benchmark(tree.root)) == before.lock
    read_label(tree, ("R001", "K01"), "FAIL")
    after = versions.parts(load_benchmark(tree.root))
    assert {part for part in after if after[part] != before.lock[part]} == {"calibration"}


def test_what_a_text_says_of_a_review_is_content(tree: Tree) -> None:
    """A field that only has the name of a review is part of the dataset."""
    file = f"{HIDDEN}/messages.yaml"
    text = tree.text(file)
    found = set()
    for said in ("Wim", "Lotte"):
        tree.write(file, text.replace('"rows.0.owner": "Wim"', f'"review": "{said}"'))
        found.add(versions.parts(load_benchmark(tree.root))["dataset"]["sha256"])
    assert len(found) == 2


def test_the_card_counts_reviews(before: Made, tmp_path: Path) -> None:
    assert "every item says `review: unreviewed`" in before.card
    tree = planted(tmp_path / "authored")
    for name in ("message", "criterion"):
        LOOKS[name].write(tree)
    after = made(tree.root, tmp_path / "out")
    assert "every item says `review: unreviewed`" not in after.card
    # the criterion, and both twins of the message in two tables
    assert re.search(r"\b5 of \d+ rows of the component tables name a person who reviewed them", after.card)
