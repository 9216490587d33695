"""Where a person finds help: the services of the registry, each with its source and the day it was compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helmbench_hf.content.schema import CountryFile, Service

DIRECTORY = "findahelpline.com lists services by country."
KINDS = ("crisis_line", "emergency", "directory")
Country = dict[str, Any]
"""`code`, `name` and its `lines`: dictionaries of texts."""


def countries(registry: Mapping[str, CountryFile]) -> list[Country]:
    """Every country by name, its live services, those who listen first."""
    found = []
    for file in sorted(registry.values(), key=lambda file: file.name):
        live = [service for service in file.services if service.status == "active" and service.kind in KINDS]
        lines = [_line(service) for service in sorted(live, key=lambda service: KINDS.index(service.kind))]
        found.append({"code": file.country, "name": file.name, "lines": lines})
    return found


def _line(service: Service) -> dict[str, str]:
    reach = [f"{channel.kind} {channel.printed}" for channel in service.channels]
    return {
        "name": service.name,
        "reach": "; ".join([*reach, *([service.url] if service.url else [])]),
        "hours": service.hours,
        "audience": "" if service.audience == "everyone" else service.audience,
        "source": service.source,
        "checked": service.checked.isoformat(),
    }
