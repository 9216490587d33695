"""Tables of this process on disk, for what would not fit in memory: a private temporary database of SQLite.

SQLite removes the file's name as soon as it is open, so nothing stays behind, however the process ends; small tables never
leave memory. The file lies in the first folder that can be written of SQLITE_TMPDIR, TMPDIR, /var/tmp, /usr/tmp and /tmp
(https://www.sqlite.org/tempfiles.html).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

CACHE_KIB = 8192
"""Memory of one database, whatever it holds."""


class DiskTableError(RuntimeError):
    """The temporary tables cannot be written. The message is a sentence."""


class DiskTables:
    """The tables of one private database. No statement is ever rolled back; what is written is gone with this object."""

    def __init__(self, *schema: str) -> None:
        """`schema`: one `CREATE TABLE` each. Raises `DiskTableError`."""
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # nobody reads the file after a crash, so that nothing need be kept for one
        settings = (f"cache_size=-{CACHE_KIB}", "journal_mode=OFF", "synchronous=OFF", "temp_store=FILE")
        for statement in (*(f"PRAGMA {setting}" for setting in settings), *schema, "BEGIN"):
            self.run(statement)

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; the number of rows that it wrote. Raises `DiskTableError`."""
        try:
            return self._base.execute(statement, values).rowcount
        except sqlite3.Error as error:
            raise _sentence(error) from error

    def one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row that a query finds; None where it finds none. Raises `DiskTableError`."""
        try:
            row = self._base.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            raise _sentence(error) from error
        return None if row is None else row[0]

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows that a query finds, one by one. Raises `DiskTableError`."""
        try:
            yield from self._base.execute(statement, values)
        except sqlite3.Error as error:
            raise _sentence(error) from error

    def __del__(self) -> None:
        self._base.close()


def _sentence(error: sqlite3.Error) -> DiskTableError:
    return DiskTableError(
        f"A temporary table on disk cannot be kept ({error}). Make room in the folder for temporary files, or name another one "
        "by the variable SQLITE_TMPDIR, then run the same command again."
    )
