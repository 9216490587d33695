"""A Space that verifies each pull request on the results repository when the Hub's webhook calls.

Verification runs in a process of its own with limited memory and time; what it prints goes under the pull request.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import Any

RESULTS = os.environ.get("RESULTS", "helmbench/results")
MEMORY, SECONDS = 8 << 30, 1800


def number_of(payload: dict[str, Any]) -> int | None:
    """The pull request that an event is about: opened, or with new commits; None for anything else."""
    event, repo, talk = payload.get("event", {}), payload.get("repo", {}), payload.get("discussion") or {}
    if repo.get("type") != "dataset" or repo.get("name") != RESULTS or not talk.get("isPullRequest"):
        return None
    if (
        talk.get("status") != "open"
        or event.get("action") not in ("create", "update")
        or event.get("scope") == "discussion.comment"
    ):
        return None  # its own comment would call it again
    number = talk.get("num")
    return number if type(number) is int and number > 0 else None


def verify(number: int) -> int:
    """Verify one pull request and comment on it; the exit code of `helmbench verify`."""
    command = ["helmbench", "verify", "--pull-request", str(number), "--repo", RESULTS, "--comment"]
    done = subprocess.run(command, timeout=SECONDS, check=False, preexec_fn=limit)
    return done.returncode


def limit() -> None:
    """Bound the memory of the process that reads what strangers sent."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def serve() -> None:
    """Listen for the Hub; without the secret no call is believed."""
    import gradio as gr
    from huggingface_hub import WebhookPayload, WebhooksServer

    with gr.Blocks(title="HELMbench verification") as page:
        gr.Markdown(f"Verifies pull requests on `{RESULTS}` with `helmbench verify`.")
    app = WebhooksServer(ui=page, webhook_secret=os.environ["WEBHOOK_SECRET"])

    @app.add_webhook("/verify")
    async def on_event(payload: WebhookPayload) -> dict[str, Any]:
        import asyncio

        number = number_of(payload.model_dump())
        return {"verified": number, "code": None if number is None else await asyncio.to_thread(verify, number)}

    app.launch()


if __name__ == "__main__":
    sys.exit(serve())
