"""Reads a report page as a parser does, so that its structure can be asserted without a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}
LINES = {"p", "h1", "h2", "h3", "h4", "li", "caption", "tr", "dt", "dd", "summary"}
"""Elements that are one line of the page's text."""


@dataclass
class Element:
    """A start tag with what stood around it."""

    name: str
    attributes: dict[str, str | None]
    path: tuple[str, ...]
    text: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Its text, of all depths."""
        return " ".join("".join(self.text).split())


class Page(HTMLParser):
    """All elements of a page in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), tuple(entry.name for entry in self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(entry.name for entry in self._open)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().name != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text.append(data)

    def all(self, *names: str) -> list[Element]:
        """Elements of these names."""
        return [element for element in self.elements if element.name in names]

    def by_id(self, identity: str) -> Element:
        """The element with an id."""
        return next(element for element in self.elements if element.attributes.get("id") == identity)

    def table(self, caption: str) -> list[list[str]]:
        """The words of the cells, row by row, of the table whose caption holds these words."""
        start = next(i for i, element in enumerate(self.elements) if element.name == "caption" and caption in element.words)
        found: list[list[str]] = []
        for element in self.elements[start:]:
            if element.name == "table":
                break
            if element.name == "tr":
                found.append([])
            elif element.name in ("th", "td"):
                found[-1].append(element.words)
        return found

    def lines(self) -> list[str]:
        """The page's text without drawings and transcripts, cells of a row divided by bars."""
        found: list[str] = []
        cells = False
        for element in self.elements:
            if "svg" in element.path:
                continue
            if element.name in ("th", "td"):
                found[-1] += f"{' | ' if cells else ''}{element.words}"
                cells = True
            elif element.name in LINES and not LINES & set(element.path):
                cells = False
                found.append("" if element.name == "tr" else element.words)
        return found
