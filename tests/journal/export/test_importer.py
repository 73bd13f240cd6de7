"""Imports of exports that hands or enemies made: each bad line is refused by its number, and what is taken is sound."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace
from scribe import ANN, Scribe, to_purge

import live
from quire_journal.export.formats import FORMATS
from quire_journal.export.importer import NotAnExport, import_lines
from quire_journal.export.jsonl import export
from quire_journal.export.jsonl_schema import BlobLine, EndLine, EventLine, decode_line, stored_record, written
from quire_journal.export.source import Source, Stretch
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.model.events import (
    BY_KIND,
    BatchUndone,
    BurstBegun,
    CheckpointNamed,
    FileMoved,
    LeaseGranted,
    Purged,
    ReadServed,
    TurnBegan,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.model.records import GENESIS, Record, decode_record, encode_record, link, record_hash
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import StoreFailure

T = TypeVar("T")


@cache
def sound() -> tuple[bytes, ...]:
    """The lines of an export that has a bit of everything."""
    scribe = Scribe().introduce()
    base = scribe.write("src/a.py", b"".join(b"line %d\n" % n for n in range(40)))
    scribe.note(ReadServed("src/a.py", base, ((0, 2),), anchors=True), writer=2)
    scribe.write("src/a.py", b"".join(b"line %d\n" % n for n in range(39)), base=base)
    scribe.write("b.bin", bytes(range(256)))
    scribe.note(WritesSettled(scribe.seq))
    scribe.outside("src/a.py", b"first\nSECOND\nthird")
    moved = scribe.hold(bytes(range(256)))
    scribe.note(FileMoved("b.bin", "c.bin", moved, 256, 0o755, 6, inode=7), writer=2, op=b"o" * 16)
    again = scribe.write("d", b"four\n")
    scribe.note(BatchUndone((again,), "undo"), writer=1)
    scribe.note(WritesAbandoned((again,), "raced"))
    scribe.note(CheckpointNamed("one", 5), writer=1)
    scribe.note(LeaseGranted("src/**", "glob", "exclusive", 60_000), writer=1)
    scribe.note_unknown()
    with scribe.store.reading() as r:
        head = r.count("records")
    source = Source(scribe.store, Stretch(0, head), "ab" * 16, "/site")
    return tuple(b"".join(FORMATS["jsonl"].export(source, "batch")).splitlines(keepends=True))


def came_in(lines: Sequence[bytes]) -> str:
    """What an import of these says; "" when it was taken, and then the journal is sound."""
    store = MemoryStore()
    try:
        import_lines(lines, store)
    except NotAnExport as refused:
        return str(refused)
    assert [str(finding) for finding in check(store)] == []
    return ""


def hostile(change: Callable[[Record], Record | None]) -> list[bytes]:
    """The export with records as `change` makes them (None: as they are), under hashes that are right."""
    lines: list[bytes] = []
    prev, count = GENESIS, 0
    for raw in sound():
        line = decode_line(raw)
        if isinstance(line, EventLine):
            record = decode_record(stored_record(line))
            record = replace(change(record) or record, prev=link(prev))
            stored = encode_record(record)
            prev, count = record_hash(stored), count + 1
            line = replace(line, prev=record.prev.hex(), hash=prev.hex(), stored=stored)
        elif isinstance(line, EndLine):
            line = EndLine(count, prev.hex())
        lines.append(written(line))
    return lines


def line_of(seq: int, lines: Sequence[bytes]) -> int:
    return next(n for n, raw in enumerate(lines, 1) if json.loads(raw).get("seq") == seq)


def test_what_is_as_it_was_is_taken() -> None:
    assert came_in(sound()) == ""
    assert came_in(hostile(lambda record: None)) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: replace(r, batch=0), "batch 0, which cannot have begun"),
        (lambda r: replace(r, batch=-(1 << 40)), "which cannot have begun"),
        (lambda r: replace(r, at_ns=-1), "dated before 1970"),
        (lambda r: replace(r, at_ns=1 << 63), "after the year 2262"),
        (lambda r: replace(r, writer=1 << 32), "writer 4294967296"),
        (lambda r: replace(r, writer=-1), "writer -1"),
        (lambda r: replace(r, seq=r.seq + 1), "says that it is record"),
        (lambda r: replace(r, op=b"o" * 600), "cannot be taken|bytes"),
        (lambda r: replace(r, kind="writes_settled", body=_body((1 << 64) - 1)), "cannot be taken"),
        (lambda r: replace(r, kind="writer_introduced", body=_body(1 << 32)), "cannot be taken"),
        (lambda r: replace(r, kind="batch_undone", body=_body([-1], "undo")), "cannot be taken"),
        (lambda r: replace(r, kind="file_written", body=_body("a")), ""),
        (lambda r: replace(r, body=msgspec.Raw(b"\xc1")), ""),
    ],
    ids=[
        "batch 0",
        "batch below 0",
        "before 1970",
        "after 2262",
        "writer above the largest",
        "writer below 0",
        "another number",
        "op too long",
        "version above the largest",
        "new writer above the largest",
        "batch undone below 0",
        "too few fields",
        "no msgpack",
    ],
)
def test_a_record_that_cannot_be_is_refused_by_its_line(change: Callable[[Record], Record], said: str) -> None:
    lines = hostile(lambda record: change(record) if record.seq == 5 else None)
    told = came_in(lines)
    assert told.startswith(f"line {line_of(5, lines)}: ")
    assert re.search(said, told)


def _body(*fields: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(list(fields)))


def test_an_import_names_the_line_of_a_record_that_a_fold_refuses() -> None:
    """Also where it stands in the last transaction, which nothing but the end of the export begins."""
    lines = hostile(
        lambda record: replace(record, kind="writes_settled", body=_body((1 << 64) - 1)) if record.seq == 12 else None
    )
    assert came_in(lines).startswith(f"line {line_of(12, lines)}: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: replace(b, head=b.head + (1 << 40), size=b.size + (1 << 40)), "takes more of"),
        (lambda b: replace(b, head=-1, size=b.size - b.head - 1), "takes more of"),
        (lambda b: replace(b, size=b.size + 1), "another size"),
        (lambda b: replace(b, data=b"other", size=5 + b.head + b.tail), "another sha256"),
        (lambda b: replace(b, base="00" * 32), "on no earlier line"),
    ],
    ids=["head too long", "head below 0", "another size", "other bytes", "base unknown"],
)
def test_bytes_that_cannot_be_are_refused_by_their_line(change: Callable[[BlobLine], BlobLine], said: str) -> None:
    """Two lines of an export could ask for more memory than there is: each twice the one before."""
    lines = list(sound())
    at = next(n for n, raw in enumerate(lines) if json.loads(raw).get("base"))
    line = decode_line(lines[at])
    assert isinstance(line, BlobLine)
    lines[at] = written(change(line))
    told = came_in(lines)
    assert told.startswith(f"line {at + 1}: ")
    assert re.search(said, told)


def test_a_version_without_bytes_is_named_by_its_record() -> None:
    lines = [raw for raw in sound() if b'"type":"blob"' not in raw or b'"path":"b.bin"' not in raw]
    assert re.search("record 6 .*are on no line", came_in(lines))


def test_a_store_that_takes_nothing_is_no_fault_of_the_export() -> None:
    def fault() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    with pytest.raises(StoreFailure):
        import_lines(sound(), MemoryStore(fault))


# ── whatever a line holds ──

EXTREMES = st.sampled_from(
    [-(1 << 63), -1, 0, 1, 7, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1, "", "x", "../x", ".git/x",
     "a" * 600, b"", b"x" * 32, None, True, [], [[]], {}, 0.5, "9" * 400]
)  # fmt: skip


def planted(value: T, draw: st.DataObject, extremes: st.SearchStrategy[Any]) -> Any:
    """The value with something else in one place of it."""
    if isinstance(value, dict | list) and value and draw.draw(st.integers(0, 9)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        at = draw.draw(st.sampled_from(list(keys)))
        made: Any = dict(value) if isinstance(value, dict) else list(value)
        made[at] = planted(made[at], draw, extremes)
        return made
    return draw.draw(extremes)


@settings(max_examples=live.length(20, 4000))
@given(st.data())
def test_whatever_a_record_holds_it_is_taken_whole_or_refused_by_its_line(draw: st.DataObject) -> None:
    """Under hashes that are right, so that nothing but what it says can tell."""
    chosen = draw.draw(st.sets(st.integers(1, 14), min_size=1, max_size=2))

    def change(record: Record) -> Record | None:
        if record.seq not in chosen:
            return None
        part = draw.draw(st.sampled_from(["body", "body", "body", "kind", "batch", "at_ns", "writer", "op"]))
        if part == "body":
            fields = planted(msgspec.msgpack.decode(bytes(record.body)), draw, EXTREMES)
            return replace(record, body=msgspec.Raw(msgspec.msgpack.encode(fields)))
        if part == "kind":
            return replace(record, kind=draw.draw(st.sampled_from([*BY_KIND, "unheard_of", "file_written@2"])))
        if part == "op":
            return replace(record, op=draw.draw(st.sampled_from([b"", b"o" * 16, b"x" * 512])))
        numbers = [-(1 << 40), -1, 0, 1, record.seq, record.seq + 1, 1 << 32, (1 << 63) - 1]
        return replace(record, **{part: draw.draw(st.sampled_from(numbers))})

    lines = hostile(change)
    told = came_in(lines)
    assert not told or re.match(r"line \d+: \S", told) or re.search(r"record \d+ .*are on no line", told), told


def test_prompts_and_command_lines_stay_where_they_are_and_the_import_is_sound() -> None:
    scribe = Scribe().introduce()
    scribe.note(TurnBegan("fix the parser", bytes(32), "/home/ann/t.jsonl"), writer=ANN)
    scribe.note(BurstBegun("Bash", "native", 1 << 60, True, command="make secret"), writer=ANN)
    scribe.outside("a", b"1")
    for last in (False, True):
        lines = b"".join(export(Source(scribe.store, Stretch(0, scribe.seq)), "batch")).splitlines()
        assert not any(private in line for line in lines for private in (b"parser", b"secret", b"t.jsonl"))
        store = MemoryStore()
        import_lines(lines, store)
        assert list(check(store)) == []
        with store.reading() as r:
            told = History(r).event(scribe.seq + 1)
            assert isinstance(told, Purged)
            assert [seq for seq, _ in told.replaced] == [3, 4, *([6] if last else [])]
        scribe.note(TurnBegan("at the end"), writer=ANN)
    everything = b"".join(export(Source(scribe.store, Stretch(0, scribe.seq), with_prompts=True), "batch"))
    assert b"fix the parser" in everything
    store = MemoryStore()
    import_lines(everything.splitlines(), store)
    with store.reading() as r:
        assert History(r).head() == scribe.seq


def test_an_export_cut_before_a_purge_asks_for_the_whole_log() -> None:
    scribe = Scribe().introduce()
    scribe.note(CheckpointNamed("one", 1, "token=x1y2z3"), writer=1)
    end = scribe.note(CheckpointNamed("two", 1), writer=1)
    with scribe.store.reading() as r:
        wanted = PurgeTarget(matching=re.compile(rb"token=\w+"))
        change = to_purge(r, wanted)
    with scribe.store.writing() as w:
        for row in change.rows:
            w.put(*row)
    scribe.note(*change.events, writer=1)
    assert exported(scribe, scribe.seq) == ""
    told = exported(scribe, end)
    assert "replaced by a purge or a salvage that comes after the end of this export: export the whole log" in told


def exported(scribe: Scribe, upto: int) -> str:
    """What the import of an export up to this record says."""
    source = Source(scribe.store, Stretch(0, upto), "ab" * 16, "/site")
    return came_in(b"".join(FORMATS["jsonl"].export(source, "batch")).splitlines(keepends=True))


@settings(max_examples=live.length(20, 4000))
@given(st.data())
def test_a_line_of_an_import_is_accepted_whole_or_refused_by_its_number(draw: st.DataObject) -> None:
    lines = list(sound())
    at = draw.draw(st.integers(0, len(lines) - 1))
    how = draw.draw(st.sampled_from(["value", "value", "value", "drop", "twice", "cut", "byte", "swap"]))
    if how == "value":
        lines[at] = json.dumps(planted(json.loads(lines[at]), draw, EXTREMES.map(_of_json))).encode() + b"\n"
    elif how == "drop":
        del lines[at]
    elif how == "twice":
        lines.insert(at, lines[at])
    elif how == "cut":
        lines[at] = lines[at][: draw.draw(st.integers(0, len(lines[at]) - 1))]
    elif how == "byte":
        place = draw.draw(st.integers(0, len(lines[at]) - 1))
        lines[at] = lines[at][:place] + bytes([draw.draw(st.integers(0, 255))]) + lines[at][place + 1 :]
    else:
        other = draw.draw(st.integers(0, len(lines) - 1))
        lines[at], lines[other] = lines[other], lines[at]
    told = came_in(lines)
    whole = "the export has no end" in told or re.search(r"record \d+ .*are on no line", told)
    number = re.match(r"line (\d+): \S", told)
    assert not told or whole or (number and 1 <= int(number[1]) <= len(lines)), told


def _of_json(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
