"""Eight agents, twenty files, undos, an outside program and kill -9, all at once: every edit is accounted for.

Each agent owns one slot of each file, two more belong to everybody, and one to the outside program. The daemon dies
again and again, and whichever client comes next starts it. Afterwards the log is told to a model that knows nothing of
Quire (`ancestry.py`), which must find the disk as the log leaves it, each acknowledged edit in the tree or taken away
by a record with a name, and what an undo of all the work of one agent comes to, slot by slot.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ancestry
import live
from ancestry import Ancestry, Block, Page, Place, Version
from live import Live, caught_up, log, ok, sha256, verified

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 3600))]

FILES = [f"part{n % 4}/page{n}.txt" for n in range(20)]
HOT = FILES[:5]
"""Files that everybody likes best."""

AGENTS = [f"agent{n}" for n in range(8)]
SHARED = ["shared0", "shared1"]
OUTSIDE = "outside"
SLOTS = [*AGENTS[:3], SHARED[0], *AGENTS[3:6], OUTSIDE, SHARED[1], *AGENTS[6:]]

EDITS = live.length(60, 5000)
KILLS = live.length(1, 5)
UNDOS = 0.06
"""How many of the calls that write are undos."""

EXPLAINED = {
    *("anchor_stale", "hash_mismatch", "stale_base", "stale_file", "write_conflict"),
    *("old_text_not_found", "patch_apply_error", "busy", "expired"),
}
"""Refusals of an edit that another writer, or the death of the daemon, explains."""

UNDO_EXPLAINED = {"not_found", "conflict", "write_conflict", "busy", "expired"}


# ── how the dialects say it ──────────────────────────────────────────────────


@dataclass(frozen=True)
class View:
    """A file as an agent was shown it."""

    path: str
    lines: list[str]
    refs: list[str]
    version: str
    sha256: str

    @classmethod
    def of(cls, path: str, shown: dict[str, Any]) -> View:
        """Of the reply to a read with anchors."""
        heads, _, texts = zip(*(line.partition("|") for line in shown["lines"]), strict=True)
        refs = [head.partition(" ")[0] for head in heads]
        return cls(path, list(texts), refs, shown["version"], shown["sha256"])


@dataclass(frozen=True)
class Wish:
    """A slot of a view is to hold other lines."""

    view: View
    slot: str
    new: Block

    @property
    def place(self) -> Place:
        """Which slot."""
        return self.view.path, self.slot

    @property
    def span(self) -> tuple[int, int]:
        """Its lines in the view, 0-based and half-open."""
        at = [n for n, line in enumerate(self.view.lines) if line.startswith(f"slot {self.slot} ")]
        return at[0], at[-1] + 1

    @property
    def old(self) -> list[str]:
        """What it holds in the view."""
        start, stop = self.span
        return self.view.lines[start:stop]


Call = tuple[str, dict[str, Any]]


def by_anchor(wish: Wish) -> Call:
    first, last = wish.view.refs[wish.span[0]], wish.view.refs[wish.span[1] - 1]
    content = "\n".join(wish.new)
    operation: dict[str, Any] = {"op": "replace_range", "start_hash": first, "end_hash": last, "content": content}
    if first == last:
        operation = {"op": "replace_line", "hash": first, "content": content}
    return "edit", {"path": wish.view.path, "base": wish.view.version, "operations": [operation]}


def by_hashline(wish: Wish) -> Call:
    first, last = wish.view.refs[wish.span[0]], wish.view.refs[wish.span[1] - 1]
    where = {"target": first} if first == last else {"first": first, "last": last}
    edits = [{**where, "new_content": list(wish.new)}]
    return "hashline_edit", {"path": wish.view.path, "base": wish.view.version, "edits": edits}


def by_edit_file(wish: Wish) -> Call:
    edits = [{"oldText": "\n".join(wish.old), "newText": "\n".join(wish.new)}]
    return "edit_file", {"path": wish.view.path, "expectedSha256": wish.view.sha256, "edits": edits}


def by_edit_replace(wish: Wish) -> Call:
    texts = {"old_text": "\n".join(wish.old), "new_text": "\n".join(wish.new)}
    return "edit_replace", {"path": wish.view.path, **texts}


def by_replace_lines(wish: Wish) -> Call:
    start, stop = wish.span
    where = {"path": wish.view.path, "base": wish.view.version, "start_line": start + 1, "end_line": stop}
    return "replace_lines", {**where, "new_text": "\n".join(wish.new)}


def by_text_editor(wish: Wish) -> Call:
    texts = {"old_str": "\n".join(wish.old), "new_str": "\n".join(wish.new)}
    return "text_editor", {"command": "str_replace", "path": wish.view.path, **texts}


def by_write_file(wish: Wish) -> Call:
    start, stop = wish.span
    lines = [*wish.view.lines[:start], *wish.new, *wish.view.lines[stop:]]
    content = "".join(f"{line}\n" for line in lines)
    return "write_file", {"path": wish.view.path, "base": wish.view.version, "content": content}


def by_patch(*wishes: Wish, stated: bool = False) -> Call:
    """The only one that can change several files at once."""
    rows = ["*** Begin Patch"]
    for wish in wishes:
        rows += [f"*** Update File: {wish.view.path}", "@@"]
        rows += [*(f"-{line}" for line in wish.old), *(f"+{line}" for line in wish.new)]
    args: dict[str, Any] = {"patch": "\n".join([*rows, "*** End Patch"])}
    if stated:
        args["expectedSha256ByPath"] = {wish.view.path: wish.view.sha256 for wish in wishes}
    return "apply_patch", args


HASHED: list[Callable[[Wish], Call]] = [
    *(by_anchor, by_anchor, by_edit_file, by_edit_replace, by_replace_lines, by_text_editor, by_write_file, by_patch),
]


# ── who writes ───────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Edit:
    """An edit that was acknowledged, or that `op_status` said was applied."""

    agent: str
    place: Place
    new: Block
    version: str  # "" when the reply did not come


class Agent(threading.Thread):
    """Edits its own slots and everybody's, and now and then undoes what it or another agent did."""

    def __init__(self, at: Live, name: str, stop: threading.Event) -> None:
        super().__init__(name=name)
        self.client = at.connect(agent=name, session=name)
        self.stop = stop
        self.chance = random.Random(f"{live.SEED} {name}")
        self.views: dict[str, View] = {}
        self.told: list[Edit] = []
        self.refused_texts: list[tuple[Place, Block]] = []
        self.tokens = 0
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.faults: list[Any] = []

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                if self.chance.random() < UNDOS:
                    self.undo()
                else:
                    self.edit()
        except Exception as fault:  # noqa: BLE001  reported by the test, which is in another thread
            self.faults.append(fault)

    def undo(self) -> None:
        """Take back the last work of somebody, or of its own."""
        whose = {} if self.chance.random() < 0.5 else {"writer": self.chance.choice(AGENTS)}
        conflicts = {"conflicts": self.chance.choice(["skip", "abort"])}
        reply = self.settled("undo", {**whose, **conflicts, "last": self.chance.randint(1, 3)})
        if reply.get("ok"):
            self.counts["undone"] += 1
            self.counts["undone in part"] += any(file["conflicts"] or file["skipped"] for file in reply["files"])
        else:
            self.refusal("undo", reply, UNDO_EXPLAINED)

    def edit(self) -> None:
        """Fill one slot anew, or one in each of two files."""
        hashline = self.chance.random() < 0.15
        first = self.wish("hashline" if hashline else "hashed")
        if first is None:
            return
        wishes = [first]
        if hashline:
            call = by_hashline(first)
        else:
            how = self.chance.choice(HASHED)
            call = how(first)
            if how is by_patch:
                second = self.wish("hashed", but=first.view.path) if self.chance.random() < 0.5 else None
                wishes += [second] if second else []
                call = by_patch(*wishes, stated=self.chance.random() < 0.5)
        tool, args = call
        reply = self.settled(tool, {**args, "on_stale": "rebase"})
        for wish in wishes:
            self.views.pop(wish.view.path, None)
        if reply.get("ok"):
            self.note(tool, wishes, reply)
        else:
            self.refused_texts += [(wish.place, wish.new) for wish in wishes]
            self.refusal(tool, reply, EXPLAINED)

    def note(self, tool: str, wishes: list[Wish], reply: dict[str, Any]) -> None:
        """Remember what was acknowledged."""
        files = {file["path"]: file for file in reply.get("files", [reply]) if "path" in file}
        for wish in wishes:
            version = files.get(wish.view.path, {}).get("version", "")
            self.told.append(Edit(self.name, wish.place, wish.new, version))
        self.counts[tool] += 1
        self.counts["over two files"] += len(wishes) > 1
        self.counts["rebased"] += any(file.get("cross_version", False) for file in files.values())

    def wish(self, form: str, but: str = "") -> Wish | None:
        """Something to be changed, as this agent sees it: now, or as it saw it some edits ago."""
        path = self.chance.choice(HOT if self.chance.random() < 0.5 else FILES)
        if path == but:
            return None
        if form == "hashline" or path not in self.views or self.chance.random() < 0.5:
            shown = self.client.call("read_file", {"path": path, "format": form})
            if not shown.get("ok"):
                self.refusal("read_file", shown, {"busy", "expired", "unknown"})
                return None
            self.views[path] = View.of(path, shown)
        view = self.views[path]
        if form == "hashline":
            del self.views[path]  # its references are of no use to the others
        slot = self.name if self.chance.random() < 0.6 else self.chance.choice(SHARED)
        self.tokens += 1
        return Wish(view, slot, ancestry.block(slot, f"{self.name}-{self.tokens}", self.chance.randint(1, 3)))

    def settled(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        """The reply; when none came, `op_status` says whether there would have been a good one."""
        reply: dict[str, Any] = self.client.call(tool, args)
        if reply.get("outcome") != "unknown":
            return reply
        self.counts["unknown"] += 1
        for _ in range(200):
            said = self.client.call("op_status", {"op": reply["op"]})
            if said.get("ok") and said["outcome"] != "unknown":
                self.counts[f"unknown, {said['outcome']}"] += 1
                done = said["outcome"] in ("applied", "superseded")
                return {"ok": True, "files": []} if done else {"ok": False, "error": "not_applied"}
            time.sleep(0.02)
        raise AssertionError(f"what became of {tool} is not known: {said}")

    def refusal(self, tool: str, reply: dict[str, Any], explained: set[str]) -> None:
        """Count it; most codes would be faults."""
        self.refusals[f"{tool}: {reply.get('error')}"] += 1
        if reply.get("error") not in explained | {"not_applied"}:
            self.faults.append((tool, reply))


class Outsider(threading.Thread):
    """A program that fills its slots in place, or by renaming a new file over the old one."""

    def __init__(self, at: Live, stop: threading.Event) -> None:
        super().__init__(name=OUTSIDE)
        self.root, self.beside, self.stop = at.root, at.top / "saving~", stop
        self.chance = random.Random(f"{live.SEED} {OUTSIDE}")
        self.saved: dict[str, list[bytes]] = {path: [] for path in FILES}
        self.counts: Counter[str] = Counter()
        self.faults: list[Any] = []

    def run(self) -> None:
        try:
            number = 0
            while not self.stop.wait(self.chance.uniform(0.03, 0.09)):
                number += 1
                path = self.chance.choice(FILES)
                (line,) = ancestry.block(OUTSIDE, f"{OUTSIDE}-{number:06}")
                how = self.in_place if self.chance.random() < 0.8 else self.by_rename
                how(self.root / path, line.encode())
                self.saved[path].append(line.encode())
                self.counts[how.__name__] += 1
        except Exception as fault:  # noqa: BLE001  reported by the test, which is in another thread
            self.faults.append(fault)

    def in_place(self, path: Path, line: bytes) -> None:
        """Only the bytes of the slot."""
        fd = os.open(path, os.O_RDWR)
        try:
            data = os.pread(fd, 1 << 20, 0)
            os.pwrite(fd, line, data.index(f"slot {OUTSIDE} ".encode()))
        finally:
            os.close(fd)

    def by_rename(self, path: Path, line: bytes) -> None:
        """The whole file, made of what is there; looked at again before, so that it seldom goes over something new."""
        data = b""
        while path.read_bytes() != data:
            data = path.read_bytes()
            start = data.index(f"slot {OUTSIDE} ".encode())
            self.beside.write_bytes(data[:start] + line + data[start + len(line) :])
        self.beside.rename(path)


# ── the checks ───────────────────────────────────────────────────────────────


def scratch(at: Live) -> None:
    """The files, as they begin. The outside slot has one width, so that it can be filled in place."""
    begin = ancestry.block(OUTSIDE, ancestry.BEGIN)[0]
    wide = ancestry.block(OUTSIDE, f"{OUTSIDE}-{0:06}")[0]
    for number, path in enumerate(FILES):
        at.write(path, ancestry.page(SLOTS, number).replace(begin.encode(), wide.encode()))


def told(at: Live, boss: Any) -> tuple[Ancestry, dict[str, list[Version]]]:
    """What the log tells of each file, once it agrees with the disk."""
    caught_up(boss)
    records = [r for r in log(boss) if r["path"] in FILES and not r.get("abandoned") and r["kind"] != "bytes_displaced"]
    model = Ancestry(frozenset({OUTSIDE}))
    versions: dict[str, list[Version]] = {path: [] for path in FILES}
    for record in records:
        assert record["sha256"], record
        shown = ok(boss.call("read_file", {"path": record["path"], "at": record["version"]}))
        writer = record["writer"]
        agent = writer["agent"] if writer["type"] != "outside" else ""
        undoing = writer["type"] == "undo"
        data = shown["content"].encode()
        assert sha256(data) == record["sha256"], record
        version = Version(record["seq"], record["batch"], record["kind"], agent or "", undoing, data)
        versions[record["path"]].append(version)
        model.tell(record["path"], version)
    for path in FILES:
        now = at.read(path)
        assert versions[path][-1].data == now, f"{path}: the log ends with other bytes than the disk has"
        assert ok(boss.call("read_file", {"path": path}))["sha256"] == sha256(now)
    model.undone = undone_batches(boss)
    return model, versions


def undone_batches(boss: Any) -> set[int]:
    """The batches that an undo in force names."""
    undone: set[int] = set()
    for record in reversed(log(boss, kind="batch_undone")):
        if record["batch"] not in undone:
            undone |= {*record["undone"]}
    return undone


def check_edits(model: Ancestry, versions: dict[str, list[Version]], agents: list[Agent]) -> Counter[str]:
    """Every acknowledged edit has its version, and is in the tree or was taken away by a later one. How many were."""
    became: Counter[str] = Counter()
    by_seq = {(path, f"v{version.seq}"): version for path in FILES for version in versions[path]}
    acknowledged = {(edit.place, edit.new): edit for agent in agents for edit in agent.told}
    for (place, new), edit in acknowledged.items():
        layer = model.layers.get((place, new))
        assert layer, f"{edit} is not in the log"
        assert layer.writer == edit.agent, (edit, layer)
        if edit.version:
            version = by_seq[place[0], edit.version]
            assert (version.agent, version.undoing) == (edit.agent, False), (edit, version)
            assert Page.of(version.data).slots[place[1]] == new, (edit, version)
        if model.now[place[0]].slots[place[1]] == new:
            became["in the tree"] += 1
            continue
        remover = model.removed_by[place, new]
        became["undone" if remover.undoing else "written over" if remover.agent else "overrun from outside"] += 1
    for (place, text), layer in model.layers.items():
        assert layer.writer in ("", OUTSIDE) or (place, text) in acknowledged, f"nobody was told of {text}"
    for agent in agents:
        for place, text in agent.refused_texts:
            assert (place, text) not in model.layers, f"{text} was refused and is in the log"
    return became


def check_saves(boss: Any, model: Ancestry, outsider: Outsider) -> None:
    """The last save of each file is in the journal; of those that follow each other faster, some may be missing."""
    for path, saved in outsider.saved.items():
        if saved and (path, OUTSIDE) not in model.overrun:
            last = saved[-1].decode()
            assert log(boss, path=path, contains=last), f"{path}: {last} is not in the journal"


def check_undo_of(writer: str, at: Live, boss: Any, model: Ancestry) -> Counter[str]:
    """All the work of one agent is undone, as the model says, and redone."""
    found: Counter[str] = Counter()
    before = {path: at.read(path) for path in FILES}
    expected = model.without(writer)
    plan = ok(boss.call("undo", {"writer": writer, "plan": True}))
    done = ok(boss.call("undo", {"writer": writer, "token": plan["token"]}))
    conflicts = {file["path"]: file["conflicts"] for file in plan["files"]}
    assert conflicts == {file["path"]: file["conflicts"] for file in done["files"]}
    wrong = []
    for path in FILES:
        was, now = Page.of(before[path]), Page.of(at.read(path))
        assert now.frame == was.frame, path
        listed = conflicts.get(path, [])
        wrong += [(path, "a conflict with itself", c) for c in listed if own_edit(c, writer, model)]
        for slot, text in now.slots.items():
            place, first, last = (path, slot), *was.lines[slot]
            wanted = expected[place]
            told_of = [c for c in listed if concerns(c, place, (first, last), model)]
            if place in model.overrun:
                found["slots left out, overrun from outside"] += 1
                continue
            if text not in wanted.texts:
                wrong.append((place, "is", text, "not", wanted.texts, "was", was.slots[slot], told_of))
            if wanted.must_conflict and not told_of:
                wrong.append((place, "no conflict told", text))
            if not wanted.may_conflict and any(model.only_changed(place, c["seq"]) for c in told_of):
                wrong.append((place, "a conflict that is none", text, told_of))
            found["slots taken back"] += text != was.slots[slot]
            found["slots that stay with a conflict"] += bool(told_of)
            found["slots of others untouched"] += text == was.slots[slot] and not told_of
    assert not wrong, f"{len(wrong)} of {sum(found.values())} slots after the undo of {writer}: {wrong[:3]}"
    ok(boss.call("redo", {}))
    assert {path: at.read(path) for path in FILES} == before
    return found


def own_edit(conflict: dict[str, Any], writer: str, model: Ancestry) -> bool:
    """Is a conflict said to be with an edit of the very writer whose work is undone? With an undo by it, it may be, and
    with an edit that an undo has left in its place before, as others had built on it: neither is undone now.
    """
    by = conflict["writer"]
    return bool(by["agent"] == writer and by["type"] != "undo" and conflict["batch"] not in model.undone)


def concerns(conflict: dict[str, Any], place: Place, lines: tuple[int, int], model: Ancestry) -> bool:
    """Is a conflict about this slot? Its record changed it; and its lines are there, if they still exist."""
    there = not conflict["lines"] or any(r["start"] <= lines[1] and r["end"] >= lines[0] for r in conflict["lines"])
    return there and conflict["seq"] in model.changed_by[place]


def crash(at: Live) -> None:
    """kill -9. Any client may have started the next daemon before this returns."""
    pid = at.daemon_pid()
    os.kill(pid, signal.SIGKILL)
    assert at.died(pid, 10)


def work(at: Live, agents: list[Agent], outsider: Outsider, stop: threading.Event) -> None:
    """Let all of them loose until they have made enough edits; the daemon dies in between."""
    chance = random.Random(live.SEED)
    deaths = sorted(chance.sample(range(EDITS // 5, EDITS - EDITS // 10), KILLS))
    threads: list[Any] = [*agents, outsider]
    for thread in threads:
        thread.start()
    try:
        while (made := sum(len(agent.told) for agent in agents)) < EDITS:
            assert not any(thread.faults for thread in threads)
            assert all(thread.is_alive() for thread in threads)
            if deaths and made >= deaths[0]:
                deaths.pop(0)
                crash(at)
            stop.wait(0.005)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for thread in threads:
            assert not thread.faults, (thread.name, thread.faults[:3], at.log_tail())


def test_every_edit_is_in_the_tree_or_undone_by_name_and_one_writers_work_comes_out_alone(daemon) -> None:
    at = daemon()
    scratch(at)
    begun = time.monotonic()
    boss = at.connect("boss")
    caught_up(boss)
    stop = threading.Event()
    agents = [Agent(at, name, stop) for name in AGENTS]
    outsider = Outsider(at, stop)
    work(at, agents, outsider, stop)
    worked = time.monotonic() - begun
    model, versions = told(at, boss)
    became = check_edits(model, versions, agents)
    check_saves(boss, model, outsider)
    verified(boss)
    counts, refusals = (sum((getattr(a, name) for a in agents), Counter()) for name in ("counts", "refusals"))
    print(f"\nacknowledged and settled {sum(became.values())}: {dict(became)}\ncounts {dict(counts)}")
    print(f"refused {dict(refusals)}\noutside saves {dict(outsider.counts)}, {dict(model.counts)}; kills {KILLS}")
    chance = random.Random(live.SEED)
    for writer in chance.sample(AGENTS, live.length(1, len(AGENTS))):
        found = check_undo_of(writer, at, boss, model)
        print(f"undone all of {writer}: {dict(found)}")
    verified(boss)
    print(f"{worked:.1f} s of work, {time.monotonic() - begun:.1f} s in all")
