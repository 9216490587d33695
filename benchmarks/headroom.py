"""Headroom: are strong respondents already at the ceiling? Their answers and blind judges' verdicts, read from files.

    python benchmarks/headroom.py make --out DIR --parts 8        sample 150 core cases, write the rendered prompts as sheets
    python benchmarks/headroom.py talk DIR ANSWERS...             reactive conversations: the next lines, what to sort
    python benchmarks/headroom.py judge DIR ANSWERS... --parts 6  sheets for judges: reply, criteria, nothing else
    python benchmarks/headroom.py score DIR ANSWERS... --verdicts FILES...
    python benchmarks/headroom.py losses DIR ANSWERS... --verdicts FILES... --parts 4   sheets for the audit: every loss of credit
    python benchmarks/headroom.py audit DIR READER...             what share of the lost points is deserved, and where

The audit shows each loss to two readers who take a clinician's part: what the model was told, what the person wrote, the reply,
and what cost credit. They say from 1 (unfair) to 5 (clearly deserved) and why. READER: JSON, loss -> [1 to 5, reason].

ANSWERS: JSON, item -> the whole answer ("12" is item 12, "12/2" its second turn). Verdicts: JSON, item -> criterion -> PASS,
PARTIAL, FAIL; of several verdict files that answer the same question the middle verdict counts. Twins stand on different
sheets, a conversation's later turns in files of their own. Where the next line depends on the reply, `talk` writes it once a
router has sorted the reply ("12/act", "12/2/act": the act), so `talk` is run after each turn.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.hashing import digest
from helmbench_hf.judging import rubric
from helmbench_hf.judging.grade import Graded, collect, exchanges
from helmbench_hf.records import CREDIT, Act, Answer, Case, Completion, JudgeInfo, Verdict
from helmbench_hf.runs import router
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from helmbench_hf.runs.turns import turn_name
from helmbench_hf.scoring.run import score
from helmbench_hf.tasks.expand import first_condition
from helmbench_hf.tasks.reactive import walk

JUDGE = "readers"
DESERVED = 4
"""Mean of two readers, on a scale of 1 to 5."""


def sample(loaded: CaseSet, seed: int, most: int, reactive: bool) -> list[Case]:
    """So many scored cases of every behavior at the headline condition: pairs whole, its scenarios in turn.

    `reactive`: only reactive conversations, or none of them.
    """
    dice = random.Random(seed)
    by_code = {case.code: case for case in loaded.cases}
    groups: dict[str, dict[str, list[list[Case]]]] = {}
    for each in default_benchmark().scenarios:
        if each.scenario.apart or (each.scenario.route is not None) != reactive:
            continue
        headline = first_condition(each)
        for case in loaded.cases:
            if (
                case.scenario != each.scenario.code
                or (not case.history and case.condition != headline)
                or case.mode == "open_twin"
            ):
                continue
            unit = [case] + ([by_code[case.twin]] if case.twin in by_code else [])
            if case.member in {"crisis", "single"} and case.gold in {"flag", "none"}:
                groups.setdefault(case.behavior, {}).setdefault(case.scenario, []).append(unit)
    return [case for behavior in sorted(groups) for case in _in_turn(groups[behavior], dice, most)]


def _in_turn(groups: Mapping[str, list[list[Case]]], dice: random.Random, most: int) -> list[Case]:
    left = {code: dice.sample(units, len(units)) for code, units in sorted(groups.items())}
    chosen: list[Case] = []
    while any(left.values()) and len(chosen) < most:
        for units in left.values():
            if units and len(chosen) < most:
                chosen += units.pop()
    return chosen


def _spread(cases: Sequence[Case], parts: int, dice: random.Random) -> list[list[Case]]:
    """Sheets of about equal length that never hold both twins."""
    sheets: list[list[Case]] = [[] for _ in range(parts)]
    placed: dict[str, int] = {}
    for case in dice.sample(list(cases), len(cases)):
        where = min((n for n in range(parts) if n != placed.get(case.twin or "")), key=lambda n: len(sheets[n]))
        sheets[where].append(case)
        placed[case.code] = where
    return sheets


def make(out: Path, design: str, history: int, parts: int, seed: int, only: str, most: int, reactive: bool) -> None:
    """Write `respondent-N.md`, the later turns as `respondent-N.turn-T.md`, the key and the design."""
    loaded = load_cases(design)
    behind = tuple(case for case in loaded.cases if len(case.history) == history)
    drawn = sample(dataclasses.replace(loaded, cases=behind), seed, most, reactive)
    cases = [case for case in drawn if case.code.startswith(tuple(only.split(",")))]
    out.mkdir(parents=True, exist_ok=True)
    (out / "design.txt").write_text(design)
    key: dict[str, str] = {}
    for part, sheet in enumerate(_spread(cases, parts, random.Random(seed)), 1):
        files: dict[int, list[str]] = {}
        for case in sheet:
            item = str(len(key) + 1)
            key[item] = case.code
            schema = f"\n--- ANSWER MUST MATCH THIS JSON SCHEMA\n{case.response_schema}" if case.response_schema else ""
            for turn, said in enumerate(case.turns, 1):
                said_before = "".join(
                    f"\n--- {who}\n{text}" for who, text in zip(cycle(("USER", "YOU")), case.history, strict=False)
                )
                head = f"=== item {item}\n--- SYSTEM\n{case.system}{said_before}" if turn == 1 else f"=== item {item}/{turn}"
                files.setdefault(turn, []).append(f"{head}\n--- USER\n{said}{schema}\n")
        for turn, blocks in files.items():
            name = f"respondent-{part}.md" if turn == 1 else f"respondent-{part}.turn-{turn}.md"
            (out / name).write_text("\n".join(blocks), encoding="utf-8")
    (out / "key.json").write_text(json.dumps(key))
    print(f"{len(cases)} cases on {parts} sheets in {out}")


def _loaded(folder: Path) -> CaseSet:
    """The cases of the design that the sample comes from."""
    return load_cases((folder / "design.txt").read_text())


def _read(files: Sequence[Path]) -> dict[str, object]:
    return {item: value for file in files for item, value in json.loads(file.read_text(encoding="utf-8")).items()}


def talk(folder: Path, files: Sequence[Path]) -> None:
    """Write `lines.md`, the person's next line in every conversation, and `router.md`, the replies that are not sorted yet."""
    key, by_code = json.loads((folder / "key.json").read_text()), {case.code: case for case in _loaded(folder).cases}
    given = {item: str(value) for item, value in _read(files).items()}
    lines, doubts = [], []
    for item, code in key.items():
        case, acts, seen = by_code[code], list[Act](), list[str]()
        while (place := f"{item}/{len(seen) + 1}" if seen else item) in given:
            seen.append(given[place])
            said = [beat.text for beat, _ in walk(case.route, acts)]
            if not walk(case.route, acts)[-1][0].steps:
                break
            if (act := given.get(f"{place}/act")) is None:
                doubts.append(f"=== item {place}\n{router.question(said, seen[:-1], seen[-1])[1].content}\n")
                break
            acts.append(cast("Act", act))
        else:
            lines += [f"=== item {place}\n--- USER\n{walk(case.route, acts)[-1][0].text}\n"] if seen else []
    (folder / "lines.md").write_text("\n".join(lines), encoding="utf-8")
    rules = router.question([""], [], "")[0].content
    (folder / "router.md").write_text("\n".join([rules, *doubts]), encoding="utf-8")
    print(f"{len(lines)} next lines in lines.md, {len(doubts)} replies to sort in router.md")


def graded(folder: Path, files: Sequence[Path]) -> Graded:
    """Journal the answers as a run and grade it by code."""
    key, loaded = json.loads((folder / "key.json").read_text()), _loaded(folder)
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
        for item, given in _read(files).items():
            number, *turn = item.removesuffix(router.ACT).split("/")
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            name = turn_name(key[number], int(turn[0]) if turn else 1, 0) + router.ACT * item.endswith(router.ACT)
            journal.append(Completion(digest({"name": name, "text": text}), name, "ok", text))
    return collect(run)


def _asked(found: Graded) -> Iterator[tuple[rubric.Exchange, list[str]]]:
    """Every reply with the judged criteria that decide its credit."""
    for reply in exchanges(found.cases, found.completions, 1):
        grading = reply.case.grading
        wanted = dict.fromkeys((*grading.criteria_at(reply.turn), grading.contrast, grading.contrast_own))
        if codes := [code for code in wanted if code]:
            yield reply, codes


def judge_sheets(folder: Path, files: Sequence[Path], parts: int) -> None:
    """Write `judge-N.md`: the criteria once, then every reply with what the person saw, and the criteria asked of it."""
    benchmark = default_benchmark()
    asked: dict[str, list[tuple[rubric.Exchange, list[str]]]] = {}
    for reply, codes in _asked(graded(folder, files)):
        asked.setdefault(reply.case.code, []).append((reply, codes))
    sheets = _spread([replies[0][0].case for replies in asked.values()], parts, random.Random(1))
    for part, sheet in enumerate(sheets, 1):
        replies = [each for case in sheet for each in asked[case.code]]
        used = sorted({code for _, codes in replies for code in codes})
        blocks = [
            f"=== criterion {code}\n{rubric.question(benchmark.criteria[code], None).rpartition(chr(10) * 2)[0]}" for code in used
        ]
        for reply, codes in replies:
            limits = {code: rubric.limits(reply.case, benchmark.criteria[code]) for code in codes}
            lines = [f"{code}" + (f" (Limits: {limits[code]})" if limits[code] else "") for code in codes]
            blocks.append(
                f"=== item {turn_name(reply.case.code, reply.turn, 0)}\n{rubric.material(reply)}\n"
                f"--- criteria asked: {'; '.join(lines)}"
            )
        (folder / f"judge-{part}.md").write_text("\n\n".join(blocks), encoding="utf-8")
        print(f"judge-{part}.md: {len(replies)} replies, {sum(len(codes) for _, codes in replies)} verdicts")


def _judged(found: Graded, files: Sequence[Path]) -> list[Verdict]:
    given, verdicts, missing = [json.loads(file.read_text(encoding="utf-8")) for file in files], [], []
    for reply, codes in _asked(found):
        name = turn_name(reply.case.code, reply.turn, 0)
        for code in codes:
            answers = [str(each[name][code]) for each in given if code in each.get(name, {})]
            if not answers:
                missing.append(f"{name} {code}")
                continue
            said = sorted(answers, key=lambda answer: CREDIT[cast("Answer", answer)])[len(answers) // 2]
            value = CREDIT[cast("Answer", said)]
            verdicts.append(
                Verdict(reply.case.code, reply.turn, 0, code, JUDGE, "scored", value, {"answer": said}, reply.completion)
            )
    if missing:
        print(f"{len(missing)} verdicts are missing, first {missing[:3]}")
    return verdicts


def score_answers(folder: Path, files: Sequence[Path], verdicts: Sequence[Path]) -> None:
    """Print the score of every behavior, and what cost credit."""
    found, benchmark = graded(folder, files), default_benchmark()
    judged = _judged(found, verdicts)
    judges = (JudgeInfo(JUDGE, "model"),) if judged else ()
    result = score(found.cases, [*found.verdicts, *judged], benchmark=benchmark, judges=judges, design="headroom")
    for group in (*result.behaviors, *result.pillars, result.headline.overall):
        code = group.code_score.value if group.code_score else None
        shown = [f"{100 * value:7.1f}" if value is not None else "      -" for value in (group.score.value, code)]
        print(f"{group.code:7} {' '.join(shown)}  {group.score.n_pairs:3} pairs  {group.title}")
    cases = {case.code: case for case in found.cases}
    for verdict in [*found.verdicts, *judged]:
        wanted = float(cases[verdict.case].member in {"crisis", "single"}) if verdict.criterion == "target" else 1.0
        if verdict.criterion not in {"control", "parse", "task"} and verdict.value is not None and verdict.value != wanted:
            print(f"{verdict.case}/t{verdict.turn} {verdict.criterion} {verdict.value:.2f} {verdict.detail.get('answer', '')}")


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """A verdict that cost credit, and the points of the overall score that it cost."""

    case: Case
    turn: int
    criterion: str
    said: str
    points: float


def _full(case: Case, verdict: Verdict) -> float | None:
    """The value that would have cost nothing; None for what earns nothing."""
    if verdict.criterion in {"parse", "task"} or verdict.value is None:
        return None
    noticed = case.member in {"crisis", "single"}
    if verdict.criterion in {"target", "control"}:
        right = case.gold == "flag" if verdict.criterion == "target" else bool(case.control_present)
        return float(right)
    if verdict.criterion == case.grading.contrast:
        benchmark = default_benchmark()
        contrast = next(each.scenario.contrast for each in benchmark.scenarios if each.scenario.code == case.scenario)
        high = CREDIT[contrast.high] if contrast else 1.0
        return high if noticed else 1.0 - high
    return 1.0


def _losses(folder: Path, files: Sequence[Path], verdicts: Sequence[Path]) -> list[Loss]:
    """Every verdict below full credit in a case whose repair would raise the score, with its share of that gain."""
    found, benchmark = graded(folder, files), default_benchmark()
    judged = _judged(found, verdicts)
    every = [*found.verdicts, *judged]
    judges = (JudgeInfo(JUDGE, "model"),)
    cases = {case.code: case for case in found.cases}

    def overall(listed: Sequence[Verdict]) -> float:
        made = score(found.cases, listed, benchmark=benchmark, judges=judges, design="headroom")
        pairs = [pair.value for pair in made.pairs if pair.value is not None]
        total = made.headline.overall.score.value  # None of a draw that covers too little: then the plain mean of its pairs
        return 100 * (sum(pairs) / len(pairs) if total is None else total)

    before, by_case = overall(every), dict[str, list[tuple[Verdict, float]]]()
    for verdict in every:
        full = _full(cases[verdict.case], verdict)
        if full is not None and verdict.criterion != "control" and verdict.value != full:
            by_case.setdefault(verdict.case, []).append((verdict, full))
    losses = []
    for code, short in by_case.items():
        repaired = {id(verdict): dataclasses.replace(verdict, value=full) for verdict, full in short}
        gain = overall([repaired.get(id(verdict), verdict) for verdict in every]) - before
        gaps = [abs(full - (verdict.value or 0.0)) for verdict, full in short]
        if gain > 1e-9:
            losses += [
                Loss(cases[code], verdict.turn, verdict.criterion, _said(verdict), gain * gap / sum(gaps))
                for (verdict, _), gap in zip(short, gaps, strict=True)
            ]
    return losses


def _said(verdict: Verdict) -> str:
    answer = verdict.detail.get("answer") if isinstance(verdict.detail, dict) else None
    return str(answer or ("yes" if verdict.value else "no"))


def loss_sheets(folder: Path, files: Sequence[Path], verdicts: Sequence[Path], parts: int) -> None:
    """Write `losses-N.md` and `losses.json`: what the model was told, the person wrote and read, and what cost credit."""
    benchmark = default_benchmark()
    found = graded(folder, files)
    replies = {(reply.case.code, reply.turn): reply for reply in exchanges(found.cases, found.completions, 1)}
    # an answer that cannot be read is no matter of opinion
    losses = [loss for loss in _losses(folder, files, verdicts) if (loss.case.code, loss.turn) in replies]
    random.Random(1).shuffle(losses)
    rows = []
    blocks: list[list[str]] = [[] for _ in range(parts)]
    for number, loss in enumerate(losses, 1):
        reply = replies[loss.case.code, loss.turn]
        blocks[number % parts].append(
            f"=== loss {number}\n{rubric.material(reply)}\n--- what cost credit\n{_in_words(loss, reply.answer, benchmark)}\n"
        )
        row = {"behavior": loss.case.behavior, "criterion": loss.criterion, "points": loss.points, "case": loss.case.code}
        rows.append({"loss": number, **row, "member": loss.case.member, "said": loss.said})
    for part, block in enumerate(blocks, 1):
        (folder / f"losses-{part}.md").write_text("\n".join(block), encoding="utf-8")
    (folder / "losses.json").write_text(json.dumps(rows, indent=1))
    print(f"{len(losses)} losses of {sum(loss.points for loss in losses):.1f} points on {parts} sheets in {folder}")


def _in_words(loss: Loss, answer: object, benchmark: Benchmark) -> str:
    """What a reader is told: the criterion and the verdict, or the mark for the team that was wrong."""
    case = loss.case
    if loss.criterion == "target":
        named = case.grading.target or "the question"
        wanted = "should have been set" if case.gold == "flag" else "should not have been set"
        definition = dict(case.parts.tags).get(named, named)
        return f"A mark that only the product's team sees, `{named}` ({definition}), {wanted}. Set here: {loss.said}."
    if loss.criterion not in benchmark.criteria:
        return f"{loss.criterion}: the answer counts as {loss.said}; right is {case.grading.label}."
    criterion = benchmark.criteria[loss.criterion]
    anchors = rubric.anchors(criterion, rubric.limits(case, criterion))
    return f"{anchors}\nVerdict: {loss.said}."


def audit(folder: Path, readers: Sequence[Path]) -> None:
    """Print the share of lost points that both readers together call deserved (mean of 4 or more), by behavior and criterion."""
    rows = json.loads((folder / "losses.json").read_text())
    said: dict[int, list[float]] = {}
    for path in readers:
        for number, (value, _) in json.loads(path.read_text()).items():
            said.setdefault(int(number), []).append(float(value))
    read = [row | {"deserved": sum(said[row["loss"]]) / len(said[row["loss"]])} for row in rows if row["loss"] in said]
    print(f"{len(read)} of {len(rows)} losses were read, by {max(map(len, said.values()))} readers")
    for name in ("behavior", "criterion", ""):
        groups: dict[str, list[dict[str, float]]] = {}
        for row in read:
            groups.setdefault(str(row.get(name, "all")), []).append(row)
        for group, losses in sorted(groups.items()):
            lost = sum(row["points"] for row in losses)
            deserved = sum(row["points"] for row in losses if row["deserved"] >= DESERVED)
            print(f"{group:8} {len(losses):4} losses {lost:6.2f} points, {deserved / lost:6.1%} deserved")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--parts", type=int, default=8)
    making.add_argument("--design", default="core")
    making.add_argument("--history", type=int, default=0, help="only cases behind so many messages of earlier chat (long)")
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("--only", default="", help="of the sample, only behaviors whose codes begin so (commas between)")
    making.add_argument("--most", type=int, default=6, help="cases of a behavior")
    making.add_argument("--reactive", action="store_true", help="reactive conversations, and nothing else")
    talking, judging, scoring, losing = (commands.add_parser(name) for name in ("talk", "judge", "score", "losses"))
    for each in (talking, judging, scoring, losing):
        each.add_argument("folder", type=Path)
        each.add_argument("answers", type=Path, nargs="+")
    judging.add_argument("--parts", type=int, default=6)
    for each in (scoring, losing):
        each.add_argument("--verdicts", type=Path, nargs="*", default=[])
    losing.add_argument("--parts", type=int, default=4)
    auditing = commands.add_parser("audit")
    auditing.add_argument("folder", type=Path)
    auditing.add_argument("readers", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "make":
        how = (options.design, options.history, options.parts, options.seed, options.only, options.most, options.reactive)
        make(options.out, *how)
    elif options.command == "talk":
        talk(options.folder, options.answers)
    elif options.command == "judge":
        judge_sheets(options.folder, options.answers, options.parts)
    elif options.command == "losses":
        loss_sheets(options.folder, options.answers, options.verdicts, options.parts)
    elif options.command == "audit":
        audit(options.folder, options.readers)
    else:
        score_answers(options.folder, options.answers, options.verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
