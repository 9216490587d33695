"""`--shard i/n`: the cases of one of n machines, chosen from the cases alone, so that the machines need not talk to each other.

A prefix group (one scenario, condition and user, whose prompts begin alike) is never split, so that its prefix is computed
once; a conversation lies inside its group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

from helmbench_hf.records import Case


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `of`; both count from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/4`. Raises ValueError with a sentence for anything else."""
        match = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)", text)
        if match is None or int(match[1]) > int(match[2]):
            raise ValueError(f"{text!r} is not a shard; write i/n with i from 1 to n, such as 2/4")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        """`2/4`."""
        return f"{self.number}/{self.of}"


def prefix_group(case: Case) -> str:
    """Name of the cases whose prompts begin alike: `P1-B1-S1-C1-U11`."""
    return f"{case.scenario}-{case.condition}-{case.user}"


def groups(cases: Iterable[Case]) -> Counter[str]:
    """Answers that each prefix group asks for."""
    found = Counter[str]()
    for case in cases:
        found[prefix_group(case)] += case.most_turns
    return found


def members(cases: Collection[Case], wanted: Shard) -> tuple[Case, ...]:
    """The cases of one shard, in their order; every case is in exactly one of the n, whatever the order of `cases`.

    Two shards differ by at most the largest group in their number of answers. One is empty where there are fewer groups
    than shards.
    """
    sizes = groups(cases)
    loads, home = [0] * wanted.of, dict[str, int]()
    for group in sorted(sizes, key=lambda name: (-sizes[name], name)):
        # always to the lightest shard: no shard is ahead of another by more than the last group that it took
        home[group] = lightest = loads.index(min(loads))
        loads[lightest] += sizes[group]
    return tuple(case for case in cases if home[prefix_group(case)] == wanted.number - 1)
