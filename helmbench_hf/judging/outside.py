"""Human ratings that others released, read from the user's own copy: an external check of a judge, under their own criteria.

Nothing of these releases is in this package. A judge is asked about their replies with their own question; only a rating whose
criterion has one of our codes is asked with our words. Labels of replies that are not ours never make a criterion of ours
claim-ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.content.schema import Criterion, Gold, Reply
from helmbench_hf.dataset.calibration import Label, criterion_words
from helmbench_hf.judging.check import check_judge
from helmbench_hf.judging.judge import JudgeError, JudgeSpec, find_judge
from helmbench_hf.judging.labels import VERDICTS, Labels, Pair, as_probe, consensus, rows_of, values_of
from helmbench_hf.judging.rubric import bare_case
from helmbench_hf.models.drive import Listener
from helmbench_hf.runs.folder import RunFolder

JOB = "helmbench_hf.judging.outside:child"
FORMATS = ("healthbench", "columns")
NEEDED, OPTIONAL = ("rater", "reply", "criterion", "verdict"), ("question", "context")
HEALTHBENCH = ("prompt", "completion", "rubric", "category", "binary_labels", "anonymized_physician_ids")
"""Fields of `oss_meta_eval.jsonl` that OpenAI's own evaluation reads (simple-evals, healthbench_meta_eval.py; MIT)."""
Layout = Mapping[str, str]
Turns = tuple[tuple[str, str], ...]
"""Role and text of what was said before the reply."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's verdict on one reply."""

    where: str
    """File and row."""
    rater: str
    reply: str
    criterion: str
    """What the release calls it."""
    question: str
    """What the release asked."""
    verdict: Gold
    before: Turns = ()


def layout(release: str, columns: str) -> dict[str, str]:
    """How a file is to be read, as plain JSON. Raises JudgeError in sentences.

    `columns`: `rater=COLUMN,reply=COLUMN,criterion=COLUMN,verdict=COLUMN`, if wanted `question=` (without it the criterion is
    the question) and `context=` (what the person wrote), and the words for each verdict: `PASS=yes|1,FAIL=no|0`, if wanted
    `PARTIAL=`.
    """
    if release not in FORMATS:
        raise JudgeError(f"There is no format {release}; choose one of {', '.join(FORMATS)}.")
    found = {"release": release}
    for part in columns.split(",") if columns else []:
        name, sign, value = (each.strip() for each in part.partition("="))
        if not sign or not value or name not in (*NEEDED, *OPTIONAL, *VERDICTS):
            raise JudgeError(
                f"--columns: {part!r} is not NAME=COLUMN with a name of {', '.join((*NEEDED, *OPTIONAL, *VERDICTS))}."
            )
        found[name] = value
    missing = [name for name in (*NEEDED, "PASS", "FAIL") if name not in found]
    if release == "columns" and missing:
        raise JudgeError(f"--columns lacks {', '.join(missing)}; name the column, and the words that mean PASS and FAIL.")
    if release != "columns" and columns:
        raise JudgeError(f"The columns of {release} are known; leave --columns out.")
    return found


def payload(out: Path, judge: JudgeSpec, content: Path, path: Path, how: Layout) -> dict[str, Any]:
    """What `child` needs, as plain JSON."""
    asked = {"out": str(out), "judge": judge.as_payload(), "content": str(content)}
    return {**asked, "path": str(path), "layout": dict(how)}


def child(payload: dict[str, Any], reporter: Listener) -> None:
    """The job of the child process: one judge, its folder, its lock."""
    found, benchmark = labels(load_benchmark(Path(payload["content"])), Path(payload["path"]), payload["layout"])
    check_judge(RunFolder(Path(payload["out"])), find_judge(JudgeSpec(**payload["judge"])), found, benchmark, reporter)


def labels(benchmark: Benchmark, path: Path, how: Layout) -> tuple[Labels, Benchmark]:
    """What two raters or more agree on, as a judge is asked about it, and a benchmark that holds these criteria alone.

    Raises JudgeError where the file cannot be read or holds nothing.
    """
    ratings = list(_healthbench(path) if how["release"] == "healthbench" else _columns(path, how))
    if not ratings:
        raise JudgeError(f"{path} holds no rating.")
    criteria = _criteria(ratings, benchmark)
    replies: dict[tuple[str, Turns], str] = {}
    shown: dict[Pair, Rating] = {}
    rated = []
    for rating in ratings:
        reply = replies.setdefault((rating.reply, rating.before), f"H{len(replies) + 1}")
        pair = reply, criteria[rating.criterion, rating.question].code
        shown.setdefault(pair, rating)
        rated.append((rating.where, pair, rating.rater, rating.verdict))
    right, left_out, raters = consensus(rated)
    by_code = {criterion.code: criterion for criterion in criteria.values()}
    probes = tuple(as_probe(_label(pair, shown[pair], said, by_code[pair[1]]), said) for pair, said in right.items())
    return Labels("human", probes, left_out, raters), replace(benchmark, criteria=by_code)


def _criteria(ratings: Sequence[Rating], benchmark: Benchmark) -> dict[tuple[str, str], Criterion]:
    """By name and question: ours where the name is one of our codes, else the release's own question."""
    partial = any(rating.verdict == "PARTIAL" for rating in ratings)
    found: dict[tuple[str, str], Criterion] = {}
    for name, question in sorted({(rating.criterion, rating.question) for rating in ratings}):
        ours = benchmark.criteria.get(name)
        found[name, question] = ours or Criterion.model_construct(
            code=f"E{len(found) + 1:03d}",
            slug="external",
            title=name,
            kind="credit",
            question=question,
            passes="What is asked for is true of the reply.",
            partial="It is true of the reply in part." if partial else None,
            fails="It is not true of the reply.",
            levels={},
            notes=None,
        )
    return found


def _label(pair: Pair, rating: Rating, verdict: Gold, criterion: Criterion) -> Label:
    said = [text for role, text in rating.before if role == "user"] or [""]
    earlier = tuple(text for role, text in rating.before if role == "assistant")
    system = "\n\n".join(text for role, text in rating.before if role == "system")
    reply = Reply.model_construct(
        code=pair[0], case=pair[0], turn=len(said), source="model", clean=None, reply=rating.reply, gold={pair[1]: verdict}
    )
    return Label(reply, bare_case(pair[0], system, tuple(said)), earlier, pair[1], verdict, criterion_words(criterion))


def _columns(path: Path, how: Layout) -> Iterator[Rating]:
    words: dict[str, Gold] = {
        word.strip().casefold(): verdict for verdict in VERDICTS if verdict in how for word in how[verdict].split("|")
    }
    names = [*NEEDED, *(name for name in OPTIONAL if name in how)]
    for where, row in rows_of(path, [how[name] for name in names]):
        found = {name: row[how[name]] for name in names}
        verdict = words.get(found["verdict"].casefold())
        if verdict is None:
            raise JudgeError(f"{where}: {found['verdict']!r} is no word for a verdict; add it to --columns (PASS=..|..).")
        if not found["rater"] or not found["criterion"]:
            raise JudgeError(f"{where} names no rater or no criterion; correct it.")
        before: Turns = (("user", found["context"]),) if found.get("context") else ()
        question = found.get("question") or found["criterion"]
        yield Rating(where, found["rater"], found["reply"], found["criterion"], question, verdict, before)


def _healthbench(path: Path) -> Iterator[Rating]:
    """Physicians say whether a reply meets a criterion: met is PASS, also where the criterion names a fault."""
    for where, row in values_of(path, HEALTHBENCH):
        before = _folded(row["prompt"], where)
        for rater, met in zip(row["anonymized_physician_ids"], row["binary_labels"], strict=True):
            verdict: Gold = "PASS" if met else "FAIL"
            yield Rating(where, str(rater), row["completion"], row["category"], row["rubric"], verdict, before)


def _folded(prompt: Sequence[Mapping[str, Any]], where: str) -> Turns:
    """System texts first, then person and assistant by turns: neighbors with one role are one text."""
    system = [("system", each["content"]) for each in prompt if each["role"] in ("system", "developer")]
    said: list[tuple[str, str]] = []
    for each in prompt:
        if each["role"] in ("user", "assistant"):
            if said and said[-1][0] == each["role"]:
                said[-1] = (each["role"], f"{said[-1][1]}\n\n{each['content']}")
            else:
                said.append((each["role"], each["content"]))
    if not said or (said[0][0], said[-1][0]) != ("user", "user"):
        raise JudgeError(f"{where}: the conversation does not begin and end with the person; take the row out.")
    return (*system, *said)
