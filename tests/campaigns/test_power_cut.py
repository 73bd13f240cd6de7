"""Power cuts at random, each with another part of what was written but not synced on the disk: no commit is lost.

A program commits under strace(1), which tells what it wrote to the files of the database, in which order, and what was
synced when. Of that the files are made as a power cut could leave them: what was synced is there; of what was written
since, any pages are, or any sectors of them.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import live
import power
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.lmdb.environment import walk
from quire_journal.storage.memory import MemoryStore

CALLS = "pwrite64,pwritev,writev,write,lseek,fdatasync,fsync"
FILES = ("data.mdb", "redo")

CALL = re.compile(r"(\w+)\((\d+)<(.*?)>(.*)", re.DOTALL)
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
MODES = ("none", "all", "half", "few", "sectors")


@dataclass
class Wrote:
    """Bytes went to a file."""

    file: str
    at: int
    data: bytes


@dataclass
class Synced:
    """A sync of a file has ended that began at step `since`."""

    file: str
    since: int


@dataclass
class Said:
    """The program has called commit `n` done."""

    n: int


@dataclass
class Trace:
    """What the program did after `begun`."""

    steps: list[Wrote | Synced | Said | None] = field(default_factory=list)

    def read(self, lines: list[str]) -> None:
        """Take it from what strace says. Writes count from when they begin, syncs from when they end."""
        at: dict[str, int] = {}
        syncing: dict[str, Synced] = {}
        begun = False
        for line in lines:
            thread, _, said = line.partition(" ")
            if "resumed>" in said and thread in syncing:
                self.steps.append(syncing.pop(thread))
                continue
            found = CALL.match(said.strip())
            if found is None:
                continue
            call, fd, path, rest = found.groups()
            data = b"".join(bytes.fromhex(text.replace("\\x", "")) for text in STRING.findall(rest))
            if call == "write" and fd == "1":
                if begun:
                    self.steps.append(Said(int(data)))
                begun = begun or data == b"begun\n"
                continue
            file = bytes.fromhex(path.replace("\\x", "")).decode().rpartition("/")[2] if "\\x" in path else path
            if call == "lseek":
                at[fd] = int(rest.split(",")[1])
            if not begun or file not in FILES or call == "lseek":
                continue
            if call in ("fdatasync", "fsync"):
                sync = Synced(file, len(self.steps))
                self.steps.append(None)
                if "unfinished" in rest:
                    syncing[thread] = sync
                else:
                    self.steps.append(sync)
                continue
            if call in ("pwrite64", "pwritev"):
                offset = int(rest.partition(" = ")[0].partition("<unfinished")[0].rstrip(" )").rpartition(",")[2])
            else:
                offset = at[fd]
                at[fd] += len(data)
            self.steps.append(Wrote(file, offset, data))


def traced(folder: Path, commits: int) -> Trace:
    """A run of the program."""
    program = [sys.executable, power.__file__, str(folder / "state"), str(folder / "before"), str(commits)]
    strace = ["strace", "-f", "-y", "-xx", "-s", "300000", "-e", f"trace={CALLS}", "-o", str(folder / "trace")]
    (folder / "state").mkdir(mode=0o700)
    done = subprocess.run([*strace, *program], check=False, capture_output=True, text=True)
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("nothing can be traced here")
    assert done.returncode == 0, done.stderr
    trace = Trace()
    trace.read((folder / "trace").read_text("ascii").splitlines())
    return trace


def cut_off(trace: Trace, stop: int, before: Path, into: Path, chance: random.Random) -> int:
    """Make the files as a power cut after `stop` steps could leave them; the last commit that was called done."""
    mode = chance.choice(MODES)
    synced = dict.fromkeys(FILES, -1)
    for step in trace.steps[:stop]:
        if isinstance(step, Synced):
            synced[step.file] = max(synced[step.file], step.since)
    files = {name: bytearray((before / name).read_bytes()) for name in FILES}
    acknowledged = power.BEFORE - 1
    for number, step in enumerate(trace.steps[:stop]):
        if isinstance(step, Said):
            acknowledged = step.n
        if not isinstance(step, Wrote):
            continue
        data = files[step.file]
        data.extend(bytes(max(0, step.at + len(step.data) - len(data))))
        part = 512 if mode == "sectors" else power.PAGE
        first = 0
        while first < len(step.data):
            last = min(len(step.data), ((step.at + first) // part + 1) * part - step.at)
            likely = {"none": 0.0, "all": 1.0, "half": 0.5, "few": 0.15, "sectors": 0.5}[mode]
            if number < synced[step.file] or chance.random() < likely:
                data[step.at + first : step.at + last] = step.data[first:last]
            first = last
    shutil.rmtree(into, ignore_errors=True)
    (into / "db").mkdir(mode=0o700, parents=True)
    into.chmod(0o700)
    for name, data in files.items():
        (into / "db" / name).write_bytes(data)
    return acknowledged


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace(1) is not installed")
@pytest.mark.timeout(600)
def test_no_commit_that_was_called_done_is_lost_in_a_power_cut(tmp_path: Path) -> None:
    commits, cuts = live.length((12, 40), (100, 3000))
    model, chance = MemoryStore(), random.Random(1)
    states: list[power.Rows] = []
    for n in range(power.BEFORE + commits):
        power.commit(model, chance, n)
        states.append(power.rows(model))
    trace = traced(tmp_path, commits)
    assert sum(isinstance(step, Said) for step in trace.steps) == commits
    without_entry = 0
    for _ in range(cuts):
        stop = chance.randint(0, len(trace.steps))
        acknowledged = cut_off(trace, stop, tmp_path / "before", tmp_path / "after", chance)
        (tmp_path / "after" / "db" / "redo").rename(tmp_path / "redo")
        without_entry += commit_of(tmp_path / "after", states) < acknowledged
        (tmp_path / "redo").rename(tmp_path / "after" / "db" / "redo")
        assert commit_of(tmp_path / "after", states) in (acknowledged, acknowledged + 1)
        assert walk(tmp_path / "after" / "db" / "data.mdb") == []
    assert without_entry, "what leads to the last commit came to the disk each time: nothing was tested"


def commit_of(folder: Path, states: list[power.Rows]) -> int:
    """The number of the commit after which a store held what it holds now."""
    store = LmdbStore.open(folder)
    found = power.rows(store)
    store.close()
    return states.index(found)
