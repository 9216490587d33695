"""Whatever the bytes are, reading ends in a document or in a problem with its place."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.strict_yaml import Document, Problem, read

PIECES = [
    "a", "b: ", "- ", "? ", ": ", "\n", "\n  ", "\n    ", "  ", "\t", "[", "]", "{", "}", ", ", "&x ", "*x", "!!int ", "!t ", "!",
    "|\n", ">-\n", "'", '"', "\\x00", "\\ud800", "#", "---\n", "...\n", "%YAML 1.1\n", "<<: ", "=", "~",
    "null", "true", "NO", "yes: ", "010", "1:30", "0x1f", ".inf", ".nan", "1e400", "1.0e+400",
    "2026-01-05", "2026-13-45", "2026-01-05 10:00:00 +99:99",
    "9" * 400, "1_0", "\x07", "\r", "\x85", "\u2028", "\ufeff", "\ud7ff",
]  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytes") / "some.yaml"


def outcome(file: Path, content: bytes) -> Document | Problem:
    """What reading ends in; a problem names the file, a line inside it, and a fix."""
    file.write_bytes(content)
    found = read(file, "people/some.yaml")
    assert isinstance(found, Document | Problem)
    if isinstance(found, Problem):
        assert found.file == "people/some.yaml"
        assert 1 <= found.line <= len(content) + 2
        assert found.what
        assert found.fix
        assert str(found).startswith("people/some.yaml:")
    return found


@given(content=st.binary(max_size=80))
@settings(max_examples=200)
def test_any_bytes_give_a_document_or_a_problem(content: bytes, file: Path) -> None:
    outcome(file, content)


@given(pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25))
@settings(max_examples=500)
def test_any_pieces_of_yaml_give_a_document_or_a_problem(pieces: list[str], file: Path) -> None:
    found = outcome(file, "".join(pieces).encode("utf-8", "surrogatepass"))
    if isinstance(found, Document):
        assert found.data is not None
        for value in leaves(found.data):
            assert not isinstance(value, float) or math.isfinite(value)


def leaves(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return [leaf for key, value in data.items() for leaf in [key, *leaves(value)]]
    if isinstance(data, list):
        return [leaf for value in data for leaf in leaves(value)]
    return [data]


names = st.from_regex(r"[a-z]{3,8}", fullmatch=True).filter(lambda name: name not in {"yes", "off", "null", "true", "false"})
printable = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | printable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(data=st.dictionaries(names, values, min_size=1, max_size=4))
@settings(max_examples=100)
def test_what_is_written_plainly_is_read_back(data: dict[str, Any], file: Path) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, default_flow_style=False, sort_keys=False)
    found = outcome(file, text.encode())
    if isinstance(found, Problem):  # PyYAML leaves `y` and `0o1` unquoted, for it reads them as text
        assert "ambiguous" in found.what
        return
    assert found.data == data
    assert [text.splitlines()[found.line((key,)) - 1].startswith(f"{key}:") for key in data] == [True] * len(data)


@given(keys=st.lists(names, min_size=1, max_size=12, unique=True))
@settings(max_examples=50)
def test_every_key_has_its_line(keys: list[str], file: Path) -> None:
    found = outcome(file, "".join(f"{key}:\n  {key}x: {index}\n" for index, key in enumerate(keys)).encode())
    assert isinstance(found, Document)
    for index, key in enumerate(keys):
        assert found.line((key,)) == 2 * index + 1
        assert found.line((key, f"{key}x")) == 2 * index + 2
        assert found.line((key, f"{key}x", "deeper", 3)) == 2 * index + 2
    assert found.line(("nowhere",)) == 1


@given(keys=st.lists(names, min_size=2, max_size=8, unique=True), data=st.data())
@settings(max_examples=50)
def test_a_key_that_stands_twice_is_found_wherever_it_is(keys: list[str], data: st.DataObject, file: Path) -> None:
    again = data.draw(st.sampled_from(keys))
    place = data.draw(st.integers(keys.index(again) + 1, len(keys)))
    listed = [*keys[:place], again, *keys[place:]]
    found = outcome(file, "".join(f"{key}: 1\n" for key in listed).encode())
    assert isinstance(found, Problem)
    assert (found.line, found.field, found.what) == (place + 1, again, "the key stands twice")


@given(depth=st.integers(1, 40), flow=st.booleans())
@settings(max_examples=60)
def test_twelve_levels_are_read_and_no_more(depth: int, flow: bool, file: Path) -> None:
    text = "[" * depth + "1" + "]" * depth if flow else "- " * depth + "1"
    found = outcome(file, text.encode())
    assert isinstance(found, Document) == (depth <= 12)


@pytest.mark.parametrize("opened", ["[", "- ", "{a: "])
def test_a_file_nested_thousands_of_levels_deep_is_refused(opened: str, file: Path) -> None:
    found = outcome(file, (opened * 9000).encode())
    assert isinstance(found, Problem)
    assert "too deep" in found.what


@pytest.mark.parametrize(
    "text", ["NO", "no", "Yes", "on", "OFF", "y", "N", "007", "-012", "1:30", "12:00:01", "0x10", "+0b1", ".INF", "-.inf", ".nan"]
)
def test_a_quoted_trap_is_plain_text(text: str, file: Path) -> None:
    assert isinstance(outcome(file, f"a: {text}\n".encode()), Problem)
    for quote in "'\"":
        found = outcome(file, f"a: {quote}{text}{quote}\n".encode())
        assert isinstance(found, Document)
        assert found.data == {"a": text}


def test_ordinary_words_and_numbers_are_no_traps(file: Path) -> None:
    found = outcome(file, b"[0, 10, -4, 0.5, north, nobody, yesterday, once, 2026-01-05, 10-20, null, true, 1e3, 0800-0113]")
    assert isinstance(found, Document)
    assert [type(value).__name__ for value in found.data[:4]] == ["int", "int", "int", "float"]


@pytest.mark.parametrize("imported", ["before", "after"])
def test_a_library_that_changes_every_loader_changes_nothing_here(imported: str, tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text("a: 2026-01-05\n")
    change = "known = yaml.SafeLoader.yaml_constructors; known['tag:yaml.org,2002:timestamp'] = known['tag:yaml.org,2002:str']"
    ours = "from helmbench_hf.strict_yaml import read"
    first, second = (change, ours) if imported == "before" else (ours, change)
    program = f"import sys, yaml, pathlib; {first}; {second}; print(repr(read(pathlib.Path(sys.argv[1]), 'some').data['a']))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "some.yaml")], check=True, capture_output=True, text=True
    )
    assert done.stdout == "datetime.date(2026, 1, 5)\n"
