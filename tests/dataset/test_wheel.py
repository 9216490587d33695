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
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.models.presets import load_presets

pytestmark = pytest.mark.slow
CHECKOUT = Path(__file__).parents[2]
DESIGNS = ("core", "full", "smoke", "taxonomy", "long")
CHILD = f"""
import json, socket
def cut(*_, **__):
    raise OSError("the network is cut")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = cut
import helmbench_hf
from pathlib import Path
from helmbench_hf.content.load import default_benchmark, default_root
from helmbench_hf.dataset.build import build
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.models.presets import load_presets
build(default_benchmark(), Path("made"))
print(json.dumps([helmbench_hf.__file__, str(default_root()), dict(load_presets().files),
                  {{design: load_cases(design).identity.content_sha256 for design in {DESIGNS}}}]))
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


def test_an_installed_wheel_gives_the_same_cases_dataset_and_presets(
    wheel: Path, real_built: tuple[Path, Built], tmp_path: Path
) -> None:
    target, empty = tmp_path / "target", tmp_path / "empty"
    empty.mkdir()
    command = [*uv(), "pip", "install", "--quiet", "--no-deps", "--offline", "--python", sys.executable, "--target", str(target)]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True)
    dead = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    env = {"PATH": os.environ["PATH"], "HOME": str(empty), "PYTHONPATH": str(target), "HF_ENDPOINT": "http://127.0.0.1:9", **dead}
    done = subprocess.run([sys.executable, "-c", CHILD], cwd=empty, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    package, root, presets, hashes = json.loads(done.stdout)
    assert Path(package).is_relative_to(target)
    assert Path(root) == target / "helmbench_hf" / "_configs" / "benchmark" / "v1"
    assert presets == dict[str, Any](load_presets().files)
    assert hashes == {design: load_cases(design).identity.content_sha256 for design in DESIGNS}
    assert {path.name for path in (empty / "made").iterdir()} == {path.name for path in real_built[0].iterdir()}
    for name in ("README.md", "manifest.json", "LICENSE", "CHANGELOG.md"):
        assert (empty / "made" / name).read_bytes() == (real_built[0] / name).read_bytes()


def test_the_wheel_holds_every_authored_file_and_nothing_else(wheel: Path) -> None:
    inside = "helmbench_hf/_configs/benchmark/v1/"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found = {name.removeprefix(inside): archive.read(name) for name in names if name.startswith(inside)}
    root = default_root()
    assert found == {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"helmbench_hf"}
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]
