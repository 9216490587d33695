"""Which submissions the board shows: those that verification accepts, by running it or by a stored result for the same bytes.

A stored result stands under the hash of every file of the submission, and counts only for the version of helmbench and the
cases that it was made with. The results repository may bring such results in `board/verified`; only maintainers write there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from helmbench_hf import __version__
from helmbench_hf.dataset.publish import asked
from helmbench_hf.inference.keys import digest
from helmbench_hf.leaderboard import files
from helmbench_hf.leaderboard.files import RejectedError, quoted
from helmbench_hf.leaderboard.manifest import Manifest, Strict, look_alike, read_manifest
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.report import Report
from helmbench_hf.leaderboard.submission import sha_of
from helmbench_hf.leaderboard.verify import Load, UnreadableError, verify
from helmbench_hf.run_folder import RunError, write_json

if TYPE_CHECKING:
    from huggingface_hub import HfApi

FORMAT = 1
VERIFIED = "verified"
SHOWN_DESIGNS = ("core", "full")
TEST_DESIGNS = ("smoke",)
"""What a test board shows as well."""
Said = Annotated[str, StringConstraints(max_length=4000)]


class StoredReason(Strict):
    """Why it was rejected."""

    code: Annotated[str, StringConstraints(pattern=r"^[a-z.-]{1,40}$")]
    said: Said


class Stored(Strict):
    """What verification said of one submission."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    helmbench: str
    content_sha256: str
    """Of the cases that it was held against; empty where it came to none."""
    reasons: list[StoredReason]
    notes: list[Said]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A submission whose numbers follow from its rows."""

    folder: Path
    digest: str
    manifest: Manifest
    scores: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that is not shown, and why: (code, sentence)."""

    place: str
    reasons: tuple[tuple[str, str], ...]


def fetch_results(source: str, revision: str | None, cache: Path, api: HfApi | None = None) -> tuple[Path, str]:
    """The results as a folder, and where they can be seen: an address on the Hub, or nothing for a folder of one's own.

    A repository is fetched as of one commit into a folder of that commit's name, so that nothing of another state stays in it.
    Raises RunError for a name that is neither, PublishError where the Hub does not give it.
    """
    folder = Path(source)
    if folder.is_dir():
        return folder, ""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", source):
        raise RunError(f"{source} is no folder, and no OWNER/NAME of a results repository on the Hub")
    from huggingface_hub import HfApi

    api = HfApi() if api is None else api
    what = f"{source} cannot be read"
    info = asked(lambda: api.repo_info(source, repo_type="dataset", revision=revision), what)
    target = cache / "results" / str(info.sha)
    wanted = ["submissions/**", "board/**"]
    fetch = partial(api.snapshot_download, source, repo_type="dataset", revision=info.sha)
    asked(lambda: fetch(local_dir=target, allow_patterns=wanted), what)
    return target, f"{api.endpoint}/datasets/{source}/tree/{info.sha}"


def collect(
    root: Path,
    marks: Marks,
    load: Load,
    cache: Path,
    said: Callable[[str], None] = lambda line: None,
    *,
    test: bool = False,
) -> tuple[list[Accepted], list[Refused]]:
    """Look at every submission under `root`; `said` hears of each one, and a `test` board takes `TEST_DESIGNS` as well.

    Raises DatasetError where the cases cannot be loaded.
    """
    designs = (*SHOWN_DESIGNS, *TEST_DESIGNS) if test else SHOWN_DESIGNS
    stores = (root / "board" / VERIFIED, cache / VERIFIED)
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    folders = list(_folders(root))
    slugs = {folder.parent.name for folder in folders}
    for number, folder in enumerate(folders, 1):
        place = "/".join(folder.parts[-3:])
        try:
            found = _look(folder, designs, marks, load, stores)
        except RejectedError as error:
            found = Refused(place, ((error.code, error.said),))
        except (OSError, UnreadableError) as error:
            found = Refused(place, (("board.unreadable", str(error)),))
        if isinstance(found, Accepted) and (twin := look_alike(found.manifest.slug, slugs)):
            note = f"The model's name looks like {quoted(twin)}, another model on this board."
            found = Accepted(found.folder, found.digest, found.manifest, found.scores, (*found.notes, note))
        if isinstance(found, Accepted):
            accepted.append(found)
        else:
            refused.append(found)
        said(f"{number} of {len(folders)}: {quoted(place)} {'shown' if isinstance(found, Accepted) else 'not shown'}")
    return accepted, refused


def _folders(root: Path) -> Iterator[Path]:
    """`submissions/<model>/<run>`, links left out: they are no submission of this repository."""
    top = root / "submissions"
    if not top.is_dir():
        raise RunError(f"{root} holds no folder `submissions`; give the folder or the repository that `helmbench submit` fills")
    for model in _inside(top):
        yield from _inside(model)


def _inside(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def _look(folder: Path, designs: Sequence[str], marks: Marks, load: Load, stores: Sequence[Path]) -> Accepted | Refused:
    place = "/".join(folder.parts[-3:])
    content = files.read_folder(folder)
    name = digest({path: sha_of(data) for path, data in content.items()})
    manifest = _manifest(content)
    if manifest is not None and manifest.dataset.design not in designs:
        said = f"a run of the design {manifest.dataset.design}; the board shows {' and '.join(designs)} alone"
        return Refused(place, (("board.design", said),))
    if manifest is not None and (mark := marks.runs.get(manifest.run_id)) and mark.withdrawn:
        return Refused(place, (("board.withdrawn", mark.withdrawn),))
    stored = _stored(name, manifest, load, stores)
    if stored is None:
        stored = _verified(folder, name, load, stores[-1])
        if digest({path: sha_of(data) for path, data in files.read_folder(folder).items()}) != name:
            return Refused(place, (("board.changed", "its files changed while they were verified"),))
    if stored.reasons or manifest is None:
        return Refused(place, tuple((each.code, each.said) for each in stored.reasons))
    scores = files.parse_json(content[files.SCORES], files.SCORES)
    return Accepted(folder, name, manifest, scores, tuple(stored.notes))


def _manifest(content: Mapping[str, bytes]) -> Manifest | None:
    """The manifest where it can be read; verification says what is wrong with one that cannot."""
    try:
        return read_manifest(files.parse_json(content.get(files.MANIFEST, b""), files.MANIFEST))
    except RejectedError:
        return None


def _stored(name: str, manifest: Manifest | None, load: Load, stores: Sequence[Path]) -> Stored | None:
    for store in stores:
        try:
            found = Stored.model_validate_json((store / f"{name}.json").read_bytes())
        except (OSError, ValidationError):
            continue
        asked_of = "" if manifest is None or not found.content_sha256 else load(manifest.dataset.design).identity.content_sha256
        if (found.digest, found.helmbench, found.content_sha256) == (name, __version__, asked_of) and (
            found.reasons or found.content_sha256
        ):
            return found
    return None


def _verified(folder: Path, name: str, load: Load, store: Path) -> Stored:
    used: list[str] = []

    def noted(design: str) -> Any:
        loaded = load(design)
        used.append(loaded.identity.content_sha256)
        return loaded

    report: Report = verify(folder, noted)
    found = Stored(
        digest=name,
        helmbench=__version__,
        content_sha256=used[-1] if used else "",
        reasons=[StoredReason(code=each.code, said=each.said[:4000]) for each in report.reasons],
        notes=[note[:4000] for note in report.notes],
    )
    store.mkdir(parents=True, exist_ok=True)
    write_json(store / f"{name}.json", found.model_dump())
    return found
