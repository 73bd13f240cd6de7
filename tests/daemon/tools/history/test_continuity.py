"""`writer_type` and `baseline_continuity`: whether one kind of writer made a file, or several."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon


def told(reply: dict[str, Any]) -> tuple[str, str]:
    assert reply["ok"], reply
    return reply["writer_type"], reply["baseline_continuity"]


def replace(daemon: MemoryDaemon, old: str, new: str, by: str = "ann", tool: str = "edit_replace") -> tuple[str, str]:
    return told(daemon.ask(tool, {"path": "f.txt", "old_text": old, "new_text": new}, by=by))


def rewrite(daemon: MemoryDaemon, content: str) -> tuple[str, str]:
    version = daemon.ask("read_file", {"path": "f.txt"})["version"]
    return told(daemon.ask("write_file", {"path": "f.txt", "content": content, "base": version}))


def test_all_editing_tools_are_one_kind_of_writer_and_a_first_version_from_outside_is_not_counted() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    assert replace(daemon, "one", "ONE") == ("edit", "clean")
    assert replace(daemon, "two", "TWO", by="ben") == ("edit", "clean")
    insert = {"path": "f.txt", "line_number": 1, "text": "zero"}
    assert told(daemon.ask("insert_lines", insert, by="cleo")) == ("edit", "clean")


def test_a_whole_file_write_after_an_edit_mixes_and_so_does_an_edit_after_it() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    assert rewrite(daemon, "one\n") == ("write_file", "clean")
    assert rewrite(daemon, "two\n") == ("write_file", "clean")
    assert replace(daemon, "two", "TWO") == ("edit", "mixed")
    assert rewrite(daemon, "three\n") == ("write_file", "mixed")


def test_an_outside_version_after_the_first_mixes() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    assert replace(daemon, "one", "ONE") == ("edit", "clean")
    daemon.save("f.txt", "ONE\ntwo\nthree\n")
    assert replace(daemon, "three", "THREE") == ("edit", "mixed")


def test_an_undo_is_a_writer_of_its_own_kind() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    replace(daemon, "one", "ONE")
    assert daemon.ask("undo", {})["ok"]
    read = daemon.ask("read_file", {"path": "f.txt"})
    assert (read["last_writer"]["type"], read["content"]) == ("undo", "one\ntwo\n")
    assert replace(daemon, "two", "TWO") == ("edit", "mixed")
