"""The wheel carries the authored files: installed anywhere, without a network, it gives the same cases."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import default_root
from helmbench_hf.dataset.build import Built
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.inference.presets import load_presets

CHECKOUT = Path(__file__).parents[2]
CHILD = """
import json, socket, sys
def cut(*_, **__):
    raise OSError("the network is cut")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = cut
import helmbench_hf
from pathlib import Path
from helmbench_hf.content.load import default_benchmark, default_root
from helmbench_hf.dataset.build import build
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.inference.presets import load_presets
made = build(default_benchmark(), Path("made"))
loaded = {design: load_cases(design) for design in ("core", "full", "smoke", "taxonomy")}
print(json.dumps({
    "package": helmbench_hf.__file__,
    "root": str(default_root()),
    "hashes": {design: found.identity.content_sha256 for design, found in loaded.items()},
    "cases": {design: [case.code for case in found.cases] for design, found in loaded.items()},
    "manifest": made.manifest,
    "presets": dict(load_presets().files),
}))
"""


def uv() -> list[str]:
    if importlib.util.find_spec("uv"):
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    assert found, "uv is needed to build the wheel; `make test` installs it"
    return [found]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this checkout as it stands, with hatchling from the environment where it has one."""
    out = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [*uv(), "build", "--wheel", "--quiet", "--python", sys.executable, *isolation, "--out-dir", str(out), str(CHECKOUT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """Where it was installed, the empty folder it ran in, and what it said there."""
    target, empty = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("empty")
    command = [*uv(), "pip", "install", "--quiet", "--no-deps", "--offline", "--python", sys.executable, "--target", str(target)]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True)
    dead = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    env = {"PATH": os.environ["PATH"], "HOME": str(empty), "PYTHONPATH": str(target), "HF_ENDPOINT": "http://127.0.0.1:9", **dead}
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=empty, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target, empty, json.loads(done.stdout)


def test_it_runs_from_where_it_was_installed(installed: tuple[Path, Path, dict[str, Any]]) -> None:
    target, _, said = installed
    assert Path(said["package"]).is_relative_to(target)
    assert Path(said["root"]) == target / "helmbench_hf" / "_configs" / "benchmark" / "v1"


def test_an_installed_wheel_gives_the_same_cases(
    installed: tuple[Path, Path, dict[str, Any]], real_embedded: dict[str, CaseSet]
) -> None:
    said = installed[2]
    for design, found in real_embedded.items():
        assert found.identity.content_sha256 == said["hashes"][design]
        assert [case.code for case in found.cases] == said["cases"][design]


def test_an_installed_wheel_builds_the_same_dataset(
    installed: tuple[Path, Path, dict[str, Any]], real_built: tuple[Path, Built]
) -> None:
    ours, made = real_built
    assert installed[2]["manifest"] == made.manifest
    theirs = installed[1] / "made"
    assert {path.name for path in theirs.iterdir()} == {path.name for path in ours.iterdir()}
    for name in ("README.md", "manifest.json", "LICENSE", "CHANGELOG.md"):
        assert (theirs / name).read_bytes() == (ours / name).read_bytes()


def test_an_installed_wheel_has_the_same_presets(installed: tuple[Path, Path, dict[str, Any]]) -> None:
    assert installed[2]["presets"] == dict(load_presets().files)


def test_the_wheel_holds_every_authored_file_and_nothing_else(wheel: Path) -> None:
    inside = "helmbench_hf/_configs/benchmark/v1/"
    with zipfile.ZipFile(wheel) as archive:
        found = {name.removeprefix(inside): archive.read(name) for name in archive.namelist() if name.startswith(inside)}
        names = archive.namelist()
    root = default_root()
    assert found == {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    tops = {name.partition("/")[0] for name in names}
    assert {top.partition("-")[0] for top in tops} == {"helmbench_hf"}
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]
