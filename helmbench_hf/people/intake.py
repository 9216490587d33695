"""People's answers as a run: journaled like a model's, graded, scored and reported by the same code.

A case's answers are its draws, one a person. Scoring needs the same number of draws of every case, so the run counts the
number at which most answers are used; what people gave beyond it stays in the journal, and a case with fewer is missing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from helmbench_hf import __version__
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.hashing import digest
from helmbench_hf.people.answers import Given, about, held, read_sheet
from helmbench_hf.people.plan import PeopleError, Plan, Study, plan
from helmbench_hf.records import Completion
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.journal import Journal, run_lock
from helmbench_hf.runs.turns import turn_name

ENGINE = "people"


@dataclass(frozen=True, slots=True)
class Intake:
    """What an import took."""

    people: int
    asked: int
    """Cases that these people were asked; a case counts once a person."""
    answers: int
    """Cases that they answered to the end."""
    skipped: int
    unfinished: int
    cases: int
    """Different cases that they were asked."""
    draws: int
    """Answers per case that are scored."""
    beyond: int
    """Answers that no score uses: beyond `draws`, or of a case that has fewer."""


def study_in(files: Sequence[Path]) -> Study:
    """The study that all files belong to; tells which cases to load. Raises PeopleError where they differ."""
    if not files:
        raise PeopleError("No answer files were given; name the files that people handed in.")
    studies = {}
    for path in files:
        with about(path):
            studies[path] = read_sheet(path).study
    first = studies[files[0]]
    for path, study in studies.items():
        if study != first:
            raise PeopleError(
                f"{path} belongs to study {study.id}, {files[0]} to {first.id}; import each study into its own run."
            )
    return first


def take(files: Sequence[Path], folder: RunFolder, loaded: CaseSet, benchmark: Benchmark) -> Intake:
    """Journal the answers of all files into a new run folder.

    Raises PeopleError for a file of another version or study, a person or item that comes twice, and what nobody was asked;
    RunError where the folder holds a run. Nothing is written before every file was read.
    """
    study, given = study_in(files), []
    with about(files[0]):
        drawn = plan(study, loaded, benchmark)
    for path in files:
        with about(path):
            given.append(held(read_sheet(path), drawn))
    twice = [person for person, times in Counter(each.person for each in given).items() if times > 1]
    if twice:
        raise PeopleError(f"{', '.join(twice)} handed in two files; keep one for each person.")
    if not any(each.texts for each in given):
        raise PeopleError("Nobody finished an item; there is nothing to score.")
    found = _counted(given)
    with run_lock(folder.root):
        if (folder.root / "manifest.json").exists():
            raise RunError(f"{folder.root} already contains a run; give another folder, and all files of the study at once")
        _write(folder, drawn, given, found, loaded)
    return found


def _counted(given: Sequence[Given]) -> Intake:
    times = Counter(code for each in given for code in each.texts)
    answers = times.total()
    used = {draws: draws * sum(count >= draws for count in times.values()) for draws in set(times.values())}
    draws = max(sorted(used), key=lambda each: used[each])
    return Intake(
        people=len(given),
        asked=sum(len(each.asked) for each in given),
        answers=answers,
        skipped=sum(each.skipped for each in given),
        unfinished=sum(each.unfinished for each in given),
        cases=len({case.code for each in given for case in each.asked}),
        draws=draws,
        beyond=answers - used[draws],
    )


def _write(folder: RunFolder, drawn: Plan, given: Sequence[Given], found: Intake, loaded: CaseSet) -> None:
    """Write the manifest, then the journal; a case's draws are in the order of the people's random codes."""
    asked = {case.code for each in given for case in each.asked}
    codes = [case.code for case in loaded.cases if case.code in asked]
    who = sorted(given, key=lambda each: each.person)
    folder.write_manifest(
        {
            "helmbench": __version__,
            "dataset": asdict(loaded.identity),
            "selection": {"only": ",".join(codes), "limit": None, "cases": len(codes)},
            "model": {
                "id": f"{ENGINE} ({found.people} people, {found.answers} answers)",
                "title": "Human baseline",
                "sha": digest([drawn.study.id, [[each.person, [list(row) for row in each.texts.items()]] for each in who]]),
            },
            "settings": {"draws": found.draws},
            "engine_label": ENGINE,
            "people": {
                "study": drawn.study.model_dump(),
                "id": drawn.study.id,
                **asdict(found),
            },
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
    )
    draw: Counter[str] = Counter()
    with Journal.open(folder.completions, ENGINE) as journal:
        for each in who:
            for code, texts in each.texts.items():
                for turn, text in enumerate(texts, 1):
                    name = turn_name(code, turn, draw[code])
                    key = digest({"people": drawn.study.id, "person": each.person, "case": code, "turn": turn})
                    journal.append(Completion(key, name, "ok", text, finish_reason=f"{ENGINE} {each.person}"))
                draw[code] += 1
