"""Read the authored benchmark whole: either every file is right, or nothing is returned and every fault is named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from helmbench_hf.content import library, rules, schema, strict_yaml
from helmbench_hf.content.calibration import CalibrationFile
from helmbench_hf.content.derive import all_pairs
from helmbench_hf.content.incidents import IncidentsFile
from helmbench_hf.content.strict_yaml import Document, Problem

TAXONOMY = "taxonomy"
INCIDENTS = "incidents.yaml"
Model = TypeVar("Model", bound=BaseModel)


class ContentError(Exception):
    """The authored files have faults; `problems` lists them all."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Loaded:
    """A scenario with its messages and where they were read from."""

    scenario: schema.Scenario
    messages: schema.Messages
    """As authored."""
    pairs: tuple[schema.Pair, ...]
    """As models get them: hosts filled, noise added (content/derive.py)."""
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


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The authored benchmark. Dictionaries are keyed by code: `K01`, `C4`, person number, ISO country, stub number."""

    root: Path
    file: schema.BenchmarkFile
    scoring: rules.ScoringFile
    scenarios: tuple[Loaded, ...]
    conditions: dict[str, library.Condition]
    people: dict[int, library.Person]
    countries: dict[str, library.CountryFile]
    criteria: dict[str, library.Criterion]
    stubs: dict[int, library.Stub]
    taxonomy: tuple[schema.TaxonomyFile, ...]
    plan: library.PlanFile | None
    calibration: tuple[CalibrationFile, ...]
    documents: dict[str, Document]
    """Parsed files by path relative to `root`; positions for lints."""
    incidents: IncidentsFile | None = None

    def show(self, path: Path) -> str:
        """A path as messages name it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


def outside(root: Path, path: Path) -> Problem | None:
    """Why a file under `root` may not be read: a link leads out of the benchmark's folder. None where it may."""
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        return None
    what = "it leads outside the benchmark's folder, where nothing is read"
    return Problem(str(path.relative_to(root)), 0, "", what, "put the file itself here")


def default_root() -> Path:
    """The authored files: of the checkout that runs, else of the installed package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "configs" / "benchmark" / "v1"
    return checkout if checkout.is_dir() else package / "_configs" / "benchmark" / "v1"


@cache
def default_benchmark() -> Benchmark:
    """The benchmark that this copy of helmbench carries."""
    return load_benchmark(default_root())


def load_benchmark(root: Path) -> Benchmark:
    """Read and validate everything under `root`; raises ContentError with every fault found."""
    reader = _Reader(root)
    file = reader.one(root / "benchmark.yaml", schema.BenchmarkFile)
    scoring = reader.one(root / "scoring.yaml", rules.ScoringFile)
    conditions = {item.code: item for item in reader.all("conditions", library.Condition, "code")}
    people = {item.number: item for item in reader.all("people", library.Person, "number")}
    countries = {item.country: item for item in reader.all("helplines", library.CountryFile, "country")}
    criteria = {item.code: item for item in reader.all("criteria", library.Criterion, "code")}
    stubs = reader.one(root / "stubs.yaml", library.StubsFile) if (root / "stubs.yaml").exists() else library.StubsFile()
    plan = reader.one(root / "plan.yaml", library.PlanFile) if (root / "plan.yaml").exists() else None
    incidents = reader.one(root / INCIDENTS, IncidentsFile) if (root / INCIDENTS).exists() else None
    taxonomy = tuple(reader.all("taxonomy", schema.TaxonomyFile, "category"))
    calibration = tuple(reader.all("calibration", CalibrationFile, "scenario"))
    scenarios = reader.scenarios(file.seed if file else 0, taxonomy)
    if reader.problems or file is None or scoring is None or stubs is None:
        raise ContentError(reader.problems)
    by_number = {stub.number: stub for stub in stubs.stubs}
    return Benchmark(
        root, file, scoring, scenarios, conditions, people, countries, criteria, by_number, taxonomy, plan, calibration,
        reader.documents, incidents,
    )  # fmt: skip


class _Reader:
    """Collects problems while it reads, so that an author sees all of them at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: list[Problem] = []
        self.documents: dict[str, Document] = {}

    def one(self, path: Path, model: type[Model]) -> Model | None:
        """Validate one file, or note what is wrong with it."""
        shown = str(path.relative_to(self.root))
        document = outside(self.root, path) or strict_yaml.read(path, shown)
        if isinstance(document, Problem):
            self.problems.append(document)
            return None
        self.documents[shown] = document
        try:
            return model.model_validate(document.data)
        except ValidationError as error:
            self.problems += [_problem(shown, document, detail, model) for detail in error.errors()]
            return None

    def all(self, folder: str, model: type[Model], key: str) -> Iterator[Model]:
        """Every file of a library; a key that stands in two files is a problem."""
        seen: dict[Any, str] = {}
        for path in sorted((self.root / folder).glob("*.yaml")):
            item = self.one(path, model)
            if item is None:
                continue
            value, shown = getattr(item, key), str(path.relative_to(self.root))
            if value in seen:
                what = f"{value} stands in {seen[value]} already"
                line = self.documents[shown].line((key,))
                self.problems.append(Problem(shown, line, key, what, f"give this one its own {key}"))
            seen[value] = shown
            yield item

    def scenarios(self, seed: int, taxonomy: tuple[schema.TaxonomyFile, ...]) -> tuple[Loaded, ...]:
        """Every folder that holds a `scenario.yaml`, by code; `seed` decides what is derived from the messages."""
        found: dict[str, tuple[schema.Scenario, Path]] = {}
        for path in sorted(self.root.glob("P*/B*/S*/scenario.yaml")):
            if (scenario := self.one(path, schema.Scenario)) is None:
                continue
            shown = str(path.relative_to(self.root))
            if scenario.code in found:
                where = found[scenario.code][1].relative_to(self.root)
                what = f"{scenario.code} stands in {where} already"
                self.problems.append(Problem(shown, self.documents[shown].line(("code",)), "code", what, "give it its own code"))
            found[scenario.code] = scenario, path
        written = {
            code: self.one(path.parent / "messages.yaml", schema.Messages)
            for code, (scenario, path) in found.items()
            if scenario.messages_from is None
        }
        plain = [code for code in sorted(found) if found[code][0].messages_from != TAXONOMY]
        loaded = [each for code in plain if (each := self._loaded(code, found, written, seed)) is not None]
        messages, nothing = schema.Messages(singles=classified(loaded, taxonomy)), Document({}, {})
        for scenario, path in found.values():
            if scenario.messages_from == TAXONOMY:
                lines = self.documents[str(path.relative_to(self.root))]
                loaded.append(Loaded(scenario, messages, (), TAXONOMY, path.parent, nothing, lines))
        return tuple(sorted(loaded, key=lambda each: each.scenario.code))

    def _loaded(
        self,
        code: str,
        found: dict[str, tuple[schema.Scenario, Path]],
        written: dict[str, schema.Messages | None],
        seed: int,
    ) -> Loaded | None:
        """One scenario with its messages, or None where they have faults."""
        scenario, path = found[code]
        source = scenario.messages_from or code
        shown = str(path.relative_to(self.root))
        if source not in written:
            line = self.documents[shown].line(("messages_from",))
            what = f"{source} has no messages of its own"
            self.problems.append(Problem(shown, line, "messages_from", what, "name a scenario that has a messages.yaml"))
            return None
        messages = written[source]
        if messages is None:
            return None
        name = str((found[source][1].parent / "messages.yaml").relative_to(self.root))
        text = self.documents[name]
        if problems := _hosting(messages, text, name):
            self.problems += problems if source == code else []
            return None
        pairs = all_pairs(scenario, messages, seed)
        return Loaded(scenario, messages, pairs, source, path.parent, text, self.documents[shown])


def _halves(messages: schema.Messages) -> Iterator[tuple[schema.Common, schema.Message]]:
    for pair in messages.pairs:
        yield from ((pair, pair.crisis), (pair, pair.benign))
    yield from ((single, single.message) for single in messages.singles)


def classified(loaded: Sequence[Loaded], taxonomy: Sequence[schema.TaxonomyFile]) -> list[schema.Single]:
    """Every single message of the matrix, and those written besides, as items of the crisis taxonomy, each with its category.

    Left out are conversations, queues, long documents, what only notes decide, what reasonable readers dispute, and
    scenarios that detect nothing. `meaning` carries the scenario that it belongs to.
    """
    found: list[schema.Single] = []

    def add(
        common: schema.Common, message: schema.Message, meaning: str, category: str, extra: str | None, sources: list[str]
    ) -> None:
        kept = {name: getattr(common, name) for name in ("speech", "cue", "review", "contains_method_query")}
        own: dict[str, Any] = {"meaning": meaning, "crisis_category": category, "extra_category": extra}
        own["sources"] = common.sources or sources
        plain = schema.Message(severity=message.severity, text=message.text)
        single = schema.Single.model_construct(number=len(found) + 1, message=plain)
        found.append(single.model_copy(update={**kept, **own}))

    for each in loaded:
        scenario = each.scenario
        single = scenario.mode != "multi_turn" and not each.messages.hosts and each.source == scenario.code
        if not single or scenario.notes_decide or scenario.apart or not scenario.detects:
            continue
        for common, message in _halves(each.messages):
            meaning = f"{scenario.code}/{common.meaning}"
            if message.text is None or message.choices is not None:
                continue
            if message.severity < 0:
                add(common, message, meaning, "no_crisis", None, scenario.sources)
            else:
                category = common.crisis_category or scenario.category
                add(common, message, meaning, category, common.extra_category or scenario.extra_category, scenario.sources)
    for file in taxonomy:
        for item in file.items:
            message = schema.Message(severity=item.severity, text=item.text)
            add(item, message, f"{TAXONOMY}/{item.meaning}", file.category, item.extra_category, file.sources)
    return found


def _hosting(messages: schema.Messages, document: Document, shown: str) -> list[Problem]:
    """Hosts and segments that are named exist."""
    hosts = {host.slug for host in messages.hosts}
    problems = []
    for index, pair in enumerate(messages.pairs):
        if (pair.host is not None or hosts) and pair.host not in hosts:
            path = ("pairs", index, "host")
            what = f"there is no host {pair.host}" if pair.host else "the pair has no host"
            problems.append(Problem(shown, document.line(path), f"pairs.{index}.host", what, "name one of `hosts`"))
    for index, host in enumerate(messages.hosts):
        for slug in host.more:
            if slug not in messages.segments:
                what = f"there is no segment {slug}"
                line = document.line(("hosts", index, "more"))
                problems.append(Problem(shown, line, f"hosts.{index}.more", what, "write it under `segments`"))
    return problems


def _problem(shown: str, document: Document, detail: Any, model: type[BaseModel]) -> Problem:
    """A pydantic error as a sentence with its line and its mend."""
    path = tuple(part for part in detail["loc"] if not (isinstance(part, str) and "[" in part))
    field = ".".join(str(part) for part in path)
    kind, context = detail["type"], detail.get("ctx", {})
    what = f"{detail['msg'][0].lower()}{detail['msg'][1:]}".removeprefix("value error, ")
    shown_input = repr(detail["input"])
    if kind not in {"missing", "extra_forbidden", "value_error"} and len(shown_input) < 60:
        what += f", got {shown_input}"
    mend = _rename(path, model) if kind == "extra_forbidden" else _mend(kind, context, field, model)
    return Problem(shown, document.line(path), field, what, mend)


def _rename(path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    """What to do with a key that is not known: the name that was probably meant."""
    holder = _at(model, path[:-1])
    names = [field.alias or name for name, field in holder.model_fields.items()]
    if near := get_close_matches(str(path[-1]), names, 1):
        return f"write `{near[0]}`"
    return f"remove it or correct its name; {holder.__name__} has {', '.join(names)}"


def _at(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel]:
    """The model of the record at a place; list indices and keys of mappings lead to what they hold."""
    for part in path:
        field = next((each for name, each in model.model_fields.items() if part in (name, each.alias)), None)
        model = next(_models(field.annotation), model) if field else model
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The records that an annotation such as `list[Pair] | None` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _mend(kind: str, context: dict[str, Any], field: str, model: type[BaseModel]) -> str:
    described = f"{model.__module__.replace('.', '/')}.py"
    mends = {
        "missing": f"add `{field.rpartition('.')[2]}`",
        "string_type": "put the value in quotes",
        "string_unicode": "remove the broken character",
        "int_type": "write a whole number without quotes",
        "bool_type": "write true or false",
        "list_type": "write a list, such as [a, b]",
        "dict_type": "write fields under it",
        "model_type": "write fields under it",
        "literal_error": f"write one of {context.get('expected', 'the listed values')}",
        "string_pattern_mismatch": f"write it in the form {context.get('pattern', '')}",
        "greater_than_equal": f"write {context.get('ge')} or more",
        "less_than_equal": f"write {context.get('le')} or less",
        "greater_than": f"write more than {context.get('gt')}",
        "less_than": f"write less than {context.get('lt')}",
        "too_short": f"give at least {context.get('min_length')}",
        "too_long": f"give at most {context.get('max_length')}",
        "string_too_short": "write some text",
        "date_type": "write a date such as 2026-11-21, without quotes",
        "value_error": "correct the fields it names",
    }
    return mends.get(kind, f"give a value of the kind that {described} describes")
