"""A secret that gets into a file of code: the journal keeps only its hash, and says so."""

from __future__ import annotations

from desk import Desk

from quire_daemon.handlers.undo import UNDO_TOOL
from quire_daemon.handlers.write import WRITE_TOOL
from quire_journal.ids import version_token

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"


def write(desk: Desk, content: str, **more: object) -> dict[str, object]:
    base = desk.head_of("a.py")
    gate = {"expected_file_version": version_token(base)} if base else {}
    return desk.call(WRITE_TOOL, desk.ann, path="a.py", content=content, **gate, **more)


def holds(desk: Desk, data: str) -> bool:
    from quire_journal.ids import blob_id

    with desk.history() as history:
        return history.holds(blob_id(data.encode()))


def test_a_new_file_with_a_token_is_written_and_recorded_by_hash_only() -> None:
    desk = Desk()
    reply = write(desk, f"KEY = '{TOKEN}'\n")
    assert reply["ok"]
    assert "holds a GitHub token" in reply["warnings"][0]["message"]  # type: ignore[index]
    assert desk.text("a.py") == f"KEY = '{TOKEN}'\n".encode()
    assert not holds(desk, f"KEY = '{TOKEN}'\n")
    with desk.history() as history:
        head = history.file("a.py")
        assert head is not None
        assert head.uncaptured == "holds_secret"


def test_a_file_of_code_that_gets_a_token_is_kept_again_when_it_is_taken_out() -> None:
    desk = Desk()
    assert write(desk, "one\ntwo\n")["ok"]
    assert write(desk, f"one\n{TOKEN}\n")["warnings"]
    refused = write(desk, "one\nthree\n")
    assert refused["error"] == "uncaptured"
    reply = write(desk, "one\nthree\n", allow_uncaptured=True)
    assert reply["ok"]
    assert holds(desk, "one\nthree\n")
    with desk.history() as history:
        head = history.file("a.py")
        assert head is not None
        assert head.uncaptured == ""


def test_undo_over_bytes_that_are_not_held_is_refused_until_it_is_allowed() -> None:
    desk = Desk()
    write(desk, "one\ntwo\n")
    write(desk, f"one\n{TOKEN}\n")
    assert desk.call(UNDO_TOOL, desk.ann, last=1)["error"] == "uncaptured"
    assert desk.text("a.py") == f"one\n{TOKEN}\n".encode()


def test_a_token_in_a_line_that_does_not_change_is_no_news() -> None:
    desk = Desk()
    desk.write("a.py", f"{TOKEN}\ntwo\n".encode(), desk.ann)  # kept when nobody looked for secrets
    reply = write(desk, f"{TOKEN}\nthree\n")
    assert reply["ok"]
    assert not reply["warnings"]
