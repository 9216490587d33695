"""Commands of `helmbench` as a person types them."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from helmbench_hf.cli.app import app


def helmbench(*words: object, code: int | None = 0) -> Result:
    """Run a command in this process; it must end with the exit code (None: any), and never by a traceback."""
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert code in (None, result.exit_code), result.output
    return result
