"""Shallow cues: what is said of a message was learned without its scenario."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.scoring.cues import Choice, Cues, Half, Words, cues_of, features, giveaway

ONE, TWO = "P9-B1-S1", "P9-B1-S2"
HALVES = (
    Half(ONE, True, "nobody waits"),
    Half(ONE, False, "somebody waits outside"),
    Half(TWO, True, "nobody calls"),
    Half(TWO, False, "somebody calls at noon"),
)


def test_words_and_pairs_of_neighbors_count_once() -> None:
    assert features("Won't it, won't it?") == ["won't", "it", "^ won't", "won't it", "it won't", "it $"]


def test_words_are_those_of_the_other_scenarios() -> None:
    model = Words(HALVES)
    assert model.score("nobody", ONE) > 0 > model.score("somebody", ONE)
    assert model.score("waits outside", ONE) == 0


def test_one_message_a_side_gives_the_weights_of_ridge_regression() -> None:
    """Halves `a` and `b` share nothing and have three features each: `a`, `^ a`, `a $`. So a weight is 1 / (3 + 3)."""
    model = Words([Half(TWO, True, "a"), Half(TWO, False, "b")])
    assert model.score("a", ONE) == pytest.approx(3 / 6)
    assert model.score("b b", ONE) == pytest.approx(-3 / 6)


@pytest.mark.parametrize("cue", ["length", "words"])
def test_nothing_of_a_message_is_learned_from_its_own_scenario(cue: str, real: Benchmark) -> None:
    """Whoever swaps the halves of a scenario changes what is said of others, and nothing that is said of its own messages."""
    cues = cues_of(real)
    source = cues.halves[0].source
    swapped = Cues([replace(half, crisis=half.crisis != (half.source == source)) for half in cues.halves], cues.choices)
    bodies = {half.body for half in cues.halves if half.source == source}
    assert [cues.flags(cue, body, source) for body in bodies] == [swapped.flags(cue, body, source) for body in bodies]  # type: ignore[arg-type]
    assert [cues.words.score(body, source) for body in bodies] == [swapped.words.score(body, source) for body in bodies]
    assert cues.words.score(cues.halves[0].body, "nowhere") > swapped.words.score(cues.halves[0].body, "nowhere")


@pytest.mark.parametrize(("crisis", "flagged"), [(True, [True, True, False]), (False, [False, False, True])])
def test_a_length_parts_the_halves_of_other_scenarios(crisis: bool, flagged: list[bool]) -> None:
    """Three short messages of one side and three long ones of the other, from seven characters on."""
    halves = [Half(TWO, crisis, "x" * length) for length in (1, 2, 3)] + [Half(TWO, not crisis, "x" * n) for n in (7, 8, 9)]
    cues = Cues([*halves, Half(ONE, not crisis, "x")], ())
    assert [cues.flags("length", "x" * length, ONE) for length in (1, 6, 7)] == flagged


def test_nothing_is_flagged_where_there_is_nothing_to_learn_from() -> None:
    for cue in ("length", "words"):
        assert not Cues([Half(ONE, True, "nobody waits")], ()).flags(cue, "nobody waits", ONE)  # type: ignore[arg-type]


def test_the_longest_answer_is_chosen_unless_others_teach_the_shortest() -> None:
    answers = ("middle one", "short", "the longest one")
    assert Cues((), ()).picks("length", answers, ONE) == 2
    assert Cues((), [Choice(TWO, ("a", "bb"), 0)]).picks("length", answers, ONE) == 1
    assert Cues((), [Choice(ONE, ("a", "bb"), 0)]).picks("length", answers, ONE) == 2
    assert Cues(HALVES, ()).picks("words", ("somebody", "else", "nobody"), ONE) == 2


def test_what_gives_hidden_pairs_away_is_counted(real: Benchmark) -> None:
    found = giveaway(real)
    assert found is not None
    pairs = [
        (pair.crisis.text or "", pair.benign.text or "")
        for loaded in real.scenarios
        if loaded.scenario.mode == "hidden_tag"
        for pair in loaded.messages.pairs
    ]
    assert found.pairs == len(pairs)
    assert found.benign_longer == sum(len(benign) > len(crisis) for crisis, benign in pairs)
    assert found.pairs / 2 < found.ordered < found.pairs
    assert 0.5 < found.auc < 1
