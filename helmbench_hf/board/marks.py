"""What the maintainers say beside what the rows show, in `board/marks.json` of the results repository.

How far a run was checked, runs that were withdrawn or may stand beside a similar one, signed human labels,
holdout figures. A submitter's pull request cannot touch this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from helmbench_hf.board.files import MIB, RejectedError, parse_json
from helmbench_hf.board.manifest import RunId, Sha, Strict, read
from helmbench_hf.runs.folder import RunError
from helmbench_hf.scoring.intervals import CONFIDENCE, t_quantile
from helmbench_hf.scoring.scores import Estimate

PLACE = "board/marks.json"
Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
DayOrNone = Annotated[str, StringConstraints(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]
Line = Annotated[str, StringConstraints(max_length=300)]


class Holdout(Strict):
    """The overall score of the same model on a private holdout, run by maintainers: `headline.overall.score` of that run."""

    design: Literal["core", "full"]
    content_sha256: Sha
    date: Day
    score: Estimate


class Mark(Strict):
    """One run."""

    level: Literal["rows verified", "spot-checked", "re-run"] = "rows verified"
    """How far it was checked; the first is what `helmbench verify` shows."""
    checked: DayOrNone = ""
    withdrawn: Line = ""
    """Why it is no longer shown; empty where it is shown."""
    beside: list[RunId] = Field(default_factory=list)
    """Runs beside which it may stand, although its replies or its name are nearly theirs: a person looked at both."""
    reference: bool = False
    """A model older than the public release, which cannot have learned it."""
    holdout: Holdout | None = None


class Signed(Strict):
    """Human labels whose raters the maintainers know."""

    labels_sha256: Sha
    by: Line
    date: Day


class Marks(Strict):
    """All of `marks.json`."""

    format: Literal[1] = 1
    runs: dict[RunId, Mark] = Field(default_factory=dict)
    signed: list[Signed] = Field(default_factory=list)

    def of(self, run: str) -> Mark:
        """What is said of a run."""
        return self.runs.get(run, Mark())


def read_marks(root: Path) -> Marks:
    """The marks of a results folder, empty where it has none. RunError where the file cannot be read as such."""
    path = root / PLACE
    try:
        if not path.exists():
            return Marks()
        if path.stat().st_size > MIB:
            raise RunError(f"{path} is larger than 1 MiB")
        return read(Marks, parse_json(path.read_bytes(), PLACE), str(path), "marks")
    except RejectedError as error:
        raise RunError(f"{error.said} (docs/board.md describes the file)") from error
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from error


def above_holdout(public: Estimate, holdout: Estimate, references: Sequence[tuple[Estimate, Estimate]]) -> Estimate:
    """Public minus holdout, less the mean of the same difference of reference models where there are any.

    Other messages, so independent estimates (Welch 1947, Biometrika 34:28). Models that answer the same messages have
    differences that go together, so the interval is rather too wide than too narrow.
    """
    share = -1 / len(references) if references else 0.0
    others = [term for open_, closed in references for term in ((share, open_), (-share, closed))]
    return _combined([(1.0, public), (-1.0, holdout), *others])


def _combined(terms: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Sum of weighted independent estimates, with Satterthwaite's degrees of freedom (1946, Biometrics Bulletin 2:110)."""
    if any(each.value is None for _, each in terms):
        return Estimate(None, None, None, 0, 0, note="a figure is missing")
    value = sum(weight * (each.value or 0.0) for weight, each in terms)
    pairs, meanings = sum(each.n_pairs for _, each in terms), sum(each.n_meanings for _, each in terms)
    spread = [(weight**2 * each.se**2, each.df) for weight, each in terms if each.se is not None and each.df]
    variance = sum(term for term, _ in spread)
    if len(spread) < len(terms) or not variance > 0:
        return Estimate(value, None, None, pairs, meanings, note="no interval: a figure has no standard error")
    df = variance**2 / sum(term**2 / each for term, each in spread)
    half = math.sqrt(variance) * t_quantile((1 + CONFIDENCE) / 2, df)
    return Estimate(value, value - half, value + half, pairs, meanings, math.sqrt(variance), df)
