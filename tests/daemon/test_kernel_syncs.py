"""Syncs that the kernel does on threads of its own, and what becomes of a write when one fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkout import put
from quire_daemon.syncing import Asked
from quire_daemon.workspace import Workspace
from quire_daemon.workspace.kernel_syncs import KernelSyncs
from quire_journal.refusals import Refused


@pytest.fixture
def syncs() -> Iterator[KernelSyncs]:
    made = KernelSyncs()
    yield made
    made.close()


def begun(syncs: KernelSyncs, fd: int) -> int:
    number = syncs.begin(fd)
    if number is None:
        pytest.skip("the kernel cannot be asked here")
    return number


def test_files_are_synced_whose_descriptors_have_been_closed_in_whatever_order_is_waited(
    syncs: KernelSyncs, tmp_path: Path
) -> None:
    numbers = []
    for name in "abcd":
        fd = os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY)
        os.write(fd, b"x")
        numbers.append(begun(syncs, fd))
        os.close(fd)
    for number in (numbers[2], numbers[3], numbers[0], numbers[1]):
        syncs.wait(number)


def test_what_cannot_be_synced_is_left_to_whoever_asks(syncs: KernelSyncs) -> None:
    readable, writable = os.pipe()
    assert syncs.begin(writable) is None
    os.close(readable)
    os.close(writable)
    assert syncs.begin(writable) is None


def test_there_is_room_for_so_many_at_once_and_again_when_they_have_ended(syncs: KernelSyncs, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "f", os.O_CREAT | os.O_WRONLY)
    numbers = [begun(syncs, fd)]
    while (number := syncs.begin(fd)) is not None:
        numbers.append(number)
    assert len(numbers) == 64
    for number in numbers:
        syncs.wait(number)
    syncs.wait(begun(syncs, fd))
    os.close(fd)


def test_nothing_is_begun_when_it_is_closed(tmp_path: Path) -> None:
    syncs = KernelSyncs()
    fd = os.open(tmp_path / "f", os.O_CREAT | os.O_WRONLY)
    syncs.begin(fd)
    syncs.close()
    syncs.close()
    assert syncs.begin(fd) is None
    os.close(fd)


class Failing(KernelSyncs):
    """A disk that cannot take what was written."""

    def __init__(self, error: int) -> None:
        super().__init__()
        self._error = error

    def begin(self, fd: int) -> int | None:
        del fd
        return 1

    def wait(self, number: int) -> None:
        raise OSError(self._error, os.strerror(self._error))


@pytest.mark.parametrize(("error", "told"), [(errno.ENOSPC, Refused), (errno.EIO, OSError)], ids=["full", "broken"])
def test_a_write_whose_sync_fails_leaves_nothing_and_says_so_each_time(
    tmp_path: Path, error: int, told: type[Exception]
) -> None:
    (tmp_path / "f").write_bytes(b"old")
    workspace = Workspace(tmp_path, syncs=Failing(error))
    written = workspace.write([put(workspace, "f", b"new")])
    wait = workspace.begin_sync(written)
    assert wait is not None
    asked = Asked(wait)
    for _ in range(2):
        with pytest.raises(told, match=os.strerror(error)):
            asked.result()
    assert os.listdir(tmp_path / ".quire/tmp") == []
    assert (tmp_path / "f").read_bytes() == b"old"
    workspace.close()


def test_a_write_that_the_kernel_syncs_can_be_named_and_performed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    workspace = Workspace(tmp_path)
    written = workspace.write([put(workspace, "f", b"new")])
    wait = workspace.begin_sync(written)
    if wait is None:
        pytest.skip("the kernel cannot be asked here")
    Asked(wait).result()
    (staged,) = workspace.name(written)
    workspace.perform(staged)
    assert (tmp_path / "f").read_bytes() == b"new"
    workspace.close()
