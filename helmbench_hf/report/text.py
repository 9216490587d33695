"""Hostile text made harmless: model answers, messages and names may hold anything.

Escaping is done by the template (HTML) and by `embed` (JSON inside HTML). What stays dangerous after escaping is what a
reader's eye or terminal obeys: control characters, escape sequences, direction overrides, invisible letters, sheer size.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

CAP = 20_000
"""Characters of one text that the page carries; the journals hold the whole."""

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks, clipboard
    r"|\x1b[PX^_].*?(?:\x1b\\|\Z)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colors, cursor
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
_INVISIBLE += "\ufff9-\ufffb"
_UNSEEN = re.compile(rf"[{_BIDI}{_INVISIBLE}\U000e0000-\U000e0fff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_STACKED = re.compile(rf"([{_MARKS}]{{4}})[{_MARKS}]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def visible(text: object, cap: int = CAP) -> str:
    """Give the text as evidence: nothing acts, and what would act unseen is shown as a mark.

    Control characters become their pictures (`␛`), direction overrides and invisible letters their code point
    (`⟨U+202E⟩`), stacked accents are cut to four, a lone surrogate becomes U+FFFD. Text over `cap` is cut and says so.
    """
    full = str(text)
    if len(full) <= cap and full.isascii() and full.isprintable():
        return full  # nothing below would find anything; most texts are of this kind
    shown = full[:cap].replace("\r\n", "\n").replace("\r", "\n")
    shown = _SURROGATE.sub("\ufffd", shown)
    shown = _CONTROL.sub(_picture, shown)
    shown = _UNSEEN.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", shown)
    shown = _STACKED.sub(r"\1", shown)
    if len(full) > cap:
        shown += f"\n[… {len(full) - cap:,} more characters are in the run's journal]"
    return shown


def plain(text: object, cap: int = 200) -> str:
    """Give the text as one harmless line for a terminal: escape sequences and unseen characters are gone."""
    shown = _ESCAPES.sub("", str(text)[: cap * 8])
    shown = _SURROGATE.sub("\ufffd", shown)
    shown = re.sub(r"\s+", " ", shown)
    shown = _UNSEEN.sub("", _CONTROL.sub("", shown))
    shown = _STACKED.sub(r"\1", shown).strip()
    return shown if len(shown) <= cap else shown[: cap - 1] + "…"


def deep(value: Any) -> Any:
    """Apply `visible` to every string of a JSON value, keys too; anything that is no JSON becomes its text."""
    if isinstance(value, dict):
        return {visible(key): deep(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [deep(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return visible(value)


def embed(value: Any) -> str:
    """JSON that can be put inside a `<script type="application/json">` element without ending it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda match: _IN_SCRIPT[match.group()], text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
