"""Forged copies of an accepted submission, by somebody who makes every hash right again: each is rejected for its own reason."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.inference.keys import text_sha
from helmbench_hf.leaderboard import files
from helmbench_hf.leaderboard.manifest import look_alike, slug_of
from tests.leaderboard.made import rows_of, sign, write_rows
from tests.support.hub import OTHER
from tests.whole_way.way import RESULTS, Way

ANSWERS, VERDICTS, SCORES = files.COMPLETIONS, files.VERDICTS, files.SCORES
FAKE = text_sha("another")
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Forgery:
    """One kind of forgery, and the reason that it must be rejected for."""

    kind: str
    what: str
    code: str
    make: Callable[[Path], Path]
    """Forges the copy in a folder `submissions/MODEL/RUN` and gives its folder, which may be another."""
    judged: bool = False
    """Whether it needs a judge."""
    beside: tuple[str, ...] = ()
    """Files outside of the submission that the pull request touches as well."""


def rows(name: str, edit: Callable[[list[Any]], object]) -> Callable[[Path], Path]:
    """Edit the rows of a file and sign."""

    def make(folder: Path) -> Path:
        found = rows_of(folder / name)
        edit(found)
        write_rows(folder / name, found)
        return sign(folder)

    return make


def of_judge(edit: Callable[[list[Any]], object]) -> Callable[[Path], Path]:
    """Edit the answers of the first judge and sign."""

    def make(folder: Path) -> Path:
        first = min((folder / files.JUDGMENTS).iterdir())
        return rows(f"{files.JUDGMENTS}/{first.name}", edit)(folder)

    return make


def put(way: str, value: object) -> Callable[[Path], Path]:
    """Set a field of the manifest by its path and sign."""

    def change(manifest: Manifest) -> None:
        *steps, last = way.split(".")
        place: Any = manifest
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value

    return lambda folder: sign(folder, change)


def later(folder: Path) -> Path:
    """The same submission under another run id, so that the folder is a new one."""
    return put("times.started", "2026-01-01T00:00:00Z")(folder)


def twice(found: list[Any]) -> None:
    found[1] = found[0]


def of_another_run(found: list[Any]) -> None:
    found[0]["key"] = FAKE


def better_answer(found: list[Any]) -> None:
    found[-1]["text"] = "I am worried about you. Please call your crisis line now."


def failing_verdict_passes(found: list[Any]) -> None:
    next(row for row in found if row["value"] == 0).update(value=1.0)


def higher_score(folder: Path) -> Path:
    scores = json.loads((folder / SCORES).read_text())
    scores["headline"]["printed"] = 99.0
    (folder / SCORES).write_text(json.dumps(scores))
    return sign(folder)


def like_another(folder: Path) -> Path:
    """A name that looks like the one on the board."""
    name = json.loads((folder / files.MANIFEST).read_text())["model"]["id"]
    glyphs = (("l", "1"), ("o", "0"), ("i", "1"), ("m", "rn"), ("w", "vv"), ("s", "5"))
    names = (name.replace(seen, written, 1) for seen, written in glyphs)
    return put("model.id", next(each for each in names if look_alike(slug_of(each), {slug_of(name)})))(folder)


def edited_without_a_new_id(folder: Path) -> Path:
    manifest = json.loads((folder / files.MANIFEST).read_text())
    (folder / files.MANIFEST).write_text(json.dumps({**manifest, "run_id": FAKE[:16]}))
    return folder.rename(folder.with_name(FAKE[:16]))


def another_file_than_signed(folder: Path) -> Path:
    folder = later(folder)
    write_rows(folder / ANSWERS, rows_of(folder / ANSWERS)[::-1])
    return folder


def more_files(folder: Path) -> Path:
    (folder / "checks").mkdir(exist_ok=True)
    (folder / "checks" / "gate.json").write_text("{}")
    return later(folder)


def fewer_files(folder: Path) -> Path:
    (folder / VERDICTS).unlink()
    return later(folder)


def large_manifest(folder: Path) -> Path:
    folder = later(folder)
    (folder / files.MANIFEST).write_text((folder / files.MANIFEST).read_text() + " " * files.limit_of(files.MANIFEST))
    return folder


def bomb(folder: Path) -> Path:
    """The very answers, with blanks between their fields: a small file that unpacks to more than may be read."""
    found = rows_of(folder / ANSWERS)
    blanks = " " * (files.MOST_UNPACKED // len(found) + files.MIB // 8)
    assert len(blanks) + 65_536 < files.LONGEST_LINE, "too few rows for a bomb"
    with gzip.GzipFile(folder / ANSWERS, "wb", mtime=0) as packed:
        for row in found:
            packed.write(f"{{{blanks}{json.dumps(row)[1:]}\n".encode())
    return sign(folder)


def one_long_row(folder: Path) -> Path:
    found = rows_of(folder / ANSWERS)
    found[0]["text"] = "a" * files.LONGEST_LINE
    write_rows(folder / ANSWERS, found)
    return sign(folder)


FORGERIES = (
    Forgery("rows", "leave an answer out", "rows.missing", rows(ANSWERS, lambda found: found.pop())),
    Forgery("rows", "one answer in the place of another", "rows.twice", rows(ANSWERS, twice)),
    Forgery("rows", "an answer from a run with other settings", "rows.key", rows(ANSWERS, of_another_run)),
    Forgery("rows", "another answer than the one that was graded", "verdict.other-reply", rows(ANSWERS, better_answer)),
    Forgery("verdicts", "a failed verdict passes", "verdict.edited", rows(VERDICTS, failing_verdict_passes)),
    Forgery("verdicts", "leave a verdict out", "verdict.missing", rows(VERDICTS, lambda found: found.pop())),
    Forgery("verdicts", "leave an answer of the judge out", "verdict.unanswered", of_judge(lambda found: found.pop()), True),
    Forgery("scores", "a higher headline", "scores.edited", higher_score),
    Forgery("versions", "another dataset version", "dataset.version", put("dataset.version", "9.9.9")),
    Forgery("versions", "other cases under the same version", "dataset.content", put("dataset.content_sha256", FAKE)),
    Forgery("versions", "another version of helmbench", "harness.version", put("helmbench", "9.9.9")),
    Forgery("versions", "another judge prompt", "judge.rubric", put("judges.0.rubric.sha256", FAKE), True),
    Forgery("identities", "another model's weights", "model.identity", put("model.files_sha", FAKE)),
    Forgery("identities", "another judge's weights", "judge.identity", put("judges.0.model.files_sha", FAKE), True),
    Forgery("identities", "the name of a model on the Hub", "model.name", put("model.id", "Qwen/Qwen3-8B")),
    Forgery("identities", "a name that looks like one on the board", "model.confusable", like_another),
    Forgery("identities", "another run id", "manifest.run-id", edited_without_a_new_id),
    Forgery("files", "a file that is not the one signed", "files.hash", another_file_than_signed),
    Forgery("files", "a file too many", "files.unknown", more_files),
    Forgery("files", "a file too few", "files.missing", fewer_files),
    Forgery("files", "a change of the repository's page beside it", "pull-request.changes", later, beside=("README.md",)),
    Forgery("sizes", "a manifest of more than 1 MiB", "files.size", large_manifest),
    Forgery("sizes", "a small file that unpacks to more than 256 MiB", "files.bomb", bomb),
    Forgery("sizes", "an answer of more than 4 MiB", "rows.long", one_long_row),
)
KINDS = ("rows", "verdicts", "scores", "versions", "identities", "files", "sizes")


def forge(way: Way, quick: bool) -> None:
    """Each forgery as a pull request of the submitter, verified by the maintainer; a table of what was said.

    `quick`: the first of each kind alone.
    """
    with way.step(f"{OTHER}: helmbench submit run --export original"):
        way.type(OTHER, "helmbench", "submit", "run", "--export", "original", "--name", "Alice Example")
    chosen = [each for each in FORGERIES if way.judge or not each.judged]
    chosen = [next(each for each in chosen if each.kind == kind) for kind in KINDS] if quick else chosen
    with way.step(f"{OTHER} opens {len(chosen)} pull requests with forged copies; helmbench verify rejects each"):
        numbers = [_pull_request(way, number, forgery) for number, forgery in enumerate(chosen)]
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            told = list(workers.map(lambda number: _reasons(way, number), numbers))
        for forgery, reasons in zip(chosen, told, strict=True):
            print(f"             {forgery.kind:11} {forgery.what:48} {', '.join(reasons)}", flush=True)
        wrong = [each.what for each, reasons in zip(chosen, told, strict=True) if each.code not in reasons]
        assert not wrong, f"rejected for another reason: {wrong}"
        assert {each.kind for each in chosen} == set(KINDS)
        assert len({each.code for each in chosen}) == len(chosen), "each has a reason of its own"


def _pull_request(way: Way, number: int, forgery: Forgery) -> int:
    """Open it, without any check before it is sent; its number."""
    from huggingface_hub import CommitOperationAdd

    [original] = (way.home(OTHER) / "original" / "submissions").glob("*/*")
    place = way.root / "forged" / str(number) / "submissions" / original.parent.name / original.name
    folder = forgery.make(Path(shutil.copytree(original, place)))
    top = way.root / "forged" / str(number)
    content = {str(path.relative_to(top)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    content |= dict.fromkeys(forgery.beside, b"---\nlicense: cc-by-4.0\n---\nmine\n")
    adds = [CommitOperationAdd(path, data) for path, data in content.items()]
    made = way.hub.api(OTHER).create_commit(RESULTS, adds, commit_message=forgery.what, repo_type="dataset", create_pr=True)
    return int(made.pr_num)


def _reasons(way: Way, number: int) -> list[str]:
    """The codes that the maintainer is told; the exit code says that it was rejected."""
    return [each["code"] for each in json.loads(way.verify(number, "--json", ends=1))["reasons"]]
