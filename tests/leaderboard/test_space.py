"""The board's Space really started, on a folder and on a results repository of a loopback Hub."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd

from helmbench_hf.leaderboard.query import VIEWS
from tests.support.hub import CHECKOUT, Hub
from tests.support.spaces import started

SCRIPT = CHECKOUT / "space" / "app.py"


def page(address: str, policy: str = "default-src 'none'") -> str:
    with urllib.request.urlopen(address) as reply:
        assert policy in reply.headers["Content-Security-Policy"]
        found: str = reply.read().decode()
    return found


def test_the_space_shows_a_run_of_a_folder_on_every_view(original: Path, tmp_path: Path) -> None:
    settings = {"RESULTS": str(original.parents[2]), "TEST_BOARD": "1"}
    with Hub() as hub, started(SCRIPT, tmp_path / "home", hub, **settings) as address:
        for view in VIEWS:
            assert "test board" in page(f"{address}?view={view}")
        listed = page(f"{address}?view=transcripts&note=read&model={original.name}")
        case = re.search(r"case=([\w-]+)&amp;note=read", listed)
        assert case is not None
        assert "The person" in page(f"{address}?view=transcripts&note=read&model={original.name}&case={case[1]}")
        assert "Back to the board" in page(f"{address}?view=report&model={original.name}", "frame-ancestors")
        with urllib.request.urlopen(f"{address}table.json") as reply:
            found = json.load(reply)
        assert ([row["run"] for row in found["rows"]], found["test_board"]) == ([original.name], True)
        assert hub.hosts <= {"127.0.0.1"}


def test_the_space_reads_a_repository_of_the_hub(original: Path, tmp_path: Path) -> None:
    results, where = original.parents[2], "helmbench/results"
    with Hub() as hub:
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
