"""A secret that gets into a file of code: the journal keeps only its hash, and says so."""

from __future__ import annotations

from memory_daemon import MemoryDaemon
from quire_daemon.tools.admin.status import STATUS_TOOL
from quire_daemon.tools.checkpoints import CHECKPOINT_TOOL
from quire_daemon.tools.edit.write_file import WRITE_TOOL
from quire_daemon.tools.undo.tool import UNDO_TOOL
from quire_journal.model.ids import version_token

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"


def write(daemon: MemoryDaemon, content: str, **more: object) -> dict[str, object]:
    base = daemon.head_of("a.py")
    gate = {"expected_file_version": version_token(base)} if base else {}
    return daemon.call(WRITE_TOOL, daemon.ann, path="a.py", content=content, **gate, **more)


def holds(daemon: MemoryDaemon, data: str) -> bool:
    from quire_journal.model.ids import blob_id

    with daemon.history() as history:
        return history.holds(blob_id(data.encode()))


def test_a_new_file_with_a_token_is_written_and_recorded_by_hash_only() -> None:
    daemon = MemoryDaemon()
    reply = write(daemon, f"KEY = '{TOKEN}'\n")
    assert reply["ok"]
    assert "holds a GitHub token" in reply["warnings"][0]["message"]  # type: ignore[index]
    assert daemon.text("a.py") == f"KEY = '{TOKEN}'\n".encode()
    assert not holds(daemon, f"KEY = '{TOKEN}'\n")
    with daemon.history() as history:
        head = history.file("a.py")
        assert head is not None
        assert head.uncaptured == "holds_secret"


def test_a_write_with_a_token_is_listed_as_not_captured() -> None:
    daemon = MemoryDaemon()
    write(daemon, f"KEY = '{TOKEN}'\n")
    assert daemon.call(STATUS_TOOL, daemon.ann)["journal"]["uncaptured"] == 1  # type: ignore[index]
    for action in ("create", "show"):
        told = daemon.call(CHECKPOINT_TOOL, daemon.ann, action=action, name="here")["not_captured"]
        assert (told["count"], told["files"][0]["path"]) == (1, "a.py")  # type: ignore[index]


def test_a_file_of_code_that_gets_a_token_is_kept_again_when_it_is_taken_out() -> None:
    daemon = MemoryDaemon()
    assert write(daemon, "one\ntwo\n")["ok"]
    assert write(daemon, f"one\n{TOKEN}\n")["warnings"]
    refused = write(daemon, "one\nthree\n")
    assert refused["error"] == "uncaptured"
    reply = write(daemon, "one\nthree\n", allow_uncaptured=True)
    assert reply["ok"]
    assert holds(daemon, "one\nthree\n")
    with daemon.history() as history:
        head = history.file("a.py")
        assert head is not None
        assert head.uncaptured == ""


def test_undo_over_bytes_that_are_not_held_is_refused_until_it_is_allowed() -> None:
    daemon = MemoryDaemon()
    write(daemon, "one\ntwo\n")
    write(daemon, f"one\n{TOKEN}\n")
    assert daemon.call(UNDO_TOOL, daemon.ann, last=1)["error"] == "uncaptured"
    assert daemon.text("a.py") == f"one\n{TOKEN}\n".encode()


def test_a_token_in_a_line_that_does_not_change_is_no_news() -> None:
    daemon = MemoryDaemon()
    daemon.write("a.py", f"{TOKEN}\ntwo\n".encode(), daemon.ann)  # kept when nobody looked for secrets
    reply = write(daemon, f"{TOKEN}\nthree\n")
    assert reply["ok"]
    assert not reply["warnings"]
