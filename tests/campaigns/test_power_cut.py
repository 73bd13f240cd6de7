"""Power cuts at random, each with another part of what was written but not synced on the disk: no commit is lost.

A program appends to a journal under strace(1), which tells what it wrote to the files of the database and of its
write-ahead log, in which order, and what was synced when. Of that the files are made as a power cut could leave them:
what was synced is there; of what was written since, any pages are, or any sectors of them. What comes to the disk of
the database and of the log is drawn for each alone.
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
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.lmdb.environment import walk
from quire_journal.storage.memory import MemoryStore

CALLS = "pwrite64,pwritev,writev,write,lseek,fdatasync,fsync,rename,unlink"
FILES = re.compile(r"data\.mdb|log\.(new|[0-9]{8})")

CALL = re.compile(r"(\w+)\((\d+)<(.*?)>(.*)", re.DOTALL)
NAMED = re.compile(r"(rename|unlink)\((.*)\) = 0", re.DOTALL)
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
class Named:
    """A file got another name; or none any more."""

    file: str
    to: str


@dataclass
class Said:
    """The program has called append `n` done."""

    n: int


def _plain(text: str) -> str:
    return bytes.fromhex(text.replace("\\x", "")).decode()


@dataclass
class Trace:
    """What the program did after `begun`."""

    steps: list[Wrote | Synced | Named | Said | None] = field(default_factory=list)

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
            if named := NAMED.match(said.strip()):
                names = [_plain(text).rpartition("/")[2] for text in STRING.findall(named[2])]
                if begun and FILES.fullmatch(names[0]):
                    self.steps.append(Named(names[0], names[1] if named[1] == "rename" else ""))
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
            file = (_plain(path) if "\\x" in path else path).rpartition("/")[2]
            if call == "lseek":
                at[fd] = int(rest.split(",")[1])
            if not begun or not FILES.fullmatch(file) or call == "lseek":
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


def traced(folder: Path, appends: int) -> Trace:
    """A run of the program."""
    program = [sys.executable, power.__file__, str(folder / "state"), str(folder / "before"), str(appends)]
    strace = ["strace", "-f", "-y", "-xx", "-s", "1200000", "-e", f"trace={CALLS}", "-o", str(folder / "trace")]
    (folder / "state").mkdir(mode=0o700)
    done = subprocess.run([*strace, *program], check=False, capture_output=True, text=True)
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("nothing can be traced here")
    assert done.returncode == 0, done.stderr
    trace = Trace()
    trace.read((folder / "trace").read_text("ascii").splitlines())
    return trace


def cut_off(trace: Trace, stop: int, before: Path, into: Path, chance: random.Random) -> int:
    """Make the files as a power cut after `stop` steps could leave them; the last append that was called done.

    Names change in their order, and each is on the disk at once: that of a new segment is synced before it is used, and
    one that should be gone may stay (`chance`).
    """
    modes = {kind: chance.choice(MODES) for kind in ("data", "log")}
    synced: dict[int, int] = {}  # number of the step that wrote → is it synced
    writes: dict[str, list[int]] = {}
    for number, step in enumerate(trace.steps[:stop]):
        if isinstance(step, Wrote):
            writes.setdefault(step.file, []).append(number)
        elif isinstance(step, Synced):
            synced |= {one: number for one in writes.get(step.file, ()) if one < step.since}
        elif isinstance(step, Named) and step.to:
            writes[step.to] = writes.pop(step.file, [])
        elif isinstance(step, Named):
            writes.pop(step.file, None)
    files = {path.name: bytearray(path.read_bytes()) for path in before.iterdir() if FILES.fullmatch(path.name)}
    acknowledged = power.BEFORE - 1
    for number, step in enumerate(trace.steps[:stop]):
        if isinstance(step, Said):
            acknowledged = step.n
        elif isinstance(step, Named) and step.to:
            files[step.to] = files.pop(step.file)
        elif isinstance(step, Named) and (step.file not in files or chance.random() < 0.5):
            files.pop(step.file, None)
        if not isinstance(step, Wrote):
            continue
        data = files.setdefault(step.file, bytearray())
        data.extend(bytes(max(0, step.at + len(step.data) - len(data))))
        mode = modes["data" if step.file == "data.mdb" else "log"]
        part = 512 if mode == "sectors" else power.PAGE
        first = 0
        while first < len(step.data):
            last = min(len(step.data), ((step.at + first) // part + 1) * part - step.at)
            likely = {"none": 0.0, "all": 1.0, "half": 0.5, "few": 0.15, "sectors": 0.5}[mode]
            if number in synced or chance.random() < likely:
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
def test_no_append_that_was_called_done_is_lost_in_a_power_cut(tmp_path: Path) -> None:
    appends, cuts = live.length((12, 40), (100, 3000))
    model, chance = Journal.open(MemoryStore(), 1, power.WORKSPACE), random.Random(1)
    states: list[power.Rows] = []
    for n in range(power.BEFORE + appends):
        power.append(model, chance, n)
        states.append(power.rows(model.store))
    trace = traced(tmp_path, appends)
    assert sum(isinstance(step, Said) for step in trace.steps) == appends
    ahead = 0
    for _ in range(cuts):
        stop = chance.randint(0, len(trace.steps))
        acknowledged = cut_off(trace, stop, tmp_path / "before", tmp_path / "after", chance)
        ahead += held_by_the_database(tmp_path / "after") < len(states[acknowledged]["records"])
        assert append_of(tmp_path / "after", states) in (acknowledged, acknowledged + 1)
        assert walk(tmp_path / "after" / "db" / "data.mdb") == []
    assert ahead, "the database held all of it each time: nothing was tested"


def held_by_the_database(folder: Path) -> int:
    """How many records the database holds, whatever was logged."""
    store = LmdbStore.open(folder)
    with store.reading() as r:
        found = r.count("records")
    store.close()
    return found


def append_of(folder: Path, states: list[power.Rows]) -> int:
    """The number of the append after which a journal held what it holds now."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    found = power.rows(journal.store)
    assert list(check(journal.store)) == []
    journal.close()
    return states.index(found)
