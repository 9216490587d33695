"""The dataset card: `dataset_card.md` filled in from the data, so that no table can disagree with the rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

from helmbench_hf.content.load import TAXONOMY, Benchmark
from helmbench_hf.content.schema import TRUST_DIMENSIONS
from helmbench_hf.dataset import human_review
from helmbench_hf.dataset.load import Manifest
from helmbench_hf.dataset.rows import Row, Tables
from helmbench_hf.tasks.expand import OPEN_OFFSET

Sizes = dict[str, dict[str, tuple[int, int]]]
"""By config and split: bytes in Arrow's memory, bytes of the file."""
_VERSIONS = re.compile(r"^## (\d+\.\d+\.\d+) \(([\d-]+)\)", re.MULTILINE)
_NOTE_COUNTRIES = ("US", "CA", "GB", "IE")
"""Countries whose first crisis line is in the content note; the directory named there covers the others."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


def card_text(benchmark: Benchmark, manifest: Manifest, rows: Tables, sizes: Sizes, gated: bool = False) -> str:
    """README.md of the dataset folder; `gated`: with the texts of an access form."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    tables = {config: [row for items in splits.values() for row in items] for config, splits in rows.items()}
    designs = {name: tables[name] for name in ("core", "full")}
    return environment.from_string(_source("dataset_card.md")).render(
        gated=gated,
        manifest=manifest,
        dataset_info=_dataset_info(manifest, sizes),
        size_category=next(name for limit, name in _SIZES if len(tables["full"]) < limit),
        scoring=benchmark.scoring,
        scenarios=benchmark.scenarios,
        scenario_count=len([loaded for loaded in benchmark.scenarios if loaded.source != TAXONOMY]),
        behavior_count=len({loaded.behavior for loaded in benchmark.scenarios}),
        all_behaviors=len(benchmark.file.behaviors),
        cases={name: Counter(_own_scenario(row["scenario"]) for row in found) for name, found in designs.items()},
        dimensions=_dimensions(benchmark, designs),
        reviews=_reviews(benchmark),
        blind=_blind(tables["perturbations"]),
        registers=_registers(tables["perturbations"]),
        countries=[country.name for _, country in sorted(benchmark.countries.items())],
        lines=_crisis_lines(benchmark),
        citation=citation(benchmark),
        versions=_VERSIONS.findall(_source("CHANGELOG.md")),
    )


def documents() -> dict[str, str]:
    """The other text files that travel with the dataset."""
    return {"CHANGELOG.md": _source("CHANGELOG.md"), "LICENSE": _source("LICENSE-CONTENT")}


def citation(benchmark: Benchmark) -> dict[str, str]:
    """What CITATION.cff says, for the version of the content: `authors`, `released`, `license`, `cite_as`, `bibtex`."""
    import yaml

    found = yaml.safe_load(_source("CITATION.cff"))
    authors = " and ".join(each["name"] for each in found["authors"])
    title, released, version = str(found["title"]), str(found["date-released"]), benchmark.file.version
    # braces inside the quotes: BibTeX keeps case and name as they are
    fields = {"title": f"{{{title}}}", "author": f"{{{authors}}}", "year": released[:4], "version": version}
    bibtex = "\n".join(["@misc{helmbench,", *(f'  {name} = "{value}",' for name, value in fields.items()), "}"])
    return {
        "authors": authors,
        "released": released,
        "license": benchmark.file.license,
        "cite_as": f"{authors} ({released[:4]}). {title}. Version {version}.",
        "bibtex": bibtex.replace("&", "\\&"),
    }


def _dataset_info(manifest: Manifest, sizes: Sizes) -> str:
    """The `dataset_info` of the metadata, as YAML: features, rows and bytes of every config."""
    import yaml

    infos = [
        {
            "config_name": config,
            "features": [_feature(name, kind) for name, kind in manifest.columns[config].items()],
            "splits": [
                {"name": split, "num_bytes": sizes[config][split][0], "num_examples": table.rows}
                for split, table in splits.items()
            ],
            "download_size": sum(file for _, file in sizes[config].values()),
            "dataset_size": sum(memory for memory, _ in sizes[config].values()),
        }
        for config, splits in manifest.configs.items()
    ]
    return yaml.safe_dump({"dataset_info": infos}, sort_keys=False).rstrip()


def _feature(name: str, kind: str) -> dict[str, str]:
    """A column in the words of `datasets`; `list`, because `sequence` means something else to its old versions."""
    inner = kind.removeprefix("list<item: ").removesuffix(">")
    dtype = {"double": "float64"}.get(inner, inner)
    return {"name": name, "list": dtype} if inner != kind else {"name": name, "dtype": dtype}


def _crisis_lines(benchmark: Benchmark) -> list[dict[str, str]]:
    """For the content note: the first crisis line for everyone of each country, as the registry words it."""
    found = []
    for country in [benchmark.countries[code] for code in _NOTE_COUNTRIES if code in benchmark.countries]:
        wanted = ("crisis_line", "active", "everyone", "high")
        lines = [each for each in country.services if (each.kind, each.status, each.audience, each.confidence) == wanted]
        phones = [each.printed for line in lines[:1] for each in line.channels if each.kind == "phone"]
        if phones:
            name, checked = lines[0].name, str(lines[0].checked)
            found.append({"country": country.name, "name": name, "phone": phones[0], "checked": checked})
    return found


def _source(name: str) -> str:
    """A file of the checkout, or its copy inside the installed package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / name
    return (checkout if checkout.is_file() else package / "_configs" / name).read_text(encoding="utf-8")


def _own_scenario(code: str) -> str:
    """The scenario that an open twin belongs to."""
    behavior, _, number = code.rpartition("-S")
    return f"{behavior}-S{int(number) % OPEN_OFFSET}"


def _dimensions(benchmark: Benchmark, designs: dict[str, list[Row]]) -> list[Row]:
    """By trust dimension: the scenarios that name it, and the cases of both designs in them."""
    found = []
    for code, title in TRUST_DIMENSIONS.items():
        named = [each.scenario.code for each in benchmark.scenarios if code in each.scenario.trust_dimensions]
        counts = {name: sum(code in row["trust_dimensions"] for row in rows) for name, rows in designs.items()}
        found.append({"title": title, "scenarios": named, **counts})
    return found


def _blind(perturbations: list[Row]) -> dict[str, Any]:
    """How many messages were read blind as they stand, by whom, how they read, and how many are disputed."""
    read = [row for row in perturbations if row["readers"]]
    means = {name: fmean(values) for name in ("realism", "clarity", "called_a_person") if (values := _given(read, name))}
    kinds = sorted({kind for row in read for kind in row["reader_kinds"]})
    return {"messages": len(read), "kinds": kinds, "disputed": sum(bool(row["disputed"]) for row in read), **means}


def _given(rows: list[Row], name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _reviews(benchmark: Benchmark) -> dict[str, Any]:
    """How many items people reviewed as they stand, in which roles, and how many of them a reviewer wants changed."""
    found = human_review.reviews(benchmark)
    roles = Counter(role for said in found.values() for role in {each.role for each in said})
    change = sum(any(each.verdict == "change" for each in said) for said in found.values())
    return {"items": len(human_review.items(benchmark)), "reviewed": len(found), "roles": roles, "change": change}


def _registers(perturbations: list[Row]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in perturbations:
        found.setdefault(row["register"], Counter())["crisis" if row["member"] == "single" else row["member"]] += 1
    return dict(sorted(found.items()))
