"""What 10^4, 10^5 and 10^6 cases cost: wall time and peak memory of every stage, each in a process of its own.

    python benchmarks/scale.py [--cases 10000 100000] [--stages plan generate ...] [--folder SCRATCH] [--limit 900]

No matrix is that large, so copies of `full` are: each copy has messages, pairs, meanings and codes of its own, so that keys
stay apart and clusters grow, under the same scenarios, conditions and users. Answers come at once from an engine inside the
process (random picks of the schema's choices), so what is measured is ours: loading, rendering, keys, journal, grading,
scoring, the page. Memory is resident memory, children included, sampled five times a second, or the kernel's
maximum of the stage itself where that is more. On a shared machine CPU seconds say more than seconds.

`verdicts` scores as many cases as make 10^6 verdicts (two judges, values drawn at random), whatever --cases says.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.records import CREDIT, Case, Completion, JudgeInfo, Verdict

Row = dict[str, Any]
DESIGN = "full"
BATCH = 4_000
"""Rows of one row group."""
VERDICTS = 1_000_000
JUDGES = (JudgeInfo("one", "first"), JudgeInfo("two", "second"))
REPLY = (
    "Thank you for writing. I have put the list together as you asked, and I have kept the order of your notes. "
    "One thing before you go on: what you wrote about the last weeks sounds heavy, and I would rather ask than pass over it. "
    "Is there somebody with you tonight? If you would like to talk to a person, I can tell you where to reach one. "
) * 2


def main() -> int:
    """Run the stages of every size and print what each took; or, called by itself, run one stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--stages", nargs="+", choices=list(STAGES), default=list(STAGES))
    parser.add_argument("--folder", type=Path, help="scratch; kept (default: a temporary folder, removed)")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which a stage is given up")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(_inside(options.stages[0], options.folder, options.cases[0])))
        return 0
    scratch = options.folder or Path(tempfile.mkdtemp(prefix="helmbench-scale-"))
    try:
        rows = [
            _measured(stage, scratch / str(count), count, options.limit) for count in options.cases for stage in options.stages
        ]
    finally:
        if options.folder is None:
            shutil.rmtree(scratch)
    print(json.dumps(rows, indent=1))
    return 0


def _measured(stage: str, folder: Path, count: int, limit: float) -> Row:
    """Run one stage in a process of its own and watch its memory."""
    import psutil

    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--inside", "--stages", stage, "--folder", str(folder), "--cases", str(count)]
    began, peak = time.monotonic(), 0
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watched = psutil.Process(child.pid)
    while child.poll() is None and time.monotonic() - began < limit:
        with contextlib.suppress(psutil.Error):
            peak = max(peak, sum(_resident(each) for each in (watched, *watched.children(recursive=True))))
        time.sleep(0.2)
    row: Row = {"stage": stage, "cases": count, "seconds": round(time.monotonic() - began, 1), "peak_mb": round(peak / 1e6)}
    if child.poll() is None:
        child.kill()
        row["given_up"] = True
    output = child.communicate()[0]
    if child.returncode == 0:
        found = json.loads(output.splitlines()[-1])
        row |= {**found, "peak_mb": max(row["peak_mb"], found["peak_mb"])}
    else:
        row["failed"] = child.returncode
    print(row, file=sys.stderr, flush=True)
    return row


def _resident(process: Any) -> int:
    try:
        return int(process.memory_info().rss)
    except Exception:  # it ended between two looks
        return 0


def _inside(stage: str, folder: Path, count: int) -> Row:
    with contextlib.redirect_stdout(io.StringIO()):
        found = STAGES[stage](folder, count)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    return {**found, "cpu_s": round(cpu, 1), "peak_mb": _kernel_peak()}


def _kernel_peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


@contextlib.contextmanager
def _clock(row: Row, name: str) -> Iterator[None]:
    began, used = time.perf_counter(), time.process_time()
    yield
    row[f"{name}_s"] = round(time.perf_counter() - began, 2)
    row[f"{name}_cpu_s"] = round(time.process_time() - used, 2)


def dataset(folder: Path, count: int) -> Row:
    """Write the copies as a dataset of the same schema, row group by row group."""
    import pyarrow.parquet as parquet

    from helmbench_hf.content.load import default_benchmark
    from helmbench_hf.dataset import rows as tables
    from helmbench_hf.dataset.load import load_cases

    benchmark, cases = default_benchmark(), load_cases(DESIGN).cases
    schema = tables.schema_of([tables.case_row(case, benchmark) for case in cases])
    named: Row = {}
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split in ("test", "heldout"):
        path = folder / "data" / f"{split}.parquet"
        with parquet.ParquetWriter(path, schema) as writer:
            written = _Written(writer, schema)
            rows = (tables.case_row(case, benchmark) for case in _copies(cases, count) if case.split == split)
            named[split] = {
                "sha256": tables.content_sha256(written.passed(rows)),
                "rows": written.rows,
                "file": f"data/{path.name}",
            }
    manifest = {
        "name": benchmark.file.name,
        "version": benchmark.file.version,
        "scoring_version": benchmark.scoring.version,
        "configs": {DESIGN: named},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    size = sum(path.stat().st_size for path in (folder / "data").iterdir())
    return {"rows": sum(entry["rows"] for entry in named.values()), "disk_mb": round(size / 1e6, 1)}


class _Written:
    """Rows on their way to the hash, written by the batch."""

    def __init__(self, writer: Any, schema: Any) -> None:
        self.rows, self._writer, self._schema = 0, writer, schema

    def passed(self, rows: Iterator[Row]) -> Iterator[Row]:
        batch: list[Row] = []
        for row in rows:
            batch.append(row)
            self.rows += 1
            yield row
            if len(batch) == BATCH:
                self._write(batch)
        self._write(batch)

    def _write(self, batch: list[Row]) -> None:
        import pyarrow as pa

        if batch:
            self._writer.write_table(pa.Table.from_pylist(batch, schema=self._schema))
            batch.clear()


def _copies(cases: tuple[Case, ...], count: int) -> Iterator[Case]:
    """The first `count` cases of as many copies as are needed; the first copy is the matrix itself."""
    for number in range(count):
        yield _copy(cases[number % len(cases)], number // len(cases))


def _copy(case: Case, number: int) -> Case:
    if number == 0:
        return case

    def renamed(code: str) -> str:
        head, _, perturbation = code.rpartition("-PT")
        return f"{head}-PT{int(perturbation) + 10_000 * number}"

    return dataclasses.replace(
        case,
        code=renamed(case.code),
        perturbation=f"PT{int(case.perturbation[2:]) + 10_000 * number}",
        meaning=f"{case.meaning}~{number}",
        pair=f"{case.pair}~{number}" if case.pair else None,
        twin=renamed(case.twin) if case.twin else None,
        twin_open=renamed(case.twin_open) if case.twin_open else None,
        twin_fluent=renamed(case.twin_fluent) if case.twin_fluent else None,
        turns=tuple(f"{turn}\n\nNote {number}." for turn in case.turns),
    )


def plan(folder: Path, count: int) -> Row:
    """`helmbench plan`, the real command."""
    _command("plan", "--model", "demo", "--dataset", str(folder), "--design", DESIGN, "--json")
    return {}


def generate(folder: Path, count: int) -> Row:
    """Everything is asked and journaled; the engine answers at once."""
    from helmbench_hf.runs import generate as run

    shutil.rmtree(folder / "run", ignore_errors=True)
    setattr(run, "open_engine", lambda spec: Scripted())  # noqa: B010  the one thing that is not the product's own
    listener = Listener()
    run.child(_payload(folder, "missing"), listener)
    size = sum(path.stat().st_size for path in (folder / "run" / "completions").iterdir())
    return {
        "answers": listener.last["completions"],
        "journal_mb": round(size / 1e6, 1),
        "loop_s": round(listener.last["seconds"], 1),
    }


def replay(folder: Path, count: int) -> Row:
    """The same command again with `--reuse only`: every answer stands in the journal."""
    from helmbench_hf.runs import generate as run

    run.child(_payload(folder, "only"), Listener())
    return {}


def journal(folder: Path, count: int) -> Row:
    """Read the journal, and write what was read into another one."""
    from helmbench_hf.runs.journal import Journal

    row: Row = {}
    source, target = folder / "run" / "completions", folder / "journal"
    shutil.rmtree(target, ignore_errors=True)
    size = sum(path.stat().st_size for path in source.iterdir()) / 1e6
    with _clock(row, "read"):
        stored = Journal.read(source)
    row["peak_read_mb"] = _kernel_peak()
    with _clock(row, "write"), Journal.open(target, "bench") as file:
        for completion in stored.values():
            file.append(completion)
    shutil.rmtree(target)
    speeds = {f"{name}_mb_s{per}": round(size / row[f"{name}{per}_s"], 1) for name in ("read", "write") for per in ("", "_cpu")}
    return {**row, "answers": len(stored), **speeds}


def grade(folder: Path, count: int) -> Row:
    """Derive every verdict of code and export it."""
    from helmbench_hf.judging.grade import collect
    from helmbench_hf.runs.folder import RunFolder

    row: Row = {}
    with _clock(row, "collect"):
        graded = collect(RunFolder(folder / "run"))
    with _clock(row, "export"):
        graded.write(RunFolder(folder / "run"))
    return {**row, "verdicts": len(graded.verdicts)}


def score(folder: Path, count: int) -> Row:
    """`helmbench score`, the real command: verdicts and scores anew."""
    _command("score", "--run", str(folder / "run"), "--json")
    return {"scores_mb": round((folder / "run" / "scores.json").stat().st_size / 1e6, 1)}


def report(folder: Path, count: int) -> Row:
    """`helmbench report`, the real command: verdicts, scores, reference policies, page."""
    _command("report", "--run", str(folder / "run"))
    return {"page_mb": round((folder / "run" / "report.html").stat().st_size / 1e6, 1)}


def verdicts(folder: Path, count: int) -> Row:
    """Score 10^6 verdicts that exist: the part of `score` that is no reading."""
    from helmbench_hf.content.load import default_benchmark
    from helmbench_hf.dataset.load import load_cases
    from helmbench_hf.scoring.run import score as score_run

    row: Row = {}
    cases = load_cases(DESIGN).cases
    with _clock(row, "drawn"):
        chosen: list[Case] = []
        found: list[Verdict] = []
        dice = random.Random(1)
        for case in _copies(cases, sys.maxsize):
            chosen.append(case)
            found += _drawn(case, dice)
            if len(found) >= VERDICTS:
                break
    row["peak_before_mb"] = _kernel_peak()
    with _clock(row, "score"):
        score_run(chosen, found, benchmark=default_benchmark(), judges=JUDGES)
    return {**row, "scored": len(chosen), "verdicts": len(found)}


def _drawn(case: Case, dice: random.Random) -> Iterator[Verdict]:
    """Verdicts of code and of two judges on every reply of a case, at random."""
    grading = case.grading
    by_code = [
        name for name, there in (("target", grading.target), ("control", grading.control), ("label", grading.label)) if there
    ]
    judged = dict.fromkeys([*grading.criteria, *grading.vetoes, *grading.reported, *filter(None, [grading.contrast])])
    for turn in grading.turns:
        yield Verdict(case.code, turn, 0, "answer", "code", "scored", 1.0)
        for name in by_code:
            yield Verdict(case.code, turn, 0, name, "code", "scored", float(dice.random() < 0.7))
        if grading.country:
            detail = {"matches": Matches(dice.random()), "dead_end": False}
            yield Verdict(case.code, turn, 0, "resources", "code", "scored", 1.0, detail)
        for criterion in judged:
            for judge in JUDGES:
                yield Verdict(case.code, turn, 0, criterion, judge.id, "scored", CREDIT[dice.choice(("PASS", "PARTIAL", "FAIL"))])


class Matches(dict[str, float]):
    """How well a reply fits any country: always alike."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def __contains__(self, country: object) -> bool:
        return True

    def __missing__(self, country: str) -> float:
        return self._value


def _command(*arguments: str) -> None:
    from helmbench_hf.cli.app import app

    app(list(arguments), standalone_mode=False)


def _payload(folder: Path, reuse: str) -> Row:
    from helmbench_hf.models.demo_model import demo_model_path
    from helmbench_hf.models.engine import EngineSpec
    from helmbench_hf.runs.generate import Ask
    from helmbench_hf.runs.turns import Settings

    spec = EngineSpec.parse(f"vllm:{demo_model_path()}")
    ask = Ask(run=str(folder / "run"), engine=spec, settings=Settings(), design=DESIGN, dataset=str(folder), reuse=reuse)
    return ask.as_payload()


class Listener:
    """Keeps the last event; never stops the work."""

    def __init__(self) -> None:
        self.last: Row = {}

    def emit(self, event: Row) -> None:
        """Take one event."""
        self.last = event

    def stopping(self) -> bool:
        """Never."""
        return False


class Scripted:
    """An engine that answers at once, by the request's key: replay without a script on disk."""

    capacity = 512

    def __init__(self) -> None:
        self._waiting: list[Completion] = []
        self._schemas: dict[str, Row] = {}

    def submit(self, request: Any) -> None:
        """Answer."""
        dice = random.Random(request.key)
        text = REPLY
        if request.schema is not None:
            schema = self._schemas.setdefault(request.schema, json.loads(request.schema))
            text = json.dumps(filled(schema, dice))
        made = Completion(request.key, request.name, "ok", text, "", "stop", len(request.tokens), 0, len(text) // 4, "0" * 64)
        self._waiting.append(made)

    def collect(self) -> list[Completion]:
        """Give every answer that was not yet given."""
        ready, self._waiting = self._waiting, []
        return ready

    def describe(self) -> Any:
        """Say what ran."""
        from helmbench_hf.models.engine import EngineDescription

        return EngineDescription("scripted", "0.0", "none", ("schema",), "none", "none", 8192, 256, 1, 0)


def filled(schema: Row, dice: random.Random) -> Any:
    """A value that the schema allows, its choices drawn at random."""
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: REPLY if name == "reply" else filled(part, dice) for name, part in schema["properties"].items()}
        case "array":
            return [filled(schema["items"], dice) for _ in range(dice.randint(schema.get("minItems", 0), 3))]
        case "string":
            return "a line of the sheet"
        case "integer" | "number":
            return dice.randint(1, 9)
        case _:
            return dice.random() < 0.5


STAGES: dict[str, Callable[[Path, int], Row]] = {
    each.__name__: each for each in (dataset, plan, generate, replay, journal, grade, score, report, verdicts)
}

if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
