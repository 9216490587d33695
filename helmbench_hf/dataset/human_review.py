"""What qualified people said of the items: who, in which role, when, and whether the item may stay as it is.

Reviews are kept in `review/human.jsonl`, beside the readings of blind readers and outside everything that runs are compared by.
Each holds the hash of what was reviewed, so it counts for an item as it stands: when the item changes, it is unreviewed again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal, get_args

from helmbench_hf.content.load import TAXONOMY, Benchmark
from helmbench_hf.content.schema import Authored, Common, Pair
from helmbench_hf.dataset.review import ReviewError, records, write_records
from helmbench_hf.hashing import digest
from helmbench_hf.strict_yaml import Problem

FILE = "review/human.jsonl"
UNREVIEWED = "unreviewed"
Verdict = Literal["ok", "change"]


@dataclass(frozen=True, slots=True)
class Review:
    """What one person said of one item. ValueError where it does not say who, in which role, on which day."""

    item: str
    sha: str
    name: str
    role: str
    date: str
    verdict: Verdict
    comment: str = ""

    def __post_init__(self) -> None:
        for named, text in (("name", self.name), ("role", self.role)):
            if not (text.isprintable() and any(map(str.isalpha, text)) and not set("();") & set(text)):
                raise ValueError(f"the {named} is {text!a}: it must contain letters, and no brackets or semicolons")
        if not self.comment.isprintable():
            raise ValueError("the comment contains a line break or an invisible character: write it on one line")
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"the verdict is {self.verdict!a}: write ok or change")
        if self.verdict == "change" and not self.comment:
            raise ValueError("the verdict is change: say in a comment what to change")
        dt.date.fromisoformat(self.date)

    def __str__(self) -> str:
        return f"reviewed by {self.name} ({self.role}), {self.date}: {self.verdict}"


def items(benchmark: Benchmark) -> dict[str, Authored]:
    """Everything that can be reviewed, by name: `K01`, `C4`, `people/ana`, `P1-B1-S1`, `P1-B1-S1/pair 3`, ..."""
    found: dict[str, Authored] = {**benchmark.criteria, **benchmark.conditions}
    found |= {f"people/{person.slug}": person for person in benchmark.people.values()}
    found |= {f"histories/{slug}": history for slug, history in benchmark.histories.items()}
    found |= {f"incidents/{each.slug}": each for each in (benchmark.incidents.incidents if benchmark.incidents else ())}
    found |= {loaded.scenario.code: loaded.scenario for loaded in benchmark.scenarios}
    return found | {name: item for name, _, item in _messages(benchmark)}


def _messages(benchmark: Benchmark) -> Iterator[tuple[str, str, Common]]:
    """Every authored pair or single message: its name, the meaning that its rows carry, and what was authored."""
    for loaded in benchmark.scenarios:
        code = loaded.scenario.code
        for group, item in loaded.messages.items() if loaded.authored else ():
            kind = "pair" if isinstance(item, Pair) else group.partition(".")[0].removesuffix("s")
            number = item.pair if isinstance(item, Pair) else item.number
            yield f"{code}/{kind} {number}", f"{code}/{item.meaning}", item
    for file in benchmark.taxonomy:
        for each in file.items:
            yield f"{TAXONOMY}/{file.category}/{each.number}", f"{TAXONOMY}/{each.meaning}", each


def review(benchmark: Benchmark, names: Iterable[str], said: Review) -> None:
    """Keep one person's review of these items as they stand; it replaces what that person said of them before.

    `said.item` and `said.sha` are filled in. Raises ReviewError where a name is no item's.
    """
    known = items(benchmark)
    kept = {(each.item, each.name): each for each in stored(benchmark)}
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 3)
            raise ReviewError(f"There is no item {name}{'; did you mean ' + ' or '.join(near) if near else ''}.")
        kept[name, said.name] = replace(said, item=name, sha=_sha(known[name]))
    write_records(benchmark.root / FILE, [kept[key] for key in sorted(kept)])


def reviews(benchmark: Benchmark) -> dict[str, list[Review]]:
    """The reviews that count, by item: those of items as they stand. Raises ReviewError for a broken file."""
    known, found = items(benchmark), dict[str, list[Review]]()
    for each in stored(benchmark):
        if each.item in known and each.sha == _sha(known[each.item]):
            found.setdefault(each.item, []).append(each)
    return found


def column(benchmark: Benchmark) -> dict[str, str]:
    """What stands in the column `review`: by the item's name, for a message also by its meaning and register. Else unreviewed."""
    found = {name: "; ".join(map(str, said)) for name, said in reviews(benchmark).items()}
    return found | {f"{meaning} {each.speech}": found[name] for name, meaning, each in _messages(benchmark) if name in found}


def problems(benchmark: Benchmark, today: dt.date) -> Iterator[Problem]:
    """Reviews of what does not exist, and of days to come."""
    known = items(benchmark)
    for number, each in enumerate(stored(benchmark), 1):
        if each.item not in known:
            yield Problem(FILE, number, "item", f"there is no item {each.item}", "correct the name, or remove the line")
        if each.date > today.isoformat():
            yield Problem(FILE, number, "date", f"the date {each.date} lies in the future", "correct it")


def stored(benchmark: Benchmark) -> list[Review]:
    """All reviews, also those of items that have changed since. Raises ReviewError for a broken file."""
    return records(benchmark.root / FILE, Review)


def _sha(item: Authored) -> str:
    """Defaults are left out, so that a new field of the schema leaves old reviews standing."""
    return digest(item.model_dump(mode="json", exclude_defaults=True))
