"""Reads a report page as a parser does, so that its structure can be asserted without a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}


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
