"""`helmbench models` and `preset:` on the command line, with a preset whose checkpoint lies on this disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.cli.asking import AskOptions, ask_of, judge_spec
from helmbench_hf.models import presets as module
from helmbench_hf.models.engine import EngineError
from tests.support.checkpoints import tiny_tokenizer
from tests.support.commands import helmbench
from tests.support.presets import MUSE, plant_presets
from tests.support.tree import Tree


def ask(model: str, **options: Any) -> Any:
    return ask_of(Path("run"), AskOptions(model=model, **options))


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """The tiny presets in the place of those that helmbench carries."""
    tree = plant_presets(tmp_path / "configs")
    monkeypatch.setattr(module, "default_folder", lambda: tree.root)
    return tree


def test_models_lists_every_preset_and_judge() -> None:
    said = helmbench("models").stdout
    words = ("qwen3", "8b*", "gpt-oss", "always", "on unless -e thinking=", "temperature=0.6", "unknown", "No judge is validated")
    assert [word for word in words if word not in said] == []
    found = json.loads(helmbench("models", "--json").stdout)
    by_slug = {row["slug"]: row for row in found["models"]}
    assert by_slug["qwen3"]["sampling"]["thinking"]["temperature"] == 0.6
    assert by_slug["granite-4.0"]["sampling"]["plain"] == "unknown"
    assert {len(row["sha256"]) for row in (*found["models"], *found["judges"])} == {64}


def test_a_fault_in_a_preset_is_named_at_its_line(planted: Tree) -> None:
    planted.replace(MUSE, "top_p: 0.95", "top_p: 9")
    for words in (("models",), ("plan", "--model", "preset:plain")):
        place = f"{MUSE}:{planted.line_of(MUSE, 'thinking: {temp')}: sampling.thinking.top_p"
        assert place in helmbench(*words, code=1).stderr


def test_a_preset_fills_the_ask_and_prints_what(planted: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    made = ask("preset:muse-1.5@70b")
    assert (made.engine.kind, made.engine.model, made.engine.tensor_parallel_size) == ("vllm", "acme/muse-70b", 4)
    assert (made.settings.temperature, made.settings.thinking_tokens, made.engine.thinking) == (0.6, 2000, None)
    assert made.preset["preset"] == "muse-1.5@70b"
    assert json.loads(json.dumps(made.as_payload()))["preset"] == made.preset
    said = capsys.readouterr()
    assert "preset muse-1.5@70b (models/muse-1.5.yaml, " in said.err
    assert "temperature=0.6" in said.err
    assert said.out == ""


def test_what_a_person_gives_wins(planted: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    made = ask(
        "transformers:preset:muse-1.5",
        engine=["tensor_parallel_size=2", "dtype=float32"],
        settings=["temperature=0", "seed=7"],
    )
    assert (made.engine.kind, made.engine.tensor_parallel_size, made.engine.dtype) == ("transformers", 2, "float32")
    assert (made.settings.temperature, made.settings.seed, made.settings.top_p) == (0, 7, 0.95)
    assert made.preset["given"] == ["temperature", "tensor_parallel_size"]
    assert "temperature as given" in capsys.readouterr().err


def test_thinking_chooses_the_sampling_and_goes_to_the_template(planted: Tree) -> None:
    made = ask("preset:muse-1.5", engine=["thinking=off"])
    assert (made.engine.thinking, made.settings.temperature, made.settings.thinking_tokens) == ("off", 0.7, 0)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--model", "preset:mouse"), "There is no model preset mouse; choose from muse-1.5, plain."),
        (("--model", "preset:plain@9b"), "has no size '9b'"),
        (("--model", "vllm:acme/x", "-e", "thinking=maybe"), "Thinking must be on or off, not 'maybe'"),
    ],
)
def test_what_is_not_there_is_a_sentence(planted: Tree, arguments: tuple[str, ...], what: str) -> None:
    assert what in helmbench("plan", "--design", "smoke", *arguments, code=1).stderr


def test_a_judge_preset_and_what_is_given_beside_it(planted: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    plain = judge_spec("preset:strict")
    assert (plain.id, plain.family, plain.mode, plain.orders) == ("strict", "muse", "evidence", 2)
    assert plain.engine_spec().thinking == "off"
    assert plain.preset["file"] == "judges/strict.yaml"
    assert "preset strict (judges/strict.yaml" in capsys.readouterr().err
    given = judge_spec("transformers:preset:strict,id=mine,orders=1,max_model_len=4096,thinking=on")
    spec = given.engine_spec()
    assert (given.id, given.orders, spec.kind, spec.max_model_len, spec.thinking) == ("mine", 1, "transformers", 4096, "on")
    with pytest.raises(EngineError, match="no judge preset muse"):
        judge_spec("preset:muse-1.5")


@pytest.fixture
def thinker(tmp_path: Path) -> Path:
    """A model folder with the published template of Qwen3; its weights are never opened."""
    template = (Path(__file__).parents[1] / "models" / "templates" / "qwen3.jinja").read_text(encoding="utf-8")
    folder = tmp_path / "thinker"
    tiny_tokenizer(template).save_pretrained(folder)
    (folder / "config.json").write_text('{"max_position_embeddings": 100000}')
    (folder / "model.safetensors").write_bytes(b"none")
    return folder


def test_thinking_is_switched_from_the_command_line_and_plan_says_what_it_costs(thinker: Path) -> None:
    def plan(*arguments: str) -> str:
        return helmbench("plan", "--model", f"vllm:{thinker}", "--design", "smoke", "--limit", "30", *arguments).stdout

    on, off = plan("-e", "thinking=on"), plan("-e", "thinking=off")
    assert "thinking is on, switched by enable_thinking" in on
    assert "reasoning and answer share one budget" in on
    assert "are held to a schema from their first token and come without reasoning" in on
    assert "thinking is off, switched by enable_thinking" in off
    assert "does not keep the first one's prompt" in off
    assert "warning" not in off
    assert "thinking is on" in plan(), "the template's own default"
    assert "warning" not in plan("-e", "thinking=on", "--free-form", "--set", "thinking_tokens=100")


def test_plan_shows_the_facts_and_the_preset(
    planted: Tree, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "plain").symlink_to(smollm2)
    monkeypatch.chdir(tmp_path)
    plan = ("plan", "--model", "preset:plain", "--design", "smoke", "--limit", "3")
    said = helmbench(*plan).stdout
    assert "no switch for thinking; no block of reasoning is opened" in said
    assert "keeps the first one's prompt as its prefix" in said
    found = json.loads(helmbench(*plan, "--json").stdout)
    assert found["preset"]["preset"] == "plain@1b"
    assert "no switch for thinking" in helmbench(*plan, "-e", "thinking=off", code=1).stderr
