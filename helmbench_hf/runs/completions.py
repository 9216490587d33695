"""What a run holds: its cases, from their recorded source, and its completions by request name, each found by its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import HUB, CaseSet, load_cases, select
from helmbench_hf.models.chat import ServerTemplate
from helmbench_hf.records import Act, Case, Completion
from helmbench_hf.runs.folder import Manifest, RunError, RunFolder
from helmbench_hf.runs.journal import Journal, Records
from helmbench_hf.runs.router import ACT, Router, act_of
from helmbench_hf.runs.turns import Conversations, Settings, turn_name
from helmbench_hf.runs.worded import LINE, User, Worded, tally
from helmbench_hf.tasks.reactive import walk


def run_cases(folder: RunFolder, completions: Iterable[Completion]) -> tuple[Case, ...]:
    """The cases that a run answers, as its manifest names them, from their recorded source.

    A run of stored answers that records no selection is held to the cases of its `completions`. Raises what `run_dataset`
    raises.
    """
    chosen, loaded = folder.manifest().selection, run_dataset(folder)
    if not chosen.recorded:
        answered = {completion.request.partition("/")[0] for completion in completions}
        return tuple(case for case in loaded.cases if case.code in answered)
    return select(loaded.cases, chosen.only, chosen.limit, chosen.shard)


def run_dataset(folder: RunFolder) -> CaseSet:
    """The dataset that ran, from its recorded source.

    Raises `RunError` where the dataset is not the one that ran, or its version is not this helmbench's, whose criteria and
    helplines would not fit.
    """
    dataset, version = folder.manifest().dataset, default_benchmark().file.version
    if dataset.version != version:
        raise RunError(
            f"{folder.root} was run on version {dataset.version} of the benchmark, but this version of helmbench "
            f"contains {version}; grade it with the version of helmbench that ran it."
        )
    source, revision = source_of(dataset.source)
    loaded = load_cases(dataset.design, source, revision)
    if loaded.identity.content_sha256 != dataset.content_sha256:
        raise RunError(
            f"{folder.root} was run on content that differs from what {dataset.source} now contains; "
            "restore the content that it was run on."
        )
    return loaded


def source_of(source: str) -> tuple[str | None, str | None]:
    """Source and revision that `load_cases` takes, from the source that an identity records."""
    if source == "embedded":
        return None, None
    if Path(source).is_dir():
        return source, None
    repo, at, revision = source.partition("@")
    return (f"{HUB}{repo}", revision) if at else (repo, None)


class RunAnswers(dict[str, Completion]):
    """A run's completions by request name; `notes` holds a sentence on each sort of journal line that was passed over."""

    notes: tuple[str, ...] = ()


def run_answers(folder: RunFolder) -> tuple[tuple[Case, ...], RunAnswers]:
    """The cases of a run and its completions by request name, each under the name of every conversation that has it.

    An engine failure stands where nothing better came. Raises what `run_cases` and `answers_of` raise.
    """
    stored = Journal.read(folder.completions)
    cases = run_cases(folder, stored.everything().values())
    return cases, answers_of(folder, cases, stored)


def answers_of(folder: RunFolder, cases: Sequence[Case], stored: Records) -> RunAnswers:
    """The completions that a run asked for, found by key along its conversations, turn by turn.

    Raises `RunError` for an answer to one of these cases that another build, model or setting asked for: its key does not
    follow from this run's manifest. An answer that continues another first answer than the one that stands is noted.
    """
    manifest, rows = folder.manifest(), stored.everything()
    labels: dict[str, Completion] = {}
    if manifest.key:
        talks = conversations_of(folder, cases, manifest, rows)
        keys = {asked.name: asked.key for asked in talks.reached() if asked.key in rows}
        labels = {**dict(talks.labels()), **dict(talks.lines())}
    else:
        keys = _named(rows)
    taken, draws = set(keys.values()), range(manifest.settings.draws)
    turns = {turn_name(case.code, n, draw): n for case in cases for n in range(1, case.most_turns + 1) for draw in draws}
    strange = [key for key, completion in rows.items() if key not in taken and completion.request in turns]
    for key in strange:
        if not manifest.key or turns[rows[key].request] == 1:
            raise RunError(
                f"{stored.place(key)}: this answer to {rows[key].request} belongs to another run: its key does not follow from "
                f"the manifest and the cases here. Take that file out of {folder.completions}, then run the same command again."
            )
    found = RunAnswers({**{name: rows[key] for name, key in keys.items()}, **labels})
    found.notes = (str(stored.passed),) if stored.passed.places else ()
    if strange:
        said = f"{len(strange)} answers continue another first answer than the one that stands; they are not used"
        found.notes += (f"{said} ({stored.place(strange[0])}).",)
    return found


def worded_lines(folder: RunFolder, cases: Sequence[Case]) -> Worded | None:
    """How the lines came about that a user model worded; None of a run without one."""
    manifest = folder.manifest()
    if manifest.user is None or manifest.key is None:
        return None
    return tally(conversations_of(folder, cases, manifest, Journal.read(folder.completions).everything()).tries())


def conversations_of(
    folder: RunFolder, cases: Sequence[Case], manifest: Manifest, rows: Mapping[str, Completion]
) -> Conversations:
    """The conversations of a run as its manifest records them, only to be read. Raises `RunError` for other settings."""
    assert manifest.key is not None
    try:
        settings = Settings(**manifest.settings.to_json())
    except (TypeError, ValueError) as error:
        raise RunError(
            f"The settings in the run's manifest.json are not those of this version of helmbench ({error})."
        ) from error
    router = manifest.router
    sorts = Router(router.key, router.mode, ServerTemplate()) if router else None
    user = User(manifest.user.key, ServerTemplate()) if manifest.user else None
    words = Journal.read(folder.acts).everything() if router else {}
    return Conversations(cases, ServerTemplate(), manifest.key, settings, rows, sorts, words, user)


def acts_of(case: Case, completions: Mapping[str, Completion], draw: int) -> tuple[Act, ...]:
    """What the replies of one conversation do, in order, up to the first that is not known; `completions` by request name."""
    found: list[Act] = []
    for turn in range(1, case.most_turns + 1):
        name = turn_name(case.code, turn, draw)
        answer = completions.get(name)
        act = None if answer is None else act_of(case, answer, completions.get(f"{name}{ACT}"))
        if act is None:
            break
        found.append(act)
    return tuple(found)


def as_said(case: Case, completions: Mapping[str, Completion], draw: int) -> Case:
    """The case with what the person really said in one conversation, as far as it went; a script stands as it is."""
    if not case.route.beats:
        return case
    beats = walk(case.route, acts_of(case, completions, draw))
    lines = [completions.get(f"{turn_name(case.code, turn, draw)}{LINE}") for turn in range(1, len(beats) + 1)]
    return replace(case, turns=tuple(line.text if line else beat.text for line, (beat, _) in zip(lines, beats, strict=True)))


def ended(case: Case, completions: Mapping[str, Completion], draw: int) -> bool:
    """Whether one conversation has come to its end; a script always has."""
    return not case.route.beats or not walk(case.route, acts_of(case, completions, draw))[-1][0].steps


def _named(rows: Mapping[str, Completion]) -> dict[str, str]:
    """By request name, the first key that has it: the answers of policies and people rest on no model."""
    found: dict[str, str] = {}
    for key, completion in rows.items():
        found.setdefault(completion.request, key)
    return found
