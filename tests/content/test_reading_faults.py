"""Traps of YAML and of files: each is refused with its file, line, field and mend, and nothing is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.content.fault import Fault, assert_named, damage, refusal
from tests.support.tree import COUNTRY, HIDDEN, Tree

NL, ANA, SCENARIO = "helplines/netherlands.yaml", "people/ana.yaml", f"{HIDDEN}/scenario.yaml"
MESSAGES = f"{HIDDEN}/messages.yaml"
BOMB = "voice: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: [*c, *c, *c, *c]"

FAULTS = [
    Fault("norway", NL, "country: NL", "country: NO", "country: NO", "country", "`NO` is ambiguous", "in quotes"),
    Fault("norway in a list", NL, "languages: [nl]\n    url", "languages: [no]\n    url", "languages: [no]",
        "services.0.languages.0", "`no`", "quotes"),
    Fault("yes", SCENARIO, "track: risk", "track: risk\ndetects: yes", "detects: yes", "detects", "`yes` is ambiguous",
        "true or false"),
    Fault("off", SCENARIO, "title: Key list", "title: OFF", "title: OFF", "title", "`OFF` is ambiguous", "in quotes"),
    Fault("y as a key", ANA, "voice:", "y: 1\nvoice:", "y: 1", "", "`y` is ambiguous", "in quotes"),
    Fault("leading zero", ANA, "number: 1", "number: 010", "number: 010", "number", "`010` is ambiguous", "octal"),
    Fault("base 60", NL, "hours: always", "hours: 22:30", "hours: 22:30", "services.0.hours", "`22:30` is ambiguous", "base 60"),
    Fault("hexadecimal", ANA, "age: 45", "age: 0x2d", "age: 0x2d", "age", "`0x2d` is ambiguous", "decimal"),
    Fault("nan", "scoring.yaml", "limit: 0.01", "limit: .NaN", "limit: .NaN", "floors.0.limit", "`.NaN` is ambiguous", "finite"),
    Fault("infinity", "scoring.yaml", "cap: 50.0", "cap: -.inf", "cap: -.inf", "breached_cap", "`-.inf` is ambiguous", "finite"),
    Fault("number too large", "scoring.yaml", "cap: 50.0", "cap: 1.0e+999", "cap: 1.0e+999", "breached_cap", "not finite",
        "finite"),
    Fault("duplicate key", ANA, "voice:", "age: 46\nvoice:", "age: 46", "age", "stands twice", "keep one"),
    Fault("duplicate key in flow", SCENARIO, "{type: boolean}", "{type: boolean, type: string}", "kept:",
        "answer.rows.items.properties.kept.type", "stands twice", "keep one"),
    Fault("anchor", ANA, "name: Ana", "name: &n Ana", "name: &n", "", "anchors and aliases", "write the value out"),
    Fault("alias", ANA, "voice: Short sentences.", "voice: *n", "voice: *n", "", "anchors and aliases", "write the value out"),
    Fault("alias bomb", ANA, "voice: Short sentences.", BOMB, "voice: &a", "", "anchors and aliases", "write the value out"),
    Fault("merge key", ANA, "voice: Short", "<<: {age: 3}\nvoice: Short", "<<:", "", "`<<`", "quotes"),
    Fault("explicit tag", ANA, "age: 45", "age: !!str 45", "age: !!str", "", "tag", "remove it"),
    Fault("explicit tag on nothing", ANA, "age: 45", 'age: !!int ""', "age: !!int", "", "tag", "remove it"),
    Fault("tag that runs code", ANA, "age: 45", "age: !!python/object/apply:os.getcwd []", "age: !!python", "", "tag",
        "remove it"),
    Fault("own tag", ANA, "age: 45", "age: !years 45", "age: !years", "", "tag", "remove it"),
    Fault("two documents", ANA, "voice:", "---\nvoice:", "---", "", "2 documents", "exactly one"),
    Fault("tab", ANA, "  3:\n", "\t3:\n", "\t3:", "", "not valid YAML", "indentation"),
    Fault("open quote", ANA, "voice: Short", 'voice: "Short', 'voice: "Short', "", "not valid YAML", "quotes"),
    Fault("indentation", ANA, "\nage: 45", "\n  age: 45", "  age: 45", "", "not valid YAML", "indentation"),
    Fault("bracket", NL, "languages: [nl]\n    url", "languages: [nl\n    url", "    url", "", "not valid YAML", "indentation"),
    Fault("impossible date", NL, "2020-01-01", "2020-02-30", "2020-02-30", "services.1.retired_on", "is impossible",
        "correct it"),
    Fault("list as a key", ANA, "voice:", "? [a, b]\n: c\nvoice:", "? [a", "", "plain word", "as text"),
    Fault("null", ANA, "name: Ana Belt", "name:", "name:", "name", "valid string", "quotes"),
    Fault("too deep", ANA, "voice: Short sentences.", f"voice: {'[' * 20}{']' * 20}", "voice:", "", "too deep", "12 levels"),
    Fault("far too deep", ANA, "voice: Short sentences.", f"voice: {'[' * 9000}{']' * 9000}", "voice:", "", "too deep",
        "12 levels"),
    Fault("control character", ANA, "Short", "Sho\x07rt", "Sho\x07rt", "", "U+0007", "remove"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_trap_in_a_value_is_named(
    fault: Fault, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = damage(tree, fault)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == fault.count, "\n".join(lines)
    assert_named(lines, where, fault.field, fault.what, fault.mend)


PROFILE = "Ana, 45, lives in Utrecht. Runs a framing shop."
WHOLE = [
    ("empty", b"", 1, "empty", "exactly one"),
    ("comments only", b"# to do\n", 1, "empty", "exactly one"),
    ("null document", b"---\n", 1, "empty", "exactly one"),
    ("a list", b"- number: 1\n", 1, "valid dictionary", "write fields"),
    ("a word", b"ana\n", 1, "valid dictionary", "write fields"),
    ("byte order mark", b"\xef\xbb\xbfnumber: 1\n", 1, "byte order mark", "without BOM"),
    ("utf-16", "number: 1\n".encode("utf-16"), 1, "byte order mark", "UTF-8"),
    ("utf-16 without mark", "number: 1\n".encode("utf-16-le"), 1, "U+0000", "remove"),
    ("latin-1", "number: 1\nslug: ana\nname: Bel\xe9n\n".encode("latin-1"), 3, "not UTF-8", "UTF-8"),
    ("binary", bytes(range(256)), 2, "not UTF-8", "UTF-8"),
    ("huge", b"number: 1\n" + b"#" * 1_000_000, 0, "more than 1000000", "split"),
]


@pytest.mark.parametrize(("content", "line", "what", "mend"), [row[1:] for row in WHOLE], ids=[row[0] for row in WHOLE])
def test_a_file_that_is_no_document_is_named(
    content: bytes, line: int, what: str, mend: str,
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    tree.write(ANA, content)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == 1, "\n".join(lines)
    assert_named(lines, f"{ANA}:{line}" if line else ANA, "", what, mend)


@pytest.mark.parametrize("file", ["benchmark.yaml", "scoring.yaml", f"{COUNTRY}/messages.yaml"])
def test_a_missing_file_is_named(
    file: str, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree.root / file).unlink()
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == 1
    assert_named(lines, file, "", "cannot be read", "exists")


def test_a_folder_in_place_of_a_file_is_named(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree.root / "people/eve.yaml").mkdir()
    assert_named(refusal(tree, tmp_path / "out", monkeypatch, capsys), "people/eve.yaml", "", "cannot be read", "readable")


@pytest.mark.parametrize(
    "file", ["people/eve.yml", "condition/odd.yaml", "P1-detect/B1-late-stage/S2-later/messages.yaml", "P1-detect/extra.yaml"]
)
def test_a_file_that_nothing_reads_is_named(
    file: str, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.write(file, "a: b\n")
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == 1
    assert_named(lines, file, "", "is not read", "move")


def test_every_fault_is_named_at_once(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for fault in (FAULTS[0], FAULTS[5], FAULTS[8], FAULTS[3]):
        damage(tree, fault)
    files = {line.split(":")[0] for line in refusal(tree, tmp_path / "out", monkeypatch, capsys)}
    assert files == {NL, ANA, "scoring.yaml", SCENARIO}
