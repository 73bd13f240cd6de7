"""Requests as files: what is taken, what is not, and what is left lying."""

from __future__ import annotations

import os
import resource
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire_daemon.server import file_transport
from quire_daemon.server.file_transport import PREFIX, Spool
from quire_journal.model.file_transport import LOCK, MAX_BYTES, SPOOL_FOLDER

CLIENT = "0123456789abcdef"
WHO = PREFIX + CLIENT.encode()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path, "epoch", time.time_ns)
    yield made
    made.close()


@pytest.fixture
def folder(door: Spool, tmp_path: Path) -> Path:
    return tmp_path.joinpath(*SPOOL_FOLDER)


def test_the_folder_is_the_owners_alone(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "daemon").stat().st_mode) == 0o600


def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*SPOOL_FOLDER)
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    door = Spool(tmp_path, "epoch", time.time_ns)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    door.close()
    assert not folder.exists()


@pytest.mark.parametrize("depth", [0, 1])
def test_a_link_in_its_place_is_no_folder(tmp_path: Path, depth: int) -> None:
    outside = tmp_path / "outside"
    (outside / "spool").mkdir(parents=True)
    (outside / "daemon").write_text("precious")
    link = tmp_path / "site" / SPOOL_FOLDER[0]
    (tmp_path / "site").mkdir()
    if depth:
        link.mkdir()
        link = link / SPOOL_FOLDER[1]
    link.symlink_to(outside)
    with pytest.raises(OSError, match=r"."):
        Spool(tmp_path / "site", "epoch", time.time_ns)
    assert (outside / "daemon").read_text() == "precious"


def test_two_daemons_do_not_share_it_and_nobody_waits_for_that(door: Spool, tmp_path: Path) -> None:
    """A client holds the lock for microseconds to try it, and one that is stopped then for good."""
    began = time.monotonic()
    with pytest.raises(BlockingIOError):
        Spool(tmp_path, "other", time.time_ns)
    assert time.monotonic() - began < 0.4


def test_a_request_is_taken_once_and_only_when_it_rings(door: Spool, folder: Path) -> None:
    assert door.take() == []
    (folder / f"{CLIENT}-7.request").write_bytes(b"frame")
    assert door.take() == []
    door.ring()
    assert door.take() == [(WHO, 7, b"frame")]
    door.ring()
    assert door.take() == []
    assert os.listdir(folder) == ["daemon"]


def test_what_cannot_be_listed_now_is_taken_later(door: Spool, folder: Path) -> None:
    """It is asked for between two turns of the loop, where nothing else would catch an error."""
    (folder / f"{CLIENT}-7.request").write_bytes(b"frame")
    door.ring()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        taken = door.take()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert taken == []
    assert door.take() == [(WHO, 7, b"frame")]


def test_what_the_watcher_missed_shows_in_the_folders_time(door: Spool, folder: Path) -> None:
    door.look()
    door.take()
    assert not door.look()
    (folder / f"{CLIENT}-7.request").write_bytes(b"frame")
    assert door.look()
    assert door.take() == [(WHO, 7, b"frame")]


def test_what_is_not_finished_or_no_request_stays_where_it_is(door: Spool, folder: Path) -> None:
    for name in (f".{CLIENT}-7.request.new", "README", f"{CLIENT}-x.request", f"../{CLIENT}-1.request"):
        (folder / name).write_bytes(b"")
    door.ring()
    assert door.take() == []
    assert len(os.listdir(folder)) == 4


def test_links_pipes_and_second_names_are_not_read(door: Spool, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (folder / f"{CLIENT}-1.request").symlink_to(secret)
    os.link(secret, folder / f"{CLIENT}-2.request")
    os.mkfifo(folder / f"{CLIENT}-3.request")
    (folder / f"{CLIENT}-4.request").mkdir()
    door.ring()
    taken = door.take()
    assert len(taken) == 4
    assert all(isinstance(frame, str) for _, _, frame in taken)
    assert [number for _, number, _ in taken] == [1, 2, 3, 4], "who waits for one is answered under it"
    assert secret.read_bytes() == b"secret"
    door.ring()
    assert door.take() == []  # the folder cannot be removed, and is not looked at again


def test_a_file_outside_that_has_the_name_of_the_lock_too_keeps_its_bytes(tmp_path: Path) -> None:
    """The lock of a daemon that was killed stays; anybody may have put another file in its place."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.write_bytes(b"not ours")
    folder = root.joinpath(*SPOOL_FOLDER)
    folder.mkdir(parents=True, mode=0o700)
    os.link(outside, folder / LOCK)
    made = Spool(root, "e1", time.time_ns)
    assert b"e1" in (folder / LOCK).read_bytes()
    assert outside.read_bytes() == b"not ours"
    made.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_not_taken(door: Spool, folder: Path, tmp_path: Path) -> None:
    request = folder / f"{CLIENT}-1.request"
    request.write_bytes(b"frame")
    os.chown(request, 12345, 12345)
    door.ring()
    ((_, _, said),) = door.take()
    assert isinstance(said, str)
    assert "of the workspace's owner" in said
    theirs = tmp_path.joinpath("site", *SPOOL_FOLDER)
    theirs.mkdir(parents=True)
    os.chown(theirs, 12345, 12345)
    with pytest.raises(PermissionError, match="belongs to another user"):
        Spool(tmp_path / "site", "epoch", time.time_ns)


def test_a_request_that_is_too_large_is_a_sentence(door: Spool, folder: Path) -> None:
    with open(folder / f"{CLIENT}-1.request", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    door.ring()
    ((_, _, said),) = door.take()
    assert isinstance(said, str)
    assert "as a file it may have" in said


def test_a_flood_is_taken_in_parts(door: Spool, folder: Path) -> None:
    for number in range(file_transport.MOST + 3):
        (folder / f"{CLIENT}-{number}.request").write_bytes(b"")
    door.ring()
    assert [len(door.take()) for _ in range(3)] == [file_transport.MOST, 3, 0]


def test_a_reply_is_whole_and_private(door: Spool, folder: Path) -> None:
    assert door.reply(WHO, 7, b"reply")
    reply = folder / f"{CLIENT}-7.reply"
    assert reply.read_bytes() == b"reply"
    assert stat.S_IMODE(reply.stat().st_mode) == 0o600


def test_a_reply_does_not_go_where_a_link_leads(door: Spool, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"mine")
    (folder / f"{CLIENT}-7.reply").symlink_to(tmp_path / "victim")
    (folder / f".{CLIENT}-8.reply.new").symlink_to(tmp_path / "victim")
    assert door.reply(WHO, 7, b"reply")
    assert not door.reply(WHO, 8, b"reply")
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_replies_that_nobody_fetches_are_swept(door: Spool, folder: Path) -> None:
    door.reply(WHO, 7, b"old")
    door.reply(WHO, 8, b"new")
    os.utime(folder / f"{CLIENT}-7.reply", (0, 0))
    door.ring()
    door.take()
    assert sorted(os.listdir(folder)) == [f"{CLIENT}-8.reply", "daemon"]


def test_a_caller_is_there_as_long_as_it_holds_its_file(door: Spool, folder: Path) -> None:
    import fcntl

    assert not door.reaches(WHO)
    with open(folder / f"{CLIENT}.caller", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert door.reaches(WHO)
    assert not door.reaches(WHO)


def test_a_folder_that_somebody_removed_is_noticed(door: Spool, folder: Path) -> None:
    assert door.stands()
    folder.rename(folder.with_name("away"))
    assert not door.stands()


@pytest.mark.parametrize(
    ("later_s", "stays"), [(file_transport.KEPT_S - 60, True), (file_transport.KEPT_S + 60, False)]
)
def test_what_nobody_fetches_goes_when_its_time_is_over(tmp_path: Path, later_s: float, stays: bool) -> None:
    left = tmp_path.joinpath(*SPOOL_FOLDER, "left.reply")
    left.parent.mkdir(parents=True, mode=0o700)
    left.write_bytes(b"")
    door = Spool(tmp_path, "epoch", lambda: time.time_ns() + int(later_s * 1e9))
    door.take()
    assert left.exists() is stays
    door.close()
