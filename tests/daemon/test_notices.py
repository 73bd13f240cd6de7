"""`changed_since_your_read`: on every reply to a caller whose reads went stale, until it reads again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from desk import Desk

from playbook import Playbook
from quire_daemon.handlers import TOOLS
from quire_daemon.handlers.log import LOG_TOOL, SINCE_TOOL
from quire_daemon.handlers.status import STATUS_TOOL
from quire_journal.events import OutsideWritten, ReadServed, WritesAbandoned
from quire_journal.ids import blob_id
from quire_journal.replay import dump, rebuild

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
    "since": {"path": "f.txt"},
    "show": {"version": "now", "path": "f.txt"},
    "diff": {"from": "seq:0", "path": "f.txt"},
    "blame": {"path": "f.txt"},
    "why": {"path": "f.txt"},
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
    "describe": {"tool": "log"},
}


def test_there_is_a_call_of_every_tool_here() -> None:
    assert {*CALLS} == {*TOOLS}


def stale_book() -> Playbook:
    """Ann has read f.txt and g.txt, and somebody else has changed the first since."""
    book = Playbook({"f.txt": TEXT, "g.txt": TEXT})
    for path in ("f.txt", "g.txt"):
        assert book.call("read_file", {"path": path, "hashes": True})["ok"]
    book.write("f.txt", TEXT.replace("one", "ONE"))
    assert book.call("read_file", {"path": "f.txt"}, by="ben")["ok"]
    return book


def notices(reply: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of the reply, and of its files."""
    parts = [reply, *(reply.get("files") or [])]
    return [entry for part in parts if isinstance(part, dict) for entry in part.get(FIELD, ())]


@pytest.mark.parametrize("tool", CALLS)
def test_every_tools_reply_tells_a_caller_whose_read_went_stale_and_nobody_else(tool: str) -> None:
    book = stale_book()
    reply = book.call(tool, CALLS[tool])
    assert reply.get("error") != "schema_invalid" or tool in ("show", "op_status"), reply
    assert {entry["path"] for entry in notices(reply)} == {"f.txt"}
    for entry in notices(reply):  # a patch of one file tells it twice: of the file, and as if it were that tool
        assert (entry["writer"]["type"], entry["evidence"]) == ("outside", "read")
    assert len(reply.get("changed_since_your_read", ())) <= 1
    assert FIELD not in stale_book().call("status", {}, by="ben")


@pytest.mark.parametrize("tool", ["log", "claim", "claims", "blame", "diff"])
def test_a_call_about_the_file_is_told_which_lines_were_changed(tool: str) -> None:
    (entry,) = notices(stale_book().call(tool, CALLS[tool]))
    assert (entry["lines"], entry["touches"]) == ([[1, 1]], "conflicting")


def test_what_was_written_through_a_tool_needs_no_evidence_and_every_reply_says_so_alike() -> None:
    book = Playbook({"f.txt": TEXT, "g.txt": TEXT})
    for path in ("f.txt", "g.txt"):
        version = book.call("read_file", {"path": path})["version"]
        change = {"path": path, "content": "ben's\n", "expected_file_version": version}
        assert book.call("write_file", change, by="ben")["ok"]
    read = book.call("read_file", {"path": "f.txt"})
    (record,) = book.call("log", {"path": "f.txt", "limit": 1})["records"]
    told = [*notices(read), read["last_writer"], record]
    assert [entry["evidence"] for entry in told] == [None] * 4


def test_a_call_about_something_else_is_told_without_a_look_at_the_text() -> None:
    book = stale_book()
    reply = book.call("edit_replace", {"path": "g.txt", "old_text": "two", "new_text": "TWO"})
    assert reply["ok"]
    (entry,) = reply[FIELD]
    assert (entry["path"], entry["lines"], entry["touches"]) == ("f.txt", None, None)


@pytest.mark.parametrize("tool", ["claims", "status"])
def test_each_entry_says_from_where_a_diff_shows_what_happened(tool: str) -> None:
    book = stale_book()
    (entry,) = notices(book.call(tool, CALLS[tool]))
    shown = book.call("diff", {"from": entry["since"], "path": entry["path"]})
    assert shown["files"][0]["patch"].splitlines()[3:5] == ["-one", "+ONE"], shown


def test_it_is_repeated_until_the_caller_reads_again() -> None:
    book = stale_book()
    for _ in range(3):
        assert FIELD in book.call("status", {})
    assert book.call("edit_replace", {"path": "f.txt", "old_text": "two", "new_text": "TWO"})["ok"]
    assert FIELD in book.call("status", {}), "its own edit is no reading"
    assert FIELD in book.call("read_file", {"path": "f.txt"})
    assert FIELD not in book.call("status", {})
    book.write("f.txt", "again\n")
    assert book.call("read_file", {"path": "f.txt"}, by="ben")["ok"]
    assert FIELD in book.call("status", {})


def test_what_a_caller_writes_itself_is_no_news_to_it_but_to_others() -> None:
    book = Playbook({"f.txt": TEXT})
    for by in ("ann", "ben"):
        book.call("read_file", {"path": "f.txt"}, by=by)
    assert book.call("edit_replace", {"path": "f.txt", "old_text": "two", "new_text": "TWO"})["ok"]
    assert FIELD not in book.call("status", {})
    (entry,) = book.call("status", {}, by="ben")[FIELD]
    assert (entry["writer"]["agent"], entry["path"]) == ("ann", "f.txt")


def test_the_file_of_the_call_comes_first_then_a_few_others_and_the_rest_is_counted() -> None:
    files = {f"{n}.txt": TEXT for n in range(9)}
    book = Playbook(files)
    for path in files:
        book.call("read_file", {"path": path})
    for path in files:
        book.write(path, "changed\n")
        book.call("read_file", {"path": path}, by="ben")
    reply = book.call("log", {"path": "8.txt"})
    assert [entry["path"] for entry in reply[FIELD]] == ["8.txt", "0.txt", "1.txt", "2.txt"]
    assert reply[f"{FIELD}_more"] == 5


def test_the_hint_of_an_outside_write_stands_in_the_notice_and_in_the_log() -> None:
    desk = Desk()
    first = desk.outside("f.txt", b"1\n")
    desk.note(ReadServed("f.txt", first, ((0, 1),)), who=desk.ann)
    hint = "git checkout main (ben/s2, pid 7)"
    desk.note(OutsideWritten("f.txt", blob_id(b"2\n"), 2, 0o644, "watched", first, hint=hint), blobs=(b"2\n",))
    assert [entry["hint"] for entry in desk.call(STATUS_TOOL, desk.ann)[FIELD]] == [hint]
    (entry,) = desk.call(LOG_TOOL, desk.ann, path="f.txt")[FIELD]
    assert (entry["hint"], entry["touches"]) == (hint, "conflicting")
    newest, older = desk.call(LOG_TOOL, desk.ben, path="f.txt")["records"]
    assert (newest["hint"], "hint" in older) == (hint, False)


def test_a_write_that_was_taken_back_is_no_news() -> None:
    desk = Desk()
    first = desk.outside("f.txt", b"1\n")
    desk.note(ReadServed("f.txt", first, ((0, 1),)), who=desk.ann)
    made = desk.write("f.txt", b"2\n", desk.ben)
    assert FIELD in desk.call(STATUS_TOOL, desk.ann)
    desk.note(WritesAbandoned((made,), "lost a race"))
    assert FIELD not in desk.call(STATUS_TOOL, desk.ann)


@pytest.mark.parametrize("content", ["", TEXT])
def test_who_moved_a_file_that_it_had_read_is_told_what_others_do_to_it_under_its_new_name(content: str) -> None:
    book = Playbook({"f.txt": content})
    assert book.call("read_file", {"path": "f.txt"})["ok"]
    assert book.call("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
    assert FIELD not in book.call("status", {})
    assert book.call("insert_lines", {"path": "g.txt", "line_number": 0, "text": "new"}, by="ben")["ok"]
    (told,) = book.call("status", {})[FIELD]
    assert (told["path"], told["writer"]["agent"]) == ("g.txt", "ben")
    assert book.call("read_file", {"path": "g.txt"})["ok"]
    assert FIELD not in book.call("status", {})


def test_who_moved_a_file_after_an_edit_of_its_own_over_one_of_others_is_told_under_the_new_name() -> None:
    """What it had read was older than the version that it knew lines of: no line counted as read under the new name."""
    book = Playbook({"f.txt": TEXT})
    assert book.call("read_file", {"path": "f.txt"})["ok"]
    for by, old, new in (("ben", "one", "ONE"), ("ann", "two", "TWO"), ("ben", "ONE", "one"), ("ann", "TWO", "two")):
        assert book.call("edit_replace", {"path": "f.txt", "old_text": old, "new_text": new}, by=by)["ok"]
    assert book.call("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
    assert book.call("edit_replace", {"path": "g.txt", "old_text": "two", "new_text": "2"}, by="ben")["ok"]
    assert [told["path"] for told in book.call("status", {})[FIELD]] == ["f.txt", "g.txt"]


def test_replaying_the_log_gives_the_same_notices() -> None:
    book = stale_book()
    with book.journal.store.reading() as reading:
        before = dump(reading, ("readers", "stale_reads"))
    assert before["stale_reads"]
    rebuild(book.journal.store)
    with book.journal.store.reading() as reading:
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
    book = Playbook({"f.txt": TEXT})
    book.call("read_file", {"path": "f.txt"})
    before = book.journal.head
    book.call(tool, args)
    for seq in range(before + 1, book.journal.head + 1):
        record = book.record(seq)
        assert record is not None
        if record.kind == "edit_refused":
            continue  # which holds the path of the call, as it was
        told = [value for value in msgspec.to_builtins(record.event()) if isinstance(value, str)]
        assert all(text.replace("\n", "").isprintable() and len(text) <= 2000 for text in told), (record.kind, told)


# ── the feed ─────────────────────────────────────────────────────────────────


def test_a_feed_with_a_filter_is_the_feed_without_it_filtered_wherever_it_is_cut() -> None:
    desk = Desk()
    start = desk.call(SINCE_TOOL, desk.ann)["cursor"]
    for n in range(12):
        desk.outside(f"{n % 3}.txt", b"%d\n" % n)
        desk.write(f"{n % 2}.md", b"%d\n" % n, desk.ben if n % 4 else desk.ann)
        desk.note(ReadServed("0.txt", 1, ()), who=desk.ann)

    def all_of(limit: int, **filters: Any) -> list[int]:
        cursor, found = start, []
        while True:
            page = desk.call(SINCE_TOOL, desk.ann, cursor=cursor, limit=limit, **filters)
            found += page["records"]
            assert not page["fresh"]
            if not page["more"]:
                return [record["seq"] for record in found]
            assert page["cursor"] != cursor, "a page that was cut leads on"
            cursor = page["cursor"]

    whole = list(desk.call(SINCE_TOOL, desk.ann, cursor=start, limit=1000)["records"])
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
