"""A private holdout: content of the benchmark's own shape that lies outside the repository and is never published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.dataset.design import designs
from helmbench_hf.records import Case
from helmbench_hf.tasks.expand import expand

Designs = Mapping[str, list[Case]]
SHOWN = 5
"""Faults of one kind that are named."""
SHORTEST = 40
"""Characters of a text that two authors do not write alike by chance."""


class HoldoutError(Exception):
    """The content cannot be a holdout, or is one and nobody said so. The message lists everything that is wrong."""


def check_holdout(benchmark: Benchmark, private: bool) -> None:
    """Raises HoldoutError unless `private` agrees with what the content says and, if so, it is a proper holdout.

    A proper holdout lies outside the checkout, has its own canary, the version, scoring, criteria and conditions of the
    public benchmark, as many cases per scenario, condition and member, and shares no message with it.
    """
    if benchmark.file.private and not private:
        raise HoldoutError(f"{benchmark.root}/benchmark.yaml says `private: true`; build it with --private")
    if private and (problems := list(_problems(benchmark, default_benchmark()))):
        raise HoldoutError("\n".join(problems))


def _problems(holdout: Benchmark, public: Benchmark) -> Iterator[str]:
    where = f"{holdout.root}/benchmark.yaml"
    if not holdout.file.private:
        yield f"{where} does not say `private: true`; write that, so that nobody builds it as public by mistake"
    if holdout.root.resolve().is_relative_to(Path(__file__).resolve().parents[2]):
        yield f"{holdout.root} lies inside the repository; keep a holdout outside it"
    if holdout.file.canary == public.file.canary:
        yield f"{where} has the canary of the public benchmark; give it one of its own"
    if holdout.file.version != public.file.version:
        yield f"{where} is version {holdout.file.version} and the public benchmark {public.file.version}; make them the same"
    if holdout.file.pillars != public.file.pillars:
        yield f"{where} has other pillars, behaviors or weights than the public benchmark; copy them"
    for name in ("scoring", "criteria", "conditions"):
        if getattr(holdout, name) != getattr(public, name):
            yield f"{holdout.root} has other {name} than the public benchmark, so its scores could not be compared; copy them"
    ours, theirs = (designs(each, expand(each)) for each in (holdout, public))
    yield from _shape(ours, theirs)
    if shared := sorted(_messages(ours["full"]) & _messages(theirs["full"])):
        yield f"{len(shared)} messages are in the public benchmark too, such as {shared[0][:80]!r}; write others"


def _shape(ours: Designs, theirs: Designs) -> Iterator[str]:
    """Cells whose number of cases differs from the public benchmark's."""
    for design in ("core", "full"):
        counts, wanted = (
            Counter(f"{case.scenario} {case.condition} {case.member}" for case in found[design]) for found in (ours, theirs)
        )
        differ = sorted(cell for cell in counts.keys() | wanted.keys() if counts[cell] != wanted[cell])
        for cell in differ[:SHOWN]:
            yield f"{design}: {cell} has {counts[cell]} cases and {wanted[cell]} in the public benchmark"
        if len(differ) > SHOWN:
            yield f"{design}: {len(differ) - SHOWN} more cells have another number of cases"


def _messages(cases: list[Case]) -> set[str]:
    """Every longer text that a person sends, without regard to case and spaces; anybody may write a bare `thanks`."""
    texts = {
        " ".join(turn.lower().split()) for case in cases for turn in (*case.turns, *(beat.text for beat in case.route.beats))
    }
    return {text for text in texts if len(text) >= SHORTEST}
