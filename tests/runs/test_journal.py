import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.hashing import canonical, digest
from helmbench_hf.records import Completion
from helmbench_hf.runs import journal as module
from helmbench_hf.runs.journal import Journal, JournalError, ReadReport, Records, read_rows, run_lock
from tests.support.waiting import PATIENCE

texts = st.text(st.characters(codec=None) | st.sampled_from('\ud800\x00\n\r\u2028\\"{}'))
completions = st.builds(
    Completion,
    key=st.text("0123456789abcdef", min_size=1, max_size=3),
    request=texts,
    status=st.sampled_from(["ok", "truncated", "refused", "engine_error"]),
    text=texts,
    reasoning=texts,
    prompt_tokens=st.integers(0, 10**6),
    label_logprobs=st.none() | st.lists(st.floats(-100, 0), min_size=1, max_size=3).map(tuple),
    attempt=st.integers(1, 3),
)
Made = Callable[[], Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Give a fresh folder for each of hypothesis' examples."""
    return lambda: tmp_path_factory.mktemp("journal")


def write(folder: Path, *rows: Completion, writer: str = "w") -> Path:
    with Journal.open(folder, writer) as journal:
        for row in rows:
            journal.append(row)
    return journal.path


def passed(records: Records) -> dict[str, int]:
    """How many lines of each kind were passed over."""
    return {kind: len(places) for kind, places in records.passed.places.items()}


def done(key: str, text: str = "", status: str = "ok") -> Completion:
    return Completion(key, key, status, text)  # type: ignore[arg-type]


@given(rows=st.lists(completions, unique_by=lambda row: row.key))
def test_what_is_written_is_read(rows: list[Completion], made: Made) -> None:
    folder = made()
    write(folder, *rows)
    records = Journal.read(folder)
    assert records.everything() == {row.key: row for row in rows}
    assert set(records.failures) == {row.key for row in rows if row.status == "engine_error"}
    assert passed(records) == {}


@given(rows=st.lists(completions, unique_by=lambda row: row.key, min_size=1), cut=st.floats(0, 1))
def test_a_torn_tail_costs_the_last_record_at_most(rows: list[Completion], cut: float, made: Made) -> None:
    folder = made()
    path = write(folder, *rows)
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    kept = last + int(cut * (len(whole) - last))
    path.write_bytes(whole[:kept])
    records = Journal.read(folder)
    survives = kept >= len(whole) - 1  # only the line's end is missing
    assert records.everything() == {row.key: row for row in (rows if survives else rows[:-1])}
    assert passed(records) == ({} if survives or kept == last else {"torn": 1})
    # a resume writes behind the tear and loses nothing
    write(folder, done("after"))
    assert "after" in Journal.read(folder)


@given(
    rows=st.lists(completions, unique_by=lambda row: row.key, min_size=1),
    junk=st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line), min_size=1),
    data=st.data(),
)
def test_junk_between_the_lines_is_counted_and_passed_over(
    rows: list[Completion], junk: list[bytes], data: st.DataObject, made: Made
) -> None:
    folder = made()
    path = write(folder, *rows)
    lines = path.read_bytes().splitlines(keepends=True)
    for piece in junk:
        lines.insert(data.draw(st.integers(0, len(lines))), piece + b"\n")
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    records = Journal.read(folder)
    assert records.everything() == {row.key: row for row in rows}
    assert passed(records) == {"malformed": len(junk)}
    assert path.read_bytes() == before  # nothing is rewritten


@given(rows=st.lists(completions, min_size=1), data=st.data())
def test_one_flipped_byte_never_changes_a_record(rows: list[Completion], data: st.DataObject, made: Made) -> None:
    folder = made()
    path = write(folder, *rows)
    whole = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(whole))
    assert all(record in rows for record in Journal.read(folder).everything().values())


def test_the_first_answer_of_a_key_stands(tmp_path: Path) -> None:
    write(tmp_path, done("a", "one"), done("a", "two"), done("a", "one"), done("b"))
    write(tmp_path, done("a", "three"), done("b"), writer="another")
    records = Journal.read(tmp_path)
    assert records["a"].text == "one"
    assert passed(records) == {"duplicates": 4, "differing": 2}


@pytest.mark.parametrize(
    ("statuses", "stands"),
    [
        (["engine_error", "ok"], "ok"),
        (["refused", "ok"], "ok"),
        (["truncated", "refused"], "truncated"),
        (["refused", "engine_error"], "refused"),
    ],
)
def test_answers_beat_refusals_and_both_beat_failures(tmp_path: Path, statuses: list[str], stands: str) -> None:
    write(tmp_path, *(done("k", status=status) for status in statuses))
    records = Journal.read(tmp_path)
    assert records["k"].status == stands
    assert not records.failures


def test_an_engine_failure_is_a_record_but_no_answer(tmp_path: Path) -> None:
    write(tmp_path, replace(done("k", status="engine_error"), error="died", attempt=2))
    write(tmp_path, replace(done("k", status="engine_error"), error="died again", attempt=3))
    records = Journal.read(tmp_path)
    assert "k" not in records
    assert records.failures["k"].attempt == 3


def line(row: object, version: object = 1) -> bytes:
    return json.dumps({"v": version, "sha": digest([version, row])[:16], "row": row}).encode() + b"\n"


@pytest.mark.parametrize(
    "bad",
    [
        line({"key": "k"}),
        line({"key": "k", "request": "r", "status": "great"}),
        line({"key": 1, "request": "r", "status": "ok"}),
        line({"key": "k", "request": "r", "status": "ok", "label_logprobs": ["x"]}),
        line({"key": "k", "request": "r", "status": "ok"}, version="1"),
        b'{"v":1,"sha":"0000000000000000","row":{"key":"k","request":"r","status":"ok"}}\n',
        b"[" * 100_000 + b"\n",
        b"null\n",
    ],
)
def test_kinds_of_malformed_lines(tmp_path: Path, bad: bytes) -> None:
    path = write(tmp_path, done("a"))
    path.write_bytes(bad + path.read_bytes())
    records = Journal.read(tmp_path)
    assert list(records) == ["a"]
    assert str(records.passed).count(f"1 damaged ({path}, line 1)") == 1


def test_fields_of_a_later_minor_version_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "00001-w.jsonl").write_bytes(line({"key": "k", "request": "r", "status": "ok", "new": [1]}))
    assert Journal.read(tmp_path)["k"] == Completion("k", "r", "ok")


def test_a_journal_of_the_future_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "00001-w.jsonl").write_bytes(line({"key": "k", "request": "r", "status": "ok"}, version=2))
    with pytest.raises(JournalError, match=r"line 1: written by a later version of helmbench .* Update helmbench"):
        Journal.read(tmp_path)


def test_other_files_and_absent_folders_are_no_journal(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}\n")
    (tmp_path / "00001.jsonl").write_text("{}\n")
    write(tmp_path, done("a"))
    assert list(Journal.read(tmp_path)) == ["a"]
    assert Journal.read(tmp_path / "absent") == {}


def test_every_opening_is_a_new_segment_in_order(tmp_path: Path) -> None:
    names = [write(tmp_path, done(str(number)), writer=writer).name for number, writer in enumerate(["z", "a", "z"])]
    assert names == ["00001-z.jsonl", "00002-a.jsonl", "00003-z.jsonl"]
    assert list(Journal.read(tmp_path)) == ["0", "1", "2"]


def test_two_writers_that_count_at_once_never_share_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, done("a"), writer="w")
    monkeypatch.setattr(module, "_segments", lambda folder: [])  # it saw the folder before the first one wrote
    assert write(tmp_path, done("b"), writer="w").name == "00002-w.jsonl"


def test_rows_of_other_shapes(tmp_path: Path) -> None:
    with Journal.open(tmp_path, "rows") as journal:
        journal.append_row({"case": "P1", "value": 0.5})
        journal.close()
        journal.close()
    report = ReadReport()
    assert list(read_rows(tmp_path, report)) == [{"case": "P1", "value": 0.5}]
    assert report == ReadReport()
    assert passed(Journal.read(tmp_path)) == {"malformed": 1}


def test_a_record_survives_the_death_of_its_writer(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from helmbench_hf.runs.journal import Journal;"
        "from helmbench_hf.records import Completion;"
        "Journal.open(Path(sys.argv[1]), 'w').append(Completion('k', 'r', 'ok')); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    assert list(Journal.read(tmp_path)) == ["k"], "and another process sees it"


def test_the_disk_is_synced_every_64_records_every_second_and_at_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    clock = [100.0]
    monkeypatch.setattr(module.os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink()))
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    journal = Journal.open(tmp_path, "w")
    assert synced == [tmp_path]  # the segment's name must survive too
    synced.clear()
    for number in range(130):
        journal.append(done(str(number)))
    assert len(synced) == 2
    clock[0] += 1.1
    journal.append(done("late"))
    assert len(synced) == 3
    journal.append(done("later"))
    assert len(synced) == 3
    journal.close()
    assert synced == [journal.path] * 4


def test_a_power_failure_costs_what_came_after_the_last_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    safe = [0]
    monkeypatch.setattr(module.os, "fsync", lambda file: safe.append(os.fstat(file).st_size))
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    journal = Journal.open(tmp_path, "w")
    for number in range(100):
        journal.append(done(str(number)))
    os.truncate(journal.path, safe[-1])  # what the disk holds where the power fails now
    assert list(Journal.read(tmp_path)) == [str(number) for number in range(64)]


def test_an_opening_without_a_record_leaves_no_file(tmp_path: Path) -> None:
    with Journal.open(tmp_path, "w"):
        assert len(list(tmp_path.glob("*.jsonl"))) == 1
    assert not list(tmp_path.glob("*.jsonl"))


FILLING = """
import os, resource, sys
from pathlib import Path
from helmbench_hf.runs.journal import Journal, JournalError
from helmbench_hf.records import Completion
folder, limit = Path(sys.argv[1]), int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
known = Journal.read(folder)
with Journal.open(folder, "w") as journal:
    try:
        for number in range(1000):
            if str(number) not in known:
                journal.append(Completion(str(number), str(number), "ok", "x" * 50))
    except JournalError as error:
        print(error)
        try:
            journal.append(Completion("behind", "behind", "ok"))
        except JournalError:
            sys.exit(3)
"""


def test_nothing_is_written_behind_a_line_that_a_full_disk_cut_short(tmp_path: Path) -> None:
    fill = [sys.executable, "-c", FILLING, str(tmp_path)]
    first = subprocess.run([*fill, "30000"], check=False, capture_output=True, text=True)
    assert first.returncode == 3, first.stderr
    assert "(File too large). Everything before is safe: make room" in first.stdout
    before = Journal.read(tmp_path)
    assert passed(before) == {"torn": 1}
    assert list(before) == [str(number) for number in range(len(before))]
    assert 50 < len(before) < 1000
    assert subprocess.run([*fill, "0"], check=False).returncode == 0  # there is room again
    after = Journal.read(tmp_path)
    assert (set(after), passed(after)) == ({str(n) for n in range(1000)}, {"torn": 1})


def test_a_sync_that_fails_at_the_end_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(tmp_path, "w")
    journal.append(done("a"))

    def failing(file: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module.os, "fsync", failing)
    with pytest.raises(JournalError, match=r"cannot be written \(Input/output error\)"):
        journal.close()
    journal.close()  # closed all the same


def test_a_file_in_place_of_the_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for open_it in (lambda: Journal.open(tmp_path / "file", "w"), lambda: run_lock(tmp_path / "file").__enter__()):
        with pytest.raises(JournalError, match=r"cannot be written .* Give another output folder"):
            open_it()


@pytest.mark.parametrize("number", [13, 30])
def test_a_read_only_folder_is_a_sentence(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def read_only(path: Path, flags: int, *mode: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *mode)

    monkeypatch.setattr(module.os, "open", read_only)
    for open_it in (lambda: Journal.open(tmp_path, "w"), lambda: run_lock(tmp_path).__enter__()):
        with pytest.raises(JournalError, match=rf"cannot be written \({os.strerror(number)}\). Give another output folder"):
            open_it()


def test_a_file_system_without_locks_is_not_taken_for_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(file: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(module.fcntl, "flock", none)
    with pytest.raises(JournalError, match=r"cannot be locked \(No locks available\).*local disk"), run_lock(tmp_path):
        pass


def test_the_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from helmbench_hf.runs.journal import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
    holder = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with (
        pytest.raises(JournalError, match=rf"process {holder.pid}\).*{tmp_path}.*kill {holder.pid}"),
        run_lock(tmp_path, wait=0.1),
    ):
        pass
    holder.kill()
    with run_lock(tmp_path, wait=PATIENCE):  # at once: an orphan's last moments are waited for
        assert (tmp_path / "run.lock").read_text() == f"{os.getpid()}\n"
    with run_lock(tmp_path, wait=0):
        pass
    holder.wait()
    for stream in (holder.stdin, holder.stdout):
        assert stream is not None
        stream.close()


def test_lines_are_what_the_format_says(tmp_path: Path) -> None:
    path = write(tmp_path, done("k", "é\n"))
    [entry] = [json.loads(each) for each in path.read_text("ascii").splitlines()]
    assert entry["v"] == 1
    assert entry["sha"] == digest([1, entry["row"]])[:16]
    assert path.read_text("ascii").count("\n") == 1
    assert canonical(entry["row"]) in path.read_text("ascii")
