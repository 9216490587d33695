"""`helmbench judge`: how far a judge errs on replies with known verdicts, and the blind readings behind these."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from helmbench_hf.cli.asking import judge_spec
from helmbench_hf.cli.errors import fail
from helmbench_hf.cli.run import child_job
from helmbench_hf.cli.shared import (
    Answers,
    Content,
    Criteria,
    ExistingRun,
    FewerThan,
    Json,
    Out,
    Reader,
    ReaderKind,
    Seed,
    SheetFolder,
    Sheets,
    benchmark_of,
    codes,
    group,
    put,
)
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.calibration import READERS, store
from helmbench_hf.judging import check as checking
from helmbench_hf.judging import claims, router_check, rubric, sheets
from helmbench_hf.judging import labels as labels_of
from helmbench_hf.judging.grade import collect
from helmbench_hf.judging.router_check import RouterCheck
from helmbench_hf.report.numbers import number
from helmbench_hf.runs.folder import RunFolder, write_json

app = group("Choose a judge: see how often it is wrong on replies whose correct verdicts are known.")
Row = Mapping[str, Any]


@app.command()
def check(
    judge: Annotated[str, typer.Option("--judge", help="The judge, as for `helmbench grade`.")],
    criteria: Criteria = "",
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            help="Human labels to use instead of the gold labels; CSV or JSONL: rater, reply_code, criterion, verdict.",
        ),
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="A run that this judge graded, used to estimate the prevalence in practice.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the check (default: runs/check-JUDGE).")] = None,
    content: Content = None,
    as_json: Json = False,
) -> None:
    """Check a judge against labeled replies.

    If it is stopped, the same command resumes it. The exit code is 0 even if the judge fails the check.

    Example: helmbench judge check --judge vllm:OWNER/MODEL,mode=fast
    """
    benchmark, wanted, spec = benchmark_of(content), codes(criteria), judge_spec(judge)
    basis = labels_of.find_labels(benchmark, wanted, labels)
    if not basis.probes:
        left_out = ", ".join(f"{count} {why}" for why, count in basis.left_out.items())
        fail("there are no labels to check a judge with" + (f" ({left_out})" if left_out else ""))
    folder = RunFolder(out or Path("runs") / f"check-{spec.id}")
    asked = checking.payload(folder.root, spec, benchmark.root, wanted, labels)
    child_job(checking.JOB, asked, f"check of {spec.id}", folder.root / "judge.log")
    row, found, cost = checking.checked(folder, basis, benchmark)
    judged = None if run is None else _judged(run, row, benchmark)
    made = claims.document(found, basis, benchmark, row, cost=cost, judged=judged)
    write_json(folder.root / claims.FILE, made)
    put(made, _lines(made, folder.root), as_json)


def _judged(run: Path, judge: Row, benchmark: Benchmark) -> dict[str, tuple[int, int]]:
    """By criterion the FAIL verdicts and all verdicts that this judge gave in a run."""
    graded, asked = collect(RunFolder(run)), rubric.identity(benchmark)
    mine = [row["id"] for row in graded.judge_rows if not claims.unlike({"judge": judge, "rubric": asked}, row)]
    if not mine:
        fail(f"{run} was not graded by this judge in the same mode with the same rubric; grade it, or leave out --run")
    found: dict[str, tuple[int, int]] = {}
    for verdict in graded.verdicts:
        if verdict.grader in mine and verdict.value is not None:
            fails, n = found.get(verdict.criterion, (0, 0))
            found[verdict.criterion] = fails + (verdict.value == 0), n + 1
    return found


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
    recall = f"{number(row['recall']['value'], 2)} (>= {row['recall']['bound']:.2f})"
    false = f"{number(row['false_fail']['value'], 2)} (<= {row['false_fail']['bound']:.2f})"
    used = "; ".join(f"at {at['prevalence']:.0%}: {number(at['precision'], 2)}, {number(at['kappa'], 2)}" for at in row["at"])
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
    directed = found["directed"]
    if directed["n"]:
        to = f"{directed['lenient']} of them towards PASS"
        yield f"words to the judge: {directed['flips']} of {directed['n']} verdicts flip, {to}"


def _twins(found: Sequence[Row]) -> str:
    if not found:
        return "same reply on both twins: these labels hold none, so nobody knows how far the message moves the contrast grade"
    flips, n, missing = (sum(row[name] for row in found) for name in ("k", "n", "missing"))
    return f"same reply on both twins: {flips} of {n} contrast grades differ ({missing} without a verdict)"


@app.command()
def router(
    run: ExistingRun,
    router: Annotated[
        str,
        typer.Option(
            "--router", help="The router of the run, in the same form as for `helmbench run`: vllm:OWNER/MODEL,NAME=VALUE."
        ),
    ],
    content: Content = None,
    as_json: Json = False,
) -> None:
    """Check a run's router on replies that three readers have sorted. The report then says how far its paths can be trusted.

    Example: helmbench judge router --run runs/a --router vllm:OWNER/MODEL
    """
    RunFolder(run).manifest()
    benchmark, spec = benchmark_of(content), judge_spec(router).engine_spec()
    child_job(router_check.JOB, router_check.payload(run, spec, benchmark.root), "check of the router", run / "engine.log")
    found = router_check.read(run)
    assert found is not None  # the child has just written it
    put(found, _router_lines(found), as_json)


def _router_lines(found: RouterCheck) -> Iterator[str]:
    share, moved = found.agree / found.n if found.n else 0.0, found.moved / found.n if found.n else 0.0
    yield f"{found.router}: sorts {found.agree} of {found.n} replies as readers do ({share:.0%}, at least {found.low:.0%})"
    yield f"after {found.moved} of them the person would have said something else ({moved:.0%}); {found.missing} not sorted"
    for right, said, count in found.confusion:
        yield f"  {right:10} taken for {said:10} {count:4}"
    if not found.reliable:
        yield f"below {router_check.ENOUGH:.0%}: paths are not reliable under this router, and the report says so"


@app.command()
def sheet(
    out: Out, parts: Sheets = 2, criteria: Criteria = "", seed: Seed = 1, readers: FewerThan = None, content: Content = None
) -> None:
    """Write the labeled replies in random order, without verdicts. A reply and an edit of it are never on the same sheet.

    Example: helmbench judge sheet --out sheets --parts 3
    """
    benchmark = benchmark_of(content)
    found = sheets.items(benchmark, codes(criteria), readers)
    if not found:
        fail("there are no labels left to read", 0)
    for path in sheets.write_sheets(benchmark, found, out, seed, parts):
        typer.echo(path)
    typer.echo(f'{len(found)} replies, {sum(len(item.probes) for item in found)} labels; answers: {{"R012": {{"K01": "PASS"}}}}')


@app.command()
def read(answers: Answers, sheet: SheetFolder, reader: Reader, kind: ReaderKind, content: Content = None) -> None:
    """Save one reader's verdicts with the authored files.

    Example: helmbench judge read answers.json --sheet sheets --reader "blind reader 1" --kind human
    """
    benchmark = benchmark_of(content)
    found = sheets.read_answers(benchmark, sheet, answers, reader, kind, dt.date.today().isoformat())
    store(benchmark.root, found)
    typer.echo(f"{len(found)} verdicts on {len({each.reply for each in found})} replies are kept")


@app.command()
def agreement(content: Content = None, as_json: Json = False) -> None:
    """Show how well readers agree with the gold labels. List what is not settled.

    Example: helmbench judge agreement
    """
    found = sheets.readings(benchmark_of(content))
    put(found, _agreement_lines(found), as_json)


def _agreement_lines(found: Row) -> Iterator[str]:
    for row in found["open"]:
        said = ", ".join(f"{reader} {verdict}" for reader, verdict in row["said"].items()) or "nobody has read it"
        yield f"{row['reply']} {row['criterion']}: gold {row['gold']}; {said}"
    for row in found["criteria"]:
        reads = f"{row['agree']} of {row['reads']} reads agree with the gold"
        among = f"{row['pairs_agree']} of {row['pairs']} pairs of reads with each other"
        settled = ", ".join(f"{count} {verdict}" for verdict, count in row["settled"].items())
        yield f"{row['criterion']:5} {row['labels']:5} labels; settled: {settled}; {reads}, {among}"
    rule = f"{READERS} readers must give the gold verdict, none another"
    yield f"{found['labels']} labels, {found['unsettled']} not settled: {rule}"
