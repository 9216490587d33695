"""What maintainers say of runs on the board, beside what the rows show: how far a run was checked, holdout figures, people.

They keep it as `board/marks.json` in the results repository. A pull request of a submitter can change nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from helmbench_hf.leaderboard.files import MIB, RejectedError, parse_json, quoted
from helmbench_hf.leaderboard.manifest import Count, Sha, Strict
from helmbench_hf.run_folder import RunError
from helmbench_hf.scoring.intervals import CONFIDENCE, t_quantile
from helmbench_hf.scoring.result import Estimate

FORMAT = 1
PLACE = "board/marks.json"
RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
DayOrNone = Annotated[str, StringConstraints(pattern=r"^(\d{4}-\d{2}-\d{2})?$")]
Line = Annotated[str, StringConstraints(max_length=300)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Holdout(Strict):
    """The overall score of the same model on a private holdout, run by maintainers: `headline.overall.score` of that run."""

    design: Literal["core", "full"]
    content_sha256: Sha
    date: Day
    value: Number
    low: Number | None
    high: Number | None
    se: Number | None
    df: Number | None
    n_pairs: Count
    n_meanings: Count

    def estimate(self) -> Estimate:
        """As the scores have it."""
        kept = {name: getattr(self, name) for name in ("value", "low", "high", "n_pairs", "n_meanings", "se", "df")}
        return Estimate(**kept)


class Mark(Strict):
    """One run."""

    level: Literal["rows verified", "spot-checked", "re-run"] = "rows verified"
    """How far it was checked; the first is what `helmbench verify` shows."""
    checked: DayOrNone = ""
    withdrawn: Line = ""
    """Why it is shown no longer; empty where it is shown."""
    reference: bool = False
    """A model older than the public release, which cannot have learned it."""
    holdout: Holdout | None = None


class Share(Strict):
    """Hits of n."""

    hits: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    n: Annotated[int, Field(ge=1, le=2**40)]


class People(Strict):
    """A group of people who answered the same cases, as `helmbench people import` and `score` have it for the hidden arm."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    people: Annotated[int, Field(ge=1, le=2**40)]
    content_sha256: Sha
    date: Day
    sensitivity: Share
    false_alarms: Share


class Marks(Strict):
    """The whole of `marks.json`."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT
    runs: dict[RunId, Mark] = Field(default_factory=dict)
    people: list[People] = Field(default_factory=list)


def read_marks(root: Path) -> Marks:
    """The marks of a results folder, empty where it has none. RunError where the file is not what it should be."""
    path = root / PLACE
    if not path.exists():
        return Marks()
    try:
        with path.open("rb") as file:
            content = file.read(MIB + 1)
        if len(content) > MIB:
            raise RunError(f"{path} is larger than 1 MiB")
        return Marks.model_validate(parse_json(content, PLACE))
    except RejectedError as error:
        raise RunError(f"{path}: {error.said}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RunError(f"{path}, {quoted(where)}: {first['msg']} (docs/board.md describes the file)") from error
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from error


@dataclass(frozen=True, slots=True)
class Contamination:
    """Public minus holdout, raw and less the mean of the same difference of reference models."""

    raw: Estimate
    net: Estimate | None
    references: int
    sign: bool
    """The net difference is above zero with its whole interval."""


def difference(public: Estimate, holdout: Estimate) -> Estimate:
    """Public minus holdout. Other messages, so two independent estimates: Welch (1947, Biometrika 34:28)."""
    return combined([(1.0, public), (-1.0, holdout)])


def contamination(own: Estimate, references: Sequence[Estimate]) -> Contamination:
    """A run's difference against those of reference models on the same holdout.

    Models that answer the same messages have differences that go together, mostly in one direction; taking them as independent
    makes the interval of the net difference too wide rather than too narrow.
    """
    if not references:
        return Contamination(own, None, 0, sign=False)
    net = combined([(1.0, own), *((-1 / len(references), each) for each in references)])
    return Contamination(own, net, len(references), sign=net.low is not None and net.low > 0)


def combined(parts: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Sum of weighted independent estimates, with Satterthwaite's degrees of freedom (1946, Biometrics Bulletin 2:110)."""
    if any(each.value is None for _, each in parts):
        return Estimate(None, None, None, 0, 0, note="a figure is missing")
    value = sum(weight * (each.value or 0.0) for weight, each in parts)
    pairs, meanings = sum(each.n_pairs for _, each in parts), sum(each.n_meanings for _, each in parts)
    terms = [(weight**2 * each.se**2, each.df) for weight, each in parts if each.se is not None and each.df]
    variance = sum(term for term, _ in terms)
    if len(terms) < len(parts) or not variance > 0:
        return Estimate(value, None, None, pairs, meanings, note="no interval: a figure has no standard error")
    df = variance**2 / sum(term**2 / each for term, each in terms)
    half = math.sqrt(variance) * t_quantile((1 + CONFIDENCE) / 2, df)
    return Estimate(value, value - half, value + half, pairs, meanings, math.sqrt(variance), df)
