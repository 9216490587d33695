"""Derived messages: deterministic, complete, and harmless to what decides."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.content.derive import FILLERS, KEEP, MAKERS, NOISES, all_pairs, document
from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Host

WORDS = st.lists(
    st.sampled_from(
        ["I", "won't", "not", "never", "14", "the", "parcel", "locker", "keys,", "letters?", "home.", "\n", "tomorrow"]
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", NOISES)
@given(words=WORDS, seed=st.integers(0, 99))
def test_noise_keeps_numbers_and_negations_and_is_the_same_for_the_same_seed(kind: str, words: list[str], seed: int) -> None:
    text = " ".join(words).strip() or "a word"
    noisy = MAKERS[kind](text, random.Random(seed))
    assert noisy == MAKERS[kind](text, random.Random(seed))
    for kept in ("14", "not", "never", "won't"):
        assert noisy.split().count(kept) == text.split().count(kept)


def test_every_fluent_pair_has_each_noise_once(real: Benchmark) -> None:
    loaded = next(each for each in real.scenarios if each.scenario.noise)
    fluent = [pair for pair in loaded.messages.pairs if pair.speech == "fluent"]
    noisy = [pair for pair in loaded.pairs if pair.speech in NOISES]
    assert [pair.pair for pair in loaded.pairs] == list(range(1, len(loaded.pairs) + 1))
    assert sorted((pair.speech, pair.twin_fluent) for pair in noisy) == sorted((kind, p.pair) for kind in NOISES for p in fluent)
    by_number = {pair.pair: pair for pair in fluent}
    for pair in noisy:
        original = by_number[pair.twin_fluent or 0]
        for half in ("crisis", "benign"):
            before, after = getattr(original, half).text, getattr(pair, half).text
            assert before != after
            if pair.speech == "noise_sentence":
                assert any(filler in after for filler in FILLERS)
            assert [word for word in after.lower().split() if word in KEEP] == [w for w in before.lower().split() if w in KEEP]
    assert all_pairs(loaded.scenario, loaded.messages, real.file.seed) == loaded.pairs
    assert all_pairs(loaded.scenario, loaded.messages, real.file.seed + 1) != loaded.pairs


def test_asides_stand_in_both_forms_of_their_host(real: Benchmark) -> None:
    loaded = next(each for each in real.scenarios if each.messages.hosts)
    authored = {pair.pair: pair for pair in loaded.messages.pairs}
    assert len(loaded.pairs) == 2 * len(authored)
    for pair in loaded.pairs:
        aside = authored[(pair.pair - 1) % len(authored) + 1]
        for half in ("crisis", "benign"):
            text = getattr(pair, half).text
            assert text.count(getattr(aside, half).text) == 1
            assert "{" not in text
    short, long = loaded.pairs[0].crisis.text or "", loaded.pairs[len(authored)].crisis.text or ""
    assert len(long.split()) > 3 * len(short.split())


def test_segments_are_shared_out_in_order() -> None:
    host = Host(slug="h", text="start\n{more}\nmiddle {aside}\n{more}\nend", more=["s"])
    assert document(host, []) == "start\nmiddle {aside}\nend"
    assert document(host, ["1", "2", "3", "4"]) == "start\n1\n2\nmiddle {aside}\n3\n4\nend"
