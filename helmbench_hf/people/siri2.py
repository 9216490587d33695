"""The Suicide Intervention Response Inventory, revised (SIRI-2), for people who hold it: reader, scorer, published groups.

Neimeyer and Bonnelle (1997, Death Studies 21:59, doi 10.1080/074811897202137): 24 remarks of a client, two helper replies to
each, every reply rated from -3 (highly inappropriate) to +3 (highly appropriate). The score is the sum over the 48 replies of
the absolute difference to the mean rating of seven suicidologists; lower is nearer to them. Items and key are under
copyright, are not part of HELMbench, and are read from files that the holder brings.

The sum mixes direction, size and use of the scale: who knows every direction and always says 2 outscores most groups. So the
share of right directions and the mean bias stand beside it.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.hashing import digest
from helmbench_hf.judging.labels import rows_of
from helmbench_hf.runs.folder import RunError
from helmbench_hf.scoring.intervals import pooled
from helmbench_hf.scoring.scores import Estimate

REMARKS = 24
DROPPED = "14"
"""The authors left out their item 14: the panel did not agree on it."""
REPLIES = ("A", "B")
LOW, HIGH = -3, 3
Place = tuple[str, str]
"""Item and reply."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """The replies with the panel's mean ratings, in the order of the items."""

    key: Mapping[Place, float]
    sha256: str
    """Over items and key; names the wording that was used without holding it."""

    @property
    def published(self) -> bool:
        """Whether it has as many remarks as the published form; else no published score is comparable."""
        return len(self.key) == REMARKS * len(REPLIES)


@dataclass(frozen=True, slots=True)
class Sitting:
    """One rater's result."""

    rater: str
    n: int
    """Replies that were rated."""
    distance: float | None
    """The score; None where a reply was not rated, for a sum over fewer is another number."""
    sign_accuracy: float | None
    """Share of ratings on the panel's side of 0; a rating of 0 is on no side."""
    signs_n: int
    """Rated replies whose panel mean is not 0."""
    bias: Estimate
    """Mean of rating minus panel mean, with a 95% interval over remarks; above 0 is more generous than the panel."""


READ_IN = (
    "as collected in the repository MattMatt27/mental-health-benchmark-tutorial (commit 69469b7), read 2026-11-22; "
    "the papers themselves were not read"
)
CAUTION = (
    "Translations, countries and sometimes items differ between these studies: hold a score against each, rank no profession."
)


def published() -> list[dict[str, Any]]:
    """Mean scores of groups in the literature: group, score, its sd and n where they are known, source."""
    with (Path(__file__).parent / "siri2_published.csv").open(encoding="utf-8", newline="") as file:
        return [
            {
                **row,
                "score": float(row["score"]),
                "sd": float(row["sd"]) if row["sd"] else None,
                "n": int(row["n"]) if row["n"] else None,
            }
            for row in csv.DictReader(file)
        ]


def load_instrument(items: Path, key: Path) -> Instrument:
    """Read `item, remark, reply_a, reply_b` and `item, reply, mean` (CSV or JSONL).

    Raises RunError where a reply has no key or two, where a mean lies outside -3..3, or where the dropped item is among them.
    """
    remarks: dict[str, list[str]] = {}
    for where, row in rows_of(items, ("item", "remark", "reply_a", "reply_b")):
        if not all(row.values()) or remarks.setdefault(row["item"], list(row.values())) != list(row.values()):
            raise RunError(f"{where}: an item needs a number, a remark and two replies, and may appear only once; correct it.")
    if len(remarks) == REMARKS + 1 and DROPPED in remarks:
        raise RunError(
            f"{items}: the authors dropped item {DROPPED}, and no published score includes it; remove it from both files."
        )
    found: dict[Place, float] = {}
    for where, row in rows_of(key, ("item", "reply", "mean")):
        place = row["item"], row["reply"].upper()
        if place[0] not in remarks or place[1] not in REPLIES or place in found:
            raise RunError(f"{where}: {' '.join(place)} is not a reply in {items}, or has two rows; correct it.")
        found[place] = _rating(where, row["mean"])
    places = [(item, reply) for item in remarks for reply in REPLIES]
    if not places or (missing := [place for place in places if place not in found]):
        lacking = " ".join(missing[0]) if places else "every reply"
        raise RunError(f"{key} lacks {lacking}; each reply of {items} needs a row.")
    said = [[*place, found[place]] for place in places]
    return Instrument({place: found[place] for place in places}, digest([sorted(remarks.values()), said]))


def load_answers(path: Path, instrument: Instrument) -> dict[str, dict[Place, int]]:
    """Read `rater, item, reply, rating`; several sittings of a model are several raters. By rater, place -> rating.

    Raises RunError for a rating that is not a whole number from -3 to 3 (a mean of several sittings is nearer to the panel
    than any of them), for a reply that the instrument has not, and for one that was rated twice.
    """
    found: dict[str, dict[Place, int]] = defaultdict(dict)
    for where, row in rows_of(path, ("rater", "item", "reply", "rating")):
        place = row["item"], row["reply"].upper()
        if not row["rater"] or place not in instrument.key:
            raise RunError(
                f"{where}: a row needs a rater and a reply of the instrument, not {' '.join(place)[:40]!r}; correct it."
            )
        if place in found[row["rater"]]:
            raise RunError(f"{where}: {row['rater']} rates {' '.join(place)} twice; keep one.")
        rating = _rating(where, row["rating"])
        if rating != int(rating):
            raise RunError(
                f"{where}: {row['rating']} is not a whole number; give each sitting as a separate rater, not the mean of several."
            )
        found[row["rater"]][place] = int(rating)
    if not found:
        raise RunError(f"{path} contains no ratings; each row must have rater, item, reply, rating.")
    return dict(found)


def _rating(where: str, text: str) -> float:
    try:
        value = float(text.replace("\u2212", "-"))
    except ValueError:
        value = math.nan
    if not LOW <= value <= HIGH:
        raise RunError(f"{where}: {text[:40]!r} is not a number from {LOW} to {HIGH}; correct it.")
    return value


def sit(rater: str, ratings: Mapping[Place, int], instrument: Instrument) -> Sitting:
    """Score one rater."""
    rated = [(place, ratings[place], mean) for place, mean in instrument.key.items() if place in ratings]
    sided = [(rating, mean) for _, rating, mean in rated if mean]
    return Sitting(
        rater=rater,
        n=len(rated),
        distance=math.fsum(abs(rating - mean) for _, rating, mean in rated) if len(rated) == len(instrument.key) else None,
        sign_accuracy=sum(rating * mean > 0 for rating, mean in sided) / len(sided) if sided else None,
        signs_n=len(sided),
        bias=pooled([(rating - mean, 1.0, place[0]) for place, rating, mean in rated]),
    )


def group(sittings: Sequence[Sitting]) -> Estimate:
    """Mean score of those who rated every reply, with a 95% t interval over raters."""
    return pooled([(each.distance, 1.0, each.rater) for each in sittings if each.distance is not None])


def anchors(instrument: Instrument) -> dict[str, float]:
    """What simple raters score by this key: what a score is to be read against."""
    means = instrument.key.values()

    def total(rate: Callable[[float], float]) -> float:
        return math.fsum(abs(rate(mean) - mean) for mean in means)

    return {
        "nearest whole ratings": total(lambda mean: float(round(mean))),
        "right direction, always 2": total(lambda mean: math.copysign(2, mean)),
        "right direction, always 3": total(lambda mean: math.copysign(3, mean)),
        "always 0": total(lambda _: 0.0),
        "farthest ratings": total(lambda mean: -math.copysign(3, mean)),
    }


def result(instrument: Instrument, answers: Mapping[str, Mapping[Place, int]]) -> dict[str, Any]:
    """Everything as plain JSON, each number with its n."""
    sittings = [sit(rater, ratings, instrument) for rater, ratings in sorted(answers.items())]
    return {
        "instrument": {"sha256": instrument.sha256, "replies": len(instrument.key), "published_form": instrument.published},
        "raters": [{**asdict(each), "bias": _shown(each.bias)} for each in sittings],
        "group": _shown(group(sittings)),
        "anchors": anchors(instrument),
        "published": published() if instrument.published else [],
        "published_read_in": READ_IN,
        "caution": CAUTION,
    }


def _shown(estimate: Estimate) -> dict[str, Any]:
    """An estimate with its number of clusters: remarks, or raters."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n_meanings}
