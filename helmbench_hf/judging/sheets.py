"""Blind reading of the calibration set: sheets that show readers what a judge sees, and the readers' answers.

A reply and an edit of it differ in one sentence. Reading one would color the reading of the other, so no sheet holds both.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.calibration import READERS, CalibrationError, Kind, Label, Read, labels, reads_of, stored, unsettled
from helmbench_hf.judging import rubric
from helmbench_hf.judging.labels import Probe, allowed, as_probe

KEY = "key.json"


@dataclass(frozen=True, slots=True)
class Item:
    """One reply with the criteria that it is read under."""

    code: str
    family: str
    """Code of the reply at the end of its chain of edits; its own where it edits none."""
    probes: tuple[Probe, ...]


def items(benchmark: Benchmark, criteria: Sequence[str] = (), fewer_than: int | None = None) -> list[Item]:
    """The replies whose verdicts rest on readers, in file order; each label once.

    `fewer_than`: only labels that fewer readers have read as they stand.
    """
    every = labels(benchmark)
    edits = {label.reply.code: label.reply.edits for label in every}
    by_reply: dict[str, list[Probe]] = defaultdict(list)
    for label, reads in zip(every, reads_of(benchmark, every), strict=True):
        read = fewer_than is not None and len(reads) >= fewer_than
        if label.basis == "readers" and not read and (not criteria or label.criterion in criteria):
            by_reply[label.reply.code].append(as_probe(label, label.gold))
    return [Item(code, _family(code, edits), tuple(probes)) for code, probes in by_reply.items()]


def _family(code: str, edits: Mapping[str, str | None]) -> str:
    seen = {code}
    while (base := edits.get(code)) is not None:
        if base in seen:
            raise CalibrationError(f"{base} and {code} are edits of each other; one of them has to be the base.")
        seen.add(base)
        code = base
    return code


def write_sheets(benchmark: Benchmark, found: Sequence[Item], folder: Path, seed: int, parts: int) -> list[Path]:
    """Write `sheet-1.md` and so on in random order, and `key.json`, which says what was asked and holds no verdict.

    Raises CalibrationError where a reply has more edits than there are other sheets.
    """
    chunks = _apart(found, random.Random(seed), parts)
    asked = {item.code: {probe.label.criterion: probe.label.sha for probe in item.probes} for item in found}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / KEY).write_text(json.dumps(asked, indent=1), encoding="utf-8")
    paths = []
    for part, chunk in enumerate(chunks, 1):
        paths.append(folder / f"sheet-{part}.md")
        paths[-1].write_text("\n\n".join(_sheet(benchmark, chunk)) + "\n", encoding="utf-8")
    return paths


def _apart(found: Sequence[Item], dice: random.Random, parts: int) -> list[list[Item]]:
    """Items by sheet: no two of a family together, the largest families first, each item on a sheet with the fewest labels."""
    families: dict[str, list[Item]] = defaultdict(list)
    for item in found:
        families[item.family].append(item)
    crowd = max(families.values(), key=len, default=[])
    if len(crowd) > parts:
        raise CalibrationError(
            f"{crowd[0].family} and its edits are {len(crowd)} replies, and each needs a sheet of its own; "
            f"give --parts {len(crowd)}."
        )
    groups = list(families.values())
    dice.shuffle(groups)
    chunks: list[list[Item]] = [[] for _ in range(parts)]
    sizes = [0] * parts
    for group in sorted(groups, key=len, reverse=True):
        dice.shuffle(group)
        for item, part in zip(group, sorted(range(parts), key=lambda part: (sizes[part], dice.random())), strict=False):
            chunks[part].append(item)
            sizes[part] += len(item.probes)
    for chunk in chunks:
        dice.shuffle(chunk)
    return chunks


def _sheet(benchmark: Benchmark, chunk: Sequence[Item]) -> Iterator[str]:
    """The criteria once, then each reply with what led to it and its criteria."""
    asked = sorted({probe.label.criterion for item in chunk for probe in item.probes})
    rules = rubric.RULES.partition("Rules:\n")[2].strip()
    yield f'Answer with one JSON object: {{"REPLY": {{"CRITERION": "VERDICT", ..}}, ..}}.\n\n{rules}'
    for code in asked:
        yield f"=== criterion {code}\n{rubric.anchors(benchmark.criteria[code])}\nVerdicts: {', '.join(allowed(benchmark, code))}"
    for item in chunk:
        limits = [_limits(benchmark, probe) for probe in item.probes]
        yield "\n".join(
            [
                f"=== item {item.code}",
                rubric.material(item.probes[0].exchange),
                *(line for line in limits if line),
                f"Criteria: {', '.join(probe.label.criterion for probe in item.probes)}",
            ]
        )


def _limits(benchmark: Benchmark, probe: Probe) -> str:
    limited = rubric.limits(probe.exchange.case, benchmark.criteria[probe.label.criterion])
    return f"Limits for {probe.label.criterion}: {limited}" if limited else ""


def read_answers(benchmark: Benchmark, folder: Path, answers: Path, reader: str, kind: Kind, date: str) -> list[Read]:
    """One reader's answers, `{"R012": {"K01": "PASS"}}`, each with the hash of what stood on the sheet.

    Raises CalibrationError where an answer was not asked for or is not a verdict of its criterion.
    """
    try:
        key = json.loads((folder / KEY).read_text(encoding="utf-8"))
        given = json.loads(answers.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CalibrationError(
            f"{folder / KEY} or {answers} cannot be read ({error}); fix whichever file is at fault."
        ) from error
    if not isinstance(given, dict) or not all(isinstance(said, dict) for said in given.values()):
        raise CalibrationError(f'{answers} is not of the form {{"R012": {{"K01": "PASS"}}}}; correct it.')
    found = []
    for code, said in given.items():
        for criterion, verdict in said.items():
            if criterion not in key.get(code, {}) or criterion not in benchmark.criteria:
                raise CalibrationError(f"{answers}: the sheets in {folder} do not ask about {code} under {criterion}; remove it.")
            words = allowed(benchmark, criterion)
            spoken = next((word for word in words if word == str(verdict).strip().upper()), None)
            if spoken is None:
                raise CalibrationError(f"{answers}: {code} under {criterion} must be one of {', '.join(words)}, not {verdict!r}.")
            found.append(Read(code, criterion, key[code][criterion], reader, kind, date, spoken))
    return found


def readings(benchmark: Benchmark) -> dict[str, Any]:
    """How far readers agree with the gold and with each other: by criterion, and by label where it is not settled."""
    every = labels(benchmark)
    doubtful = {id(label) for label in unsettled(benchmark, every)}
    by_label: dict[tuple[str, str, str], list[Read]] = defaultdict(list)
    for read in stored(benchmark.root):
        by_label[read.reply, read.criterion, read.sha].append(read)
    rows = [(label, by_label[label.reply.code, label.criterion, label.sha]) for label in every]
    disputed = [_row(label, reads) for label, reads in rows if id(label) in doubtful]
    codes = sorted({label.criterion for label in every})
    return {
        "labels": len(every),
        "unsettled": len(doubtful),
        "criteria": [_tally(code, [row for row in rows if row[0].criterion == code], doubtful) for code in codes],
        "open": disputed,
    }


def _tally(code: str, rows: Sequence[tuple[Label, Sequence[Read]]], doubtful: set[int]) -> dict[str, Any]:
    settled = Counter(label.gold for label, _ in rows if id(label) not in doubtful)
    reads = [(label.gold, read.verdict) for label, said in rows for read in said]
    pairs = [(one.verdict, two.verdict) for _, said in rows for one, two in combinations(said, 2)]
    return {
        "criterion": code,
        "labels": len(rows),
        "settled": {verdict: settled[verdict] for verdict in ("PASS", "PARTIAL", "FAIL")},
        "reads": len(reads),
        "agree": sum(gold == said for gold, said in reads),
        "pairs": len(pairs),
        "pairs_agree": sum(one == two for one, two in pairs),
    }


def _row(label: Label, reads: Sequence[Read]) -> dict[str, Any]:
    said = {read.reader: read.verdict for read in reads}
    return {
        "reply": label.reply.code,
        "criterion": label.criterion,
        "gold": label.gold,
        "missing": max(0, READERS - len(reads)),
        "said": said,
    }
