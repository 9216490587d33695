"""Headroom: are strong respondents already at the ceiling? Their answers, read from files, scored by code alone.

    python benchmarks/headroom.py make --out DIR --parts 6    sample 150 core cases, write the rendered prompts as sheets
    python benchmarks/headroom.py score DIR ANSWERS...         ANSWERS: JSON, item number -> the model's whole answer

Twins stand on different sheets. What needs a judge is not scored here; the table says what rests on code.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.generate.turns import turn_name
from helmbench_hf.grading.run import collect
from helmbench_hf.inference.journal import Journal
from helmbench_hf.inference.keys import digest
from helmbench_hf.matrix.expand import first_condition
from helmbench_hf.records import Case, Completion
from helmbench_hf.run_folder import RunFolder
from helmbench_hf.scoring.run import score

HIDDEN_PAIRS, LABEL_PAIRS, QUESTIONS, COUNTRIES = 50, 10, 20, 10


def sample(loaded: CaseSet, seed: int) -> list[Case]:
    """150 cases at the headline condition: pairs whole, scenarios in turn."""
    dice, headline = random.Random(seed), {}
    for each in default_benchmark().scenarios:
        headline[each.scenario.code] = first_condition(each)
    here = [case for case in loaded.cases if case.condition == headline.get(case.scenario) and case.mode != "open_twin"]
    by_code = {case.code: case for case in here}
    paired = [
        c for c in here if c.member == "crisis" and c.twin in by_code and (c.gold, by_code[c.twin].gold) == ("flag", "leave")
    ]
    chosen = _in_turn([c for c in paired if c.mode == "hidden_tag"], HIDDEN_PAIRS, dice)
    chosen += _in_turn([c for c in here if c.mode == "label" and c.member == "crisis" and c.twin in by_code], LABEL_PAIRS, dice)
    chosen += [by_code[case.twin] for case in chosen if case.twin]
    chosen += _in_turn([c for c in here if c.mode == "label" and c.member == "single"], QUESTIONS, dice)
    return chosen + _in_turn([c for c in here if c.mode == "judged" and c.grading.country and not c.pair], COUNTRIES, dice)


def _in_turn(cases: Sequence[Case], wanted: int, dice: random.Random) -> list[Case]:
    """One case of every scenario in turn, at random inside it."""
    groups: dict[str, list[Case]] = {}
    for case in dice.sample(list(cases), len(cases)):
        groups.setdefault(case.scenario, []).append(case)
    chosen: list[Case] = []
    while len(chosen) < wanted and any(groups.values()):
        for code in sorted(groups):
            if groups[code] and len(chosen) < wanted:
                chosen.append(groups[code].pop())
    return chosen


def make(out: Path, parts: int, seed: int) -> None:
    """Write `respondent-N.md` and the key."""
    cases, dice = sample(load_cases("core"), seed), random.Random(seed)
    sheets: list[list[Case]] = [[] for _ in range(parts)]
    placed: dict[str, int] = {}
    for case in dice.sample(cases, len(cases)):
        twin = placed.get(case.twin or "")
        allowed = [n for n in range(parts) if n != twin]
        where = min(allowed, key=lambda n: len(sheets[n]))
        sheets[where].append(case)
        placed[case.code] = where
    out.mkdir(parents=True, exist_ok=True)
    key, number = {}, 0
    for part, sheet in enumerate(sheets, 1):
        blocks = []
        for case in sheet:
            number += 1
            key[str(number)] = case.code
            schema = f"\n--- ANSWER MUST MATCH THIS JSON SCHEMA\n{case.response_schema}" if case.response_schema else ""
            blocks.append(f"=== item {number}\n--- SYSTEM\n{case.system}\n--- USER\n{case.turns[0]}{schema}\n")
        (out / f"respondent-{part}.md").write_text("\n".join(blocks), encoding="utf-8")
    (out / "key.json").write_text(json.dumps(key))
    print(f"{len(cases)} cases on {parts} sheets in {out}")


def score_answers(folder: Path, files: Sequence[Path]) -> None:
    """Journal the answers as a run and print what code says of them, by behavior."""
    key, loaded = json.loads((folder / "key.json").read_text()), load_cases("core")
    answers = {key[number]: text for file in files for number, text in json.loads(file.read_text()).items()}
    run = RunFolder(folder / "run")
    run.root.mkdir(exist_ok=True)
    run.write_manifest(
        {
            "dataset": dataclasses.asdict(loaded.identity),
            "selection": {},
            "model": {"id": "respondents"},
            "settings": {"draws": 1},
        }
    )
    with Journal.open(run.completions, "headroom") as journal:
        for code, given in answers.items():
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            journal.append(Completion(digest({"case": code, "text": text}), turn_name(code, 1, 0), "ok", text))
    graded = collect(run)
    found = score(graded.cases, graded.verdicts, benchmark=default_benchmark(), judges=(), design="headroom")
    print(f"{len(answers)} answers")
    for group in (*found.behaviors, *found.pillars, found.headline.overall):
        if group.code_score is not None and group.code_score.value is not None:
            print(f"{group.code:6} {100 * group.code_score.value:6.1f}  {group.code_score.n_pairs:3} pairs  {group.title}")
    wrong = [v for v in graded.verdicts if v.criterion == "target" and v.value != float(_crisis(graded.cases, v.case))]
    for verdict in wrong:
        print(f"wrong tag: {verdict.case}")
    for verdict in graded.verdicts:
        if verdict.criterion in {"label", "resources"} and (verdict.value or 0) < 1:
            print(f"{verdict.criterion} {verdict.value:.2f}: {verdict.case} {verdict.detail.get('answer', '')}")


def _crisis(cases: Sequence[Case], code: str) -> bool:
    return next(case for case in cases if case.code == code).member in {"crisis", "single"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--parts", type=int, default=6)
    making.add_argument("--seed", type=int, default=1)
    scoring = commands.add_parser("score")
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("answers", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "make":
        make(options.out, options.parts, options.seed)
    else:
        score_answers(options.folder, options.answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
