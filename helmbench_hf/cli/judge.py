"""`helmbench judge check`: how far a judge errs on replies with known verdicts, and whether it passes the claim gate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from helmbench_hf.cli.content import Json, fail
from helmbench_hf.cli.grade import judge_spec
from helmbench_hf.cli.judge_outside import check_outside
from helmbench_hf.cli.review import Content
from helmbench_hf.cli.run import TensorParallel, Thinking, child_job, ours

if TYPE_CHECKING:
    from helmbench_hf.content.load import Benchmark
    from helmbench_hf.judging.labels import Labels
    from helmbench_hf.records import CheckedLabel
    from helmbench_hf.runs.folder import RunFolder

app = typer.Typer(help="Choose a judge: how far it errs on replies whose right verdicts are known.", no_args_is_help=True)
Row = Mapping[str, Any]
Criteria = Annotated[str, typer.Option("--criteria", help="Only these, e.g. K01,K02 (default: all that have labels).")]


@app.command("check")
def check(
    judge: Annotated[str | None, typer.Option("--judge", help="The judge, as for `helmbench grade`.")] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", help="Instead: what a judge from elsewhere said; CSV or JSONL: reply_code, criterion, verdict."
        ),
    ] = None,
    criteria: Criteria = "",
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", help="Human labels that count instead of gold; CSV or JSONL: rater, reply_code, criterion, verdict."
        ),
    ] = None,
    release: Annotated[
        str,
        typer.Option(
            "--format", help="The labels are of another benchmark's replies: `healthbench`, or `columns` with --columns."
        ),
    ] = "",
    columns: Annotated[
        str,
        typer.Option(
            "--columns", help="rater=COLUMN,reply=..,criterion=..,verdict=..[,question=..][,context=..],PASS=WORD|WORD,FAIL=WORD"
        ),
    ] = "",
    run: Annotated[Path | None, typer.Option("--run", help="A run that this judge graded: gives the prevalence of use.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the check (default: runs/check-JUDGE).")] = None,
    content: Content = None,
    thinking: Thinking = None,
    tensor_parallel: TensorParallel = None,
    as_json: Json = False,
) -> None:
    """Hold a judge against labeled replies; stop it whenever you like, the same command goes on. A judge that fails exits 0."""
    from helmbench_hf.content.lint import load_sound
    from helmbench_hf.content.load import default_root
    from helmbench_hf.judging.check import JOB, payload
    from helmbench_hf.judging.labels import find_labels
    from helmbench_hf.runs.folder import RunFolder

    if (judge is None) == (verdicts is None):
        fail("name one judge: --judge SPEC asks it, --verdicts FILE reads what it said elsewhere")
    root, wanted = content or default_root(), [code for code in criteria.split(",") if code]
    if release or columns:
        if labels is None or judge is None or wanted or run is not None:
            fail("--format reads --labels FILE and asks --judge SPEC; leave --verdicts, --criteria and --run out")
        spec = judge_spec(judge, thinking, tensor_parallel_size=tensor_parallel)
        check_outside(spec, labels, release or "columns", columns, out, root, as_json=as_json)
        return
    try:
        benchmark = load_sound(root)
        known = find_labels(benchmark, wanted, labels)
        if not known.probes:
            fail(f"there is no label to check a judge with{_left_out(known)}")
        if verdicts is not None:
            folder = RunFolder(out or Path("runs") / f"check-{verdicts.stem}")
            found = _replay(folder, verdicts, run, known, benchmark)
        else:
            spec = judge_spec(judge or "", thinking, tensor_parallel_size=tensor_parallel)
            folder = RunFolder(out or Path("runs") / f"check-{spec.id}")
            asked = payload(folder.root, spec, root, wanted, labels)
            child_job(JOB, asked, f"check of {spec.id}", folder.root / "judge.log")
            found = _asked(folder, run, known, benchmark)
    except ours() as error:
        fail(error)
    typer.echo(json.dumps(found, indent=1, ensure_ascii=False) if as_json else "\n".join(_lines(found, folder.root)))


def _replay(folder: RunFolder, verdicts: Path, run: Path | None, labels: Labels, benchmark: Benchmark) -> dict[str, Any]:
    """Check what a file says; the judge has a name and no identity."""
    from helmbench_hf.hashing import digest
    from helmbench_hf.judging.check import replayed
    from helmbench_hf.judging.labels import outside_verdicts

    if run is not None:
        fail("--run needs --judge: a file of verdicts does not say whether the judge of that run gave them")
    given = outside_verdicts(verdicts)
    named = {"id": verdicts.stem, "verdicts_sha256": digest(sorted([*pair, said] for pair, said in given.items()))}
    return _written(folder, named, replayed(labels, given, benchmark), None, None, labels, benchmark)


def _asked(folder: RunFolder, run: Path | None, labels: Labels, benchmark: Benchmark) -> dict[str, Any]:
    from helmbench_hf.judging.check import checked

    row, found, cost = checked(folder, labels, benchmark)
    return _written(folder, row, found, cost, run, labels, benchmark)


def _written(
    folder: RunFolder,
    judge: Row,
    found: list[CheckedLabel],
    cost: Row | None,
    run: Path | None,
    labels: Labels,
    benchmark: Benchmark,
) -> dict[str, Any]:
    """Make `check.json` and give what it holds."""
    from helmbench_hf.judging.claims import FILE, document
    from helmbench_hf.runs.folder import write_json

    judged = None if run is None else _judged(run, judge, benchmark)
    made = document(found, labels, benchmark, judge, cost=cost, judged=judged)
    write_json(folder.root / FILE, made)
    return made


def _judged(run: Path, judge: Row, benchmark: Benchmark) -> dict[str, tuple[int, int]]:
    """By criterion the FAIL verdicts and all verdicts that this judge gave in a run."""
    from helmbench_hf.judging import rubric
    from helmbench_hf.judging.claims import unlike
    from helmbench_hf.judging.grade import collect
    from helmbench_hf.runs.folder import RunFolder

    graded, asked = collect(RunFolder(run)), rubric.identity(benchmark)
    mine = [row["id"] for row in graded.judge_rows if not unlike({"judge": judge, "rubric": asked}, row)]
    if not mine:
        fail(f"{run} was not graded by this judge in the same mode by the same rubric; grade it, or leave --run out")
    found: dict[str, tuple[int, int]] = {}
    for verdict in graded.verdicts:
        if verdict.grader in mine and verdict.value is not None:
            fails, n = found.get(verdict.criterion, (0, 0))
            found[verdict.criterion] = fails + (verdict.value == 0), n + 1
    return found


def _left_out(labels: Labels) -> str:
    return f" ({', '.join(f'{count} {why}' for why, count in labels.left_out.items())})" if labels.left_out else ""


def _lines(found: Row, folder: Path) -> Iterator[str]:
    labels = found["labels"]
    basis = "human labels" if labels["basis"] == "human" else "gold labels, which are not human ratings"
    yield f"{found['judge']['id']}: {found['state']}; {found['scored']} verdicts on {labels['n']} {basis}"
    for why, count in labels["left_out"].items():
        yield f"left out: {count} labels ({why})"
    yield f"{'':5} {'state':15} {'labels':>6} {'unscored':>8}  {'FAIL recall':16} {'false FAIL':16} precision and kappa in use"
    for row in found["criteria"]:
        if row["n"]:
            yield from _criterion(row)
    unchecked = [row["criterion"] for row in found["criteria"] if not row["n"]]
    yield f"not checked: {', '.join(unchecked) or 'none'}"
    yield from _biases(found["biases"])
    yield _twins([row["twins"] for row in found["criteria"] if row["twins"] is not None])
    if cost := found["cost"]:
        timed = f"; {cost['seconds']:.0f} s for {cost['timed_calls']} calls" if cost["timed_calls"] else ""
        tokens = f"{cost['prompt_tokens']} prompt tokens ({cost['cached_tokens']} cached), {cost['output_tokens']} output tokens"
        yield f"cost: {cost['calls']} calls, {tokens}{timed}"
    yield f"{folder / 'check.json'}; next: helmbench report --run RUN --check {folder}"


def _criterion(row: Row) -> Iterator[str]:
    recall = f"{_share(row['recall']['value'])} (>= {row['recall']['bound']:.2f})"
    false = f"{_share(row['false_fail']['value'])} (<= {row['false_fail']['bound']:.2f})"
    used = "; ".join(f"at {at['prevalence']:.0%}: {_share(at['precision'])}, {_share(at['kappa'])}" for at in row["at"])
    left = row["n"] - row["scored"]
    yield f"{row['criterion']:5} {row['state']:15} {row['n']:6} {left:8}  {recall:16} {false:16} {used}"
    if (use := row["use"]) is not None and use["prevalence"] is None:
        share = f"{use['judged']:.1%} of {use['n']} verdicts in use were FAIL"
        yield f"      {share}; what share should be, this judge errs too much to say"
    if row["raters_kappa"] is not None:
        yield f"      the raters among themselves: kappa {row['raters_kappa']:.2f}"
    for why in row["why"]:
        yield f"      {why}"


def _biases(found: Row) -> Iterator[str]:
    if (order := found["order"]) is not None:
        share = f"{order['flips'] / order['n']:.1%}" if order["n"] else "none"
        yield f"letter order: {order['flips']} of {order['n']} verdicts flip ({share}), {order['to_first']} to the first letter"
    if found["mass_mean"] is not None:
        yield f"label mass: mean {found['mass_mean']:.3f}, least {found['mass_min']:.3f}"
    for name, what in (
        ("long_fails", "FAIL among replies that should PASS"),
        ("long_passes", "PASS among replies that should FAIL"),
    ):
        each = found[name]
        if each["value"] is not None:
            bounds = f"[{each['low']:+.2f}, {each['high']:+.2f}]"
            yield f"length: {what}, longer minus shorter half: {each['value']:+.2f} {bounds}, n {each['n1']} and {each['n0']}"
    directed = found["directed"]
    if directed["n"]:
        to = f"{directed['lenient']} of them towards PASS"
        yield f"words to the judge: {directed['flips']} of {directed['n']} verdicts flip, {to}"


def _twins(found: Sequence[Row]) -> str:
    if not found:
        return "same reply on both twins: these labels hold none, so nobody knows how far the message moves the contrast grade"
    flips, n, missing = (sum(row[name] for row in found) for name in ("k", "n", "missing"))
    return f"same reply on both twins: {flips} of {n} contrast grades differ ({missing} without a verdict)"


def _share(value: float | None) -> str:
    return "  - " if value is None else f"{value:.2f}"
