"""`changed_since_your_read`: on every reply to a caller whose reads went stale, until it reads again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.tools.admin.status import STATUS_TOOL
from quire_daemon.tools.history.log import LOG_TOOL, SINCE_TOOL
from quire_daemon.tools.table import TOOLS
from quire_journal.model.events import OutsideWritten, ReadServed, WritesAbandoned
from quire_journal.model.ids import blob_id
from quire_journal.views.replay import dump, rebuild

FIELD = "changed_since_your_read"
TEXT = "one\ntwo\nthree\n"

CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"path": "f.txt"},
    "write_file": {"path": "f.txt", "content": "x\n"},
    "edit": {"path": "f.txt", "operations": [{"op": "replace_line", "hash": "000000", "content": "x"}]},
    "hashline_edit": {"path": "f.txt", "edits": [{"set_line": {"anchor": "1#ab", "new_text": "x"}}]},
    "apply_patch": {"patch": "*** Begin Patch\n*** Update File: f.txt\n@@\n-two\n+TWO\n*** End Patch"},
    "edit_file": {
        "path": "f.txt",
        "expectedSha256": blob_id(TEXT.encode()).hex(),
        "edits": [{"oldText": "two", "newText": "TWO"}],
    },
    "edit_replace": {"path": "f.txt", "old_text": "two", "new_text": "TWO"},
    "insert_lines": {"path": "f.txt", "line_number": 1, "text": "x"},
    "replace_lines": {"path": "f.txt", "start_line": 1, "end_line": 1, "new_text": "x"},
    "multi_edit": {"path": "f.txt", "edits": [{"old_text": "two", "new_text": "TWO"}]},
    "regex_replace": {"path": "f.txt", "pattern": "two", "replacement": "TWO"},
    "text_editor": {"command": "view", "path": "f.txt"},
    "delete_file": {"path": "f.txt"},
    "move_file": {"path": "f.txt", "to": "g.txt"},
    "log": {"path": "f.txt"},
    "stories": {"path": "f.txt"},
    "lanes": {},
    "since": {"path": "f.txt"},
    "show": {"version": "now", "path": "f.txt"},
    "diff": {"from": "seq:0", "path": "f.txt"},
    "blame": {"path": "f.txt"},
    "why": {"path": "f.txt"},
    "contributions": {"from": "nothing", "paths": ["f.txt"]},
    "review": {},
    "accept": {},
    "reject": {},
    "syntax": {"versions": ["v1"]},
    "guard": {"command": "git reset --hard", "folder": "/w"},
    "tree": {"path": "f.txt"},
    "blobs": {"sha256": [blob_id(TEXT.encode()).hex()]},
    "undo": {"path": "f.txt"},
    "redo": {},
    "rollback": {"to": "seq:1"},
    "restore": {"path": "f.txt", "at": "seq:1"},
    "checkpoint": {"action": "list"},
    "burst": {},
    "claim": {"path": "f.txt"},
    "release": {"path": "f.txt"},
    "claims": {"path": "f.txt"},
    "status": {},
    "who": {},
    "op_status": {"op": "00"},
    "manual": {},
    "native": {"moment": "turn"},
    "saved": {"path": "f.txt", "sha256": ["0" * 64]},
    "land": {"burst": 1, "files": []},
    "run": {"action": "begin", "command": ["true"]},
    "describe": {"tool": "log"},
}


def test_there_is_a_call_of_every_tool_here() -> None:
    assert {*CALLS} == {*TOOLS}


def stale_daemon() -> MemoryDaemon:
    """Ann has read f.txt and g.txt, and somebody else has changed the first since."""
    daemon = MemoryDaemon({"f.txt": TEXT, "g.txt": TEXT})
    for path in ("f.txt", "g.txt"):
        assert daemon.ask("read_file", {"path": path, "hashes": True})["ok"]
    daemon.save("f.txt", TEXT.replace("one", "ONE"))
    assert daemon.ask("read_file", {"path": "f.txt"}, by="ben")["ok"]
    return daemon


def notices(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of the reply, and of its files."""
    parts = [reply, *(reply.get("files") or [])]
    return [entry for part in parts if isinstance(part, dict) for entry in part.get(FIELD, ())]


@pytest.mark.parametrize("tool", CALLS)
def test_every_tools_reply_tells_a_caller_whose_read_went_stale_and_nobody_else(tool: str) -> None:
    daemon = stale_daemon()
    reply = daemon.ask(tool, CALLS[tool])
    assert reply.get("error") != "schema_invalid" or tool in ("show", "op_status"), reply
    assert {entry["path"] for entry in notices(reply)} == {"f.txt"}
    for entry in notices(reply):  # a patch of one file tells it twice: of the file, and as if it were that tool
        assert (entry["writer"]["type"], entry["evidence"]) == ("outside", "read")
    assert len(reply.get("changed_since_your_read", ())) <= 1
    assert FIELD not in stale_daemon().ask("status", {}, by="ben")


@pytest.mark.parametrize("tool", ["log", "claim", "claims", "blame", "diff"])
def test_a_call_about_the_file_is_told_which_lines_were_changed(tool: str) -> None:
    (entry,) = notices(stale_daemon().ask(tool, CALLS[tool]))
    assert (entry["lines"], entry["touches"]) == ([[1, 1]], "conflicting")


def test_what_was_written_through_a_tool_needs_no_evidence_and_every_reply_says_so_alike() -> None:
    daemon = MemoryDaemon({"f.txt": TEXT, "g.txt": TEXT})
    for path in ("f.txt", "g.txt"):
        version = daemon.ask("read_file", {"path": path})["version"]
        change = {"path": path, "content": "ben's\n", "expected_file_version": version}
        assert daemon.ask("write_file", change, by="ben")["ok"]
    read = daemon.ask("read_file", {"path": "f.txt"})
    (record,) = daemon.ask("log", {"path": "f.txt", "limit": 1})["records"]
    told = [*notices(read), read["last_writer"], record]
    assert [entry["evidence"] for entry in told] == [None] * 4


def test_a_call_about_something_else_is_told_without_a_look_at_the_text() -> None:
    daemon = stale_daemon()
    reply = daemon.ask("edit_replace", {"path": "g.txt", "old_text": "two", "new_text": "TWO"})
    assert reply["ok"]
    (entry,) = reply[FIELD]
    assert (entry["path"], entry["lines"], entry["touches"]) == ("f.txt", None, None)


@pytest.mark.parametrize("tool", ["claims", "status"])
def test_each_entry_says_from_where_a_diff_shows_what_happened(tool: str) -> None:
    daemon = stale_daemon()
    (entry,) = notices(daemon.ask(tool, CALLS[tool]))
    shown = daemon.ask("diff", {"from": entry["since"], "path": entry["path"]})
    assert shown["files"][0]["patch"].splitlines()[5:7] == ["-one", "+ONE"], shown


def test_it_is_repeated_until_the_caller_reads_again() -> None:
    daemon = stale_daemon()
    for _ in range(3):
        assert FIELD in daemon.ask("status", {})
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two", "new_text": "TWO"})["ok"]
    assert FIELD in daemon.ask("status", {}), "its own edit is no reading"
    assert FIELD in daemon.ask("read_file", {"path": "f.txt"})
    assert FIELD not in daemon.ask("status", {})
    daemon.save("f.txt", "again\n")
    assert daemon.ask("read_file", {"path": "f.txt"}, by="ben")["ok"]
    assert FIELD in daemon.ask("status", {})


def test_what_a_caller_writes_itself_is_no_news_to_it_but_to_others() -> None:
    daemon = MemoryDaemon({"f.txt": TEXT})
    for by in ("ann", "ben"):
        daemon.ask("read_file", {"path": "f.txt"}, by=by)
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two", "new_text": "TWO"})["ok"]
    assert FIELD not in daemon.ask("status", {})
    (entry,) = daemon.ask("status", {}, by="ben")[FIELD]
    assert (entry["writer"]["agent"], entry["path"]) == ("ann", "f.txt")


def test_a_file_that_went_away_and_came_back_as_it_was_is_no_news() -> None:
    """A branch switched away and back: each reply named all files that the caller had written."""
    daemon = MemoryDaemon({"f.txt": TEXT, "g.txt": "g\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.outside_deletes("f.txt")
    assert daemon.ask("read_file", {"path": "g.txt"})[FIELD][0]["gone"]
    daemon.outside("f.txt", TEXT.encode())
    assert FIELD not in daemon.ask("read_file", {"path": "g.txt"})
    daemon.outside("f.txt", b"other\n")
    assert daemon.ask("read_file", {"path": "g.txt"})[FIELD][0]["path"] == "f.txt"


def test_the_file_of_the_call_comes_first_then_a_few_others_and_the_rest_is_counted() -> None:
    files = {f"{n}.txt": TEXT for n in range(9)}
    daemon = MemoryDaemon(files)
    for path in files:
        daemon.ask("read_file", {"path": path})
    for path in files:
        daemon.save(path, "changed\n")
        daemon.ask("read_file", {"path": path}, by="ben")
    reply = daemon.ask("log", {"path": "8.txt"})
    assert [entry["path"] for entry in reply[FIELD]] == ["8.txt", "0.txt", "1.txt", "2.txt"]
    assert reply[f"{FIELD}_more"] == 5


def test_the_hint_of_an_outside_write_stands_in_the_notice_and_in_the_log() -> None:
    daemon = MemoryDaemon()
    first = daemon.outside("f.txt", b"1\n")
    daemon.note(ReadServed("f.txt", first, ((0, 1),)), who=daemon.ann)
    hint = "git checkout main (ben/s2, pid 7)"
    daemon.note(OutsideWritten("f.txt", blob_id(b"2\n"), 2, 0o644, "watched", first, hint=hint), blobs=(b"2\n",))
    assert [entry["hint"] for entry in daemon.call(STATUS_TOOL, daemon.ann)[FIELD]] == [hint]
    (entry,) = daemon.call(LOG_TOOL, daemon.ann, path="f.txt")[FIELD]
    assert (entry["hint"], entry["touches"]) == (hint, "conflicting")
    newest, older = daemon.call(LOG_TOOL, daemon.ben, path="f.txt")["records"]
    assert (newest["hint"], "hint" in older) == (hint, False)


def test_a_write_that_was_taken_back_is_no_news() -> None:
    daemon = MemoryDaemon()
    first = daemon.outside("f.txt", b"1\n")
    daemon.note(ReadServed("f.txt", first, ((0, 1),)), who=daemon.ann)
    made = daemon.write("f.txt", b"2\n", daemon.ben)
    assert FIELD in daemon.call(STATUS_TOOL, daemon.ann)
    daemon.note(WritesAbandoned((made,), "lost a race"))
    assert FIELD not in daemon.call(STATUS_TOOL, daemon.ann)


@pytest.mark.parametrize("content", ["", TEXT])
def test_who_moved_a_file_that_it_had_read_is_told_what_others_do_to_it_under_its_new_name(content: str) -> None:
    daemon = MemoryDaemon({"f.txt": content})
    assert daemon.ask("read_file", {"path": "f.txt"})["ok"]
    assert daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
    assert FIELD not in daemon.ask("status", {})
    assert daemon.ask("insert_lines", {"path": "g.txt", "line_number": 0, "text": "new"}, by="ben")["ok"]
    (told,) = daemon.ask("status", {})[FIELD]
    assert (told["path"], told["writer"]["agent"]) == ("g.txt", "ben")
    assert daemon.ask("read_file", {"path": "g.txt"})["ok"]
    assert FIELD not in daemon.ask("status", {})


def test_who_moved_a_file_after_an_edit_of_its_own_over_one_of_others_is_told_under_the_new_name() -> None:
    """What it had read was older than the version that it knew lines of: no line counted as read under the new name."""
    daemon = MemoryDaemon({"f.txt": TEXT})
    assert daemon.ask("read_file", {"path": "f.txt"})["ok"]
    for by, old, new in (("ben", "one", "ONE"), ("ann", "two", "TWO"), ("ben", "ONE", "one"), ("ann", "TWO", "two")):
        assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": old, "new_text": new}, by=by)["ok"]
    assert daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
    assert daemon.ask("edit_replace", {"path": "g.txt", "old_text": "two", "new_text": "2"}, by="ben")["ok"]
    assert [told["path"] for told in daemon.ask("status", {})[FIELD]] == ["f.txt", "g.txt"]


def test_replaying_the_log_gives_the_same_notices() -> None:
    daemon = stale_daemon()
    with daemon.journal.store.reading() as reading:
        before = dump(reading, ("readers", "stale_reads"))
    assert before["stale_reads"]
    rebuild(daemon.journal.store)
    with daemon.journal.store.reading() as reading:
        assert dump(reading, ("readers", "stale_reads")) == before


# ── what agents say of themselves ────────────────────────────────────────────

NASTY = "\u202eevil\x1b[2J\x00\u2066 \u200e" + "x" * 5000


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("claim", {"path": "f.txt", "reason": NASTY}),
        ("claim", {"path": NASTY}),
        ("burst", {"action": "begin", "label": NASTY}),
        ("burst", {"action": "begin", "label": NASTY[:190]}),
        ("burst", {"action": "begin", "label": "x", "kind": NASTY}),
        ("checkpoint", {"name": "here", "note": NASTY}),
        ("checkpoint", {"name": NASTY}),
        ("log", {"writer": NASTY}),
        ("undo", {"writer": NASTY}),
    ],
)
def test_what_agents_supply_is_stored_capped_and_without_what_cannot_be_seen(tool: str, args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": TEXT})
    daemon.ask("read_file", {"path": "f.txt"})
    before = daemon.journal.head
    daemon.ask(tool, args)
    for seq in range(before + 1, daemon.journal.head + 1):
        record = daemon.record(seq)
        assert record is not None
        if record.kind == "edit_refused":
            continue  # which holds the path of the call, as it was
        told = [value for value in msgspec.to_builtins(record.event()) if isinstance(value, str)]
        assert all(text.replace("\n", "").isprintable() and len(text) <= 2000 for text in told), (record.kind, told)


# ── the feed ─────────────────────────────────────────────────────────────────


def test_a_feed_with_a_filter_is_the_feed_without_it_filtered_wherever_it_is_cut() -> None:
    daemon = MemoryDaemon()
    start = daemon.call(SINCE_TOOL, daemon.ann)["cursor"]
    for n in range(12):
        daemon.outside(f"{n % 3}.txt", b"%d\n" % n)
        daemon.write(f"{n % 2}.md", b"%d\n" % n, daemon.ben if n % 4 else daemon.ann)
        daemon.note(ReadServed("0.txt", 1, ()), who=daemon.ann)

    def all_of(limit: int, **filters: Any) -> list[int]:
        cursor, found = start, []
        while True:
            page = daemon.call(SINCE_TOOL, daemon.ann, cursor=cursor, limit=limit, **filters)
            found += page["records"]
            assert not page["fresh"]
            if not page["more"]:
                return [record["seq"] for record in found]
            assert page["cursor"] != cursor, "a page that was cut leads on"
            cursor = page["cursor"]

    whole = list(daemon.call(SINCE_TOOL, daemon.ann, cursor=start, limit=1000)["records"])
    wanted: list[tuple[dict[str, Any], Any]] = [
        ({}, lambda r: True),
        ({"path": "0.txt"}, lambda r: r["path"] == "0.txt"),
        ({"path": "*.md"}, lambda r: r["path"].endswith(".md")),
        ({"writer": "ann"}, lambda r: r["writer"]["agent"] == "ann"),
        ({"writer": "outside"}, lambda r: r["writer"]["id"] == "outside"),
        ({"kind": "file_written"}, lambda r: r["kind"] == "file_written"),
        ({"kind": ["outside_written"], "path": "1.txt"}, lambda r: r["path"] == "1.txt"),
        ({"writer": "nobody"}, lambda r: False),
    ]
    for filters, admits in wanted:
        expected = [record["seq"] for record in whole if admits(record)]
        for limit in (1, 2, 5, 1000):
            assert all_of(limit, **filters) == expected, (filters, limit)
