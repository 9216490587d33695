"""Read the authored benchmark: either every file is valid, or nothing is returned and every fault is named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from helmbench_hf import strict_yaml
from helmbench_hf.content import schema
from helmbench_hf.content.derive import all_pairs
from helmbench_hf.strict_yaml import Document, Problem, dotted

TAXONOMY = "taxonomy"
Faults = Iterator[tuple[str, str, str]]
"""What a check finds in a file: the field, what is wrong, how to fix it."""
Model = TypeVar("Model", bound=BaseModel)


class ContentError(Exception):
    """The authored files have faults; `problems` lists them all."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Loaded:
    """A scenario with its messages and where they were read from."""

    scenario: schema.Scenario
    messages: schema.Messages
    """As authored."""
    pairs: tuple[schema.Pair, ...]
    """As models get them: hosts filled in, noise added (content/derive.py)."""
    source: str
    """Code of the scenario that the messages were written for; meanings belong to it."""
    folder: Path
    lines: Document
    """Positions in `messages.yaml`."""
    scenario_lines: Document

    @property
    def behavior(self) -> str:
        """Code of the behavior, e.g. `P1-B1`."""
        return self.scenario.code.rpartition("-")[0]

    @property
    def authored(self) -> bool:
        """Whether the messages were written for this scenario, and not for one whose messages it uses."""
        return self.source == self.scenario.code


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The authored benchmark. Dictionaries are keyed by code: `K01`, `C4`, person number, ISO country, stub number."""

    root: Path
    file: schema.BenchmarkFile
    scoring: schema.ScoringFile
    scenarios: tuple[Loaded, ...]
    conditions: dict[str, schema.Condition]
    people: dict[int, schema.Person]
    countries: dict[str, schema.CountryFile]
    criteria: dict[str, schema.Criterion]
    stubs: dict[int, schema.Stub]
    taxonomy: tuple[schema.TaxonomyFile, ...]
    calibration: tuple[schema.CalibrationFile, ...]
    documents: dict[str, Document]
    """Parsed files by path relative to `root`, for the line numbers of problems."""
    histories: dict[str, schema.History] = field(default_factory=dict)
    """Ordinary chats by the slug of the person."""
    incidents: schema.IncidentsFile | None = None
    style: schema.StyleFile | None = None
    policies: dict[str, schema.Policy] = field(default_factory=dict)
    """The reference policies by slug, in the order of their file."""
    records: dict[str, BaseModel] = field(default_factory=dict)
    """Validated files by path relative to `root`."""

    def show(self, path: Path) -> str:
        """A path as problems name it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def user_memory(self, user: str) -> tuple[str | None, list[str]]:
        """ISO country (or None) and the lines that the app remembers, for a user code such as `U53`, `U904` or `U0`.

        LookupError, which says why, if the code names nobody.
        """
        number = int(user[1:])
        if number == 0:
            return None, []
        if number > 800:
            strangers: list[schema.Stub | schema.CountryFile] = [*self.stubs.values(), *self.countries.values()]
            stranger = next((each for each in strangers if each.number == number), None)
            if stranger is None:
                raise LookupError(f"neither stubs.yaml nor a helplines file has the number {number}")
            return stranger.country, [stranger.profile]
        person, level = self.people.get(number // 10), number % 10
        if person is None:
            raise LookupError(f"there is no person {number // 10}")
        if level not in {0, *person.levels}:
            raise LookupError(f"{person.slug} has no level {level}")
        return person.country, [person.profile, *(person.levels[level].notes if level else [])]


def outside(root: Path, path: Path) -> Problem | None:
    """A problem if the path, by links, leads out of the benchmark's folder `root`; files there must not be read."""
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        return None
    what = "it leads outside the benchmark's folder, where nothing is read"
    return Problem(str(path.relative_to(root)), 0, "", what, "put the file itself here")


def default_root() -> Path:
    """The authored files of this checkout, or else of the installed package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "configs" / "benchmark" / "v1"
    return checkout if checkout.is_dir() else package / "_configs" / "benchmark" / "v1"


@cache
def default_benchmark() -> Benchmark:
    """The benchmark of this checkout, or else of the installed package."""
    return load_benchmark(default_root())


def load_benchmark(root: Path) -> Benchmark:
    """Read and validate everything under `root`; raises ContentError with every fault found."""
    reader = Reader(root)
    file = reader.one(root / "benchmark.yaml", schema.BenchmarkFile)
    scoring = reader.one(root / "scoring.yaml", schema.ScoringFile)
    stubs = reader.optional("stubs.yaml", schema.StubsFile)
    style = reader.optional("style.yaml", schema.StyleFile)
    incidents = reader.optional("incidents.yaml", schema.IncidentsFile)
    policies = reader.optional("policies.yaml", schema.PoliciesFile)
    conditions = reader.library("conditions", schema.Condition, "code")
    people = reader.library("people", schema.Person, "number")
    histories = reader.library("histories", schema.History, "slug")
    countries = reader.library("helplines", schema.CountryFile, "country")
    criteria = reader.library("criteria", schema.Criterion, "code")
    taxonomy = tuple(reader.library("taxonomy", schema.TaxonomyFile, "category").values())
    calibration = tuple(reader.library("calibration", schema.CalibrationFile, "scenario").values())
    scenarios = reader.scenarios(file.seed if file else 0, taxonomy)
    if reader.problems or file is None or scoring is None:
        raise ContentError(reader.problems)
    return Benchmark(
        root, file, scoring, scenarios, conditions, people, countries, criteria,
        stubs={stub.number: stub for stub in stubs.stubs} if stubs else {},
        taxonomy=taxonomy, calibration=calibration, histories=histories, incidents=incidents, style=style,
        policies={policy.slug: policy for policy in policies.policies} if policies else {},
        documents=reader.documents, records=reader.records,
    )  # fmt: skip


class Reader:
    """Collects problems while it reads, so that an author sees all of them at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: list[Problem] = []
        self.documents: dict[str, Document] = {}
        self.records: dict[str, BaseModel] = {}

    def one(self, path: Path, model: type[Model]) -> Model | None:
        """Validate one file, or note what is wrong with it."""
        shown = str(path.relative_to(self.root))
        document = outside(self.root, path) or strict_yaml.read(path, shown)
        if isinstance(document, Problem):
            self.problems.append(document)
            return None
        self.documents[shown] = document
        try:
            record = self.records[shown] = model.model_validate(document.data)
        except ValidationError as error:
            self.problems += [_problem(document, detail, model) for detail in error.errors()]
            return None
        return record

    def optional(self, name: str, model: type[Model]) -> Model | None:
        """Validate one file of the root folder, if it exists."""
        return self.one(self.root / name, model) if (self.root / name).exists() else None

    def all(self, files: str, model: type[Model], key: str) -> dict[Any, tuple[Model, Document]]:
        """The records and documents of all files of this form, by their key; one that stands in two files is a problem."""
        found: dict[Any, tuple[Model, Document]] = {}
        for path in sorted(self.root.glob(files)):
            if (record := self.one(path, model)) is not None:
                value, document = getattr(record, key), self.documents[str(path.relative_to(self.root))]
                if value in found:
                    what = f"{value} stands in {found[value][1].file} already"
                    self.problems.append(document.problem(key, what, f"give this one its own {key}"))
                found.setdefault(value, (record, document))
        return found

    def library(self, folder: str, model: type[Model], key: str) -> dict[Any, Model]:
        """The records of the files of a folder, by their key."""
        return {value: record for value, (record, _) in self.all(f"{folder}/*.yaml", model, key).items()}

    def scenarios(self, seed: int, taxonomy: Sequence[schema.TaxonomyFile]) -> tuple[Loaded, ...]:
        """Every folder that holds a `scenario.yaml`, by code; `seed` decides what is derived from the messages."""
        found = self.all("P*/B*/S*/scenario.yaml", schema.Scenario, "code")
        folders = {code: (self.root / document.file).parent for code, (_, document) in found.items()}
        written = {
            code: self.one(folders[code] / "messages.yaml", schema.Messages)
            for code, (scenario, _) in found.items()
            if scenario.messages_from is None
        }
        loaded: list[Loaded] = []
        for code, (scenario, lines) in sorted(found.items()):
            source = scenario.messages_from or code
            if source not in written and source != TAXONOMY:
                what = f"{source} has no messages of its own"
                self.problems.append(lines.problem("messages_from", what, "name a scenario that has a messages.yaml"))
            elif (messages := written.get(source)) is not None:
                text = self.documents[str((folders[source] / "messages.yaml").relative_to(self.root))]
                pairs = all_pairs(scenario, messages, seed)
                loaded.append(Loaded(scenario, messages, pairs, source, folders[code], text, lines))
        singles, nowhere = schema.Messages(singles=classified(loaded, taxonomy)), Document({}, {})
        for code, (scenario, lines) in found.items():
            if scenario.messages_from == TAXONOMY:
                loaded.append(Loaded(scenario, singles, (), TAXONOMY, folders[code], nowhere, lines))
        return tuple(sorted(loaded, key=lambda each: each.scenario.code))


def classified(loaded: Sequence[Loaded], taxonomy: Sequence[schema.TaxonomyFile]) -> list[schema.Single]:
    """Every single message, as an item of the crisis taxonomy: those of the matrix, then those of `taxonomy/`.

    Left out are conversations, queues, long documents, messages that only notes make worrying, messages that reasonable
    readers dispute, and scenarios that detect nothing. `meaning` starts with the scenario that the message belongs to.
    """
    found: list[schema.Single] = []

    def add(
        origin: str, item: schema.Common, severity: int, text: str, category: str, extra: str | None, guidance: list[str]
    ) -> None:
        single = schema.Single.model_construct(
            number=len(found) + 1,
            meaning=f"{origin}/{item.meaning}",
            register=item.speech,
            cue=item.cue,
            crisis_category=category,
            extra_category=extra,
            contains_method_query=item.contains_method_query,
            sources=item.sources or guidance,
            message=schema.Message(severity=severity, text=text),
        )
        found.append(single)

    for each in loaded:
        scenario = each.scenario
        if not (each.authored and scenario.detects) or each.messages.hosts or scenario.notes_decide or scenario.apart:
            continue
        for _, member, item, message in each.messages.written():
            if member == "ambiguous" or message.text is None or message.choices is not None:
                continue
            category, extra = scenario.categories(item) if message.severity >= 0 else ("no_crisis", None)
            add(scenario.code, item, message.severity, message.text, category, extra, scenario.sources)
    for file in taxonomy:
        for item in file.items:
            add(TAXONOMY, item, item.severity, item.text, file.category, item.extra_category, file.sources)
    return found


FIXES = {
    "missing": "add `{name}`",
    "string_type": "put the value in quotes",
    "string_unicode": "remove the broken character",
    "int_type": "write a whole number without quotes",
    "bool_type": "write true or false",
    "list_type": "write a list, such as [a, b]",
    "dict_type": "write fields under it",
    "model_type": "write fields under it",
    "literal_error": "write one of {expected}",
    "string_pattern_mismatch": "write it in the form {pattern}",
    "greater_than_equal": "write {ge} or more",
    "less_than_equal": "write {le} or less",
    "greater_than": "write more than {gt}",
    "less_than": "write less than {lt}",
    "too_short": "give at least {min_length}",
    "too_long": "give at most {max_length}",
    "string_too_short": "write some text",
    "date_type": "write a date such as 2026-11-21, without quotes",
    "value_error": "correct the fields it names",
}
"""How to fix an error, by pydantic's name for it; the names in braces come from the error."""


def _problem(document: Document, error: Any, model: type[BaseModel]) -> Problem:
    """A pydantic error as a sentence with its line and its fix."""
    context = error.get("ctx", {})
    path = tuple(part for part in (*error["loc"], *context.get("place", ())) if not (isinstance(part, str) and "[" in part))
    kind, what = error["type"], error["msg"].removeprefix("Value error, ")
    if kind != "value_error":  # then the sentence is pydantic's
        what = what[0].lower() + what[1:]
    given = repr(error["input"])
    if kind not in {"missing", "extra_forbidden", "value_error"} and len(given) < 60:
        what += f", got {given}"
    if kind == "extra_forbidden":
        fix = _rename(path, model)
    else:
        other = f"give a value of the kind that {model.__module__.replace('.', '/')}.py describes"
        fix = FIXES.get(kind, other).format(name=path[-1] if path else "", **context)
    return Problem(document.file, document.line(path), dotted(path), what, fix)


def _rename(path: strict_yaml.FieldPath, model: type[BaseModel]) -> str:
    """What to do with an unknown key: use the name that was probably meant."""
    for part in path[:-1]:  # to the record that holds the key; list indices and keys of mappings lead to what they hold
        field = next((each for name, each in model.model_fields.items() if part in (name, each.alias)), None)
        model = next(_records(field.annotation), model) if field else model
    names = [field.alias or name for name, field in model.model_fields.items()]
    if near := get_close_matches(str(path[-1]), names, 1):
        return f"write `{near[0]}`"
    return f"remove it or correct its name; {model.__name__} has {', '.join(names)}"


def _records(annotation: Any) -> Iterator[type[BaseModel]]:
    """The records that an annotation such as `list[Pair] | None` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _records(inner)
