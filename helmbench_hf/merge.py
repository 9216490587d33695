"""`helmbench merge`: the runs of several machines as one run. The runs themselves stay as they are.

What a journal holds is named by content, so a merge is a journal with the records of all of them: each key once, an answer
over a refusal over an engine failure, as in any journal. The same command again adds what has come since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.dataset.load import select
from helmbench_hf.dataset.shards import Shard, shard
from helmbench_hf.generate.run import differing, record_reasoning
from helmbench_hf.generate.turns import turn_name
from helmbench_hf.grading.exchanges import answers_of, run_answers, run_dataset
from helmbench_hf.grading.judging import FILE, Row, judge_rows
from helmbench_hf.inference.journal import Journal, Records, RunLock
from helmbench_hf.inference.stored import place_of
from helmbench_hf.records import Case, Completion
from helmbench_hf.run_folder import Manifest, RunError, RunFolder, write_json

ANSWERED = ("ok", "truncated", "withheld")
ONE_JUDGE = ("id", "family", "mode", "orders", "rubric", "key")
"""Fields of `judge.json` in which the judges of two runs are one judge."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did and what is still missing."""

    answers: int
    """Answers that the merged run holds."""
    added: int
    """Of these, what this call wrote."""
    open: Mapping[str, int]
    """Conversations that lack an answer, by shard (`2/3`); under an empty name where the runs are not shards of one cut."""
    judges: tuple[str, ...]
    """Judges whose judgments were merged."""
    left_out: str
    """Why judgments were not merged; empty where they were or where there are none."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the runs, read."""

    folder: RunFolder
    manifest: Manifest
    answers: Records

    @property
    def shard(self) -> Shard | None:
        """Which shard it is."""
        text = self.manifest["selection"].get("shard")
        return Shard.parse(text) if text else None

    @property
    def row(self) -> dict[str, Any]:
        """What the merged manifest says of it."""
        named = {"run": self.folder.root.resolve().name, "shard": None, **self.manifest["selection"]}
        grown = {"answers": len(self.answers), "engine": self.manifest.get("engine"), "history": self.manifest.get("history")}
        return {**named, "started": self.manifest.get("started", ""), **grown}


def merge(out: Path, runs: Sequence[Path]) -> Merged:
    """Put the answers and judgments of `runs` together in `out`, which is new, or a merge of the same runs.

    Raises RunError where the runs do not belong together, hold different answers to one question, or `out` holds something
    else, and DatasetError where their dataset is not here: nothing is written then. Raises JournalError where `out` cannot be
    written, or another process writes it.
    """
    target, parts = RunFolder(out), _read(out, runs)
    _check_alike(parts)
    loaded = run_dataset(parts[0].manifest, parts[0].folder)
    selection = _selection(parts)
    cases = select(loaded.cases, selection["only"], selection["limit"])
    manifest = {**_manifest(parts), "selection": {**selection, "shard": None, "cases": len(cases)}}
    for part in parts:
        own = part.manifest["selection"]
        answers_of(part.folder, select(loaded.cases, own["only"], own["limit"], own.get("shard")), part.answers)
    _together([part.answers for part in parts])
    old = _existing(target, manifest["parts"])
    with RunLock.acquire(out):
        stored = Journal.read(target.completions)
        together = _together([stored, *(part.answers for part in parts)])
        target.write_manifest({**manifest, **{name: old[name] for name in ("engine",) if name in old}})
        added = _append(target.completions, stored, together)
        record_reasoning(target, Journal.read(target.completions))
        judges, left_out = _merge_judgments([part.folder for part in parts], target)
    return Merged(len(together), added, _open(target, parts), judges, left_out)


def _read(out: Path, runs: Sequence[Path]) -> list[Part]:
    """The runs in an order of their own, so that the order in which they are named decides nothing."""
    places = [run.resolve() for run in runs]
    if len(set(places)) < len(places):
        raise RunError("the same run is named twice; name each once")
    if inside := [place for place in places if out.resolve().is_relative_to(place) or place.is_relative_to(out.resolve())]:
        raise RunError(f"{out} and {inside[0]} lie one inside the other; give the merged run a folder of its own")
    parts = []
    for run in runs:
        folder = RunFolder(run)
        manifest = folder.manifest()
        if "only" not in manifest.get("selection", {}):
            raise RunError(f"{run} does not record which cases it was to answer, so nobody can say what is missing in a merge")
        parts.append(Part(folder, manifest, Journal.read(folder.completions)))
    return sorted(parts, key=lambda part: (part.shard.number if part.shard else 0, *_identity(part.row)))


def _identity(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """What a part keeps while it grows."""
    return str(row["run"]), str(row["shard"]), str(row["started"])


def _check_alike(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        found = differing(first.manifest, part.manifest)
        for name, field in (("design", "design"), ("content of the dataset", "content_sha256")):
            found += [name] if first.manifest["dataset"][field] != part.manifest["dataset"][field] else []
        if found:
            raise RunError(
                f"{first.folder.root} and {part.folder.root} were run with another {' and another '.join(found)}; "
                "only runs that differ in their cases alone can be merged"
            )


def _selection(parts: Sequence[Part]) -> dict[str, Any]:
    """The cases of all parts together."""
    chosen = [(part.manifest["selection"]["only"], part.manifest["selection"].get("limit")) for part in parts]
    only, limit = chosen[0]
    if len(set(chosen)) > 1:
        if any(limit is not None for _, limit in chosen):
            raise RunError("the runs took different cases by --limit, whose sum has no name; run them with the same --limit")
        only = None if any(only is None for only, _ in chosen) else ",".join(sorted({only for only, _ in chosen}))
    return {"only": only, "limit": limit}


def _manifest(parts: Sequence[Part]) -> Manifest:
    """The first part's, with what is not the same for all of them said part by part."""
    rows = [part.row for part in parts]
    shared = {name: value for name, value in parts[0].manifest.items() if name not in ("engine", "format", "history")}
    one_engine = (
        {"engine": rows[0]["engine"]} if rows[0]["engine"] and all(row["engine"] == rows[0]["engine"] for row in rows) else {}
    )
    return {**shared, **one_engine, "started": min(row["started"] for row in rows), "parts": rows}


def _together(journals: Iterable[Records], *, strict: bool = True) -> Records:
    """One journal's worth of records. `strict`: RunError where two journals answer one key or one request differently."""
    found = Records()
    asked: dict[str, tuple[int, str]] = {}
    for number, records in enumerate(journals):
        first = found.segments.extend(records.segments.paths)
        for each in (records.failures, records):
            for key, completion in each.items():
                if strict and completion.status in ANSWERED:
                    _check_answer(found, completion, each.file(key))
                    before, known = asked.setdefault(completion.request, (number, key))
                    if before != number and known != key:
                        raise RunError(
                            f"{found.file(known)} and {each.file(key)} put {completion.request} to the model in different "
                            f"words; {UNLIKE}"
                        )
                found.add(completion, each.places[key] + place_of(first, 0))
    return found


UNLIKE = "they are not shards of one run. Merge one of the two, or run one of them again"


def _check_answer(found: Records, completion: Completion, file: Path) -> None:
    known = found.get(completion.key)
    if known is None or known.status not in ANSWERED:
        return
    if (known.status, known.text) != (completion.status, completion.text):
        raise RunError(f"{found.file(known.key)} and {file} hold different answers to {completion.request}; {UNLIKE}")


def _existing(target: RunFolder, rows: Sequence[Mapping[str, Any]]) -> Manifest:
    """The manifest of an earlier merge of the same parts; empty where there is nothing yet. RunError for anything else."""
    names = {path.name for path in target.root.iterdir()} if target.root.is_dir() else set()
    if not names - {"run.lock"}:
        return {}
    old = target.manifest() if "manifest.json" in names else {}
    if sorted(map(_identity, old.get("parts", ()))) != sorted(map(_identity, rows)):
        raise RunError(f"{target.root} is not empty and no merge of these runs; give another folder")
    return old


def _append(folder: Path, stored: Records, together: Records) -> int:
    """Journal what is not there yet; give its number."""
    new = [
        (each, key)
        for each in (together.failures, together)
        for key, completion in each.items()
        if completion not in (stored.get(key), stored.failures.get(key))
    ]
    if new:
        with Journal.open(folder, "merge") as journal:
            for each, key in new:
                journal.append(each[key])
    return len(new)


def _merge_judgments(parts: Sequence[RunFolder], target: RunFolder) -> tuple[tuple[str, ...], str]:
    """Merge the judges' folders, or say why not: the first judge gives the credit, so all must have the same ones in order.

    Two cases can put the same question to a judge, in two parts; the first answer stands, as it would in one run.
    """
    graded = [(folder, rows) for folder in (target, *parts) if (rows := judge_rows(folder))]
    if not graded:
        return (), ""
    most = max(graded, key=lambda each: len(each[1]))[1]
    for folder, rows in graded:
        for row, other in zip(rows, most, strict=False):
            if unlike := [name for name in ONE_JUDGE if row[name] != other[name]]:
                return (), f"{folder.root} was graded by other judges or in another order ({row['id']}: another {unlike[0]})"
    for row in most:
        _merge_judge(row, [folder.judgments / row["id"] for folder in (target, *parts)])
    return tuple(row["id"] for row in most), ""


def _merge_judge(row: Row, folders: Sequence[Path]) -> None:
    """Into the first of the folders."""
    target = folders[0]
    with RunLock.acquire(target):
        stored = Journal.read(target)
        _append(target, stored, _together([stored, *map(Journal.read, folders[1:])], strict=False))
        if not (target / FILE).exists():
            write_json(target / FILE, row)


def _open(target: RunFolder, parts: Sequence[Part]) -> dict[str, int]:
    """Conversations that `generate` would still go on with, by the shard that they belong to."""
    cases, found = run_answers(target)
    draws = target.manifest()["settings"]["draws"]
    cuts = {(row["only"], row["limit"], part.shard.of if part.shard else 0) for part in parts for row in (part.row,)}
    of = cuts.pop()[-1] if len(cuts) == 1 else 0
    cut = [(str(each), shard(cases, each)) for each in (Shard(number, of) for number in range(1, of + 1))] or [("", cases)]
    counted = {name: sum(_is_open(case, draw, found) for case in own for draw in range(draws)) for name, own in cut}
    return {name: count for name, count in counted.items() if count}


def _is_open(case: Case, draw: int, found: Mapping[str, Completion]) -> bool:
    for turn in range(1, len(case.turns) + 1):
        completion = found.get(turn_name(case.code, turn, draw))
        if completion is None or completion.status == "engine_error":
            return True
        if completion.status in ("refused", "withheld"):
            return False
    return False
