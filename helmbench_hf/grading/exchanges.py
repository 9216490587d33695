"""A run's table of answers as what graders read: its cases, its completions by name, and the replies that a judge sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import HUB, CaseSet, load_cases, select
from helmbench_hf.generate.turns import opening, turn_name
from helmbench_hf.grading.answers import read_answer
from helmbench_hf.grading.judge import criteria_of
from helmbench_hf.grading.rubric import Exchange
from helmbench_hf.inference.journal import Journal, Stored
from helmbench_hf.records import Case, Completion
from helmbench_hf.run_folder import Manifest, RunError, RunFolder


def run_cases(folder: RunFolder, completions: Mapping[str, Completion]) -> tuple[Case, ...]:
    """The cases that a run answers, as its manifest names them, from where it took them.

    A run of stored answers that records no selection is held to the cases that it answers. Raises what `run_dataset` raises.
    """
    manifest = folder.manifest()
    loaded, selection = run_dataset(manifest, folder), manifest.get("selection", {})
    if "only" not in selection:
        answered = {name.partition("/")[0] for name in completions}
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

    def __init__(self, stored: Stored, keys: dict[str, str]) -> None:
        """`keys`: by request name, the key of its completion."""
        self._stored, self._keys = stored, keys

    def __getitem__(self, name: str) -> Completion:
        return self._stored[self._keys[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def shared(self, cases: Sequence[Case], draws: int) -> Answers:
        """The same, each completion under the name of every conversation that has it.

        Conversations that begin alike are asked their first turns once, and the journal names one of them.
        """
        turns = [(case, number, draw) for case in cases for number in range(1, len(case.turns) + 1) for draw in range(draws)]
        unnamed = [turn for turn in turns if turn_name(turn[0].code, *turn[1:]) not in self._keys]
        wanted = {(opening(case, number), draw): "" for case, number, draw in unnamed}
        for case, number, draw in turns if wanted else ():
            name = turn_name(case.code, number, draw)
            if name in self._keys and (asked := (opening(case, number), draw)) in wanted:
                wanted[asked] = self._keys[name]
        found = {turn_name(case.code, n, draw): wanted[opening(case, n), draw] for case, n, draw in unnamed}
        return Answers(self._stored, {**{name: key for name, key in found.items() if key}, **self._keys})


def run_completions(folder: RunFolder) -> Answers:
    """The model's completions by request name (`CODE/t1/d0`); an engine failure stands where nothing better came."""
    stored = Journal.read(folder.completions)
    keys = {completion.request: key for key, completion in stored.failures.items()}
    return Answers(stored.everything(), keys | {completion.request: key for key, completion in stored.items()})


def run_answers(folder: RunFolder) -> tuple[tuple[Case, ...], Answers]:
    """The cases of a run and its completions by request name, each under the name of every conversation that has it.

    Raises what `run_cases` raises.
    """
    found = run_completions(folder)
    cases, draws = run_cases(folder, found), folder.manifest()["settings"]["draws"]
    return cases, found.shared(cases, draws)


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
