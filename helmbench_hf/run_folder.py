"""The folder of a run: where each stage leaves its table, and the manifest that says what exactly ran.

RUN/manifest.json            identity of dataset, model, settings, engine
RUN/completions/*.jsonl      journal of the model's answers
RUN/judgments/<judge>/       journal of each judge's answers, and judge.json
RUN/verdicts.jsonl, scores.json, report.html      derived; made anew whenever asked
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from helmbench_hf.inference.journal import sync_folder

FORMAT = 1
Manifest = dict[str, Any]


class RunError(Exception):
    """The run folder cannot be used for what was asked. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of a run; nothing is made until something is written."""

    root: Path

    @property
    def completions(self) -> Path:
        """Journal of the model's answers."""
        return self.root / "completions"

    @property
    def judgments(self) -> Path:
        """One folder a judge."""
        return self.root / "judgments"

    @property
    def scores(self) -> Path:
        """Every number, with its n."""
        return self.root / "scores.json"

    @property
    def report(self) -> Path:
        """The page."""
        return self.root / "report.html"

    def manifest(self) -> Manifest:
        """What ran. Raises RunError where there is no run here, or one of another format."""
        path = self.root / "manifest.json"
        try:
            manifest: Manifest = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{self.root} holds no run (no manifest.json); make one with `helmbench generate`") from None
        except (OSError, ValueError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it, or start a new run folder") from error
        if manifest.get("format") != FORMAT:
            raise RunError(f"{path} has format {manifest.get('format')}, this helmbench reads {FORMAT}; update helmbench")
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest whole: a reader sees the old one or the new one."""
        write_json(self.root / "manifest.json", {"format": FORMAT, **manifest})


def write_json(path: Path, data: Any) -> None:
    """Write JSON as `replacing` does."""
    with replacing(path) as file:
        json.dump(data, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Give a file that takes the place of `path` when the block ends: a kill or a power failure leaves the old one or the new.

    Raises `RunError` where it cannot be written; the old file stands then, and nothing is left beside it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # a lone surrogate that a model wrote becomes its JSON escape
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written ({error.strerror}). Everything before is safe: make room or fix the folder's rights, "
            "then run the same command again."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
