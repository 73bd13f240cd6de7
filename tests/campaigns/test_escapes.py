"""Calls, exports and imports beside a program that swaps folders for links, mounts and hard links: nothing gets out.

No byte outside of the workspace changes, and none is read through a link, a mount or a folder that was swapped. What a
hard link leads to is a file of the workspace, too: it may be read, and keeps its bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attacker
import pytest

import live
from live import Live, ok, verified
from quire_client.export.tree import Tree, Unwritable, export, fetch
from quire_daemon.maintenance.import_worker import import_into
from quire_journal.model.refusals import Refusal
from quire_journal.workspaces.discover import checked
from quire_journal.workspaces.layout import WorkspaceRefused, place_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 7200))]

CALLS = live.length(200, 100_000)
EXPORTS = live.length(40, 18_000)
IMPORTS = live.length(6, 2_000)
CALLERS = 4
SECRET = "SECRET of nobody here"
"""What no reply and no blob may hold."""

PATHS = [
    *(
        f"{kind}{number}/{way}f{file}"
        for kind in "dddl"
        for number in range(4)
        for way in ("", "", "e/", "e/", "el/")
        for file in "0123"
    ),
    *(f"m{number}/{name}" for number in range(2) for name in ("f0", "f1", "new")),
    *(f"d{number}/new{file}" for number in range(4) for file in range(3)),
    "d0/made/deep/er",
]


class Outside:
    """A folder beside the checkout, which nobody may write, and of which a half may not be read."""

    def __init__(self, at: Path) -> None:
        self.at = at
        for folder in (at / attacker.LINKED, at / attacker.LINKED / "e", at / attacker.SHARED):
            folder.mkdir(parents=True)
            for number in range(attacker.FILES):
                said = SECRET if folder.name != attacker.SHARED else "shared"
                (folder / f"f{number}").write_text(f"{said} {folder.name} {number}\nline\n")
        self.before = self.now()

    def now(self) -> dict[str, tuple[int, bytes]]:
        """Every file and folder: mode and bytes."""
        return {
            os.fspath(path.relative_to(self.at)): (
                path.lstat().st_mode,
                path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
            )
            for path in self.at.rglob("*")
        }

    def secrets(self) -> list[str]:
        """The addresses of what may not be read."""
        return [live.sha256(data) for _, data in self.before.values() if SECRET.encode() in data]


@contextlib.contextmanager
def attacked(what: str, folder: Path, outside: Outside, more: list[str]) -> Iterator[list[int]]:
    """In the block the attacker is at work; then: how often he struck."""
    words = [sys.executable, attacker.__file__, what, os.fspath(folder), os.fspath(outside.at), str(live.SEED), *more]
    struck: list[int] = []
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield struck
        finally:
            struck.append(int(process.communicate(timeout=30)[0]))


class CallerOf(threading.Thread):
    """One agent that calls whatever comes to its mind, and keeps what must not be."""

    def __init__(self, at: Live, name: str, calls: int) -> None:
        super().__init__(name=name)
        self.client, self.calls = at.connect(name, timeout_s=60), calls
        self.chance = random.Random(f"{live.SEED} {name}")
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.versions: dict[str, str] = {}

    def run(self) -> None:
        for number in range(self.calls):
            tool, args = self.call(number)
            try:
                reply = self.client.call(tool, args)
            except Exception as error:  # noqa: BLE001  a fault before anything was sent is one, too
                self.wrong.append(f"{tool} {args}: {error!r}")
                continue
            self.outcomes[f"{tool} {reply.get('error') or 'ok'}"] += 1
            if reply.get("ok") and "version" in reply and "path" in args:
                self.versions[args["path"]] = reply["version"]
            if reply.get("error") == "fault" or reply.get("outcome") == "unknown" or SECRET in json.dumps(reply):
                self.wrong.append(f"{tool} {args}: {reply}")

    def call(self, number: int) -> tuple[str, dict[str, Any]]:
        path, other = self.chance.choice(PATHS), self.chance.choice(PATHS)
        text = f"mine {self.name} {number}\nline\n"
        base = {"base": self.versions[path]} if path in self.versions else {}
        update = f"*** Update File: {path}\n-line\n+line {number}\n*** Add File: {other}\n+x\n"
        return self.chance.choices(
            [
                ("read_file", {"path": path}),
                ("write_file", {"path": path, "content": text, **base}),
                ("edit_replace", {"path": path, "old_text": "line", "new_text": f"line {number}"}),
                ("insert_lines", {"path": path, "line_number": 0, "text": text}),
                ("delete_file", {"path": path}),
                ("move_file", {"path": path, "to": other}),
                ("apply_patch", {"patch": f"*** Begin Patch\n{update}*** End Patch\n"}),
                ("undo", {}),
                ("read_file", {"path": path.rpartition("/")[0]}),
            ],
            [30, 25, 12, 8, 6, 6, 6, 4, 3],
        )[0]


def test_no_call_gets_out_of_the_workspace(daemon) -> None:
    at = daemon()
    outside = Outside(at.top / "outside")
    for number in range(attacker.FOLDERS):
        (at.root / f"l{number}").symlink_to(outside.at / attacker.LINKED)
        for name in [f"{way}f{file}" for way in ("", "e/") for file in range(attacker.FILES)]:
            at.write(f"d{number}/{name}", "ours\nline\n")
        (at.root / f"d{number}" / "el").symlink_to(outside.at / attacker.LINKED / "e")
    for number in range(attacker.MOUNTS):
        at.write(f"m{number}/f0", "ours\nline\n")
    more = ["bind"] if attacker.can_bind(at.top) else []
    callers = [CallerOf(at, f"caller{number}", CALLS // CALLERS) for number in range(CALLERS)]
    pid = ok(callers[0].client.call("status", {}))["pid"]
    try:
        with attacked("checkout", at.root, outside, more) as struck:
            for caller in callers:
                caller.start()
            while any(caller.is_alive() for caller in callers):
                callers[0].join(0.5)
                assert outside.now() == outside.before
    finally:
        for number in range(attacker.MOUNTS):
            attacker.unbind(at.root / f"m{number}" / "f0")
            attacker.unbind(at.root / f"m{number}")
    outcomes = sum((caller.outcomes for caller in callers), Counter[str]())
    wrong = [one for caller in callers for one in caller.wrong]
    figures = f"{sum(outcomes.values())} calls, {struck[0]} strikes, seed {live.SEED}: {dict(outcomes.most_common())}"
    print(figures)
    assert not wrong, (len(wrong), wrong[:5], figures, at.log_tail())
    assert outside.now() == outside.before, figures
    with at.connect("boss", timeout_s=60) as boss:
        assert ok(boss.call("status", {}))["pid"] == pid, "the daemon died and was started again"
        kept = ok(boss.call("blobs", {"sha256": outside.secrets()}))["blobs"]
        assert all(one.get("uncaptured") for one in kept), kept
        ok(boss.call("write_file", {"path": "undisturbed.txt", "content": "one\n"}))
        verified(boss)


def a_tree(at: Live) -> Tree:
    """Files, a link and an empty folder, in folders of one letter."""
    for path in ("a/b/one", "a/b/two", "a/three", "c/four", "five"):
        at.write(path, f"{path}\n" * 20)
    (at.root / "a/link").symlink_to("b/one")
    (at.root / "e/f").mkdir(parents=True)
    with at.connect("boss") as boss:
        live.caught_up(boss)
        return fetch(boss)


def test_no_export_gets_out_of_its_folder(daemon) -> None:
    """Nothing is written outside, and nothing there is removed, nor gets another mode."""
    at = daemon()
    tree = a_tree(at)
    outside, work = Outside(at.top / "outside"), at.top / "work"
    work.mkdir()
    trash = Trash(work)
    more = ["bind"] if attacker.can_bind(at.top) else []
    outcomes: Counter[str] = Counter()
    with at.connect("boss", timeout_s=60) as boss, attacked("export", work, outside, more) as struck:
        for number in range(EXPORTS):
            try:
                missing = export(boss, tree, work / "out")
                outcomes["ok" if not missing else "left out"] += 1
            except Unwritable as error:
                outcomes[type(error).__name__] += 1
            trash.take()
            if number % 50 == 0:
                assert outside.now() == outside.before, (number, outcomes)
                trash.empty()
    print(f"{EXPORTS} exports, {struck[0]} strikes, seed {live.SEED}: {dict(outcomes)}")
    trash.take()
    trash.empty()
    assert outside.now() == outside.before, outcomes
    with at.connect("boss") as boss:
        assert export(boss, tree, work / "undisturbed") == []


class Trash:
    """Where what is left of exports and attacks goes: the attacker is not at work there, and mounts nothing."""

    def __init__(self, work: Path) -> None:
        self.work, self.at, self.number = work, work.with_name("trash"), 0
        self.at.mkdir()

    def take(self) -> None:
        """Empty the folder that is attacked; names are moved, and nothing is followed."""
        self._unbind(self.work)
        for path in self.work.iterdir():
            self.number += 1
            with contextlib.suppress(FileNotFoundError):
                path.rename(self.at / str(self.number))

    def empty(self) -> None:
        self._unbind(self.at)
        shutil.rmtree(self.at)
        self.at.mkdir()

    def _unbind(self, folder: Path) -> None:
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
            at = Path(line.split()[4])
            if folder in at.parents:
                attacker.unbind(at)


def test_no_import_gets_out_of_its_workspace(daemon, capsys: pytest.CaptureFixture[str]) -> None:
    """It leaves the journal's id in the workspace, and touches nothing else there."""
    at = daemon()
    a_tree(at)
    lines = io.BytesIO()
    with at.connect("boss") as boss:
        ok(boss.export("jsonl", lines.write))
    outside, work = Outside(at.top / "outside"), at.top / "work"
    work.mkdir()
    trash = Trash(work)
    outcomes: Counter[str] = Counter()
    with attacked("import", work, outside, []) as struck:
        for number in range(IMPORTS):
            root, state = work / f"w{number}", at.top / "states" / str(number)
            root.mkdir(exist_ok=True)
            state.parent.mkdir(exist_ok=True)
            try:
                outcomes[str(import_into(checked(place_of(root, state)), io.BytesIO(lines.getvalue()))["ok"])] += 1
            except (Refusal, WorkspaceRefused, OSError) as error:
                outcomes[type(error).__name__] += 1
            shutil.rmtree(state, ignore_errors=True)
            trash.take()
            if number % 50 == 0:
                assert outside.now() == outside.before, (number, outcomes)
                trash.empty()
    with capsys.disabled() if live.LONG else contextlib.nullcontext():
        print(f"{IMPORTS} imports, {struck[0]} strikes, seed {live.SEED}: {dict(outcomes)}")
    assert outside.now() == outside.before, outcomes
    (work / "undisturbed").mkdir()
    place = place_of(work / "undisturbed", at.top / "states" / "undisturbed")
    assert import_into(checked(place), io.BytesIO(lines.getvalue()))["ok"]
