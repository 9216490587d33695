"""Files of a run and replies of a Hub that are of no known form: a sentence each, and no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import helmbench

ROOT = Path(__file__).parents[2]


def sentence(command: str, run: Path) -> str:
    """The one line that a command says of a run folder."""
    words = (run.parent / "out", run) if command == "merge" else (run, run) if command == "compare" else ("--run", run)
    said = helmbench(command, *words, code=1).stderr
    assert len(said.strip().splitlines()) == 1, said
    return said


@pytest.mark.parametrize("text", ["[]", "{}", "null", "{", "[" * 100_000])
@pytest.mark.parametrize("command", ["score", "report", "grade", "merge"])
def test_a_manifest_of_no_known_form_is_a_sentence(command: str, text: str, run: Path) -> None:
    (run / "manifest.json").write_text(text)
    said = sentence(command, run)
    assert str(run / "manifest.json") in said
    assert "restore it" in said


FIELDS = [
    ("settings.draws", "x"), ("settings.draws", 0), ("settings.draws", 1.5), ("settings.draws", None), ("settings", []),
    ("settings.temperature", "x"), ("settings.nope", 1), ("dataset", []), ("dataset.source", 3), ("selection.only", 3),
    ("selection.limit", "x"), ("key", []), ("key.nope", 1), ("key.model", "x"), ("model", "x"), ("model.id", 3),
    ("format", "1"), ("engine", []),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), FIELDS, ids=[f"{field}={value!r}" for field, value in FIELDS])
def test_a_field_of_the_manifest_of_another_type_is_named(field: str, value: Any, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    *way, last = field.split(".")
    place = manifest
    for part in way:
        place = place.setdefault(part, {})
    place[last] = value
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert field.split(".")[0] in sentence("score", run)


@pytest.mark.parametrize("text", ["[]", "{}", '{"id": "j"}', "{"])
@pytest.mark.parametrize("command", ["score", "merge"])
def test_a_judge_of_no_known_form_is_a_sentence(command: str, text: str, run: Path) -> None:
    path = run / "judgments" / "j" / "judge.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    said = sentence(command, run)
    assert str(path) in said
    assert "remove the judge's folder" in said


@pytest.mark.parametrize("text", ["[]", "null", "{"])
def test_scores_of_no_known_form_are_a_sentence(text: str, run: Path) -> None:
    (run / "scores.json").write_text(text)
    assert "`helmbench score`" in sentence("compare", run)


ASK = """
import sys
from tests.support.commands import helmbench
for words in (["cases", "--dataset", "owner/name", "--revision", "v1.0.0"], ["plan", "--model", "vllm:owner/model"],
              ["verify", "--pull-request", "1", "--repo", "owner/name"], ["submit", sys.argv[1], "--repo", "owner/name"]):
    found = helmbench(*words, code=None)
    print(words[0], found.exit_code, " ".join(found.stderr.split()), sep="|")
"""


@pytest.fixture(params=["{}", "null"])
def strange(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that answers everything alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(request.param)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(request.param.encode())

        do_POST = do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_hub_that_says_nothing_of_use_is_a_sentence(strange: str, tmp_path: Path, run: Path) -> None:
    environment = {**os.environ, "HF_ENDPOINT": strange, "HF_HOME": str(tmp_path / "hf"), "PYTHONPATH": str(ROOT)}
    asked = [sys.executable, "-c", ASK, str(run)]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    rows = [line.split("|", 2) for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["cases", "1"], ["plan", "1"], ["verify", "2"], ["submit", "1"]]
    assert "owner/name at v1.0.0 could not be fetched (what answers there is no Hub: " in rows[0][2]
    assert "owner/model is not in the local cache and cannot be fetched" in rows[1][2]
    assert "pull request 1 of owner/name cannot be read: what answers there is no Hub: " in rows[2][2]
