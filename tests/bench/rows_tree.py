"""Rows about whole trees: the first capture, a restart, a checkpoint, an undo; beside what git takes for as much."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import log
from floor import commits, file_system, timed
from processes import cpu_s, wait_for_rest
from rows_scripts import files_in
from table import Line, Scale, bounded, compared, skipped
from watchman import INSTALL, watching

from live import Live, caught_up, eventually, ok, verified_by_daemon
from quire_daemon.integrity import verdict
from quire_journal.history.history import History
from quire_journal.history.points import rfc3339
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.workspaces.identity import Identity

MOST_FILES_SLOW: Final = 60
"""Files for a formatter in Python, which takes some 0.2 s a file and runs nine times."""


def sources(root: Path, files: int) -> None:
    """A tree of so many files, twenty to a folder, about four kilobytes each, no two equal."""
    for n in range(files):
        folder = root / f"src/part{n // 400}/module{n // 20}"
        if n % 20 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{n}.py").write_text(f"# {n}\n" + f"value = compute({n})  # words that make it longer\n" * 80)


class Git:
    """A shadow repository, as other tools keep one: its own folder beside the tree that it looks at."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._run = ["git", f"--git-dir={folder}", f"--work-tree={root}", "-c", "user.name=b", "-c", "gc.auto=0"]
        self._run += ["-c", "user.email=b@example.org", "-c", "core.autocrlf=false"]
        self("init", "-q")

    def __call__(self, *words: str) -> None:
        """Run a command; what it says is not wanted."""
        quiet = subprocess.DEVNULL
        subprocess.run([*self._run, *words], check=True, stdout=quiet, stderr=quiet, cwd=self._run[2][12:])

    def snapshot(self) -> None:
        """Take everything in."""
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", "snapshot")


def capture(scale: Scale) -> Iterator[Line]:
    """The first capture of a tree, and a restart on it, from the start of the daemon to the last file."""
    for files in scale.files:
        at = Live(on_disk=True)
        try:
            sources(at.root, files)
            with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
                git = Git(at.root, Path(folder) / "shadow")
                theirs = timed(git.snapshot)
                again = timed(git.snapshot)
            crawl = _crawled_by_watchman(at.root, files)
            mine = timed(lambda a=at: _captured(a))
            note = f"{cpu_s(at.daemon_pid()) / files * 1000:.2f} ms of processor a file, in all processes"
            yield compared(
                f"first capture of {files:,} files",
                [mine],
                "git add -A, commit",
                [theirs],
                at_most=0.9,
                note=note,
                size=files,
                curve="first capture",
            )
            if crawl:
                what, note = f"first capture of {files:,} files", "watchman keeps names only"
                yield compared(what, [mine], "watchman, first crawl", [crawl], note=note)
            ok(at.connect("bench", "bench", timeout_s=300.0).call("shutdown", {}))
            eventually("the daemon ends", lambda a=at: not a.pids(), 60.0)
            mine = timed(lambda a=at: _captured(a))
            what, other = f"restart on {files:,} files", "git add -A, commit again"
            yield compared(what, [mine], other, [again], size=files, curve="restart")
            verified_by_daemon(at.connect("bench", "bench", timeout_s=600.0))
        finally:
            at.close()

    if not crawl:
        yield skipped("first crawl of watchman", INSTALL)


def _crawled_by_watchman(root: Path, files: int) -> float:
    """Milliseconds until a watchman that is there already can name every file of a folder; 0 without one."""
    with watching() as watchman:
        if watchman is None:
            return 0.0
        found = 0

        def crawl() -> None:
            nonlocal found
            found = watchman.crawl(root)

        took = timed(crawl)
        assert found == files, f"watchman named {found} files of {files}"
        return took


def _captured(at: Live) -> None:
    client = at.connect("bench", "bench", timeout_s=600.0)
    eventually("the capture", lambda: ok(client.call("status", {}))["capture"]["finished"], 600.0)


def checkpoint(scale: Scale) -> Iterator[Line]:
    """A checkpoint of the whole tree, beside the snapshot of a shadow repository after one change."""
    for files in scale.files[:2]:
        at = Live(on_disk=True)
        try:
            sources(at.root, files)
            client = at.connect("bench", "bench", timeout_s=300.0)
            eventually("the capture", lambda c=client: ok(c.call("status", {}))["capture"]["finished"], 600.0)
            with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
                git = Git(at.root, Path(folder) / "shadow")
                git.snapshot()
                mine, waits, theirs, floor = [], [], [], []
                with commits() as commit:
                    for n in range(max(scale.rounds // 10, 5)):
                        at.write("src/part0/module0/file0.py", f"# changed {n}\n")
                        caught_up(client)
                        waits.append(timed(lambda c=client: caught_up(c)))
                        asked = {"action": "create", "name": f"c{n}"}
                        mine.append(timed(lambda c=client, a=asked: ok(c.call("checkpoint", a))))
                        wait_for_rest(at.daemon_pid())
                        theirs.append(timed(git.snapshot))
                        floor.append(timed(commit))
            what = f"checkpoint of {files:,} files"
            yield compared(f"{what}, cookie included", mine, "git add -A, commit", theirs, size=files)
            cookie, commit_ms = statistics.median(waits), statistics.median(floor)
            note = f"the cookie takes {cookie:.1f} ms; a synced commit, of which there is one, {commit_ms:.1f} ms"
            yield bounded("   beyond the cookie", statistics.median(mine) - cookie, "ms", 1.0, note)
            verified_by_daemon(client)
        finally:
            at.close()


def undo(scale: Scale) -> Iterator[Line]:
    """Undo of a burst over files, beside `git checkout` of as many, which syncs nothing; also where
    `QUIRE_BENCH_DISK` is: what git takes differs between file systems by more than what Quire takes does.
    """
    for files in scale.undone:
        yield _undone(files)
    usual, other = tempfile.tempdir, Path(os.environ.get("QUIRE_BENCH_DISK", "nowhere")).absolute()
    if not other.is_dir():
        yield skipped(f"undo of {files:,} files on another disk", "QUIRE_BENCH_DISK names no folder of one")
        return
    tempfile.tempdir = str(other)
    try:
        yield replace(_undone(files), size=0)  # no point of the plot: that is about one disk
    finally:
        tempfile.tempdir = usual


JOURNALED = 5
"""Times git's time that an undo may take on an ext4 with a journal, where git, which syncs nothing, is quickest."""


def _undone(files: int) -> Line:
    """One line, measured where temporary files lie."""
    import undo as undoing

    theirs: list[float] = []
    with undoing.git(files, 40) as write_back:
        took = undoing.quire(files, 40, 3, lambda: theirs.append(write_back()))
    disk = file_system(Path(tempfile.gettempdir()))
    what = f"undo of {files:,} file{'s' if files > 1 else ''} on {disk}"
    used_ms = statistics.median(took["its processor time"])
    note = f"{used_ms / files:.1f} ms of the daemon's processor a file"
    return compared(
        what,
        took["undo of the burst"],
        "git checkout",
        theirs,
        at_most=JOURNALED if disk.endswith("with a journal") else 1,
        note=note,
        size=files,
    )


MOST_VERIFIED = 100_000
"""Events of a log that is verified at the end of its row: of more, folding all of them again takes minutes."""


def restart(scale: Scale) -> Iterator[Line]:
    """The first answer after kill -9, with a log of so many events, and the files that it tells of on the disk."""
    for events in sorted({scale.events[0], scale.events[-1]}):  # what takes time is to let a daemon know the files
        at = Live(on_disk=True)
        try:
            files = moved_in(at, log.kept(Path(scale.kept), events, files_in(events)))
            _captured(at)
            ok(at.connect("bench", "bench", timeout_s=600.0).call("shutdown", {}))  # what stands on the disk is known
            eventually("the daemon ends", lambda a=at: not a.pids(), 60.0)
            took = []
            for _ in range(3):
                client = at.connect("bench", "bench", timeout_s=600.0)
                ok(client.call("write_file", {"path": f"new{len(took)}.txt", "content": "x\n"}))
                at.kill()
                took.append(timed(lambda a=at: ok(a.connect("bench", "bench", timeout_s=600.0).call("status", {}))))
            what = f"start after kill -9, {events:,} events, {files:,} files"
            yield bounded(what, statistics.median(took), "ms", 1000.0, size=events)
            if events <= MOST_VERIFIED:
                verified_by_daemon(at.connect("bench", "bench", timeout_s=1200.0))
        finally:
            at.close()


def moved_in(at: Live, kept: Path) -> int:
    """A copy of this journal becomes the checkout's, and the newest version of each file is put there; how many."""
    journal = at.state_dir / "journal"
    shutil.copytree(kept, journal)
    store = LmdbStore.open_to_read(journal)
    try:
        with store.reading() as reading:
            whose = (reading.get("meta", b"workspace") or b"").decode()
            history, count = History(reading), 0
            for path, head in history.paths():
                (at.root / path).parent.mkdir(parents=True, exist_ok=True)
                (at.root / path).write_bytes(history.bytes_of(head.blob))
                count += 1
    finally:
        store.close()
    identity = Identity(whose, str(at.root.resolve()), rfc3339(log.BEGAN_NS))
    (at.state_dir / "workspace.json").write_text(json.dumps(identity._asdict()))
    verdict.leave_mark(journal)  # as who closed it in good order does
    return count


def commands(scale: Scale) -> Iterator[Line]:
    """Whole processes of the command line, beside an empty Python and `git status`."""
    at = Live(on_disk=True)
    try:
        at.write("a.txt", "one\n")
        client = at.connect("bench", "bench")
        for number in range(300):  # more than the page of stories that the log reads
            ok(client.call("write_file", {"path": f"src/{number}.py", "content": f"a = {number}\n"}))
        import sys

        quire = [str(Path(sys.executable).parent / "quire"), "--state-dir", str(at.state_dir), "-C", str(at.root)]
        wanted = {
            "quire status": ([*quire, "status"], 100.0),
            "quire read": ([*quire, "read", "a.txt"], 120.0),
            "quire log": ([*quire, "log"], 150.0),
            "python -c pass": ([sys.executable, "-c", "pass"], 0.0),
            "git --version": (["git", "--version"], 0.0),
        }
        took: dict[str, list[float]] = {name: [] for name in wanted}
        for _ in range(max(scale.rounds // 10, 5)):
            for name, (command, _) in wanted.items():
                took[name].append(
                    timed(
                        lambda c=command: subprocess.run(
                            c, check=True, capture_output=True, cwd=at.root, env=os.environ
                        )
                    )
                )
        for name, (_, most) in wanted.items():
            median = sorted(took[name])[len(took[name]) // 2]
            yield bounded(name, median, "ms", most) if most else Line(name, "ms", median)
    finally:
        at.close()


def runs(scale: Scale) -> Iterator[Line]:
    """`quire run`, plain and isolated, beside the command alone: `true`, and a formatter over a tree."""
    import sys

    folder, files = Path(sys.executable).parent, 2000 if scale.name == "full" else 50
    at = Live(on_disk=True)
    try:
        sources(at.root, files)
        folders = sorted({path.parent for path in at.root.rglob("*.py")})
        client = at.connect("bench", "bench")
        eventually("the first capture", lambda: client.status()["capture"]["finished"], 600.0)

        def unformat(root: Path) -> None:
            """Make each file one that a formatter changes, and let the daemon record that before the run begins."""
            for path in root.rglob("*.py"):
                if " = " in (text := path.read_text()):
                    path.write_text(text.replace(" = ", "="))
            caught_up(client)

        run = [str(folder / "quire"), "--state-dir", str(at.state_dir), "-C", str(at.root), "run"]
        ways = {"alone": [], "plain": [*run, "--"], "isolated": [*run, "--isolated", "--"]}
        took = _by_turns(at.root, ways, ["true"], max(scale.rounds // 10, 3))
        plain, isolated = statistics.median(took["plain"]), statistics.median(took["isolated"])
        yield bounded("quire run -- true", plain, "ms", 120)
        yield bounded("quire run --isolated -- true, more than plain", isolated - plain, "ms", 60)
        for name, words, most in (("ruff", ["format", "-q", "--no-cache"], files), ("black", ["-q"], MOST_FILES_SLOW)):
            given = folders[: -(-most // 20)]
            many = sum(len(list(one.iterdir())) for one in given)
            what = f"{name} over {many:,} files, isolated"
            program = shutil.which(name, path=f"{folder}:{os.environ['PATH']}")
            if program is None:
                yield skipped(what, f"there is no {name} (pip install {name})")
                continue
            command = [program, *words, *(str(one.relative_to(at.root)) for one in given)]
            took = _by_turns(at.root, ways, command, 3 if scale.name == "full" else 1, unformat)
            alone, isolated = statistics.median(took["alone"]), statistics.median(took["isolated"])
            note = (
                f"{(isolated - alone) / many:.2f} ms a file; without isolation {statistics.median(took['plain']):.0f}"
            )
            yield compared(what, took["isolated"], "alone", took["alone"], at_most=1.3, note=note)
    finally:
        at.close()


def _by_turns(
    root: Path,
    ways: dict[str, list[str]],
    command: list[str],
    rounds: int,
    before: Callable[[Path], None] = lambda _: None,
) -> dict[str, list[float]]:
    """The milliseconds that a command takes in each way."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, words in ways.items():
            before(root)
            took[name].append(
                timed(lambda w=words: subprocess.run([*w, *command], check=True, capture_output=True, cwd=root))
            )
    return took
