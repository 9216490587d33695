"""The board's Space really started, on a folder and on a results repository of a loopback Hub."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd

from tests.support.hub import CHECKOUT, Hub
from tests.support.spaces import started

SCRIPT = CHECKOUT / "space" / "app.py"


def page(address: str) -> str:
    with urllib.request.urlopen(address) as reply:
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        found: str = reply.read().decode()
    return found


@pytest.mark.parametrize("source", ["folder", "repository"])
def test_the_space_shows_what_the_results_hold(original: Path, tmp_path: Path, source: str) -> None:
    results = original.parents[2]
    with Hub() as hub:
        where = str(results)
        if source == "repository":
            where = "helmbench/results"
            hub.repo(where)
            adds = [CommitOperationAdd(str(path.relative_to(results)), path) for path in original.rglob("*") if path.is_file()]
            hub.api("helmbench").create_commit(where, adds, commit_message="a run", repo_type="dataset")
        with started(SCRIPT, tmp_path / "home", hub, RESULTS=where) as address:
            refused = page(f"{address}?view=refused")
            assert original.name in refused
            assert "board.design" in refused, "the run is one of smoke, which is never shown"
            assert "How to read the board" in page(f"{address}?view=about")
            with pytest.raises(urllib.error.HTTPError, match="404"):
                page(address)
        assert hub.hosts <= {"127.0.0.1"}
