"""The note of a checkout, read as if a stranger had written it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quire_daemon.family.note import MOST_FILES, MOST_NAME, ChangedFile, HeldLease, Note, decoded, encoded


def test_a_note_is_read_as_it_was_written() -> None:
    files = [ChangedFile("a/b.py", "0" * 64, False, 7, "codex", "x1")]
    leases = [HeldLease(3, "src", "folder", "exclusive", 9, "ada", "s1", "mine", (1, 4))]
    note = Note("git:/x", "1a2b", "main", files, leases)
    assert decoded(encoded(note)) == note


def file(**told: Any) -> list[Any]:
    return [*{"path": "a", "sha256": "", "gone": False, "at_ns": 1, "agent": "", "session": "", **told}.values()]


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "a/../../b", "", "a//b", ".", "a\0b", "x" * 5000])
def test_a_path_that_leads_elsewhere_is_left_out(path: str) -> None:
    note = decoded(json.dumps({"family": "f", "files": [file(path=path), file()]}).encode())
    assert note is not None
    assert [one.path for one in note.files] == ["a"]


def test_names_are_one_short_line_and_files_are_few() -> None:
    said = {"family": "f", "files": [file(agent="a\n\x1b[31mb" * 500)] * (MOST_FILES + 9)}
    note = decoded(json.dumps(said).encode())
    assert note is not None
    assert len(note.files) == MOST_FILES
    name = note.files[0].agent
    assert len(name) <= MOST_NAME
    assert name.isprintable()


@pytest.mark.parametrize("said", [b"", b"[]", b'{"family": 3}', b'{"files": []}', b"\xff", b"[" * 99_999, b'{"family"'])
def test_what_is_no_note_is_none(said: bytes) -> None:
    assert decoded(said) is None
