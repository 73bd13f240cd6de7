"""Reading new files ahead of the loop: what comes back counts only as long as nothing else named the path."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from quire_daemon.watch.prefetch import CHUNK, CHUNK_BYTES, ENOUGH, MOST_OUT, MOST_READY, Prefetcher, ReadAhead
from quire_daemon.watch.prefetch_worker import Reader, Readers, Task, named, read_one
from quire_daemon.workspace.types import Signature
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.ids import blob_id
from quire_journal.storage.blobs.codec import compress

Job = Callable[[], Callable[[], None]]


class Workers:
    """Jobs that are done when a test says so, and what they would bring."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.asked: list[list[str]] = []
        self.missed: list[str] = []
        self.wanted = False  # are they kept for more?
        self.ahead = Prefetcher(self, lambda work, what, failed=None: self.jobs.append(work), self.missed.append)

    def begin(self, files: int) -> None:
        self.wanted = files > 0

    def end(self) -> None:
        self.wanted = False

    def read(self, paths: object) -> list[ReadAhead | None]:
        assert isinstance(paths, list)
        self.asked.append(paths)
        if "bomb" in paths:
            raise RuntimeError("bomb")
        return [None if "odd" in path else found(path) for path in paths]

    def work(self) -> None:
        """Do what is to be done now, and hand it over."""
        jobs, self.jobs[:] = list(self.jobs), []
        for then in [job() for job in jobs]:
            then()


def found(path: str) -> ReadAhead:
    return ReadAhead(path, Signature(1, 2, 3, 4, 5, 0o100644, 1), True, compress(path.encode()), 0)


def names(taken: list[ReadAhead]) -> list[str]:
    return [one.path for one in taken]


def test_files_come_back_in_their_order_and_as_many_as_are_wanted() -> None:
    workers = Workers()
    workers.ahead.begin({"a": 1, "b": 1, "c": 1})
    assert not workers.ahead.ready
    workers.work()
    assert names(workers.ahead.take(2)) == ["a", "b"]
    assert workers.ahead.ready
    assert names(workers.ahead.take(2)) == ["c"]
    assert workers.ahead.over


def test_a_prefetched_file_does_not_count_after_an_event_of_its_path() -> None:
    workers = Workers()
    workers.ahead.begin({"a": 1, "b": 1, "odd": 1})
    workers.ahead.forget("a")  # before it comes back
    workers.ahead.forget("odd")
    workers.work()
    workers.ahead.forget("b")  # after
    assert workers.ahead.take(9) == []
    assert workers.missed == []  # whatever named it looks at it


def test_a_path_of_which_nothing_could_be_read_is_left_to_the_loop() -> None:
    workers = Workers()
    workers.ahead.begin({"odd": 1, "a": 1})
    workers.work()
    assert workers.missed == ["odd"]
    assert names(workers.ahead.take(9)) == ["a"]


def test_an_error_on_a_worker_leaves_its_files_to_the_loop() -> None:
    workers = Workers()
    workers.ahead.begin({"bomb": 1, "a": 1})
    workers.work()
    assert workers.missed == ["bomb", "a"]
    assert workers.ahead.over


def test_the_reader_ends_even_if_none_of_the_last_files_is_noted() -> None:
    """The processes of a large first capture stayed for good where its last files could not be read ahead."""
    workers = Workers()
    workers.ahead.begin({f"f{n}": 1 for n in range(CHUNK)} | {"odd": 1})
    workers.work()
    assert len(workers.ahead.take(CHUNK)) == CHUNK
    assert not workers.wanted
    workers.ahead.begin({"a": 1})
    assert workers.wanted
    workers.work()
    workers.ahead.forget("a")
    workers.ahead.take(9)
    assert not workers.wanted


def test_few_files_wait_for_more_as_long_as_more_are_read() -> None:
    workers = Workers()
    workers.ahead.begin({f"f{n}": 1 for n in range(ENOUGH + CHUNK)})
    ready = []
    while workers.jobs:
        workers.work()
        ready.append(workers.ahead.ready)
    assert ready == sorted(ready)
    assert (ready[0], ready[-1]) == (False, True)
    workers.ahead.take(ENOUGH)
    assert workers.ahead.ready  # the last of it


def test_reads_and_buffers_are_bounded() -> None:
    workers = Workers()
    workers.ahead.begin({f"f{n}": 1 for n in range(MOST_READY * 3)})
    most = 0
    while workers.jobs:
        assert len(workers.jobs) <= MOST_OUT
        workers.work()
        most += 1
        assert most <= MOST_READY // CHUNK + MOST_OUT
    taken = 0
    while more := workers.ahead.take(500):
        taken += len(more)
        workers.work()
    assert taken == MOST_READY * 3


def test_large_files_are_read_one_by_one() -> None:
    workers = Workers()
    workers.ahead.begin({"a": CHUNK_BYTES * 2, "b": CHUNK_BYTES, "c": 1, "d": 1})
    for _ in range(3):
        workers.work()
    assert workers.asked == [["a"], ["b"], ["c", "d"]]


# ── the process ──────────────────────────────────────────────────────────────


def test_the_process_reads_what_the_daemon_itself_would_read(workspace: Workspace) -> None:
    at = workspace.root
    (at / "plain.txt").write_bytes(b"some words\n" * 50)
    (at / os.fsdecode(b"caf\xe9")).write_bytes(b"\x00\x01")
    (at / "secret.txt").write_text("token = ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6\n")
    (at / "large.bin").write_bytes(bytes(5000))
    os.mkfifo(at / "pipe")
    (at / "link").symlink_to("plain.txt")
    paths = ["plain.txt", os.fsdecode(b"caf\xe9"), "secret.txt", "large.bin", "pipe", "link", "gone"]
    task = Task(str(at), workspace.protection, max_bytes=4000, scan_secrets=True)
    reader = Reader(task)
    try:
        there = reader.read(paths)
    finally:
        reader.close()
    here = named(paths, [read_one(workspace.read, path, task, 0) for path in paths])
    assert [one and (one.path, one.signature, one.frame) for one in there] == [
        one and (one.path, one.signature, one.frame) for one in here
    ]
    assert [one is not None for one in there] == [True, True, False, False, False, False, False]
    assert there[0] is not None
    assert there[0].frame.blob == blob_id(b"some words\n" * 50)
    with pytest.raises(EOFError):
        reader.read(["plain.txt"])  # it is closed


def test_concurrent_reads_are_answered_by_different_processes(workspace: Workspace) -> None:
    for n in range(60):
        (workspace.root / f"f{n}").write_bytes(b"%d\n" % n)
    readers = Readers(Task(str(workspace.root), workspace.protection, 4000, True), count=2)
    lists = [[f"f{n}" for n in range(first, first + 10)] for first in range(0, 60, 10)]
    try:
        with ThreadPoolExecutor(3) as threads:
            found = list(threads.map(readers.read, lists))
    finally:
        readers.close()
    assert [[one and one.path for one in some] for some in found] == lists
    assert [one.frame.blob for some in found for one in some if one] == [blob_id(b"%d\n" % n) for n in range(60)]
    with pytest.raises(EOFError):
        readers.read(["f1"])  # they are closed


def test_a_reader_whose_workspace_is_gone_says_so_at_once(workspace: Workspace) -> None:
    reader = Reader(Task("/nowhere/at/all", workspace.protection, 4000, True))
    try:
        with pytest.raises((EOFError, OSError)):
            reader.read(["plain.txt"])
    finally:
        reader.close()
