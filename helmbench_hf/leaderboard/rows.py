"""Rows of a submission: completions and judges' answers as JSON lines, verdicts as the pipeline exports them."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, get_args

from helmbench_hf.inference.keys import canonical
from helmbench_hf.inference.withheld import ENDS
from helmbench_hf.leaderboard.files import RejectedError, json_lines, quoted
from helmbench_hf.leaderboard.manifest import TOKENS
from helmbench_hf.records import Completion, CompletionStatus, Verdict

KEPT: dict[str, type] = {
    "key": str,
    "request": str,
    "status": str,
    "text": str,
    "reasoning": str,
    "finish_reason": str,
    "prompt_tokens": int,
    "cached_tokens": int,
    "output_tokens": int,
    "prompt_sha": str,
    "attempt": int,
}
"""Fields of a completion that are submitted, beside `label_logprobs`. An engine's error message is not: it names machines."""
_VERDICT = tuple(each.name for each in fields(Verdict))
FINISHED: dict[str, tuple[str, ...]] = {
    "ok": ("stop",),
    "truncated": ("stop", "length", "repetition"),
    "withheld": ("", *ENDS),
    "refused": ("",),
    "engine_error": ("",),
}
"""How an engine may have ended an answer of each status. A judge's letter is cut off after one token: `length` there."""
LOGPROB_FLOOR = -1e6


def completion_row(completion: Completion, request: str) -> dict[str, Any]:
    """A completion as it is submitted, under the canonical name of its request."""
    kept = {name: getattr(completion, name) for name in KEPT}
    labels = None if completion.label_logprobs is None else list(completion.label_logprobs)
    return {**kept, "request": request, "label_logprobs": labels}


def read_completions(content: bytes, name: str, most: int, labels: bool) -> list[Completion]:
    """The rows of a file of completions; `labels`: of a judge. Raises `RejectedError`."""
    return [_completion(row, f"{name}, line {number}", labels) for number, row in enumerate(json_lines(content, name, most), 1)]


def _completion(row: Any, where: str, labels: bool) -> Completion:
    if not isinstance(row, dict) or set(row) != {*KEPT, "label_logprobs"}:
        raise RejectedError("rows.shape", f"{where} has other fields than a completion")
    wrong = [name for name, kind in KEPT.items() if type(row[name]) is not kind or (kind is int and row[name] < 0)]
    if wrong:
        raise RejectedError("rows.shape", f"{where}: {wrong[0]} is of another type")
    if row["status"] not in get_args(CompletionStatus):
        raise RejectedError("rows.shape", f"{where}: unknown status {quoted(row['status'])}")
    if not re.fullmatch(r"[0-9a-f]{64}", row["key"]) or not re.fullmatch(r"([0-9a-f]{64})?", row["prompt_sha"]):
        raise RejectedError("rows.shape", f"{where}: key or prompt_sha is no SHA-256")
    read = row["label_logprobs"]
    if read is not None and not (labels and isinstance(read, list) and len(read) <= 5 and all(map(_is_logprob, read))):
        raise RejectedError("rows.shape", f"{where}: label_logprobs are no log-probabilities of letters")
    allowed = (*FINISHED[row["status"]], *(("length",) if read is not None else ()))
    if row["finish_reason"] not in allowed or (
        row["status"] in ("refused", "engine_error") and (row["text"] or row["reasoning"])
    ):
        raise RejectedError("rows.status", f"{where}: status, finish_reason and text contradict each other")
    if TOKENS.search(row["text"]) or TOKENS.search(row["reasoning"]):
        raise RejectedError("secret.token", f"{where} holds what looks like an access token; revoke it if it is one")
    return Completion(**{**row, "label_logprobs": None if read is None else tuple(float(value) for value in read)})


def _is_logprob(value: Any) -> bool:
    return type(value) in (int, float) and LOGPROB_FLOOR <= value <= 1e-3


def plain(value: Any) -> Any:
    """A record's values as they are after a journey through JSON."""
    return json.loads(json.dumps(value, allow_nan=False))


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it is submitted."""
    found: dict[str, Any] = plain({name: getattr(verdict, name) for name in _VERDICT})
    return found


def place_of(row: Any, where: str) -> tuple[Any, ...]:
    """What a verdict is about: case, turn, draw, criterion, grader. Raises `RejectedError` for a row of another shape."""
    if not isinstance(row, dict) or set(row) != set(_VERDICT):
        raise RejectedError("verdict.shape", f"{where} has other fields than a verdict")
    place = tuple(row[name] for name in ("case", "turn", "draw", "criterion", "grader"))
    if [type(part) for part in place] != [str, int, int, str, str]:
        raise RejectedError("verdict.shape", f"{where} names its case, turn, draw, criterion or grader by another type")
    return place


def packed(rows: Iterable[Any]) -> bytes:
    """Rows as gzip of canonical JSON lines; the same rows give the same bytes on one version of zlib."""
    return gzip.compress("".join(f"{canonical(row)}\n" for row in rows).encode("ascii"), mtime=0)


def differing(given: Any, found: Any, where: str = "", tolerance: float = 1e-9) -> Iterable[str]:
    """Where two plain JSON values differ; numbers may, by float noise."""
    if isinstance(given, dict) and isinstance(found, dict):
        for name in sorted({*given, *found}):
            if name not in given or name not in found:
                yield f"{where}.{name[:80]}"
            else:
                yield from differing(given[name], found[name], f"{where}.{name}", tolerance)
    elif isinstance(given, list) and isinstance(found, list):
        if len(given) != len(found):
            yield f"{where} (its length)"
        for index, (one, other) in enumerate(zip(given, found, strict=False)):
            yield from differing(one, other, f"{where}[{index}]", tolerance)
    elif not _same(given, found, tolerance):
        yield where


def _same(given: Any, found: Any, tolerance: float) -> bool:
    kinds = (type(given), type(found))
    if all(kind in (int, float) for kind in kinds):
        return math.isclose(given, found, rel_tol=tolerance, abs_tol=tolerance)
    return kinds[0] is kinds[1] and bool(given == found)
