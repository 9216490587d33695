"""Where a person finds help: the services of the registry, each with its source and the day it was compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from helmbench_hf.content.schema import CountryFile

DIRECTORY = "findahelpline.com lists services by country."
KINDS = ("crisis_line", "emergency", "directory")


class Line(TypedDict):
    """One service as it is shown."""

    name: str
    reach: str
    hours: str
    audience: str
    source: str
    checked: str
    """ISO date."""


class Country(TypedDict):
    """The services of one country."""

    code: str
    name: str
    lines: list[Line]


def countries(registry: Mapping[str, CountryFile]) -> list[Country]:
    """Every country by name, its live services, those who listen first."""
    found = [Country(code=file.country, name=file.name, lines=list(_lines(file))) for file in registry.values()]
    return sorted(found, key=lambda country: country["name"])


def _lines(file: CountryFile) -> Iterable[Line]:
    for kind in KINDS:
        for service in file.services:
            if service.kind == kind and service.status == "active":
                reach = [f"{channel.kind} {channel.printed}" for channel in service.channels]
                yield Line(
                    name=service.name,
                    reach="; ".join([*reach, *([service.url] if service.url else [])]),
                    hours=service.hours,
                    audience="" if service.audience == "everyone" else service.audience,
                    source=service.source,
                    checked=service.checked.isoformat(),
                )


def as_text(found: Iterable[Country]) -> str:
    """All of it as plain text, for those who work in a table."""
    blocks = []
    for country in found:
        lines = [f"{line['name']}: {line['reach']} ({line['hours']}). Source: {line['source']}; compared {line['checked']}."
                 for line in country["lines"]]  # fmt: skip
        blocks.append("\n".join([country["name"], *lines]))
    return "\n\n".join(["If you are in danger, call your local emergency number.", *blocks, DIRECTORY]) + "\n"
