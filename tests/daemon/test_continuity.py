"""`writer_type` and `baseline_continuity`: whether one kind of writer made a file, or several."""

from __future__ import annotations

from typing import Any

from playbook import Playbook


def told(reply: dict[str, Any]) -> tuple[str, str]:
    assert reply["ok"], reply
    return reply["writer_type"], reply["baseline_continuity"]


def replace(book: Playbook, old: str, new: str, by: str = "ann", tool: str = "edit_replace") -> tuple[str, str]:
    return told(book.call(tool, {"path": "f.txt", "old_text": old, "new_text": new}, by=by))


def rewrite(book: Playbook, content: str) -> tuple[str, str]:
    version = book.call("read_file", {"path": "f.txt"})["version"]
    return told(book.call("write_file", {"path": "f.txt", "content": content, "base": version}))


def test_all_editing_tools_are_one_kind_of_writer_and_a_first_version_from_outside_is_not_counted() -> None:
    book = Playbook({"f.txt": "one\ntwo\n"})
    assert replace(book, "one", "ONE") == ("edit", "clean")
    assert replace(book, "two", "TWO", by="ben") == ("edit", "clean")
    insert = {"path": "f.txt", "line_number": 1, "text": "zero"}
    assert told(book.call("insert_lines", insert, by="cleo")) == ("edit", "clean")


def test_a_whole_file_write_after_an_edit_mixes_and_so_does_an_edit_after_it() -> None:
    book = Playbook({"f.txt": "one\ntwo\n"})
    assert rewrite(book, "one\n") == ("write_file", "clean")
    assert rewrite(book, "two\n") == ("write_file", "clean")
    assert replace(book, "two", "TWO") == ("edit", "mixed")
    assert rewrite(book, "three\n") == ("write_file", "mixed")


def test_an_outside_version_after_the_first_mixes() -> None:
    book = Playbook({"f.txt": "one\ntwo\n"})
    assert replace(book, "one", "ONE") == ("edit", "clean")
    book.write("f.txt", "ONE\ntwo\nthree\n")
    assert replace(book, "three", "THREE") == ("edit", "mixed")


def test_an_undo_is_a_writer_of_its_own_kind() -> None:
    book = Playbook({"f.txt": "one\ntwo\n"})
    replace(book, "one", "ONE")
    assert book.call("undo", {})["ok"]
    read = book.call("read_file", {"path": "f.txt"})
    assert (read["last_writer"]["type"], read["content"]) == ("undo", "one\ntwo\n")
    assert replace(book, "two", "TWO") == ("edit", "mixed")
