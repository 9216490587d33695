"""The board's addresses: `?view=..&model=..`. What an address asks for is read here, and every link is written here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

VIEWS = {
    "board": "Board",
    "parts": "By part",
    "scatter": "Trade-off",
    "curves": "Detection",
    "compare": "Compare two",
    "transcripts": "Transcripts",
    "model": "One model",
    "refused": "Not shown",
    "about": "How to read it",
}
"""View -> its name in the navigation."""
PARTS = {
    "behavior": "Behavior",
    "persona": "Deployment persona",
    "register": "Register of English",
    "country": "Country",
    "crisis": "Crisis category",
    "trust": "Trust dimension",
}
FACTORS = ("scenario", "behavior", "condition", "member")
"""What a list of transcripts can be narrowed by, beside the outcome."""
MOST_MODELS = 4
"""Runs whose curves stand on one page."""
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Query:
    """What a page is asked for. Names of groups, runs and columns are free text here; the views look them up."""

    view: str = "board"
    group: str = ""
    sort: str = ""
    """Column of the board; empty: by rank, then by name."""
    turned: bool = False
    by: str = "behavior"
    models: tuple[str, ...] = ()
    second: str = ""
    scenario: str = ""
    behavior: str = ""
    condition: str = ""
    member: str = ""
    outcome: str = ""
    case: str = ""
    """Code of the case that is shown whole."""
    draw: int = 1
    page: int = 1
    read: bool = False
    """The reader has opened the content note, which stands before every transcript."""

    @property
    def model(self) -> str:
        """The first run named."""
        return self.models[0] if self.models else ""

    def link(self, **changes: object) -> str:
        """The address of another page in the same group: what is not named here is not kept."""
        given = replace(Query(group=self.group), **changes)  # type: ignore[arg-type]
        return given.address()

    def table(self) -> str:
        """The address of the same table as JSON, relative."""
        return "table.json" + Query(group=self.group, sort=self.sort, turned=self.turned).address()

    def address(self) -> str:
        """As a relative address."""
        fields = [
            ("view", self.view if self.view != "board" else ""),
            ("group", self.group),
            ("sort", self.sort),
            ("turned", "1" if self.turned else ""),
            ("by", self.by if self.by != "behavior" else ""),
            *(("model", model) for model in self.models),
            ("second", self.second),
            *((name, getattr(self, name)) for name in (*FACTORS, "outcome", "case")),
            ("draw", str(self.draw) if self.draw > 1 else ""),
            ("page", str(self.page) if self.page > 1 else ""),
            ("note", "read" if self.read else ""),
        ]
        return "?" + urlencode([(name, value) for name, value in fields if value])


def read_query(text: str) -> Query:
    """The query of an address. What is unknown, or longer than any name, is as if it were not there."""
    try:
        pairs = parse_qsl(text[: 40 * LONGEST], max_num_fields=30)
    except ValueError:
        pairs = []
    given = {name: value for name, value in reversed(pairs) if len(value) <= LONGEST}
    models = _distinct(value for name, value in pairs if name == "model" and len(value) <= LONGEST)
    view = given.get("view", "board")
    by = given.get("by", "behavior")
    return Query(
        view=view if view in VIEWS or view == "report" else "board",
        group=given.get("group", ""),
        sort=given.get("sort", ""),
        turned=given.get("turned", "") == "1",
        by=by if by in PARTS else "behavior",
        models=models[:MOST_MODELS],
        second=given.get("second", ""),
        **{name: given.get(name, "") for name in (*FACTORS, "outcome", "case")},
        draw=_number(given.get("draw", "")),
        page=_number(given.get("page", "")),
        read=given.get("note", "") == "read",
    )


def _number(text: str) -> int:
    """A whole number from 1 to 999,999; 1 for anything else."""
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= 6 else 1


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
