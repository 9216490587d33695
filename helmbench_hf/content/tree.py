"""The paths of a reactive conversation, as a picture: beats by turn, an arrow for every way that a reply can lead."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from helmbench_hf.content.schema import Beat, RouteTable, Step

WIDTH, HEIGHT, COLUMN, ROW = 112, 34, 160, 62
"""Of a box and of the grid that boxes stand on, in pixels."""
STYLE = (
    "text{font:13px sans-serif;fill:#222}rect{fill:#fff;stroke:#556}rect.end{fill:#eef}path{fill:none;stroke:#99a}"
    ".turn{fill:#667;font-size:12px}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}rect{fill:#223;stroke:#99a}rect.end{fill:#335}.turn{fill:#aab}}"
)


def leads_to(step: Step) -> dict[int, str]:
    """Next beats by the least trust that they need."""
    return {0: step.to} if isinstance(step.to, str) else dict(sorted(step.to.items()))


def turns_of(table: RouteTable) -> dict[str, int]:
    """The turn at which each beat is said: the latest, where paths differ. The table has no circle."""
    found = {next(iter(table.beats)): 1}
    for _ in table.beats:
        for slug, beat in table.beats.items():
            for step in beat.after.values() if slug in found else ():
                for to in leads_to(step).values():
                    found[to] = max(found.get(to, 0), found[slug] + 1)
    return found


def svg(table: RouteTable, title: str) -> str:
    """The picture; what leads along an arrow is its tooltip."""
    turns = turns_of(table)
    rows: dict[int, int] = {}
    places: dict[str, tuple[int, int]] = {}
    for slug, turn in turns.items():
        rows[turn] = rows.get(turn, 0) + 1
        places[slug] = (20 + (turn - 1) * COLUMN, 40 + (rows[turn] - 1) * ROW)
    width, height = max(turns.values()) * COLUMN, 40 + max(rows.values()) * ROW
    shapes = [f'<text class="turn" x="{20 + (turn - 1) * COLUMN}" y="22">turn {turn}</text>' for turn in sorted(rows)]
    for slug, beat in table.beats.items():
        shapes += _arrows(places, slug, beat)
    for slug, (x, y) in places.items():
        kind = ' class="end"' if table.beats[slug].end else ""
        shapes.append(f'<rect{kind} x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>')
        shapes.append(f'<text x="{x + WIDTH // 2}" y="{y + 21}" text-anchor="middle">{escape(slug)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    return "\n".join([head, f"<title>{escape(title)}</title><style>{STYLE}</style>", *shapes, "</svg>", ""])


def _arrows(places: dict[str, tuple[int, int]], slug: str, beat: Beat) -> Iterator[str]:
    ways: dict[str, list[str]] = {}
    for act, step in beat.after.items():
        for least, to in leads_to(step).items():
            ways.setdefault(to, []).append(act.replace("_", " ") + (f" (trust {least} or more)" if least else ""))
    for to, acts in ways.items():
        (x, y), (end, other) = places[slug], places[to]
        start, middle = x + WIDTH, (x + WIDTH + end) // 2
        top, bottom = y + HEIGHT // 2, other + HEIGHT // 2
        said = escape(", ".join(acts))
        yield f'<path d="M{start} {top}C{middle} {top} {middle} {bottom} {end} {bottom}"><title>{said}</title></path>'
