"""`quire list` and `quire forget`: what is known of all journals, and that one goes whole or not at all."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_daemon import FakeDaemon
from fake_line import FakeOpener

from quire_client import journals
from quire_client.__main__ import main
from quire_client.commands.base import open_client
from quire_daemon.maintenance.gc.collector import BEGUN
from quire_journal.model.refusals import Refusal
from quire_journal.workspaces.discover import find_workspace
from quire_journal.workspaces.identity import known_journals, settle, workspace_id
from quire_journal.workspaces.layout import Place, place_of
from quire_journal.workspaces.lock import hold_lock, take_lock

Quire = Callable[..., dict[str, Any]]


@pytest.fixture
def quire(capsys: pytest.CaptureFixture[str]) -> Quire:
    """`quire("list")` is the reply, with the exit status."""

    def run(*words: str) -> dict[str, Any]:
        status = main([*words, "--json"], open_client)
        return {**json.loads(capsys.readouterr().out), "status": status}

    return run


@pytest.fixture
def old(tmp_path: Path) -> Place:
    """A workspace with a journal of some size."""
    return made(tmp_path / "old")


def made(root: Path) -> Place:
    root.mkdir()
    (root / "mine.txt").write_text("mine\n")
    place = place_of(root)
    settle(place)
    (root / ".quire" / "cookies").mkdir()
    place.journal.mkdir()
    (place.journal / "log").write_bytes(b"x" * 100_000)
    return place


def test_the_list_tells_of_every_journal(quire: Quire, old: Place, tmp_path: Path) -> None:
    made(tmp_path / "new")
    os.utime(old.journal / "log", (0, 1_700_000_000))
    (old.journal / "lock.mdb").touch()  # as who reads the journal does
    new, first = quire("list")["journals"]
    assert [Path(one["path"]).name for one in (new, first)] == ["new", "old"]
    assert first["changed"] == "2023-11-14T22:13:20Z"
    assert 100_000 <= first["bytes"] < 200_000
    assert (first["running"], first["version"], first["exists"]) == (False, None, True)


def test_contents_that_two_journals_share_are_told_apart_and_stay_when_one_is_forgotten(
    quire: Quire, old: Place, tmp_path: Path
) -> None:
    new = made(tmp_path / "new")
    (old.journal / "pack").write_bytes(b"x" * 3_000_000)
    os.link(old.journal / "pack", new.journal / "pack")
    listed = quire("list")
    for one in listed["journals"]:
        assert 3_000_000 <= one["shared_bytes"] < 3_100_000
        assert one["bytes"] < 200_000
    assert "2 journals, 3.1 MiB, 2.9 MiB of it shared by several." in listed["message"]
    assert quire("forget", str(old.root), "--yes")["freed"] < 200_000
    (left,) = quire("list")["journals"]
    assert (left["shared_bytes"], left["bytes"] > 3_000_000) == (0, True)


def test_the_list_tells_which_daemon_runs_and_its_version(quire: Quire, old: Place) -> None:
    with FakeDaemon(old):
        (one,) = quire("list")["journals"]
    assert (one["running"], one["pid"]) == (True, os.getpid())


def test_a_list_does_not_wait_for_a_daemon_that_hangs(quire: Quire, old: Place) -> None:
    with hold_lock(old.lock):  # it has not said where it listens
        (one,) = quire("list")["journals"]
    assert (one["running"], one["version"]) == (True, None)


def test_the_list_for_people_is_a_table(old: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"], open_client) == 0
    head, row, message = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "DAEMON", "SIZE", "LAST", "CHANGE", "WORKSPACE"]
    assert row.endswith(str(old.root))
    assert message.startswith("1 journal, ")


def test_a_journal_is_forgotten_whole(quire: Quire, old: Place) -> None:
    reply = quire("forget", str(old.root), "--yes")
    assert reply["status"] == 0, reply
    assert reply["freed"] >= 100_000
    assert list(known_journals()) == []
    assert os.listdir(old.state.parent) == []
    assert os.listdir(old.root) == ["mine.txt"]  # its files, and nothing of ours


def test_a_journal_is_forgotten_whole_where_somebody_removed_a_file_of_ours(quire: Quire, old: Place) -> None:
    (old.root / ".quire" / ".gitignore").unlink()
    assert quire("forget", str(old.root), "--yes")["status"] == 0
    assert os.listdir(old.root) == ["mine.txt"]


def test_a_forgotten_workspace_can_be_one_again(quire: Quire, old: Place) -> None:
    before = workspace_id(old.root)
    quire("forget", str(old.root), "--yes")
    settle(find_workspace(old.root, given=True))
    assert workspace_id(old.root) not in (None, before)


def test_one_whose_folder_is_gone_is_found_by_its_id(quire: Quire, old: Place) -> None:
    identity = settle(old)
    old.root.rename(old.root.with_name("elsewhere"))
    assert quire("forget", identity.id[:8], "--yes")["status"] == 0
    assert list(known_journals()) == []
    assert workspace_id(old.root.with_name("elsewhere")) == identity.id  # nobody looked for it there


def test_nothing_goes_without_a_yes(quire: Quire, old: Place) -> None:
    reply = quire("forget", str(old.root))
    assert (reply["status"], reply["error"]) == (1, "not_confirmed")
    assert len(list(known_journals())) == 1


@pytest.mark.parametrize(("said", "stays"), [("y\n", False), ("\n", True), ("no\n", True), ("", True)])
def test_a_person_is_asked(said: str, stays: bool, old: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(said))
    assert main(["forget", str(old.root)], open_client) == (1 if stays else 0)
    assert bool(list(known_journals())) is stays


def test_while_a_daemon_runs_it_is_refused_and_stop_ends_it(quire: Quire, old: Place) -> None:
    with FakeDaemon(old):
        reply = quire("forget", str(old.root), "--yes")
        assert (reply["status"], reply["error"]) == (1, "busy")
        assert old.identity_file.exists()
        assert quire("forget", str(old.root), "--yes", "--stop")["status"] == 0
    assert not old.state.exists()


def test_a_daemon_that_comes_between_is_noticed(old: Place) -> None:
    (journal,) = journals.journals()
    with hold_lock(old.lock), pytest.raises(Refusal, match="A daemon runs"):
        journals.forget(journal)
    assert old.identity_file.exists()


def test_what_an_interrupted_removal_left_is_cleared_the_next_time(quire: Quire, old: Place, tmp_path: Path) -> None:
    left = old.state.with_name(".forgotten-x-1")
    made(tmp_path / "other")
    old.state.rename(left)
    (left / "workspace.json").unlink()
    quire("forget", str(tmp_path / "other"), "--yes")
    assert not left.exists()


def test_one_that_was_only_renamed_is_still_a_journal(quire: Quire, old: Place, tmp_path: Path) -> None:
    """Killed between the two steps: it is found, listed, and can be forgotten again."""
    left = old.state.with_name(".forgotten-x-1")
    made(tmp_path / "other")
    old.state.rename(left)
    quire("forget", str(tmp_path / "other"), "--yes")
    assert [state.name for state, _ in known_journals()] == [left.name]


def test_a_state_folder_of_ones_own_goes_only_when_nothing_else_is_in_it(quire: Quire, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    place = place_of(tmp_path / "site", tmp_path / "state")
    settle(place)
    words = ["forget", str(place.root), "--state-dir", str(place.state), "--yes"]
    for name in ("thesis.txt", "journals of 2025", "imported"):
        (place.state / name).write_text("mine\n")
        reply = quire(*words)
        assert (reply["status"], reply["error"]) == (1, "config_unusable")
        assert repr(name) in reply["message"]
        (place.state / name).unlink()
    notes = tmp_path / ".forgotten-notes" / "mine.txt"  # called as what an interrupted removal leaves
    notes.parent.mkdir()
    notes.write_text("mine\n")
    (place.state / BEGUN).write_text("of 3 blobs")  # a daemon was killed while it collected
    (place.state / "reserve").write_bytes(b"\0")
    assert quire(*words)["status"] == 0
    assert not place.state.exists()
    assert notes.read_text() == "mine\n"


def test_who_waited_for_a_lock_does_not_get_one_on_a_removed_file(old: Place) -> None:
    """Without that, a daemon that waits while its journal is forgotten would serve with a lock that nobody sees."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        with hold_lock(old.lock):
            waiting = pool.submit(take_lock, old.lock, 10.0)
            while not waiting.running():
                pass
            old.lock.rename(old.lock.with_name("lock.away"))
        got = waiting.result()
        # Either it opened the file before, and is told that it is gone, or after, and has the new one.
        assert got is None or os.path.samestat(os.fstat(got.fd), os.stat(old.lock))
        if got is not None:
            got.close()


def test_what_is_not_known_is_not_found(quire: Quire, tmp_path: Path) -> None:
    for said in (str(tmp_path), "abcdef12"):
        reply = quire("forget", said, "--yes")
        assert (reply["status"], reply["error"]) == (3, "not_found")


def test_a_daemon_of_another_version_is_told_with_the_one_command_to_run(
    old: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(old.root)
    opener = FakeOpener({})
    opener.line.version = "0.0.1"
    assert main(["status", "--json"], opener) == 0
    assert capsys.readouterr().err == ""  # programs read `versions` of the reply
    main(["claims"], opener)
    told = capsys.readouterr().err
    assert "The daemon is version 0.0.1" in told
    assert "`quire down` ends it, and the next call starts the new one." in told
