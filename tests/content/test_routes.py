"""Tables of reactive conversations: what is refused, and what the picture shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import ValidationError

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.scenario_checks import route
from helmbench_hf.content.schema import RouteTable
from helmbench_hf.content.tree import svg, turns_of

ANY = {"any": {"to": "end"}}


def table(**beats: Any) -> RouteTable:
    return RouteTable.model_validate({"beats": {name.replace("_", "-"): beat for name, beat in beats.items()}})


def faults(found: RouteTable, graded: list[int]) -> list[str]:
    loaded: Any = SimpleNamespace(scenario=SimpleNamespace(route=found, graded_turns=graded))
    return [what for _, what, _ in route(None, loaded)]  # type: ignore[arg-type]


def test_a_sound_table_has_no_fault() -> None:
    assert not faults(table(open={"after": ANY}, end={"end": "left"}), [1, 2])


@pytest.mark.parametrize(
    ("beats", "said"),
    [
        ({"open": {"after": {"any": {"to": "gone"}}}, "end": {"end": "left"}}, "leads to gone, which is no beat"),
        ({"open": {"after": ANY}, "spare": {"after": ANY}, "end": {"end": "left"}}, "no reply leads to it"),
        ({"open": {"after": {"any": {"to": {2: "end"}}}}, "end": {"end": "left"}}, "leads nowhere at trust 0"),
        (
            {"open": {"after": {"job": {"to": "again"}, "any": {"to": "end"}}}, "again": {"after": {"any": {"to": "open"}}}}
            | {"end": {"end": "left"}},
            "go around for ever",
        ),
        ({"open": {"after": {"asks": {"to": "more"}, **ANY}}, "more": {"after": ANY}, "end": {"end": "left"}}, "ends at turn 2"),
    ],
)
def test_what_would_strand_a_conversation_is_a_fault(beats: dict[str, Any], said: str) -> None:
    assert any(said in what for what in faults(table(**beats), [1, 3])), faults(table(**beats), [1, 3])


@pytest.mark.parametrize("beat", [{}, {"after": ANY, "end": "left"}, {"after": {"asks": {"to": "end"}}}])
def test_a_beat_leads_on_whatever_the_reply_or_ends(beat: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        table(open=beat, end={"end": "left"})


def test_the_picture_shows_every_beat_at_its_turn(real: Benchmark) -> None:
    shown = [loaded.scenario for loaded in real.scenarios if loaded.scenario.route is not None]
    assert shown
    for scenario in shown:
        assert scenario.route is not None
        words = [text.text for text in ElementTree.fromstring(svg(scenario.route, scenario.title)).iter() if text.text]
        assert set(scenario.route.beats) <= set(words)
        assert max(turns_of(scenario.route).values()) == max(scenario.graded_turns)
