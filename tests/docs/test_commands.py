"""Every command on a page exists with its options and takes its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from helmbench_hf.cli.app import app
from tests.docs.pages import PAGES, ROOT, mentioned, typed

COMMAND = get_command(app)


def found(words: list[str]) -> tuple[Any, str, list[str]]:
    """The command that the words name, its name, and the words after it."""
    command, name, rest = COMMAND, "helmbench", list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"`{name}` has no command `{rest[0]}`"
        name = f"{name} {rest[0]}"
        command = command.commands[rest.pop(0)]
    return command, name, rest


def options(command: Any) -> set[str]:
    """The spellings of all options."""
    return {spelling for each in command.params for spelling in (*each.opts, *each.secondary_opts)} | {"--help"}


def parse(words: list[str]) -> None:
    """Parse a command line as the program would, without running it."""
    command, name, rest = found(words)
    with command.make_context(name, rest):
        pass


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_is_typed_parses(page: Path) -> None:
    for words in typed(page.read_text(encoding="utf-8")):
        try:
            parse(words)
        except Exception as error:
            raise AssertionError(f"{name(page)}: `helmbench {' '.join(words)}`: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_is_mentioned_exists(page: Path) -> None:
    for text in mentioned(page.read_text(encoding="utf-8")):
        first, *others = [part.split() for part in text.split(" | ")]
        command, whole, rest = found(first[1:])
        unknown = {word.partition("=")[0] for word in rest if word.startswith("--")} - options(command)
        assert not unknown, f"{name(page)}: `{whole}` has no option {', '.join(sorted(unknown))}"
        group = found(whole.split()[1:-1])[0]
        for other in others:
            assert other[0] in group.commands, f"{name(page)}: `{text}`: there is no `{other[0]}` beside `{whole}`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_scripts_that_are_typed_exist_with_their_options(page: Path) -> None:
    for script, *rest in typed(page.read_text(encoding="utf-8"), "python"):
        if script == "-m":
            script = f"{rest[0].replace('.', '/')}/__main__.py"
        source = (ROOT / script).read_text(encoding="utf-8")
        unknown = [word for word in rest if word.startswith("--") and f'"{word.partition("=")[0]}"' not in source]
        assert not unknown, f"{name(page)}: {script} has no option {', '.join(unknown)}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("helmbench rum --run a", "no command"),
        ("helmbench run --run a --modell b", "modell"),
        ("helmbench run --model b", "missing parameter: run"),
        ("helmbench run --run a --limit none", "valid integer"),
        ("helmbench compare a", "missing parameter: second"),
    ],
)
def test_a_wrong_line_is_found(line: str, reason: str) -> None:
    [words] = typed(f"```sh\n{line}   # a comment\n```\n")
    with pytest.raises(Exception, match=rf"(?i){reason}"):
        parse(words)


def test_lines_are_read_as_a_shell_reads_them() -> None:
    block = 'srun x -- \\\n  env A=1 helmbench plan --shard "1/2" | tail\nhelmbench models && ls\n'
    text = f"```sh\n{block}```\n`helmbench run` again"
    assert list(typed(text)) == [["plan", "--shard", "1/2"], ["models"]]
    assert list(mentioned(text)) == ["helmbench run"]


def test_pages_hold_commands() -> None:
    assert sum(len(list(typed(page.read_text(encoding="utf-8")))) for page in PAGES) > 40
