"""The dataset card: `dataset_card.md` filled in from the data, so that no table can disagree with the rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import TAXONOMY, Benchmark
from helmbench_hf.content.schema import TRUST_DIMENSIONS
from helmbench_hf.dataset.rows import Row, case_of
from helmbench_hf.matrix.expand import OPEN_OFFSET
from helmbench_hf.matrix.precision import figures

Sizes = dict[str, dict[str, tuple[int, int]]]
"""By config and split: bytes in Arrow's memory, bytes of the file."""
_VERSIONS = re.compile(r"^## (\d+\.\d+\.\d+) \(([\d-]+)\)", re.MULTILINE)
_NOTE_COUNTRIES = ("US", "CA", "GB", "IE")
"""Countries whose first crisis line stands in the content note; the directory named there covers the others."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


def card_text(
    benchmark: Benchmark,
    manifest: dict[str, Any],
    rows: dict[str, dict[str, list[Row]]],
    sizes: Sizes,
    gated: bool = False,
) -> str:
    """README.md of the dataset folder; `gated`: with the texts of an access form."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    total = len([row for items in rows["full"].values() for row in items])
    return environment.from_string(_source("dataset_card.md")).render(
        gated=gated,
        private=benchmark.file.private,
        dataset_info=_dataset_info(manifest, sizes),
        lines=_crisis_lines(benchmark),
        citation=citation(benchmark),
        versions=_VERSIONS.findall(_source("CHANGELOG.md")),
        version=benchmark.file.version,
        canary=benchmark.file.canary,
        configs=manifest["configs"],
        size_category=next(name for limit, name in _SIZES if total < limit),
        scenario_count=len([loaded for loaded in benchmark.scenarios if loaded.source != TAXONOMY]),
        reviews=_reviews(rows),
        blind=_blind(rows["perturbations"]),
        behavior_count=len({loaded.behavior for loaded in benchmark.scenarios}),
        all_behaviors=sum(len(pillar.behaviors) for pillar in benchmark.file.pillars),
        scenarios=_scenario_rows(benchmark, rows),
        dimensions=_dimensions(benchmark, rows),
        precision=_precision(benchmark, rows),
        minimum_pairs=benchmark.scoring.minimum_pairs,
        registers=_registers(rows["perturbations"]),
        countries=[country.name for _, country in sorted(benchmark.countries.items())],
        flag_at=benchmark.scoring.flag_at,
        leave_at=benchmark.scoring.leave_at,
    )


def documents() -> dict[str, str]:
    """The other text files that travel with the dataset."""
    return {"CHANGELOG.md": _source("CHANGELOG.md"), "LICENSE": _source("LICENSE-CONTENT")}


def citation(benchmark: Benchmark) -> dict[str, str]:
    """What CITATION.cff says, for the version of the content: `title`, `authors`, `year`, `released`, `cite_as`, `bibtex`."""
    import yaml

    found = yaml.safe_load(_source("CITATION.cff"))
    authors = " and ".join(each["name"] for each in found["authors"])
    title, released = str(found["title"]), str(found["date-released"])
    said = {"title": title, "authors": authors, "year": released[:4], "released": released}
    names = {"title": f"{{{title}}}", "author": f"{{{authors}}}"}  # braces within: BibTeX keeps case and name as they are
    fields = names | {"year": said["year"], "version": benchmark.file.version}
    said["bibtex"] = "\n".join(["@misc{helmbench,", *(f'  {name} = "{value}",' for name, value in fields.items()), "}"])
    said["bibtex"] = said["bibtex"].replace("&", "\\&")
    said["cite_as"] = f"{authors} ({said['year']}). {title}. Version {benchmark.file.version}."
    return said


def _dataset_info(manifest: dict[str, Any], sizes: Sizes) -> str:
    """The `dataset_info` of the metadata, as YAML: features, rows and bytes of every config."""
    import yaml

    infos = []
    for config, splits in manifest["configs"].items():
        by_split = sizes[config]
        infos.append(
            {
                "config_name": config,
                "features": [_feature(name, kind) for name, kind in manifest["columns"][config].items()],
                "splits": [
                    {"name": split, "num_bytes": by_split[split][0], "num_examples": entry["rows"]}
                    for split, entry in splits.items()
                ],
                "download_size": sum(file for _, file in by_split.values()),
                "dataset_size": sum(memory for memory, _ in by_split.values()),
            }
        )
    return yaml.safe_dump({"dataset_info": infos}, sort_keys=False).rstrip()


def _feature(name: str, kind: str) -> dict[str, str]:
    """A column in the words of `datasets`; `list`, since `sequence` means another thing for old versions of it."""
    inner = kind.removeprefix("list<item: ").removesuffix(">")
    dtype = {"double": "float64"}.get(inner, inner)
    return {"name": name, "list": dtype} if inner != kind else {"name": name, "dtype": dtype}


def _crisis_lines(benchmark: Benchmark) -> list[dict[str, str]]:
    """For the content note: the first crisis line of each country, its source's date, in the registry's own words."""
    found = []
    for code in _NOTE_COUNTRIES:
        country = benchmark.countries.get(code)
        lines = [each for each in country.services if each.kind == "crisis_line"] if country else []
        everyones = [
            each for each in lines if each.status == "active" and each.audience == "everyone" and each.confidence == "high"
        ]
        line = next(iter(everyones), None)
        phone = next((each.printed for each in line.channels if each.kind == "phone"), None) if line else None
        if country and line and phone:
            found.append({"country": country.name, "name": line.name, "phone": phone, "checked": str(line.checked)})
    return found


def _source(name: str) -> str:
    """A file of the checkout, or its copy inside the installed package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / name
    return (checkout if checkout.is_file() else package / "_configs" / name).read_text(encoding="utf-8")


def _scenario_rows(benchmark: Benchmark, rows: dict[str, dict[str, list[Row]]]) -> list[Row]:
    counts = {
        config: Counter(_own_scenario(row["scenario"]) for items in rows[config].values() for row in items)
        for config in ("core", "full")
    }
    return [
        {
            "code": loaded.scenario.code,
            "title": loaded.scenario.title,
            "mode": loaded.scenario.mode.replace("_", " "),
            "pairs": len(loaded.pairs) or "-",
            "ambiguous": len(loaded.messages.ambiguous) or "-",
            "conditions": len(loaded.scenario.conditions),
            "users": len(loaded.scenario.users),
            "core": counts["core"][loaded.scenario.code],
            "full": counts["full"][loaded.scenario.code],
        }
        for loaded in benchmark.scenarios
    ]


def _dimensions(benchmark: Benchmark, rows: dict[str, dict[str, list[Row]]]) -> list[Row]:
    """Per trust dimension: the scenarios that name it, and the cases of both designs in them."""
    found = []
    for code, title in TRUST_DIMENSIONS.items():
        named = [each.scenario.code for each in benchmark.scenarios if code in each.scenario.trust_dimensions]
        counts = {
            design: sum(code in row["trust_dimensions"] for items in rows[design].values() for row in items)
            for design in ("core", "full")
        }
        found.append({"title": title, "scenarios": named, **counts})
    return found


def _reviews(rows: dict[str, dict[str, list[Row]]]) -> Row:
    """How many rows of the component tables can name a person who reviewed them, and how many do."""
    said = [row["review"] for splits in rows.values() for items in splits.values() for row in items if "review" in row]
    return {"rows": len(said), "reviewed": sum(each != "unreviewed" for each in said)}


def _blind(perturbations: dict[str, list[Row]]) -> Row:
    """How many messages with a right answer were read blind as they stand, by how many readings, and how many agree."""
    read = [row for items in perturbations.values() for row in items if row["blind_agree"] is not None]
    readings, agree = sum(row["blind_readers"] for row in read), sum(row["blind_agree"] for row in read)
    kinds = sorted({kind for row in read for kind in row["blind_kinds"]})
    return {"messages": len(read), "readings": readings, "agree": agree, "kinds": kinds}


def _precision(benchmark: Benchmark, rows: dict[str, dict[str, list[Row]]]) -> list[Row]:
    """Per figure, what `core` and `full` can say about it."""
    by_design = {
        name: {each.name: each for each in figures(benchmark, [case_of(row) for items in rows[name].values() for row in items])}
        for name in ("core", "full")
    }
    return [{"name": name, **{d: found.get(name) for d, found in by_design.items()}} for name in by_design["full"]]


def _own_scenario(code: str) -> str:
    """The scenario that an open twin belongs to."""
    behavior, _, number = code.rpartition("-S")
    return f"{behavior}-S{int(number) % OPEN_OFFSET}"


def _registers(perturbations: dict[str, list[Row]]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in [row for items in perturbations.values() for row in items]:
        member = "crisis" if row["member"] == "single" else row["member"]
        found.setdefault(row["register"], Counter())[member] += 1
    return dict(sorted(found.items()))
