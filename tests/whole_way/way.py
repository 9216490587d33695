"""The steps from authored files to the board, as the people who take them: a maintainer, a submitter, and a reader."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from helmbench_hf.content.load import default_benchmark
from tests.support.dates import newest_date
from tests.support.hub import CHECKOUT, OTHER, OWNER, TOKENS, Hub

DATASET, RESULTS = f"{OWNER}/v1", f"{OWNER}/results"
PARTS = ("helmbench_hf", "configs", "build_dataset.py", "dataset_card.md", "CHANGELOG.md", "CITATION.cff", "LICENSE-CONTENT")
"""What a release is built from."""
BIN = Path(sys.executable).parent
KEPT = ("OMP_NUM_THREADS",)
"""Of this process's environment, what the users' commands see as well."""
LOAD = """
import hashlib, json, sys
from datasets import load_dataset
from helmbench_hf.dataset.rows import canonical_line
found = {}
for split, table in load_dataset(sys.argv[1], "core", revision=sys.argv[2]).items():
    digest = hashlib.sha256()
    for row in table:
        digest.update(canonical_line(row))
    found[split] = [table.num_rows, digest.hexdigest()]
print(json.dumps(found))
"""
"""What the data card tells a reader to type, and the content hash of what came."""


class StepError(Exception):
    """A step did not do what it must. The message is the step, the command and its output."""


@dataclass(slots=True)
class Way:
    """Where everything is, and what was printed."""

    hub: Hub
    root: Path
    """A folder of its own; each user has a home in it."""
    model: Sequence[str]
    judge: Sequence[str]
    """Options of `helmbench run`."""
    settings: Sequence[str] = ()
    said: list[str] = field(default_factory=list)
    """All output of all commands."""
    began: float = field(default_factory=time.monotonic)

    @property
    def tag(self) -> str:
        """Of the version in benchmark.yaml."""
        return f"v{default_benchmark().file.version}"

    @property
    def published(self) -> tuple[str, ...]:
        """The dataset at its tag, as the options of a command."""
        return ("--dataset", DATASET, "--revision", self.tag)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print the title with a tick and its seconds once its body is through, or with a cross."""
        began = time.monotonic()
        try:
            yield
        except Exception as error:
            print(f"✗ {time.monotonic() - began:6.1f} s  {title}", flush=True)
            raise StepError(f"{title}: {error}") from error
        print(f"✓ {time.monotonic() - began:6.1f} s  {title}", flush=True)

    def home(self, user: str) -> Path:
        """The home of a user, which holds a cache of its own."""
        return self.root / "homes" / user

    def environment(self, user: str, *, offline: bool = False, checkout: Path = CHECKOUT) -> dict[str, str]:
        """For a command of that user. The loopback is asked directly, so that the board can ask itself when it starts.

        `datasets` would tell another host of a load, and `hf` would ask one for its own updates.
        """
        around = {"PYTHONPATH": str(checkout), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        around |= {"HF_UPDATE_DOWNLOAD_COUNTS": "0", "HF_HUB_DISABLE_UPDATE_CHECK": "1"}
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return self.hub.environment(self.home(user), user, offline=offline, **around, **kept)

    def type(self, user: str, *words: str | Path, ends: int = 0, cwd: Path | None = None, **where: object) -> str:
        """What a user types; its output. Raises AssertionError where it ends with another exit code."""
        command = list(map(str, words))
        if (BIN / command[0]).is_file():
            command[0] = str(BIN / command[0])
        around = self.environment(user, **where)  # type: ignore[arg-type]
        done = subprocess.run(command, cwd=cwd or self.home(user), env=around, capture_output=True, text=True, check=False)
        self.said.append(done.stdout + done.stderr)
        shown = shlex.join([Path(command[0]).name, *("..." if "\n" in word else word for word in command[1:])])
        assert done.returncode == ends, f"exit code {done.returncode}\n$ {shown}\n{done.stdout}{done.stderr}"
        return done.stdout

    def publish(self) -> None:
        """The maintainer makes both repositories and publishes the dataset from a commit."""
        with self.step("the authored files and the code as a commit of git"):
            checkout = self.root / "checkout"
            for part in PARTS:
                _copy(CHECKOUT / part, checkout / part)
            identity = ("-c", "user.name=Maintainer", "-c", "user.email=maintainer@example.org")
            for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "content")):
                self.type(OWNER, "git", *words, cwd=checkout)
        with self.step(f"{OWNER}: make the repositories {DATASET} and {RESULTS}"):
            for repo in (DATASET, RESULTS):
                self.type(OWNER, "hf", "repos", "create", repo, "--repo-type", "dataset")
            template = CHECKOUT / "templates" / "results-repo"
            self.type(OWNER, "hf", "upload", RESULTS, template, ".", "--repo-type", "dataset")
        with self.step(f"{OWNER}: build, push and tag {self.tag}"):
            day = str(newest_date(default_benchmark()))
            words = ("python", "build_dataset.py", "--push", DATASET, "--tag", self.tag, "--today", day)
            said = self.type(OWNER, *words, cwd=checkout, checkout=checkout)
            assert f"published as {self.tag}" in said, said

    def load(self) -> None:
        """A reader loads what was published, by its tag, twice: the second time without a network."""
        repo = self.hub.repo(DATASET)
        told = json.loads(repo.commits[repo.tags[self.tag]].files["manifest.json"])["configs"]["core"]
        expected = {split: [entry["rows"], entry["sha256"]] for split, entry in told.items()}
        for offline in (False, True):
            how = "offline, from the cache" if offline else "from the Hub"
            with self.step(f'{OTHER}: load_dataset("{DATASET}", "core", revision="{self.tag}") {how}'):
                before = len(self.hub.requests)
                said = self.type(OTHER, "python", "-c", LOAD, DATASET, self.tag, offline=offline)
                found = json.loads(said.splitlines()[-1])
                assert found == expected, f"got {found}, published is {expected}"
                assert (len(self.hub.requests) == before) == offline, "offline asks nobody"

    def run(self) -> None:
        """The submitter's run, on the published dataset."""
        words = ["helmbench", "run", "--run", "run", *self.published, "--design", "smoke", *self.model, *self.judge]
        words += [word for setting in self.settings for word in ("--set", setting)]
        with self.step(f"{OTHER}: helmbench run --design smoke {' '.join(self.published)}"):
            self.type(OTHER, *words)
            source = json.loads((self.home(OTHER) / "run" / "manifest.json").read_text())["dataset"]["source"]
            assert source == f"{DATASET}@{self.hub.repo(DATASET).tags[self.tag]}", source

    def submit(self) -> None:
        """A pull request by one user; the other one verifies and merges it."""
        with self.step(f"{OTHER}: helmbench submit run --repo {RESULTS}"):
            dry = self.type(OTHER, "helmbench", "submit", "run", "--repo", RESULTS, "--dry-run")
            assert "nothing was sent" in dry, dry
            said = self.type(OTHER, "helmbench", "submit", "run", "--repo", RESULTS, "--name", "Alice Example")
            assert said.rstrip().endswith(f"/datasets/{RESULTS}/discussions/1"), said
        with self.step(f"{OWNER}: helmbench verify --pull-request 1 --repo {RESULTS} --comment"):
            said = self.verify(1, "--comment")
            assert said.startswith("accepted"), said
            comment = self.hub.repo(RESULTS).discussions[1].events[-1]["data"]["latest"]["raw"]
            assert said.strip() in comment, comment
        with self.step(f"{OWNER}: hf discussions merge {RESULTS} 1"):
            self.type(OWNER, "hf", "discussions", "merge", RESULTS, "1", "--repo-type", "dataset", "--yes")
            assert self.hub.repo(RESULTS).discussions[1].status == "merged"

    def verify(self, number: int, *options: str, ends: int = 0) -> str:
        """The maintainer verifies a pull request against the published dataset."""
        words = ("--pull-request", str(number), "--repo", RESULTS, *self.published, *options)
        return self.type(OWNER, "helmbench", "verify", *words, ends=ends)

    def show(self) -> None:
        """A board never shows a run of smoke; a test board does, and says so."""
        words = ("helmbench", "board", "build", "--results", RESULTS, *self.published, "--out", "site")
        site = self.home(OWNER) / "site"
        with self.step(f"{OWNER}: helmbench board build --results {RESULTS} leaves a run of smoke out"):
            said = self.type(OWNER, *words)
            assert "0 runs; 1 submissions are not shown" in said, said
        with self.step(f"{OWNER}: the same with --test-board shows it"):
            self.type(OWNER, *words, "--test-board")
            model = Path(self.model[1].partition(":")[2]).name
            [run] = (site / "runs").iterdir()
            for page in (site / "index.html", run / "index.html", run / "transcripts.html"):
                assert model in page.read_text(), f"{page} does not name {model}"
            assert "Test board" in (site / "index.html").read_text()

    def look_back(self) -> None:
        """What must hold over everything that happened."""
        with self.step("no host but the loopback was asked, and no token was printed"):
            assert self.hub.hosts == {"127.0.0.1"}, self.hub.hosts
            told = [user for user, token in TOKENS.items() if any(token in said for said in self.said)]
            assert not told, f"the token of {told} was printed"


def _copy(source: Path, target: Path) -> None:
    """Without what git does not keep."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)
