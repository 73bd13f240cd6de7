"""System calls fail one at a time under collections, purges, starts, repairs, imports and exports of trees.

What is said to be done is done, what is said to have failed can be made again, and nothing is lost that is to be kept.
Short: some of each. Full length: a thousand together with `test_failing_calls`.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import live
from live import Live, caught_up, eventually, ok, verified
from quire_client import NoDaemon
from quire_daemon.integrity.verdict import leave_mark
from quire_journal.journal import Journal
from quire_journal.storage.lmdb import LmdbStore

sys.path.insert(0, str(Path(__file__).parent))
from failing_calls import ALL, Fault, attached, calls, connected, count, drawn, ended, faults_met, met, strace
from test_gc_killed import SETTINGS, History

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(120, 7200))]

SECRET = "s3cr3t-9f8e7d6c5b4a-of-nobody"
FILLING = "".join(f"filling {n} of the file\n" for n in range(200))
START_S = 30.0


class Rounds:
    """The faults of one campaign: which calls may fail is found out by the first round, which has none."""

    def __init__(self, name: str, out: Path, begin: str = "") -> None:
        self.name, self.out, self._begin = name, out, begin
        self._chance = random.Random(live.SEED)
        self._known: Sequence[tuple[str, int]] = ()
        self.fault: Fault | None = None
        self.found = self.number = 0
        self.untrue: list[str] = []
        self._told = 0  # of those

    def __iter__(self) -> Iterator[int]:
        wanted = live.length(1, 60)
        yield 0
        self._known = calls(self.out, self._begin)
        assert len(self._known) > 20, self._known
        while self.found < wanted and self.number < 3 * wanted:
            self.number += 1
            self.fault = drawn(self._chance, self._known)
            self.out.unlink(missing_ok=True)
            yield self.number
            if faults_met(self.out):
                count(self.name, self.fault, self.untrue[self._told :])
                self.found, self._told = self.found + 1, len(self.untrue)
        assert not self.untrue, "\n".join(self.untrue)
        assert self.found >= wanted * 2 // 3, "too few faults were met"

    @property
    def words(self) -> tuple[str, ...]:
        """What strace is told."""
        return ALL if self.fault is None else self.fault.words

    @contextlib.contextmanager
    def true(self, said: Callable[[], object]) -> Iterator[None]:
        """What the block asserts is noted, with what was said, and does not end the campaign."""
        try:
            yield
        except AssertionError as error:
            assert self.fault is not None, said()
            first = str(error).splitlines()[:6]
            self.untrue.append(f"{self.name} {self.number} {self.fault} {met(self.out)}\n   {said()}\n   {first}")


def settings(text: str) -> None:
    """The settings of the user."""
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)


def answered(reply: dict[str, Any]) -> None:
    """It is a success, or a refusal that says why, or its caller does not know."""
    if reply.get("ok"):
        return
    assert reply.get("message", "").strip(), reply
    assert reply.get("error") or reply.get("outcome") == "unknown", reply


def brought_back(client: Any, after: int) -> int:
    """How many files of `.quire/tmp` a start took into the journal: versions of before an edit, which a collection had
    dropped while the killed daemon had them there still. What the journal does not hold is not removed.
    """
    records = client.call("log", {"limit": 1000})["records"]
    return sum(record["kind"] == "bytes_displaced" for record in records if record["seq"] > after)


@pytest.mark.wide
def test_no_fault_of_a_collection_or_a_compaction_loses_what_the_policy_keeps(daemon: Any) -> None:
    strace()
    at: Live = daemon()
    settings(SETTINGS)
    history, rounds = History(), Rounds("gc, compaction", at.top / "strace.out")
    reply: dict[str, Any] = {}
    for number in rounds:
        with connected(at, "writer", f"s{number}") as client:
            history.write(client, 3 if number else 12)
        with connected(at, "boss", "boss") as boss:
            before = history.check(boss, last=False)
            with attached(at.daemon_pid(), rounds.words, rounds.out):
                reply = boss.call("gc", {"compact": True})
        with rounds.true(lambda reply=reply: {k: reply.get(k) for k in ("ok", "error", "message", "dropped")}):
            answered(reply)
            with connected(at, "boss", "boss") as boss:
                dropped = history.check(boss, last=False)
                assert not reply.get("ok") or dropped - before >= reply["dropped"]["blobs"] > 0
                last = boss.call("log", {"limit": 1})["records"][0]["seq"]
            at.kill()
            with connected(at, "boss", "boss") as boss:
                kept = brought_back(boss, last)
                assert history.check(boss, last=number % 10 == 0) + kept >= dropped
                caught_up(boss)
                for path, versions in history.newest.items():
                    assert at.read(path).decode() == history.contents[path, versions[-1]]


@pytest.mark.wide
def test_no_fault_of_a_purge_lets_it_say_that_something_is_gone_that_is_there(daemon: Any) -> None:
    strace()
    at: Live = daemon()
    rounds = Rounds("purge", at.top / "strace.out")
    at.write("kept.py", FILLING)
    for number in rounds:
        secret = f"{SECRET}-{number}"
        with connected(at, "ann", f"s{number}") as client:
            text = f"{FILLING}KEY = {secret!r}\n"
            version = ok(client.call("write_file", {"path": f"{number}.py", "content": text}))["version"]
            pid = at.daemon_pid()
            with attached(pid, rounds.words, rounds.out):
                reply = client.call("purge", {"matching": secret})
        with rounds.true(lambda reply=reply: {k: reply.get(k) for k in ("ok", "error", "outcome", "message")}):
            answered(reply)
            for killed in (False, True):
                with connected(at, "ann", "after") as client:
                    shown = client.call("read_file", {"path": f"{number}.py", "at": version})
                    assert not (reply.get("ok") and shown.get("ok")), ("it is gone, and can be read", killed)
                    assert not shown.get("ok") or shown["content"] == text
                if not killed:
                    at.kill()
            with connected(at, "ann", "again") as client:
                ok(client.call("purge", {"matching": secret}))
                assert not client.call("read_file", {"path": f"{number}.py", "at": version}).get("ok")
                assert ok(client.call("read_file", {"path": "kept.py"}))["content"] == FILLING
                if number % 10 == 0:
                    verified(client)
            at.kill()
            holds = [path for path in at.state_dir.rglob("*") if path.is_file() and secret in read(path)]
            assert holds == []


def read(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


# ── starts ──


@contextlib.contextmanager
def started(at: Live, words: Sequence[str], out: Path) -> Iterator[bool]:
    """A block with a daemon that is traced from its start; did it begin to serve?"""
    program = [sys.executable, "-m", "quire_daemon", "--workspace", at.root, "--state-dir", at.state_dir]
    socket = ["--socket", at.top / "traced.sock"]
    with subprocess.Popen(
        [strace(), "-f", "-qq", "-o", out, *words, *program, *socket],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as tracer:
        until = time.monotonic() + START_S
        while not (serves := served(at)) and tracer.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        try:
            yield serves
        finally:
            at.kill()
            if not ended(tracer, 10):
                tracer.kill()


def served(at: Live) -> bool:
    """Does a living daemon say where it listens?"""
    with contextlib.suppress(OSError, ValueError):
        told = json.loads((at.state_dir / "lock").read_text())
        return bool(told.get("epoch")) and Path(f"/proc/{told['pid']}").exists()
    return False


STEPS = ("after_commit", "after_stage", "perform.exchanged", "perform.removed", "after_write")


@pytest.mark.wide
def test_no_fault_of_a_start_lets_it_say_that_a_write_stands_which_does_not(daemon: Any) -> None:
    """A kill leaves a patch of three files in the middle; the start that finishes it meets the fault."""
    strace()
    at: Live = daemon()
    rounds = Rounds("start", at.top / "strace.out", f"{at.state_dir}/journal")
    for number in rounds:
        step = STEPS[number % len(STEPS)]
        with connected(at, "ann", "before") as client:
            for part in "ab":
                ok(client.call("write_file", {"path": f"{number}{part}", "content": f"{number}{part}\n"}))
            at.kill()
        before = disk(at)
        after = {**before, f"{number}a": b"new\n", f"{number}c": b"made\n"}
        del after[f"{number}b"]
        with at.fault(step), connected(at, "ann", f"s{number}") as client:
            rows = [f"*** Update File: {number}a", f"-{number}a", "+new", f"*** Delete File: {number}b"]
            rows += [f"*** Add File: {number}c", "+made"]
            reply = client.call("apply_patch", {"patch": "\n".join(["*** Begin Patch", *rows, "*** End Patch"])})
        assert reply["outcome"] == "unknown", (step, reply)
        at.kill()
        with started(at, rounds.words, rounds.out) as serves:
            first: dict[str, Any] = {}
            if serves:
                with (
                    contextlib.suppress(NoDaemon),
                    at.connect("boss", "boss", start=False) as boss,
                ):  # it may have ended
                    first = boss.call("op_status", {"op": reply["op"]})
            there = disk(at)
        with connected(at, "boss", "boss") as boss:
            second = ok(boss.call("op_status", {"op": reply["op"]}))
            then = disk(at)
            caught_up(boss)
            if number % 10 == 0:
                verified(boss)
        said = [(one.get("outcome"), one.get("taken_back"), one.get("message")) for one in (first, second)]
        with rounds.true(lambda said=said, step=step: (step, said)):
            assert second["outcome"] != "unknown"
            assert first.get("outcome", "unknown") in ("unknown", second["outcome"])
            for told, files in ((first, there), (second, then)):
                if told.get("outcome") == "not_applied":
                    assert files == before
                if told.get("outcome") in ("applied", "superseded"):
                    wanted = dict(after)
                    for name in told.get("taken_back") or ():
                        wanted.pop(name, None)
                        wanted |= {name: before[name]} if name in before else {}
                    assert files == wanted


def disk(at: Live) -> dict[str, bytes]:
    """Every file of the checkout."""
    return {path.name: path.read_bytes() for path in at.root.iterdir() if path.is_file()}


@pytest.mark.wide
def test_no_fault_of_a_repair_loses_more_than_what_was_damaged(daemon: Any) -> None:
    strace()
    at: Live = daemon()
    rounds = Rounds("repair", at.top / "strace.out", f"{at.state_dir}/journal")
    for number in rounds:
        with connected(at, "ann", "s") as client:
            versions = {}
            for part in ("lost", "kept"):
                content = f"{number} {part} {os.urandom(300).hex()}\n"
                versions[part] = ok(client.call("write_file", {"path": f"{number}{part}", "content": content}))[
                    "version"
                ]
                old = ok(client.call("read_file", {"path": f"{number}{part}"}))["version"]
                ok(client.call("write_file", {"path": f"{number}{part}", "content": f"{part}\n", "base": old}))
            ok(client.call("shutdown", {}))
        eventually("the daemon has stopped", lambda: not at.pids())
        damage(at)
        with connected(at, "ann", "repair") as client:
            assert ok(client.repair(execute=True))["executed"]
        eventually("the daemon has ended", lambda: not at.pids())
        with started(at, rounds.words, rounds.out):
            pass
        with rounds.true(lambda: "after a repair"), connected(at, "ann", "after") as client:
            caught_up(client)
            verified(client)
            for part in ("lost", "kept"):
                assert ok(client.call("read_file", {"path": f"{number}{part}"}))["content"] == f"{part}\n"
            shown = client.call("read_file", {"path": f"{number}kept", "at": versions["kept"]})
            assert shown.get("ok"), shown


def damage(at: Live) -> None:
    """Spoil the bytes of the newest long version but one."""
    store = LmdbStore.open(at.state_dir / "journal")
    with store.reading() as r:
        frames = [value for _, value in r.scan("blobs") if len(value) > 200]
    store.close()
    data = at.state_dir / "journal" / "db" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(frames[-2], frames[-2][:-4] + bytes(4)))
    leave_mark(at.state_dir / "journal")  # else the next start looks, and repairs it at once


# ── commands ──

UNHEARD = "all of its journal is there, or nothing"
"""Said where the command cannot tell."""


def traced(words: Sequence[str], out: Path, command: Sequence[str | Path]) -> tuple[int, dict[str, Any], str]:
    """The status of a command that was traced, the JSON that it printed, and what it said else."""
    program = [strace(), "-f", "-qq", "-o", out, *words, sys.executable, "-m", "quire_client", *command]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, timeout=120)
    told: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        told = json.loads(done.stdout)
    return done.returncode, told, f"{done.stdout[-300:]} {done.stderr[-300:]}"


@pytest.mark.wide
def test_no_fault_of_an_export_of_a_tree_leaves_a_part_of_it(daemon: Any) -> None:
    strace()
    at: Live = daemon()
    rounds = Rounds("export-tree", at.top / "strace.out", str(at.top / "out"))
    for name in ("a.py", "folder/b.py", "folder/deep/c.py"):
        at.write(name, f"{FILLING}{name}\n")
    (at.root / "link").symlink_to("a.py")
    with connected(at) as client:
        caught_up(client)
    for number in rounds:
        target = at.top / "out" / f"{number}"
        target.parent.mkdir(exist_ok=True)
        common = ["-C", str(at.root), "--state-dir", str(at.state_dir), "--json"]
        status, _, said = traced(rounds.words, rounds.out, [*common, "export-tree", "now", target])
        with rounds.true(lambda status=status, said=said: (status, said)):
            assert "Traceback" not in said
            whole = status == 0 or "what the command did stands" in said
            if whole or (status < 0 and os.path.lexists(target)):  # a signal ends it without a word
                wanted = {path.relative_to(at.root) for path in at.root.rglob("*") if ".quire" not in path.parts}
                assert {path.relative_to(target) for path in target.rglob("*")} == wanted
                files = [one for one in wanted if (at.root / one).is_file()]
                assert all((target / one).read_bytes() == (at.root / one).read_bytes() for one in files)
            else:
                assert not os.path.lexists(target)
                assert said.strip() or status < 0
        shutil.rmtree(target.parent)


@pytest.mark.wide
def test_no_fault_of_an_import_makes_half_a_journal(daemon: Any) -> None:
    strace()
    at: Live = daemon()
    kept = at.top / "site.jsonl"
    with connected(at) as client:
        for n in range(12):
            ok(client.call("write_file", {"path": f"{n}.py", "content": f"{FILLING}{n}\n"}))
    common = ["-C", str(at.root), "--state-dir", str(at.state_dir)]
    assert subprocess.run([sys.executable, "-m", "quire_client", *common, "export", "jsonl", "--out", kept], check=True)
    last = json.loads(kept.read_bytes().splitlines()[-1])["hash"]
    rounds = Rounds("import", at.top / "strace.out", str(at.top / "imported"))
    for number in rounds:
        new, state = at.top / "imported" / f"{number}", at.top / "imported" / f"{number}.state"
        new.mkdir(parents=True)
        words = ["import", kept, "-C", new, "--state-dir", state, "--json"]
        status, reply, said = traced(rounds.words, rounds.out, words)
        with rounds.true(lambda status=status, said=said: (status, said)):
            assert "Traceback" not in said
            assert (status == 0) == bool(reply.get("ok"))
            database = state / "journal" / "db"
            if status:
                vague = status < 0 or UNHEARD in said or "what the command did stands" in said
                assert said.strip() or status < 0
                assert vague or not database.exists(), "it failed, and the journal is there"
            if not database.exists():
                status, reply, said = traced(("-e", "trace=none"), at.top / "untraced", words)
                assert status == 0, f"a second time: {said}"
            journal = Journal.open(LmdbStore.open(state / "journal"), 1)
            assert journal.last_hash.hex() == last
            journal.close()
        shutil.rmtree(new.parent)
