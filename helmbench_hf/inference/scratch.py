"""A short private folder for an engine's sockets and files, cleared when its owner is gone.

vLLM leaves `vllm_dist_*` files and sockets in the temporary folder even after clean runs, and a socket's path may have
107 bytes only (engineering review, section 6).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

from helmbench_hf.inference.engine import EngineError

_PREFIX = "helm-"
_MARK = "helmbench-scratch-owner"
"""The locked file that makes a folder ours to remove; a folder of somebody's own that begins alike does not have it."""
_YOUNG = 60.0
"""Seconds in which an empty folder may be one that is just being made."""


class Scratch:
    """Owns a private temporary folder of this process, in force (TMPDIR) until `close`."""

    def __init__(self) -> None:
        """Make the folder, point TMPDIR at it, and clear those whose owner has died. `EngineError` where there is no room."""
        base = Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())
        _sweep(base)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        except OSError as error:
            raise EngineError(f"The temporary folder {base} cannot be written ({error.strerror}). Make room there.") from error
        # the lock says that the owner lives; the kernel drops it with the process, however that ends
        self._lock = os.open(self.path / _MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._before = os.environ.get("TMPDIR"), tempfile.tempdir
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.path)

    def close(self) -> None:
        """Remove the folder and restore TMPDIR; a second call does nothing."""
        if self._lock < 0:
            return
        variable, tempfile.tempdir = self._before
        if variable is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


def _sweep(base: Path) -> None:
    """Remove the marked folders of dead owners, and empty ones; whatever else begins alike is somebody's own."""
    for folder in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if not (folder / _MARK).is_file():
                if time.time() - folder.stat().st_mtime > _YOUNG:
                    folder.rmdir()  # fails unless it is empty
                continue
            file = os.open(folder / _MARK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)
