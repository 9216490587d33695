"""The probes over chat templates as they are published (`templates/README.md` says where each comes from)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.engine import EngineError, Message, Thinking
from helmbench_hf.models.presets import load_presets
from helmbench_hf.models.reasoning import FINAL, TAGS, split_reasoning
from tests.support.checkpoints import tiny_tokenizer

FOLDER = Path(__file__).parent / "templates"
FAMILIES = sorted(path.stem for path in FOLDER.glob("*.jinja"))
TALK = (Message("system", "Be kind."), Message("user", "Hi"), Message("assistant", "Yes?"), Message("user", "Bye"))
HARMONY = ("<|channel|>", "<|message|>", "<|start|>", "<|end|>")

# system role, switch, thinking by default, opens reasoning, keeps the prefix, begin-of-text, dated
FACTS: dict[str, tuple[str, str, str, bool, bool, str, bool]] = {
    "deepseek-r1-distill": ("native", "", "unknown", True, False, "one", False),
    "gemma-2": ("rejected", "", "unknown", False, True, "one", False),
    "gemma-3": ("native", "", "unknown", False, True, "one", False),
    "gemma-4": ("native", "enable_thinking", "off", False, True, "one", False),
    "glm-4.7-flash": ("native", "enable_thinking", "on", True, False, "none", False),
    "gpt-oss": ("native", "", "unknown", False, True, "none", True),
    "granite-3.3": ("native", "", "unknown", False, True, "none", False),
    "granite-4.0": ("native", "", "unknown", False, True, "none", False),
    "llama-3.1": ("native", "", "unknown", False, True, "one", False),
    "llama-3.2": ("native", "", "unknown", False, True, "one", True),
    "nemotron-3-nano": ("native", "enable_thinking", "on", True, False, "none", False),
    "qwen3": ("native", "enable_thinking", "on", False, True, "none", False),
    "qwen3.6": ("native", "enable_thinking", "on", True, False, "none", False),
    "smollm3": ("native", "enable_thinking", "on", False, True, "none", False),
}
# (opens reasoning, keeps the prefix) with thinking on, and with thinking off
SWITCHED: dict[str, tuple[tuple[bool, bool], tuple[bool, bool]]] = {
    "gemma-4": ((False, True), (False, True)),
    "glm-4.7-flash": ((True, False), (False, True)),
    "nemotron-3-nano": ((True, False), (False, True)),
    "qwen3": ((False, True), (False, False)),
    "qwen3.6": ((True, False), (False, False)),
    "smollm3": ((False, True), (False, True)),
}
# what a template is the evidence for, where it is not called by its preset's slug
PRESET_OF = {"llama-3.1": "llama-3", "llama-3.2": "llama-3", "glm-4.7-flash": "glm-4.7"}
# the marks of reasoning that a template uses
THINKERS = ("deepseek-r1-distill", "glm-4.7-flash", "nemotron-3-nano", "qwen3", "qwen3.6", "smollm3")
MARKS = {**dict.fromkeys(THINKERS, TAGS[0]), "gemma-4": TAGS[7], "gpt-oss": TAGS[8]}


def source(family: str) -> str:
    return (FOLDER / f"{family}.jinja").read_text(encoding="utf-8")


def chat(family: str, thinking: Thinking | None = None, special: tuple[str, ...] = (), **arguments: Any) -> ChatTemplate:
    return ChatTemplate(tiny_tokenizer(source(family), special=special), arguments, thinking)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_template_does_what_is_known_of_it(family: str) -> None:
    it = chat(family)
    facts, text = it.facts, it.decode(it.render(TALK))
    found = (facts.system_role, facts.thinking_switch, facts.thinking, facts.opens_reasoning)
    assert (*found, facts.keeps_prefix, facts.bos, facts.dated) == FACTS[family]
    assert facts.folded == (facts.system_role != "native")
    places = [text.rindex(message.content) for message in TALK]
    assert places == sorted(places), "every message is in the prompt, in its order"
    check_switch(family, it)
    for mark in MARKS.get(family, ()):
        assert all(words in source(family) for words in mark.split("assistant"))
    slug = PRESET_OF.get(family, family)
    if (preset := load_presets().models.get(slug)) is not None:
        assert preset.thinking.switch == (facts.thinking_switch or "none")
        assert facts.thinking in ("unknown", preset.thinking.default)
    else:
        assert family in {"gemma-2", "granite-3.3"}, "a template of no preset"


def check_switch(family: str, default: ChatTemplate) -> None:
    """Thinking is switched, or the wish is refused."""
    if family not in SWITCHED:
        for state in ("on", "off"):
            with pytest.raises(EngineError, match=f"no switch for thinking .* cannot be turned {state}"):
                chat(family, state)
        return
    on, off = chat(family, "on"), chat(family, "off")
    assert on.render(TALK) != off.render(TALK)
    assert (on.facts.thinking, off.facts.thinking) == ("on", "off")
    assert tuple((it.facts.opens_reasoning, it.facts.keeps_prefix) for it in (on, off)) == SWITCHED[family]
    same = on if default.facts.thinking == "on" else off
    assert default.render(TALK) == same.render(TALK)
    assert default.key_kwargs() != same.key_kwargs(), "asked for and left to the template are two settings"


def test_granite_3_3_switches_thinking_only_without_a_system_text() -> None:
    """Its `thinking` adds to the default system text alone; every case with a system text would be the same either way."""
    it, alone = chat("granite-3.3"), (Message("user", "Hi"),)
    thinking = ChatTemplate(tiny_tokenizer(source("granite-3.3")), {"thinking": True})
    assert it.facts.thinking_switch == ""
    assert thinking.render(alone) != it.render(alone)
    assert thinking.render(TALK) == it.render(TALK)


def test_gpt_oss_takes_an_effort_and_puts_the_system_text_into_its_developer_message() -> None:
    low = chat("gpt-oss", reasoning_effort="low")
    text = low.decode(low.render(TALK))
    assert "Reasoning: low" in text
    assert text.index("<|start|>developer") < text.index("Be kind.") < text.index("<|start|>user")
    assert "2026-01-01" in text


def test_the_marks_of_gpt_oss_are_made_of_special_tokens() -> None:
    assert chat("gpt-oss", special=HARMONY).facts.special_reasoning
    assert not chat("gpt-oss").facts.special_reasoning
    assert split_reasoning(f"{FINAL}Yes.", opened=False) == ("", "Yes.", "none")


def test_the_origin_of_every_template_is_written_down() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for family in FAMILIES:
        sha = hashlib.sha256((FOLDER / f"{family}.jinja").read_bytes()).hexdigest()
        assert f"| `{family}.jinja` |" in readme
        assert sha in readme, f"{family}.jinja is not what was fetched"
