"""What it costs to take back a burst over many files, beside `git checkout` of as many.

    python tests/bench/undo.py [--files N] [--lines N] [--rounds N] [--in FOLDER] [--json]

One agent edits every file within a burst; `undo` of the burst plans and carries it out in one call, journaled, synced,
all or nothing. Beside it git writes the same files back (`git checkout -- .`), which syncs nothing, and which knows
nothing of what others did meanwhile. What another caller waits for its edits while a burst is undone is measured in a
second run. What the files' own bytes cost on this disk, when each is synced before it gets its name, is measured too:
that is the floor of everyone who does not lose them in a power cut. The floor of what an undo promises besides, that
nothing is overwritten which another program saved meanwhile, is the system calls of that alone (`promised`), by turns
with git. A file system without a journal passes over inodes that were removed in the last minutes, one by one: each
edit of the burst has removed one, and so has each file that git wrote back in the round before.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from processes import cpu_s, wait_for_rest

from live import Live, caught_up, eventually, ok, verified
from quire_client import Client
from quire_daemon.workspace import syscalls


def text(lines: int, n: int) -> str:
    """A source-like text in which every line is unique."""
    return "".join(f"    value_{i} = compute({i}, {n})  # as long as code is, more or less\n" for i in range(lines))


def raise_the_limit() -> None:
    """Each displaced file is a descriptor, here as in the daemon."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1000


def names(files: int) -> list[str]:
    """Paths as a tree has them, twenty in a folder."""
    return [f"src/part{n // 20}/file{n}.py" for n in range(files)]


@contextmanager
def checkout(files: int, lines: int) -> Iterator[Live]:
    """As many files, captured."""
    at = Live(on_disk=True)
    try:
        for n, name in enumerate(names(files)):
            at.write(name, text(lines, n))
        client = at.connect("bench", "bench", timeout_s=120.0)
        eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["finished"], 120.0)
        caught_up(client)
        yield at
        for n, name in enumerate(names(files)):
            assert at.read(name) == text(lines, n).encode(), name
        verified(client)
    finally:
        at.close()


def burst(client: Client, files: int, number: int) -> int:
    """Every file edited, within a burst that has ended."""
    begun = ok(client.call("burst", {"action": "begin", "label": f"round {number}"}))["burst"]
    for name in names(files):
        change = {"old_text": "value_1 = ", "new_text": f"changed_{number} = "}
        ok(client.call("edit_replace", {"file": name, **change}))
    ok(client.call("burst", {"action": "end"}))
    time.sleep(1.0)  # what was displaced is let go of meanwhile
    return int(begun)


def quire(files: int, lines: int, rounds: int, between: Callable[[], None]) -> dict[str, list[float]]:
    """A burst over all files, undone; the files are as before each time. `between` is done after each round."""
    took: dict[str, list[float]] = {"undo of the burst": [], "its plan alone": [], "its processor time": []}
    with checkout(files, lines) as at, at.connect("bench", "bench", timeout_s=120.0) as client:
        for number in range(rounds):
            b = burst(client, files, number)
            took["its plan alone"].append(timed(lambda b=b: ok(client.call("undo", {"burst": b, "plan": True}))))
            before = cpu_s(at.daemon_pid())
            took["undo of the burst"].append(timed(lambda b=b: ok(client.call("undo", {"burst": b}))))
            took["its processor time"].append((cpu_s(at.daemon_pid()) - before) * 1000)
            for n, name in enumerate(names(files)):
                assert at.read(name) == text(lines, n).encode(), name
            wait_for_rest(at.daemon_pid())
            between()
    return took


def waits(files: int, lines: int, rounds: int) -> dict[str, list[float]]:
    """What another caller waits for its edits of a file of its own, one after the other, while a burst is undone."""
    took: dict[str, list[float]] = {"an edit beside the undo, the median": [], "the longest of them": []}
    with checkout(files, lines) as at, at.connect("bench", "bench", timeout_s=120.0) as client:
        other = at.connect("other", "other", timeout_s=120.0)
        for number in range(rounds):
            at.write("beside.txt", f"{number}.0\n")
            b, over = burst(client, files, number), threading.Event()
            each: list[float] = []

            def edit(number: int = number, over: threading.Event = over, each: list[float] = each) -> None:
                while not over.is_set():
                    change = {
                        "file": "beside.txt",
                        "old_text": f"{number}.{len(each)}",
                        "new_text": f"{number}.{len(each) + 1}",
                    }
                    each.append(timed(lambda c=change: ok(other.call("edit_replace", c))))

            editing = threading.Thread(target=edit)
            editing.start()
            ok(client.call("undo", {"burst": b}))
            over.set()
            editing.join()
            took["an edit beside the undo, the median"].append(statistics.median(each))
            took["the longest of them"].append(max(each))
    return took


@contextmanager
def git(files: int, lines: int) -> Iterator[Callable[[], float]]:
    """A repository of the same files: each call changes them, and tells how long git takes to write them back."""
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        root = Path(folder)
        run = ["git", "-C", folder, "-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "gc.auto=0"]
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*run, "init"], **quiet)
        for n, name in enumerate(names(files)):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text(lines, n))
        subprocess.run([*run, "add", "-A"], **quiet)
        subprocess.run([*run, "commit", "-m", "all"], **quiet)

        def change_and_write_back() -> float:
            for n, name in enumerate(names(files)):
                (root / name).write_text(text(lines, n).replace("value_1 = ", "changed = "))
            return timed(lambda: subprocess.run([*run, "checkout", "--", "."], **quiet))

        yield change_and_write_back


def floor(files: int, lines: int, rounds: int, workers: int) -> list[float]:
    """Each file written beside, synced, and renamed into place, `workers` at a time."""
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder, ThreadPoolExecutor(workers) as pool:
        root = Path(folder)
        for name in names(files):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("before")
        data = [text(lines, n).encode() for n in range(files)]

        def put(n: int) -> None:
            path = root / names_[n]
            beside = path.with_suffix(".tmp")
            fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.write(fd, data[n])
            os.fsync(fd)
            os.close(fd)
            os.rename(beside, path)

        names_ = names(files)
        return [timed(lambda: list(pool.map(put, range(files)))) for _ in range(rounds)]


@contextmanager
def promised(files: int, lines: int) -> Iterator[Callable[[], float]]:
    """A tree of the same files: each call writes all of them anew as an undo does, and tells how long that takes.

    Nothing is decided and nothing journaled; what was displaced is let go of afterwards, as there.
    """
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        root, tmp_path = Path(folder), Path(folder, ".tmp")
        for name in names(files):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("before")
        tmp_path.mkdir()
        data = {name: text(lines, n).encode() for n, name in enumerate(names(files))}
        top, tmp = (os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (root, tmp_path))

        def write_anew() -> float:
            displaced: list[int] = []
            took = timed(lambda: displaced.extend(_exchanged(top, tmp, data)))
            for fd in displaced:
                syscalls.give_lease_back(fd)
                os.close(fd)
            for name in os.listdir(tmp):
                os.unlink(name, dir_fd=tmp)
            return took

        try:
            yield write_anew
        finally:
            os.close(top)
            os.close(tmp)


def _exchanged(top: int, tmp: int, data: dict[str, bytes]) -> list[int]:
    """Put `data` in the place of the files: staged, synced together, exchanged under a lease, and looked at."""
    folders: dict[str, int] = {}
    staged: list[tuple[str, int]] = []
    for path, content in data.items():
        folder = path.rpartition("/")[0]
        if folder not in folders:
            rules = syscalls.BENEATH | syscalls.NO_SYMLINKS
            folders[folder] = syscalls.openat2(top, folder.encode(), os.O_PATH | os.O_DIRECTORY, rules)
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600, dir_fd=tmp)
        os.pwrite(fd, content, 0)
        os.fchmod(fd, 0o644)
        staged.append((path, fd))
    syscalls.sync_file_system(tmp)
    os.fsync(staged[-1][1])
    displaced: list[int] = []
    for number, (path, fd) in enumerate(staged):
        folder, _, name = path.rpartition("/")
        syscalls.name_unnamed(fd, tmp, str(number))
        base = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folders[folder])
        syscalls.take_lease(base)
        syscalls.rename_flags(folders[folder], name, tmp, str(number), syscalls.EXCHANGE)
        came = os.stat(str(number), dir_fd=tmp, follow_symlinks=False)
        assert os.path.samestat(came, os.fstat(base))
        assert syscalls.lease_stands(base)
        displaced.append(base)
        os.close(fd)
    for opened in folders.values():
        os.close(opened)
    return displaced


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in", dest="folder", help="measure on the file system of this folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = os.path.abspath(options.folder)
    sizes = options.files, options.lines, options.rounds
    raise_the_limit()
    by_git, floors = list[float](), list[float]()
    with git(options.files, options.lines) as write_back, promised(options.files, options.lines) as write_anew:

        def beside() -> None:
            """By turns, for what else the machine does."""
            by_git.append(write_back())
            floors.append(write_anew())

        rows = quire(*sizes, beside)
    rows["git checkout of as many files"], rows["the system calls of what an undo promises"] = by_git, floors
    rows |= waits(*sizes)
    rows["as many files written, synced, renamed, 1 at a time"] = floor(*sizes, 1)
    rows["the same, 8 at a time"] = floor(*sizes, 8)
    figures = {name: round(statistics.median(took), 1) for name, took in rows.items()}
    ratio, over = (
        round(statistics.median(a / b for a, b in zip(rows["undo of the burst"], other, strict=True)), 2)
        for other in (by_git, floors)
    )
    ratios = {"undo / git checkout": ratio, "undo / the system calls alone": over}
    if options.json:
        print(json.dumps({"files": options.files, "median_ms": figures, **ratios}))
        return
    for name, figure in figures.items():
        print(f"{name:56}{figure:>10.1f} ms")
    sizes_told = f"{options.files} files of {options.lines} lines, {options.rounds} rounds"
    print(f"undo / git checkout {ratio:.2f} ×, / the system calls of its promises {over:.2f} ×    ({sizes_told})")


if __name__ == "__main__":
    main()
