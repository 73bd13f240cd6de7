"""Exports: what each format tells of a history, and that an import makes the same journal of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scribe import ANN, BEN, Scribe

from quire_journal.export.formats import FORMATS
from quire_journal.export.importer import ImportResult, NotAnExport, import_lines
from quire_journal.export.jsonl_schema import EventLine, decode_line, schema, stored_record
from quire_journal.export.source import Source, Stretch
from quire_journal.integrity.checker import check
from quire_journal.model.events import (
    BY_KIND,
    FOLDER,
    LINK,
    BurstBegun,
    BurstEnded,
    CaptureFailed,
    CheckpointNamed,
    Event,
    FileMoved,
    FileWritten,
    OutsideWritten,
    Purged,
    ReadServed,
    ReplyKept,
    WriteAttributed,
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.model.ids import blob_id
from quire_journal.model.records import decode_record, encode_event, encode_record, record_hash
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store, u64
from quire_journal.views import replay

SOUND = b"first\nsecond\n"


@pytest.fixture
def scribe() -> Scribe:
    """A journal in which Ann wrote two files, somebody else changed one, and Ben moved the other."""
    scribe = Scribe().introduce()
    scribe.write("src/a.py", SOUND)
    scribe.note(ReadServed("src/a.py", 3, ((0, 2),), anchors=True), writer=2)
    base = scribe.write("b.bin", bytes(range(256)))
    scribe.outside("src/a.py", b"first\nSECOND\nthird")
    moved = scribe.hold(bytes(range(256)))
    scribe.note(FileMoved("b.bin", "c.bin", moved, 256, 0o755, base, inode=7), writer=2, op=b"o" * 16)
    return scribe


def exported(store: Store, format: str, by: str = "batch", after: int = 0, upto: int | None = None) -> bytes:
    """The whole export."""
    with store.reading() as r:
        head = r.count("records") if upto is None else upto
    source = Source(store, Stretch(after, head), "ab" * 16, "/site", with_prompts=True)
    return b"".join(FORMATS[format].export(source, by))


def objects(data: bytes) -> list[dict[str, Any]]:
    """The lines of an export."""
    return [json.loads(line) for line in data.splitlines()]


def imported(data: bytes) -> tuple[MemoryStore, ImportResult]:
    """A journal made of the export."""
    store = MemoryStore()
    return store, import_lines(data.splitlines(keepends=True), store)


def log_of(store: Store) -> list[tuple[bytes, bytes]]:
    with store.reading() as r:
        return list(r.scan("records"))


# -- JSONL and import --------------------------------------------------------------------------------------------


def test_an_import_of_an_export_has_the_same_records_views_and_bytes(scribe: Scribe) -> None:
    again, counts = imported(exported(scribe.store, "jsonl"))
    assert counts == ImportResult(events=7, blobs=3, missing=0)
    assert log_of(again) == log_of(scribe.store)
    with scribe.store.reading() as ours, again.reading() as theirs:
        assert replay.dump(theirs) == replay.dump(ours)
    assert list(check(again)) == []
    with scribe.history() as history:
        wanted = history.bytes_of(blob_id(b"first\nSECOND\nthird"))
    assert wanted == b"first\nSECOND\nthird"


def test_an_event_is_one_line_with_its_fields_by_name(scribe: Scribe) -> None:
    header, *lines, end = objects(exported(scribe.store, "events"))
    assert header["type"] == "header"
    assert (header["workspace"], header["after"], header["upto"]) == ("ab" * 16, 0, 7)
    assert [line["seq"] for line in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert end == {"type": "end", "events": 7, "hash": lines[-1]["hash"]}
    assert [line["prev"] for line in lines[1:]] == [line["hash"][:32] for line in lines[:-1]]
    moved = lines[-1]
    assert moved["event"]["kind"] == "file_moved"
    assert (moved["event"]["path"], moved["event"]["to"], moved["event"]["mode"]) == ("b.bin", "c.bin", 0o755)
    assert moved["event"]["blob"] == blob_id(bytes(range(256))).hex()
    assert (moved["writer"], moved["op"], moved["at"]) == (2, "6f" * 16, "1970-01-01T00:00:07Z")


def test_a_blob_precedes_the_first_event_that_names_it_and_a_small_change_is_a_stretch(scribe: Scribe) -> None:
    long = b"".join(b"line %d\n" % n for n in range(100))
    scribe.write("long", long)
    scribe.write("long", long.replace(b"line 50\n", b"LINE\n"))
    scribe.write("long", long)
    lines = objects(exported(scribe.store, "jsonl"))
    told = {line["sha256"]: line for line in lines if line["type"] == "blob"}
    assert len(told) == len([line for line in lines if line["type"] == "blob"]) == 5
    changed = told[blob_id(long.replace(b"line 50\n", b"LINE\n")).hex()]
    assert changed["base"] == blob_id(long).hex()
    assert len(changed["data"]) < 20
    for at, line in enumerate(lines):
        blob = line.get("event", {}).get("blob")
        if blob:
            assert any(one.get("sha256") == blob for one in lines[:at])
    assert log_of(imported(exported(scribe.store, "jsonl"))[0]) == log_of(scribe.store)


def test_bytes_that_the_journal_lacks_are_said_to_be_missing_and_do_not_stop_an_import(scribe: Scribe) -> None:
    secret = blob_id(b"password")
    scribe.note(CaptureFailed(".env", "secret", 8, secret))
    lines = objects(exported(scribe.store, "jsonl"))
    assert {"type": "missing", "sha256": secret.hex(), "why": "not_captured"} in lines
    again, counts = imported(exported(scribe.store, "jsonl"))
    assert counts.missing == 1
    assert list(check(again)) == []


def test_a_record_of_a_kind_from_the_future_comes_back_as_it_was(scribe: Scribe) -> None:
    scribe.note_unknown()
    scribe.write("after", b"it\n")
    line = next(line for line in objects(exported(scribe.store, "events")) if line.get("seq") == 8)
    assert line["event"] == {"kind": "file_painted"}
    assert "stored" in line
    assert log_of(imported(exported(scribe.store, "jsonl"))[0]) == log_of(scribe.store)


def test_every_kind_of_event_comes_back_from_its_line_without_its_bytes_beside_it() -> None:
    scribe = Scribe(folding=False)
    for event in _one_of_each():
        scribe.note(event)
    for line, (_, stored) in zip(
        exported(scribe.store, "events").splitlines()[1:-1], log_of(scribe.store), strict=True
    ):
        decoded = decode_line(line)
        assert isinstance(decoded, EventLine)
        assert decoded.stored == b"", decoded.event["kind"]
        assert stored_record(decoded) == stored


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: lines[:-1], "cut off"),
        (lambda lines: lines[1:], "begins with its header"),
        (lambda lines: [*lines[:2], *lines[3:]], "expected"),
        (lambda lines: [line.replace(b'"ann"', b'"eve"') for line in lines], "does not have the hash"),
        (lambda lines: [line.replace(b'"data":"Zmly', b'"data":"Wmly') for line in lines], "another sha256"),
        (lambda lines: [lines[0].replace(b'"after":0', b'"after":3'), *lines[1:]], "only one of the whole log"),
        (lambda lines: [lines[0].replace(b'"format":2', b'"format":9'), *lines[1:]], "format 9"),
        (lambda lines: [*lines, lines[-1]], "after the end"),
        (lambda lines: [b"no json\n"], "line 1"),
        (lambda lines: [re.sub(rb'"at":"[^"]*"', b'"at":"9999-12-31T23:59:59Z"', line) for line in lines], "line "),
        (lambda lines: [line for line in lines if b'"type":"blob"' not in line], "on no line"),
    ],
)
def test_what_is_no_whole_and_true_export_is_refused_with_a_reason(scribe: Scribe, spoil: Any, said: str) -> None:
    lines = exported(scribe.store, "jsonl").splitlines(keepends=True)
    with pytest.raises(NotAnExport, match=said):
        import_lines(spoil(lines), MemoryStore())


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a/../../x", "", ".", "a//b", "a/", "x\0y", "%/..%2fx", "%/%2e%2e/x"]
)
def test_a_record_of_a_file_outside_of_any_workspace_is_refused(path: str) -> None:
    scribe = Scribe()
    scribe.write(path, b"planted\n")
    with pytest.raises(NotAnExport, match="no path inside a workspace"):
        imported(exported(scribe.store, "jsonl"))


@pytest.mark.parametrize(
    "path",
    [".git/config", "a/.git/hooks/pre-commit", ".GIT/config", "git~1/config", ".git./x", ".g\u200cit/x", ".quire/id",
     "a/.Quire/id", "%/.git/%ff"],
)  # fmt: skip
def test_a_record_of_what_is_gits_or_quires_own_is_refused(path: str) -> None:
    scribe = Scribe()
    scribe.write(path, b"planted\n")
    with pytest.raises(NotAnExport, match="git's or Quire's own"):
        imported(exported(scribe.store, "jsonl"))


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (FileWritten("a", b"", 0, 0o100644), "permission bits"),
        (FileWritten("a", b"", 0, -1), "permission bits"),
        (FileWritten("a", b"", -1, 0o644), "a size of -1"),
        (FileWritten("a", b"", 0, 0o644, entry=7), "kind 7"),
        (FileWritten("a", b"short", 0, 0o644), "no sha256"),
        (FileWritten("a", b"", 0, 0o644, base=9), "record 9"),
        (CaptureFailed("a", "too_large", -5), "a size of -5"),
    ],
)
def test_a_version_that_no_disk_can_have_had_is_refused(event: Event, said: str) -> None:
    scribe = Scribe(folding=False)
    scribe.note(event)
    with pytest.raises(NotAnExport, match=said):
        imported(exported(scribe.store, "jsonl"))


def test_a_journal_that_holds_records_takes_no_import(scribe: Scribe) -> None:
    with pytest.raises(NotAnExport, match="holds records already"):
        import_lines([], scribe.store)


@pytest.mark.parametrize("told", [True, False])
def test_a_replaced_record_is_imported_only_where_the_log_vouches_for_it(scribe: Scribe, told: bool) -> None:
    with scribe.store.writing() as w:
        was = w.get("records", u64(3))
        assert was is not None
        record = decode_record(was)
        other = FileWritten("src/a.py", bytes(32), 0, 0o644)
        w.put("records", u64(3), encode_record(msgspec.structs.replace(record, body=encode_event(other))))
    if told:
        scribe.note(Purged("path", (), 0, replaced=((3, record_hash(was)),)))
        assert log_of(imported(exported(scribe.store, "jsonl"))[0]) == log_of(scribe.store)
    else:
        with pytest.raises(NotAnExport, match="record 4 does not hold the hash of record 3"):
            imported(exported(scribe.store, "jsonl"))


# -- the schema --------------------------------------------------------------------------------------------------


def test_the_schema_names_every_line_and_every_kind_and_is_what_the_lines_are(scribe: Scribe) -> None:
    made = schema()
    assert made["$schema"].endswith("2020-12/schema")
    for line in (*objects(exported(scribe.store, "jsonl")), *_lines_of_each_kind()):
        assert list(_wrong(line, made, made)) == [], line
    broken = {**objects(exported(scribe.store, "events"))[1], "prev": "not hexadecimal"}
    assert list(_wrong(broken, made, made))


def _lines_of_each_kind() -> Iterator[dict[str, Any]]:
    scribe = Scribe(folding=False)
    for event in _one_of_each():
        scribe.note(event)
    scribe.note_unknown()
    yield from objects(exported(scribe.store, "events"))


def _one_of_each() -> Iterator[Event]:
    """The events of the golden vectors."""
    vectors = json.loads((Path(__file__).parents[2] / "vectors" / "events.json").read_text())["events"]
    assert vectors.keys() == BY_KIND.keys()
    for kind, those in vectors.items():
        for vector in those:
            yield msgspec.msgpack.decode(bytes.fromhex(vector["bytes"]), type=BY_KIND[kind])


def _wrong(value: Any, rule: dict[str, Any], whole: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a value, by the words of JSON Schema that are used here."""
    if "$ref" in rule:
        rule = whole["$defs"][rule["$ref"].rpartition("/")[2]]
    for word in ("anyOf", "oneOf"):
        if word in rule and all(list(_wrong(value, one, whole)) for one in rule[word]):
            yield f"{value!r} is none of {word}"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    if "type" in rule and not isinstance(value, kinds[rule["type"]]):
        yield f"{value!r} is no {rule['type']}"
        return
    if "const" in rule and value != rule["const"]:
        yield f"{value!r} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{value!r} is not one of {rule['enum']}"
    if "not" in rule and not list(_wrong(value, rule["not"], whole)):
        yield f"{value!r} is what it must not be"
    if "pattern" in rule and not re.search(rule["pattern"], value):
        yield f"{value!r} does not match"
    if isinstance(value, dict):
        yield from (f"{name} is missing" for name in rule.get("required", ()) if name not in value)
        for name, inner in value.items():
            if name in rule.get("properties", {}):
                yield from _wrong(inner, rule["properties"][name], whole)
    if isinstance(value, list):
        each = rule.get("prefixItems", ())
        for at, inner in enumerate(value):
            if at < len(each):
                yield from _wrong(inner, each[at], whole)
            elif isinstance(rule.get("items"), dict):
                yield from _wrong(inner, rule["items"], whole)


# -- commits, patches, traces ------------------------------------------------------------------------------------


def test_a_commit_has_the_writer_the_time_the_records_and_only_what_changed(scribe: Scribe) -> None:
    stream = exported(scribe.store, "git")
    assert stream.startswith(b"feature done\n")
    assert stream.endswith(b"\ndone\n")
    assert stream.count(b"\ncommit refs/heads/quire\n") == 4
    assert b"author ann <w1@quire.invalid> 3 +0000" in stream
    assert b"author outside <outside@quire.invalid> 6 +0000" in stream
    assert b"Move b.bin to c.bin\n\nQuire-Records: 7..7\n" in stream
    assert b"Quire-Writer: w1 agent=ann session=s1 turn=t1" in stream
    assert b"D b.bin\nM 100755 inline c.bin\ndata 256\n" in stream
    assert stream.count(b"M 100644 inline src/a.py") == 2


def test_a_file_without_bytes_and_a_folder_are_told_in_the_message_and_are_no_files(scribe: Scribe) -> None:
    scribe.note(CaptureFailed("src/a.py", "too_large", 1 << 40))
    scribe.note(OutsideWritten("empty", b"", 0, 0o755, "watched", entry=FOLDER))
    scribe.note(OutsideWritten("link", scribe.hold(b"src"), 3, 0o777, "watched", entry=LINK))
    stream = exported(scribe.store, "git")
    assert b"Not-Exported: src/a.py (its bytes are not in the journal: too large)" in stream
    assert b"Not-Exported: empty (a folder; git keeps files only)" in stream
    assert stream.count(b"D src/a.py\n") == 1
    assert b"M 120000 inline link\ndata 3\nsrc\n" in stream
    assert b" inline empty" not in stream
    scribe.note(
        OutsideWritten("full", b"", 0, 0o755, "watched", entry=FOLDER),
        OutsideWritten("full/file", scribe.hold(b"x"), 1, 0o644, "watched"),
    )
    assert b"Not-Exported: full " not in exported(scribe.store, "git")
    assert b"data 0\n" not in stream


def test_a_write_that_was_abandoned_is_in_no_commit(scribe: Scribe) -> None:
    lost = scribe.write("src/a.py", b"it never was\n", base=6)
    scribe.note(WritesAbandoned((lost,), "overtaken"))
    assert b"it never was" not in exported(scribe.store, "git")
    assert b"it never was" not in exported(scribe.store, "patches")


def test_a_stretch_begins_with_the_tree_in_front_of_it(scribe: Scribe) -> None:
    stream = exported(scribe.store, "git", after=5, upto=6)
    first, second = stream.split(b"\ncommit ")[1:]
    assert b"the state after record 5" in first
    assert first.count(b"\nM ") == 2
    assert second.count(b"\nM ") == 1
    patch = exported(scribe.store, "patches", after=5, upto=6)
    assert patch.count(b"\nSubject: ") == 1
    assert b"-second\n+SECOND\n+third\n\\ No newline at end of file\n" in patch


def test_what_was_found_at_the_start_is_one_commit() -> None:
    scribe = Scribe()
    for name in ("a", "b", "c"):
        scribe.outside(name, name.encode(), evidence="captured")
    scribe.note(CaptureFailed("d", "too_large", 1 << 40))
    scribe.outside("e", b"e", evidence="captured")
    scribe.outside("a", b"changed")
    stream = exported(scribe.store, "git")
    assert stream.count(b"\ncommit ") == 2
    assert b"what was found at the start" in stream


def test_a_burst_is_one_commit_until_somebody_else_writes() -> None:
    scribe = Scribe().introduce()
    burst = scribe.note(BurstBegun("tidy up", "tool_call", 10**15), writer=1)
    scribe.write("a", b"1")
    scribe.write("b", b"2")
    scribe.write("x", b"3", writer=2)
    scribe.write("c", b"4")
    scribe.note(BurstEnded(burst), writer=1)
    scribe.write("d", b"5")
    stream = exported(scribe.store, "git", by="burst")
    assert stream.count(b"\ncommit ") == 4
    assert stream.count(b"burst 3: tidy up") == 2


def test_checkpoints_make_the_commits_when_asked(scribe: Scribe) -> None:
    scribe.note(CheckpointNamed("lunch", scribe.seq))
    scribe.write("later", b"x")
    stream = exported(scribe.store, "git", by="checkpoint")
    assert stream.count(b"\ncommit ") == 2
    assert b"checkpoint lunch\n" in stream
    assert b"Co-authored-by: ben <w2@quire.invalid>" in stream


@pytest.mark.parametrize(
    "name", [".git:x/a", "d/.git::$INDEX/b", ".git /c", ".g\u200cit/x", ".git\\x", "GIT~1/q", ".git...:y", "a//b"]
)
def test_a_name_that_git_takes_for_its_own_is_left_out_and_named(name: str) -> None:
    """A stream with one went into a repository, whose tree nobody could check out then."""
    scribe = Scribe().introduce()
    scribe.write(name, b"1\n")
    scribe.write("b", b"2\n")
    with scribe.store.reading() as r:
        upto = r.count("records")
    stream = b"".join(FORMATS["git"].export(Source(scribe.store, Stretch(0, upto)), "batch"))
    assert [line for line in stream.splitlines() if line.startswith(b"M ")] == [b"M 100644 inline b"]
    assert b"Not-Exported: " in stream


def test_a_path_that_is_not_utf8_is_quoted_byte_by_byte(scribe: Scribe) -> None:
    scribe.write('%/caf%E9 "x"', b"x\n")
    assert b'inline "caf\\351 \\"x\\""\n' in exported(scribe.store, "git")


def test_a_trace_says_which_lines_an_agent_wrote_and_nothing_of_who_came_from_outside(scribe: Scribe) -> None:
    first, second = objects(exported(scribe.store, "agent-trace"))
    assert first["version"] == "0.1"
    (file,) = first["files"]
    (conversation,) = file["conversations"]
    assert file["path"] == "src/a.py"
    assert conversation["contributor"] == {"type": "ai"}
    (lines,) = conversation["ranges"]
    assert (lines["start_line"], lines["end_line"]) == (1, 2)
    assert lines["content_hash"] == f"sha256:{blob_id(SOUND).hex()}"
    (file,) = second["files"]
    (conversation,) = file["conversations"]
    assert conversation["contributor"] == {"type": "unknown"}
    assert [(one["start_line"], one["end_line"]) for one in conversation["ranges"]] == [(2, 3)]


def traced(scribe: Scribe, by: str = "batch") -> list[tuple[str, int, int]]:
    """(version that wrote them, first line, last line) of the lines in the last record of a trace."""
    record = objects(exported(scribe.store, "agent-trace", by))[-1]
    return [
        (conversation["related"][0]["url"].rpartition("/")[2], one["start_line"], one["end_line"])
        for conversation in record["files"][0]["conversations"]
        for one in conversation["ranges"]
    ]


def test_lines_that_come_back_are_traced_to_who_wrote_them() -> None:
    scribe = Scribe().introduce()
    ann = scribe.write("a", b"one\ntwo\n", writer=ANN)
    ben = scribe.write("a", b"one\nTWO\n", writer=BEN)
    scribe.write("a", b"one\ntwo\n", writer=BEN, by="undo")
    assert traced(scribe) == [(f"v{ann}", 2, 2)]
    scribe.outside("a", b"one\nTWO\nthree\n")
    assert traced(scribe) == [(f"v{ben}", 2, 2), (f"v{scribe.seq}", 3, 3)]
    scribe.note(FileMoved("a", "b", scribe.hold(b"one\nTWO\nthree\n"), 14, 0o644, scribe.seq), writer=ANN)
    assert traced(scribe) == [(f"v{ann}", 1, 1), (f"v{ben}", 2, 2), (f"v{scribe.seq - 1}", 3, 3)]


@pytest.mark.parametrize(("path", "hint"), [("b", ""), ("a", "git stash (ben/s2, pid 7)")])
def test_lines_that_a_traced_command_only_brings_are_those_of_who_wrote_them(path: str, hint: str) -> None:
    scribe = Scribe().introduce()
    ann = scribe.write("a", b"one\n", writer=ANN)
    if hint:
        scribe.write("a", b"", writer=BEN)
    written = OutsideWritten(path, scribe.hold(b"one\n"), 4, 0o644, "watched", hint=hint)
    scribe.note(WriteAttributed((scribe.note(written),), BEN, "traced"))
    assert traced(scribe) == [(f"v{ann}", 1, 1)]


def test_a_step_tells_whose_lines_it_only_brings() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"one\ntwo\n", writer=ANN)
    scribe.write("a", b"one\n", writer=BEN)
    scribe.write("a", b"one\ntwo\n", writer=BEN, by="undo")
    *mails, redone = exported(scribe.store, "patches").decode().split("\nFrom: ")
    assert "\nQuire-Lines-By: w1 agent=ann session=s1 turn=t1\n" in redone
    assert "Quire-Lines-By" not in "".join(mails)
    assert "\nQuire-Lines-By: w1 agent=ann" in exported(scribe.store, "git").decode()


def test_a_step_of_several_writers_is_traced_line_by_line() -> None:
    scribe = Scribe().introduce()
    ann = scribe.write("a", b"one\n", writer=ANN)
    ben = scribe.write("a", b"one\ntwo\n", writer=BEN)
    scribe.note(CheckpointNamed("here", scribe.seq))
    assert traced(scribe, "checkpoint") == [(f"v{ann}", 1, 1), (f"v{ben}", 2, 2)]


def test_names_of_agents_cannot_begin_lines_or_end_addresses() -> None:
    scribe = Scribe()
    scribe.note(WriterIntroduced(1, uid=1000, agent="eve> <x@y\n\ncommit refs/heads/main", turn="t\nFrom me"))
    scribe.write("a\nM 100644 inline b", b"x\n")
    stream = exported(scribe.store, "git")
    assert stream.count(b"\ncommit ") == 1
    assert b"author eve x@ycommit refs/heads/main <w1@quire.invalid> 2 +0000" in stream.replace(
        b"x@y commit", b"x@ycommit"
    )
    assert b'inline "a\\nM 100644 inline b"' in stream


def test_kept_replies_come_back_too(scribe: Scribe) -> None:
    reply = msgspec.msgpack.encode({"ok": True, "message": "done"})
    scribe.note(FileWritten("k", scribe.hold(b"k"), 1, 0o644), ReplyKept("key", blob_id(b"a"), reply), writer=1)
    assert log_of(imported(exported(scribe.store, "jsonl"))[0]) == log_of(scribe.store)


def test_an_agents_own_write_is_exported_under_its_name_with_the_evidence() -> None:
    scribe = Scribe().introduce()
    blob = scribe.hold(b"by ann\n")
    seq = scribe.note(OutsideWritten("a.py", blob, 7, 0o644, "watched"))
    scribe.note(WriteAttributed((seq,), ANN, "during"))
    mail = exported(scribe.store, "patches").decode()
    assert "\nFrom: ann <w1@quire.invalid>\n" in mail
    assert "\nQuire-Evidence: during\n" in mail
    (trace,) = objects(exported(scribe.store, "agent-trace"))
    assert trace["files"][0]["conversations"][0]["contributor"]["type"] == "ai"
    assert trace["metadata"]["quire"]["evidence"] == ["during"]
