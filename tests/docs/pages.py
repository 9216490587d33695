"""The pages that people read, and what stands in their code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "dataset_card.md", "benchmarks/README.md")),
    *(ROOT / "templates" / "results-repo" / name for name in ("README.md", "space/README.md")),
    *sorted(DOCS.rglob("*.md")),
)
FENCE = re.compile(r"^ *```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?[^\n]*\n(?P<body>.*?)^ *```", re.M | re.S)
INLINE = re.compile(r"`(helmbench [^`\n]+)`")
ENDS = {"|", "||", "&&", ";", ">", "&"}


def fences(text: str, *languages: str) -> list[tuple[str, str]]:
    """Title and body of each code block in one of the languages."""
    return [(found["title"] or "", found["body"]) for found in FENCE.finditer(text) if found["language"] in languages]


def typed(text: str, program: str = "helmbench") -> Iterator[list[str]]:
    """The arguments of each call of a program that a reader would type from the code blocks of a page."""
    for _, body in fences(text, "sh", "bash", "console", ""):
        for line in body.replace("\\\n", " ").splitlines():
            if f"{program} " not in line or line.lstrip().startswith("#"):
                continue
            words = shlex.split(line, comments=True)
            if program in words:
                words = words[words.index(program) + 1 :]
                end = next((place for place, word in enumerate(words) if word in ENDS), len(words))
                yield words[:end]


def mentioned(text: str) -> Iterator[str]:
    """What a page's sentences call a command."""
    yield from INLINE.findall(FENCE.sub("", text))
