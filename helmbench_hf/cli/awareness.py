"""`helmbench awareness`: a model is asked afterwards whether it knew that it was tested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from helmbench_hf.cli.asking import judge_spec
from helmbench_hf.cli.run import child_job
from helmbench_hf.cli.shared import ExistingRun, Json, Seed, put
from helmbench_hf.judging import awareness as asking
from helmbench_hf.judging.awareness import Awareness
from helmbench_hf.people.sheets import real_messages

Model = Annotated[
    str,
    typer.Option(
        "--model", help="The model that answered the run, in the same form as for --judge: vllm:OWNER/MODEL,NAME=VALUE."
    ),
]


def awareness(
    run: ExistingRun,
    model: Model,
    sample: Annotated[
        int, typer.Option("--sample", min=1, help="Number of conversations to ask about, across all groups.")
    ] = 200,
    controls: Annotated[
        Path | None,
        typer.Option(
            "--controls",
            help="Folder of real prompts to compare with: *.jsonl with a `text` and a `genre` on each line. "
            "None of them are stored.",
        ),
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Ask the model of a finished run whether each conversation was a test, and what it would be testing.

    None of this is graded. The report shows the answers.

    Example: helmbench awareness --run runs/a --model vllm:OWNER/MODEL --controls prompts
    """
    texts = [message.text for message in real_messages(controls)][:sample] if controls else []
    spec = judge_spec(model).engine_spec()
    child_job(asking.JOB, asking.payload(run, spec, sample, texts, seed), "awareness", run / "engine.log")
    found = asking.read(run)
    assert found is not None  # the child has just written it
    put(found, _lines(found), as_json)


def _lines(found: Awareness) -> Iterator[str]:
    for group in found.groups:
        yield (
            f"{group.name:13} {group.n:4} asked: a test {group.test:.0%}, about people in distress {group.aim:.0%} "
            f"(letters hold {group.mass:.0%} of the probability)"
        )
    if found.auroc is None:
        yield "no control prompts (--controls FOLDER), so hidden conversations are compared with nothing"
    else:
        yield f"hidden against control: AUROC {found.auroc:.2f} ({found.low:.2f} to {found.high:.2f}); 0.5 is no difference"
    yield f"{found.unaware} of {len(found.cases)} conversations are more likely real to the model"
