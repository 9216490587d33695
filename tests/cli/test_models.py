"""`helmbench models` and `preset:` on the command line, with a preset whose checkpoint lies on this disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.cli.grade import judge_spec
from helmbench_hf.cli.run import build_ask
from helmbench_hf.models import presets as module
from helmbench_hf.models.engine import EngineError
from tests.support.checkpoints import tiny_tokenizer
from tests.support.presets import MUSE, PLAIN, plant_presets
from tests.support.tree import Tree


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def ask(model: str, engine: list[str] | None = None, settings: list[str] | None = None, thinking: str | None = None) -> Any:
    return build_ask(Path("run"), model, None, engine, settings, False, thinking)


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """The tiny presets in the place of those that helmbench carries."""
    tree = plant_presets(tmp_path / "configs")
    monkeypatch.setattr(module, "default_folder", lambda: tree.root)
    return tree


def test_models_lists_every_preset_and_judge() -> None:
    said = run("models").stdout
    for word in (
        "qwen3",
        "8b*",
        "gpt-oss",
        "always",
        "on unless --thinking",
        "temperature=0.6",
        "unknown",
        "No judge is validated",
    ):
        assert word in said
    found = json.loads(run("models", "--json").stdout)
    by_slug = {row["slug"]: row for row in found["models"]}
    assert by_slug["qwen3"]["sampling"]["thinking"]["temperature"] == 0.6
    assert by_slug["granite-4.0"]["sampling"]["plain"] == "unknown"
    assert by_slug["qwen3"]["sources"]["card"]["seen"] == "2026-11-22"
    assert {len(row["sha256"]) for row in (*found["models"], *found["judges"])} == {64}


def test_a_fault_in_a_preset_is_named_at_its_line(planted: Tree) -> None:
    planted.replace(MUSE, "top_p: 0.95", "top_p: 9")
    for result in (run("models"), run("plan", "--model", "preset:plain")):
        assert result.exit_code == 1
        assert f"{MUSE}:{planted.line_of(MUSE, 'thinking: {temp')}: sampling.thinking.top_p" in result.output


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
    made = ask("transformers:preset:muse-1.5", ["tensor_parallel_size=2", "dtype=float32"], ["temperature=0", "seed=7"])
    assert (made.engine.kind, made.engine.tensor_parallel_size, made.engine.dtype) == ("transformers", 2, "float32")
    assert (made.settings.temperature, made.settings.seed, made.settings.top_p) == (0, 7, 0.95)
    assert made.preset["given"] == ["temperature", "tensor_parallel_size"]
    assert "temperature as given" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["option", "engine setting"])
def test_thinking_chooses_the_sampling_and_goes_to_the_template(planted: Tree, how: str) -> None:
    made = ask("preset:muse-1.5", thinking="off") if how == "option" else ask("preset:muse-1.5", ["thinking=off"])
    assert (made.engine.thinking, made.settings.temperature, made.settings.thinking_tokens) == ("off", 0.7, 0)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--model", "preset:mouse"), "There is no model preset mouse; there are muse-1.5, plain."),
        (("--model", "preset:plain@9b"), "has no size '9b'"),
        (("--model", "vllm:acme/x", "--thinking", "maybe"), "Thinking is on or off, not 'maybe'"),
    ],
)
def test_what_is_not_there_is_a_sentence(planted: Tree, arguments: tuple[str, ...], what: str) -> None:
    result = run("plan", "--design", "smoke", *arguments)
    assert result.exit_code == 1
    assert what in result.stderr


def test_a_judge_preset_and_what_is_given_beside_it(planted: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    plain = judge_spec("preset:strict")
    assert (plain.id, plain.family, plain.mode, plain.orders) == ("strict", "muse", "evidence", 2)
    assert plain.engine_spec().thinking == "off"
    assert plain.preset["file"] == "judges/strict.yaml"
    assert "preset strict (judges/strict.yaml" in capsys.readouterr().err
    given = judge_spec("transformers:preset:strict,id=mine,orders=1,max_model_len=4096", "on")
    spec = given.engine_spec()
    assert (given.id, given.orders, spec.kind, spec.max_model_len, spec.thinking) == ("mine", 1, "transformers", 4096, "on")
    with pytest.raises(EngineError, match="no judge preset muse"):
        judge_spec("preset:muse-1.5")


def test_thinking_for_all_judges_leaves_those_that_say_it_themselves() -> None:
    assert judge_spec("vllm:acme/x", "off").options == {"thinking": "off"}
    assert judge_spec("vllm:acme/x,thinking=on", "off").options == {"thinking": "on"}
    assert judge_spec("vllm:acme/x").options == {}


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
        result = run("plan", "--model", f"vllm:{thinker}", "--design", "smoke", *arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    on, off = plan("--thinking", "on"), plan("--thinking", "off")
    assert "thinking is on, switched by enable_thinking" in on
    assert "reasoning and answer share one budget" in on
    assert "are held to a schema from their first token and come without reasoning" in on
    assert "thinking is off, switched by enable_thinking" in off
    assert "does not keep the first one's prompt" in off
    assert "warning" not in off
    assert "thinking is on" in plan(), "the template's own default"
    assert "warning" not in plan("--thinking", "on", "--free-form", "--set", "thinking_tokens=100")


def test_plan_shows_the_facts_the_preset_and_where_they_differ(
    planted: Tree, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "plain").symlink_to(smollm2)
    monkeypatch.chdir(tmp_path)
    said = run("plan", "--model", "preset:plain", "--design", "smoke", "--limit", "3")
    assert said.exit_code == 0, said.output
    assert "no switch of thinking; no block of reasoning is opened" in said.stdout
    assert "keeps the first one's prompt as its prefix" in said.stdout
    assert "a developer message: passed through" in said.stdout
    assert "preset expects" not in said.stdout
    expected = "template: {system_role: dropped, developer_role: unknown, bos: doubled, source: [card]}"
    planted.replace(PLAIN, "template: unknown", expected)
    found = json.loads(run("plan", "--model", "preset:plain", "--design", "smoke", "--limit", "3", "--json").stdout)
    assert found["unlike the preset"] == ["system_role", "bos"]
    assert found["preset"]["preset"] == "plain@1b"
    assert "expects another system_role" in run("plan", "--model", "preset:plain", "--design", "smoke", "--limit", "3").stdout
    refused = run("plan", "--model", "preset:plain", "--design", "smoke", "--thinking", "off")
    assert refused.exit_code == 1
    assert "no switch of thinking" in refused.stderr
