"""`diff` by writer: only that writer's lines, whatever others did to the same file meanwhile."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_daemon.core.call import Who

START = lines("a", "b", "c", "d", "e", "f")


def diff(daemon: MemoryDaemon, since: int, writer: str = "ann", **more: Any) -> dict[str, Any]:
    reply = daemon.ask("diff", {"from": f"seq:{since}", "writer": writer, **more})
    assert reply["ok"], reply
    return reply


def changed(reply: dict[str, Any]) -> dict[str, list[str]]:
    """The lines that differ, by file."""
    rows = {file["path"]: [row for hunk in file["hunks"] for row in hunk["lines"]] for file in reply["files"]}
    return {path: [row for row in found if row[:1] != " "] for path, found in rows.items()}


def daemon_with(text: bytes = START) -> tuple[MemoryDaemon, int]:
    daemon = MemoryDaemon()
    daemon.outside("f.txt", text)
    return daemon, daemon.journal.head


def test_of_two_writers_in_one_file_each_has_their_own_lines() -> None:
    daemon, since = daemon_with()
    daemon.write("f.txt", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.write("f.txt", START.replace(b"b\n", b"B\n").replace(b"e\n", b""), daemon.ben)
    assert changed(diff(daemon, since)) == {"f.txt": ["-b", "+B"]}
    assert changed(diff(daemon, since, "ben")) == {"f.txt": ["-e"]}
    assert " f" in diff(daemon, since)["files"][0]["hunks"][0]["lines"], "what others did is there on both sides"


def test_lines_that_somebody_else_replaced_are_not_theirs_any_more() -> None:
    daemon, since = daemon_with()
    daemon.write("f.txt", START + lines("ann's"), daemon.ann)
    daemon.write("f.txt", START + lines("ben's"), daemon.ben)
    assert changed(diff(daemon, since)) == {}
    assert changed(diff(daemon, since, "ben")) == {"f.txt": ["-ann's", "+ben's"]}


def test_git_that_goes_away_and_comes_back_leaves_the_lines_theirs() -> None:
    from quire_journal.model.events import OutsideWritten
    from quire_journal.model.ids import blob_id

    daemon, since = daemon_with()
    own = START.replace(b"b\n", b"B\n")
    made = daemon.write("f.txt", own, daemon.ann)
    there = OutsideWritten("f.txt", blob_id(START), len(START), 0o644, "watched", made, hint="git checkout main")
    away = daemon.note(there, blobs=(START,))
    daemon.note(OutsideWritten("f.txt", blob_id(own), len(own), 0o644, "watched", away, hint="git checkout topic"))
    assert changed(diff(daemon, since)) == {"f.txt": ["-b", "+B"]}


def test_a_file_that_they_made_and_one_that_they_removed() -> None:
    daemon, since = daemon_with()
    daemon.write("new.txt", lines("one", "two"), daemon.ann)
    daemon.write("new.txt", lines("one", "two", "ben's"), daemon.ben)
    daemon.delete("f.txt", daemon.ann)
    found = diff(daemon, since)
    assert changed(found)["new.txt"] == ["+one", "+two"]
    assert [file["status"] for file in found["files"] if file["path"] == "f.txt"] == ["removed"]


def test_a_file_that_somebody_else_renamed_is_no_rename_of_theirs() -> None:
    daemon, since = daemon_with()
    daemon.write("f.txt", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.move("f.txt", "g.txt", daemon.ben)
    (file,) = diff(daemon, since)["files"]
    assert "moved_from" not in file
    assert changed(diff(daemon, since)) == {"g.txt": ["-b", "+B"]}
    (moved,) = diff(daemon, since, "ben")["files"]
    assert (moved["moved_from"], moved["status"]) == ("f.txt", "same")


texts = st.lists(st.sampled_from("abcdxyz"), max_size=7).map(lambda said: lines(*said))


@given(st.lists(st.tuples(st.booleans(), texts), min_size=1, max_size=6))
def test_the_lines_of_both_are_all_that_was_changed(script: list[tuple[bool, bytes]]) -> None:
    """What one writer did alone is the whole difference; of two, the newer side is the file as it is."""
    daemon, since = daemon_with()
    writers: set[Who] = set()
    for is_ann, text in script:
        if text != daemon.text("f.txt"):
            who = daemon.ann if is_ann else daemon.ben
            writers.add(who)
            daemon.write("f.txt", text, who)
    whole = daemon.ask("diff", {"from": f"seq:{since}"})
    if writers == {daemon.ann}:
        assert changed(diff(daemon, since)) == changed(whole)
    for name in sorted(who.agent for who in writers):
        for file in diff(daemon, since, name, context=99)["files"]:
            rows = [row for hunk in file["hunks"] for row in hunk["lines"]]
            assert lines(*(row[1:] for row in rows if row[:1] in " +")) == daemon.text("f.txt") or not rows
