"""Temporary tables hold what memory would not, leave nothing behind, and say in a sentence what they lack."""

from __future__ import annotations

import contextlib
import os

import pytest

from helmbench_hf.disk_table import CACHE_KIB, DiskTableError, DiskTables

NOTES = "CREATE TABLE notes (number INTEGER PRIMARY KEY, text BLOB)"
LONG = b"x" * 4096


def spilled() -> list[str]:
    """SQLite's temporary files that this process has open."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208  one of them is the listing's own and gone by now
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
    return [name for name in found if "etilqs_" in name]


def test_more_than_the_cache_comes_back_from_a_file_without_a_name() -> None:
    before = set(spilled())
    tables = DiskTables(NOTES)
    count = 2 * CACHE_KIB * 1024 // len(LONG)
    for number in range(count):
        assert tables.run("INSERT INTO notes VALUES (?, ?)", (number, LONG + str(number).encode())) == 1
    assert sum(text == LONG + str(number).encode() for number, text in tables.rows("SELECT * FROM notes")) == count
    (name,) = set(spilled()) - before
    assert name.endswith(" (deleted)")
    del tables
    assert name not in spilled()


def test_one_row_or_none() -> None:
    tables = DiskTables(NOTES)
    tables.run("INSERT INTO notes VALUES (7, 'seven')")
    assert tables.one("SELECT text FROM notes WHERE number = ?", (7,)) == "seven"
    assert tables.one("SELECT text FROM notes WHERE number = ?", (8,)) is None


def test_a_full_disk_is_a_sentence() -> None:
    tables = DiskTables(NOTES, "PRAGMA max_page_count = 8")
    tables.run("INSERT INTO notes VALUES (1, ?)", (LONG,))
    with pytest.raises(DiskTableError, match=r"disk is full.* Make room .* SQLITE_TMPDIR"):
        tables.run("INSERT INTO notes VALUES (2, ?)", (LONG * 20,))


@pytest.mark.parametrize("name", ["one", "rows"])
def test_a_query_that_fails_is_a_sentence(name: str) -> None:
    with pytest.raises(DiskTableError, match="cannot be kept"):
        list(getattr(DiskTables(NOTES), name)("SELECT nothing FROM nowhere") or ())
