"""`helmbench merge`: the runs of several machines as one run. The runs themselves stay as they are.

What a journal holds is named by content, so a merge is a journal with the records of all of them: each key once, an answer
before a refusal before an engine failure, as in any journal. Run it again to add what has come since. Judges' journals are
merged in the same way, from the files that lie in the run folders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.dataset.load import select
from helmbench_hf.dataset.shards import Shard, members
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs.completions import answers_of, as_said, ended, run_answers, run_dataset
from helmbench_hf.runs.folder import JUDGE, Manifest, RunError, RunFolder, write_json
from helmbench_hf.runs.generate import differing, record_reasoning
from helmbench_hf.runs.journal import Journal, Records, run_lock
from helmbench_hf.runs.turns import turn_name

ANSWERED = ("ok", "truncated", "withheld")
ONE_JUDGE = ("id", "family", "mode", "orders", "rubric", "key")
"""Fields of `judge.json` in which the judges of two runs are one judge."""
UNLIKE = "they are not shards of one run. Merge one of the two, or run one of them again"


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
    def shard(self) -> Shard:
        """Which shard it is; 0/0 where it is none."""
        text = self.manifest.selection.shard
        return Shard.parse(text) if text else Shard(0, 0)

    @property
    def row(self) -> dict[str, Any]:
        """What the merged manifest says of it."""
        run = self.manifest
        named = {"run": self.folder.root.resolve().name, "shard": None, **run.selection.to_json(), "started": run.started}
        return {**named, "answers": len(self.answers), "engine": run.engine, "history": run.history}


def merge(out: Path, runs: Sequence[Path]) -> Merged:
    """Put the answers and judgments of `runs` together in `out`, which is new, or a merge of the same runs.

    Raises RunError where the runs do not belong together, hold different answers to one question, or `out` holds something
    else, and DatasetError where their dataset is not here: nothing is written then. Raises JournalError where `out` cannot be
    written, or another process writes it.
    """
    target, parts = RunFolder(out), _read(out, runs)
    for part in parts[1:]:
        _check_alike(parts[0], part)
    dataset = run_dataset(parts[0].folder).cases
    only, limit = _selection(parts)
    for part in parts:
        chosen = part.manifest.selection
        answers_of(part.folder, select(dataset, chosen.only, chosen.limit, chosen.shard), part.answers)
    _together([part.answers for part in parts])
    manifest = _manifest(parts, {"only": only, "limit": limit, "shard": None, "cases": len(select(dataset, only, limit))})
    old = _existing(target, manifest.parts)
    with run_lock(out):
        stored = Journal.read(target.completions)
        together = _together([stored, *(part.answers for part in parts)])
        target.write_manifest(manifest if old is None or not old.engine else manifest.model_copy(update={"engine": old.engine}))
        added = _append(target.completions, stored, together)
        acts = [Journal.read(place.acts) for place in (target, *(part.folder for part in parts))]
        if any(map(len, acts)):
            _append(target.acts, acts[0], _together(acts))
        record_reasoning(target, Journal.read(target.completions))
        judges, left_out = _merge_judgments([part.folder for part in parts], target)
    return Merged(len(together), added, _open(target, parts), judges, left_out)


def _read(out: Path, runs: Sequence[Path]) -> list[Part]:
    """The runs, sorted, so that the order in which they are named decides nothing."""
    places = [run.resolve() for run in runs]
    if len(set(places)) < len(places):
        raise RunError("the same run is named twice; name each once")
    if inside := [place for place in places if out.resolve().is_relative_to(place) or place.is_relative_to(out.resolve())]:
        raise RunError(f"one of {out} and {inside[0]} is inside the other; give the merged run a folder of its own")
    parts = []
    for folder in map(RunFolder, runs):
        manifest = folder.manifest()
        if not manifest.selection.recorded:
            raise RunError(
                f"{folder.root} does not record which cases it was supposed to answer, so a merge could not show what is missing"
            )
        parts.append(Part(folder, manifest, Journal.read(folder.completions)))
    return sorted(parts, key=lambda part: (part.shard.number, _identity(part.row)))


def _identity(row: Mapping[str, Any]) -> list[str]:
    """What a part keeps while it grows."""
    return [str(row[name]) for name in ("run", "shard", "started")]


def _check_alike(one: Part, other: Part) -> None:
    found, dataset, other_dataset = differing(one.manifest, other.manifest), one.manifest.dataset, other.manifest.dataset
    found += ["design"] if dataset.design != other_dataset.design else []
    found += ["content of the dataset"] if dataset.content_sha256 != other_dataset.content_sha256 else []
    if found:
        raise RunError(
            f"{one.folder.root} and {other.folder.root} differ in their {' and '.join(found)}; runs can be merged only if "
            f"they differ in nothing but their cases"
        )


def _selection(parts: Sequence[Part]) -> tuple[str | None, int | None]:
    """`only` and `limit` of all parts together."""
    chosen = {(part.manifest.selection.only, part.manifest.selection.limit) for part in parts}
    if len(chosen) == 1:
        return chosen.pop()
    if any(limit is not None for _, limit in chosen):
        raise RunError(
            "the runs have different cases because of --limit, and together they do not form a named set of "
            "cases; run them with the same --limit"
        )
    prefixes = {only for only, _ in chosen if only is not None}
    return (None if len(prefixes) < len(chosen) else ",".join(sorted(prefixes))), None


def _manifest(parts: Sequence[Part], selection: dict[str, Any]) -> Manifest:
    """The first part's, with what differs between the parts said part by part."""
    rows = [part.row for part in parts]
    shared = {name: value for name, value in parts[0].manifest.to_json().items() if name not in ("engine", "history")}
    engine = rows[0]["engine"] if all(row["engine"] == rows[0]["engine"] for row in rows) else None
    made = {**shared, "selection": selection, "started": min(row["started"] for row in rows), "parts": rows}
    return Manifest.model_validate({**made, "engine": engine} if engine else made)


def _together(journals: Iterable[Records], *, strict: bool = True) -> Records:
    """One journal's worth of records. `strict`: RunError where two journals answer one key or one request differently."""
    found = Records()
    asked: dict[str, tuple[int, str]] = {}
    for number, records in enumerate(journals):
        for key, completion in [*records.failures.items(), *records.items()]:
            if strict and completion.status in ANSWERED:
                file, request, stored = records.place(key).file, completion.request, found.get(key)
                if stored and stored.status in ANSWERED and (stored.status, stored.text) != (completion.status, completion.text):
                    raise RunError(f"{found.place(key).file} and {file} hold different answers to {request}; {UNLIKE}")
                before, first = asked.setdefault(request, (number, key))
                if before != number and first != key:
                    said = f"put {request} to the model in different words"
                    raise RunError(f"{found.place(first).file} and {file} {said}; {UNLIKE}")
            found.add(completion, records.place(key))
    return found


def _existing(target: RunFolder, rows: Sequence[Mapping[str, Any]]) -> Manifest | None:
    """The manifest of an earlier merge of the same parts; None where there is nothing yet. RunError for anything else."""
    names = {path.name for path in target.root.iterdir()} if target.root.is_dir() else set()
    if not names - {"run.lock"}:
        return None
    old = target.manifest() if "manifest.json" in names else None
    if old is None or sorted(map(_identity, old.parts)) != sorted(map(_identity, rows)):
        raise RunError(f"{target.root} is not empty and not a merge of these runs; give another folder")
    return old


def _append(folder: Path, stored: Records, together: Records) -> int:
    """Journal what is not there yet; give its number."""
    before = stored.everything()
    every = [*together.failures.items(), *together.items()]
    new = [completion for key, completion in every if completion != before.get(key)]
    if new:
        with Journal.open(folder, "merge") as journal:
            for completion in new:
                journal.append(completion)
    return len(new)


def _merge_judgments(parts: Sequence[RunFolder], target: RunFolder) -> tuple[tuple[str, ...], str]:
    """Merge the judges' folders, or say why not: the first judge gives the credit, so all must have the same ones in order.

    Two cases can put the same question to a judge, in two parts; the first answer stands, as it would in one run.
    """
    graded = [(folder, rows) for folder in (target, *parts) if (rows := folder.judges())]
    most = max((rows for _, rows in graded), key=len, default=[])
    for folder, rows in graded:
        for row, other in zip(rows, most, strict=False):
            if unlike := [name for name in ONE_JUDGE if row[name] != other[name]]:
                return (), f"{folder.root} was graded by other judges or in another order ({row['id']}: another {unlike[0]})"
    for row in most:
        folder = target.judgments / row["id"]
        with run_lock(folder):
            stored = Journal.read(folder)
            others = [Journal.read(part.judgments / row["id"]) for part in parts]
            _append(folder, stored, _together([stored, *others], strict=False))
            if not (folder / JUDGE).exists():
                write_json(folder / JUDGE, row)
    return tuple(row["id"] for row in most), ""


def _open(target: RunFolder, parts: Sequence[Part]) -> dict[str, int]:
    """Conversations that `generate` would still continue, by the shard that they belong to."""
    cases, found = run_answers(target)
    draws = target.manifest().settings.draws
    cuts = {(part.manifest.selection.only, part.manifest.selection.limit, part.shard.of) for part in parts}
    of = parts[0].shard.of if len(cuts) == 1 else 0
    shards = [Shard(number, of) for number in range(1, of + 1)]
    by_shard = {str(shard): members(cases, shard) for shard in shards} or {"": cases}
    counted = Counter(
        name for name, held in by_shard.items() for case in held for draw in range(draws) if _is_open(case, draw, found)
    )
    return dict(counted)


def _is_open(case: Case, draw: int, found: Mapping[str, Completion]) -> bool:
    said = as_said(case, found, draw)
    for turn in range(1, len(said.turns) + 1):
        completion = found.get(turn_name(case.code, turn, draw))
        if completion is None or completion.status == "engine_error":
            return True
        if completion.status in ("refused", "withheld"):
            return False
    return not ended(case, found, draw)
