"""A Space's `app.py` in a process of its own, as the Hub would start it, on this machine alone."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.hub import CHECKOUT, Hub
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, until


@contextmanager
def started(script: Path, home: Path, hub: Hub, **env: str) -> Iterator[str]:
    """Start `python app.py` and give its address when it answers. Every host that it asks for is logged by `hub`."""
    home.mkdir(parents=True, exist_ok=True)
    port = free_port()
    around = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), "PYTHONPATH": str(CHECKOUT)}
    around |= {"HF_ENDPOINT": hub.endpoint, "HF_HUB_DISABLE_XET": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    around |= dict.fromkeys(("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"), str(int(PATIENCE)))
    around |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), hub.endpoint)
    around |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "GRADIO_SERVER_PORT": str(port)}
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(script)], cwd=script.parent, env={**around, **env}, stdout=log, stderr=log
        )
        try:
            yield _answering(f"http://127.0.0.1:{port}/", process, home / "log")
            assert process.poll() is None, f"it ended by itself: {(home / 'log').read_text(errors='replace')[-4000:]}"
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _answering(address: str, process: subprocess.Popen[bytes], log: Path) -> str:
    """The address, once somebody answers there."""

    def answers() -> bool:
        assert process.poll() is None, f"it ended: {log.read_text(errors='replace')[-4000:]}"
        try:
            urllib.request.urlopen(address, timeout=PATIENCE).close()
        except urllib.error.HTTPError:
            return True  # an empty board says 404
        except OSError:
            return False
        return True

    until(answers, f"the Space answers at {address}")
    return address
