"""A run's table of answers as what graders read: its cases, its completions by name, and the replies that a judge sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import HUB, CaseSet, load_cases, select
from helmbench_hf.generate.turns import Conversations, Settings, turn_name
from helmbench_hf.grading.answers import read_answer
from helmbench_hf.grading.judge import criteria_of
from helmbench_hf.grading.rubric import Exchange
from helmbench_hf.inference.chat import ServerTemplate
from helmbench_hf.inference.journal import Journal, Records, Stored
from helmbench_hf.inference.keys import KeyContext
from helmbench_hf.records import Case, Completion
from helmbench_hf.run_folder import Manifest, RunError, RunFolder


def run_cases(folder: RunFolder, completions: Mapping[str, Completion]) -> tuple[Case, ...]:
    """The cases that a run answers, as its manifest names them, from where it took them; `completions` by any name.

    A run of stored answers that records no selection is held to the cases that it answers. Raises what `run_dataset` raises.
    """
    manifest = folder.manifest()
    loaded, selection = run_dataset(manifest, folder), manifest.get("selection", {})
    if "only" not in selection:
        answered = {completion.request.partition("/")[0] for completion in completions.values()}
        return tuple(case for case in loaded.cases if case.code in answered)
    return select(loaded.cases, selection["only"], selection.get("limit"), selection.get("shard"))


def run_dataset(manifest: Manifest, folder: RunFolder) -> CaseSet:
    """The dataset that ran, from where the run took it.

    Raises `RunError` where the dataset is not the one that ran, or its version is not this helmbench's, whose criteria and
    helplines would not fit.
    """
    dataset, ours = manifest["dataset"], default_benchmark().file.version
    if dataset["version"] != ours:
        raise RunError(
            f"{folder.root} was run on version {dataset['version']} of the benchmark and this helmbench carries {ours}; "
            "grade it with the helmbench that ran it."
        )
    source, revision = source_of(dataset["source"])
    loaded = load_cases(dataset["design"], source, revision)
    if loaded.identity.content_sha256 != dataset["content_sha256"]:
        raise RunError(f"{folder.root} was run on other content than {dataset['source']} now holds; restore that dataset.")
    return loaded


def source_of(source: str) -> tuple[str | None, str | None]:
    """Source and revision that `load_cases` takes, from the source that an identity records."""
    if source == "embedded":
        return None, None
    if Path(source).is_dir():
        return source, None
    repo, at, revision = source.partition("@")
    return (f"{HUB}{repo}", revision) if at else (repo, None)


class Answers(Mapping[str, Completion]):
    """A run's completions by request name, read from the journal whenever one is asked for."""

    def __init__(self, stored: Stored, keys: dict[str, str], notes: tuple[str, ...] = ()) -> None:
        """`keys`: by request name, the key of its completion. `notes`: a sentence on each sort of line that was passed over."""
        self._stored, self._keys, self.notes = stored, keys, notes

    def __getitem__(self, name: str) -> Completion:
        return self._stored[self._keys[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys


def run_answers(folder: RunFolder) -> tuple[tuple[Case, ...], Answers]:
    """The cases of a run and its completions by request name, each under the name of every conversation that has it.

    An engine failure stands where nothing better came. Raises what `run_cases` and `answers_of` raise.
    """
    stored = Journal.read(folder.completions)
    cases = run_cases(folder, stored.everything())
    return cases, answers_of(folder, cases, stored)


def answers_of(folder: RunFolder, cases: Sequence[Case], stored: Records) -> Answers:
    """The completions that a run asked for, found by key: in the journal's own order of conversations, turn by turn.

    Raises `RunError` for an answer to one of these cases that another build, model or setting asked for: what its key says is
    not what this run's manifest says. An answer that continues another first answer than the one that stands is noted.
    """
    manifest, rows = folder.manifest(), stored.everything()
    keys = _planned(cases, manifest, rows) if manifest.get("key") else _named(rows)
    taken, draws = set(keys.values()), manifest["settings"]["draws"]
    turns = {turn_name(case.code, n, draw): n for case in cases for n in range(1, len(case.turns) + 1) for draw in range(draws)}
    strange = [key for key in rows if key not in taken and rows[key].request in turns]
    for key in strange:
        if not manifest.get("key") or turns[rows[key].request] == 1:
            raise RunError(
                f"{rows.where(key)}: this answer to {rows[key].request} belongs to another run: its key does not follow from the "
                f"manifest and the cases here. Take that file out of {folder.completions}, then run the same command again."
            )
    notes = [str(stored.passed)]
    if strange:
        said = f"{len(strange)} answers continue another first answer than the one that stands; they are not used"
        notes.append(f"{said} ({rows.where(strange[0])}).")
    return Answers(rows, keys, tuple(filter(None, notes)))


def _planned(cases: Sequence[Case], manifest: Manifest, rows: Stored) -> dict[str, str]:
    """By request name, the key that the run asked for, where it was answered. Conversations that begin alike share keys."""
    try:
        settings = Settings(**manifest["settings"])
    except (TypeError, ValueError) as error:
        raise RunError(f"The settings in the run's manifest.json are not those of this helmbench ({error}).") from error
    talks = Conversations(cases, ServerTemplate(), KeyContext(**manifest["key"]), settings, rows)
    return {asked.turn.name: asked.key for asked in talks.reached() if asked.key in rows}


def _named(rows: Stored) -> dict[str, str]:
    """By request name, the first key that has it: the answers of policies and people rest on no model."""
    found: dict[str, str] = {}
    for key, completion in rows.items():
        found.setdefault(completion.request, key)
    return found


def places(cases: Sequence[Case], draws: int) -> Iterator[tuple[Case, int, int]]:
    """Every (case, turn, draw) that is graded."""
    yield from ((case, turn, draw) for case in cases for draw in range(draws) for turn in case.grading.turns)


def completion_at(completions: Mapping[str, Completion], case: Case, turn: int, draw: int) -> Completion | None:
    """The completion of a turn by request name. A withheld answer ends a conversation, and is what came of every later turn."""
    found = completions.get(turn_name(case.code, turn, draw))
    earlier = (completions.get(turn_name(case.code, number, draw)) for number in range(1, turn)) if found is None else ()
    return next((each for each in earlier if each is not None and each.status == "withheld"), found)


def exchanges(cases: Sequence[Case], completions: Mapping[str, Completion], draws: int) -> Iterator[Exchange]:
    """Every usable graded reply on which a judge decides something, with what the person saw before it."""
    for case, turn, draw in places(cases, draws):
        if not criteria_of(case):
            continue
        completion = completions.get(turn_name(case.code, turn, draw))
        answer = read_answer(case, completion)
        if completion is None or not answer.usable:
            continue
        before = (completions.get(turn_name(case.code, number, draw)) for number in range(1, turn))
        yield Exchange(case, turn, draw, answer, tuple(_seen(case, each) for each in before), completion.key)


def _seen(case: Case, completion: Completion | None) -> str:
    """What the person saw of an earlier answer: its reply, or the raw text where it could not be read."""
    answer = read_answer(case, completion)
    return answer.reply if answer.usable else completion.text if completion else ""
