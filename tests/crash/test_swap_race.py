"""The swap against outside programs that save the same path: nothing of theirs is ever lost, torn or accepted half.

`outsider.py` keeps account of what each of its saves found in its place. A save that no other save of its own found
was displaced by us, and then its bytes must have come into our hands: as the base of a write, as `DisplacedBytes`, or
as `LateBytes`. Run with QUIRE_LONG=1 for minutes instead of seconds; `-s` shows the figures.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest

import live
from checkout import LIMIT
from quire_daemon.config.settings import Policy
from quire_daemon.core.decision import FileNow, Put
from quire_daemon.workspace.stage import StagedWrite
from quire_daemon.workspace.types import (
    DisplacedBytes,
    FileBusy,
    FileVanished,
    LateBytes,
    NotRegular,
    SwapDone,
    SwapLost,
)
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.refusals import Refusal
from quire_journal.text.text import Text

sys.path.insert(0, str(Path(__file__).parents[1] / "campaigns"))
import outsider

pytestmark = pytest.mark.timeout(live.length(60, 3600))

SECONDS = live.length(0.25, 90)
FLIPPING_S = live.length(0.12, 90)
"""How long two names trade places; where none of that was met, it is done again."""

ENOUGH = 50
"""Turns of the editor in a short race, which is over then."""

OURS = b"written by us\n"
TRIES = 200
"""How often a write is tried while the file is held open, before it is given up."""


class Shaken:
    """Steps that sometimes take their time, so that the gaps of microseconds between them are hit."""

    def __init__(self, most_s: float) -> None:
        self._random = random.Random(live.SEED)
        self._most_s = most_s

    def __call__(self, step: str) -> None:
        if self._most_s and self._random.random() < 0.3:
            time.sleep(self._random.random() * self._most_s)


@dataclass
class Editor:
    """Writes the file again and again, each time over what it read, and keeps every byte that comes its way."""

    workspace: Workspace
    path: str
    journal: set[str] = field(default_factory=set)  # sha256 of all bytes that we ever held
    torn: list[bytes] = field(default_factory=list)  # half saves that were taken for whole
    came: Counter[str] = field(default_factory=Counter)
    perform_s: list[float] = field(default_factory=list)

    def keep(self, data: bytes) -> None:
        self.journal.add(sha256(data).hexdigest())

    def sweep(self, mono_s: float | None = None) -> None:
        for late in self.workspace.sweep(time.monotonic() if mono_s is None else mono_s):
            self.came["late"] += 1
            self.hand_in((late,))

    def hand_in(self, kept: tuple[DisplacedBytes | LateBytes, ...]) -> None:
        for one in kept:
            self.keep(one.data)
        self.workspace.discard(kept)

    def turn(self, number: int) -> None:
        """One write."""
        self.sweep()
        try:
            image = self.workspace.read(self.path, LIMIT)
        except (FileBusy, FileVanished) as reason:
            self.came[type(reason).__name__] += 1
            return
        if not whole(image.data):
            self.torn.append(image.data)
        self.keep(image.data)
        seen = image.signature
        over = FileNow(self.path, "file", Text.of(image.data), mode=0o644, inode=seen.ino, size=seen.size)
        staged = self.workspace.stage(Put(number, self.path, OURS + b"%d\n" % number, 0o644, over))
        self.finish(staged)

    def finish(self, staged: StagedWrite) -> None:
        for _ in range(TRIES):
            self.sweep()
            began = time.perf_counter()
            try:
                result = self.workspace.perform(staged)
            except FileBusy:
                self.came["held"] += 1
                continue
            self.came[result.why if isinstance(result, SwapLost) else "applied"] += 1
            if isinstance(result, SwapDone):
                self.perform_s.append(time.perf_counter() - began)
            else:
                self.came["kept"] += len(result.kept)
                self.hand_in(result.kept)
            return
        self.workspace.abandon(staged)
        self.came["given up"] += 1

    def end(self) -> None:
        """Let every grace time pass; nothing may stay in `.quire/tmp`."""
        for turn in range(100):
            self.sweep(time.monotonic() + 10 * turn)
            if not self.workspace.displaced_files():
                return
            time.sleep(0.01)


def whole(data: bytes) -> bool:
    """Is it one complete save, or ours?"""
    if data.startswith(OURS):
        return data.endswith(b"\n") and data.count(b"\n") == 2
    words = data.split(None, 3)
    return len(words) > 1 and words[0] == b"save" and words[1].isdigit() and data == outsider.content(int(words[1]))


@contextmanager
def outside(style: str, path: Path, account: Path, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """The outside program at work; ended by its process if the test fails."""
    how = (style, path, account, str(seconds), "1.5~", str(live.SEED))
    program = subprocess.Popen([sys.executable, "-IS", outsider.__file__, *map(os.fspath, how)])
    try:
        yield program
        assert program.wait(30) == 0
    finally:
        program.kill()
        program.wait()


def race(folder: Path, style: str, shake_s: float) -> tuple[Editor, list[dict[str, str]]]:
    """An editor and a program on one file; the editor, and the program's account."""
    root = folder / "checkout"
    root.mkdir()
    (root / "f").write_bytes(outsider.content(0))
    account = folder / "account"
    account.touch()
    editor = Editor(Workspace(root, steps=Shaken(shake_s)), "f")
    chance = random.Random(live.SEED)
    with outside(style, root / "f", account, max(SECONDS, 5)) as program:
        number = 0
        while not account.stat().st_size and program.poll() is None:
            time.sleep(0.001)  # turns before its first save would be no race
        while program.poll() is None:
            number += 1
            editor.turn(number)
            if not live.LONG and number >= ENOUGH and editor.came["applied"] > 5:
                Path(f"{account}.stop").touch()
            time.sleep(chance.random() * 0.002)
    editor.end()
    return editor, [json.loads(line) for line in account.read_text().splitlines()]


FAST = pytest.mark.wide
"""Without pauses: with them the same gaps are met more often."""


@pytest.mark.parametrize("shake_s", [pytest.param(0.0, id="fast", marks=FAST), pytest.param(0.002, id="shaken")])
@pytest.mark.parametrize("style", outsider.STYLES)
def test_no_outside_save_is_lost_and_no_half_one_accepted(tmp_path: Path, style: str, shake_s: float) -> None:
    """Five ways of saving, with our steps as fast as they go, and with pauses between them."""
    editor, account = race(tmp_path, style, shake_s)
    path = editor.workspace.root / "f"
    final = sha256(path.read_bytes()).hexdigest() if path.exists() else ""
    # Not only by its very next save: what we put back under it is found by a later one.
    found = {line["found"] for line in account} | {final}
    lost = [line["save"] for line in account if line["sha256"] not in found | editor.journal]
    left = os.listdir(editor.workspace.root / ".quire/tmp")
    displaced_files = editor.workspace.displaced_files()
    editor.workspace.close()
    times = sorted(editor.perform_s)
    figures = f"{len(account)} saves, {dict(editor.came)}, lost {len(lost)}, torn {len(editor.torn)}"
    print(f"{style} {shake_s}: {figures}, perform p50 {times[len(times) // 2] * 1e6:.0f} us" if times else figures)
    assert account, "the program never saved"
    assert editor.came["applied"], figures
    assert not lost, figures
    assert not editor.torn, figures
    assert (displaced_files, left) == (0, []), figures


FLIP = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import outsider
one, two, seconds = sys.argv[2], sys.argv[3], float(sys.argv[4])
until, flips = time.monotonic() + seconds, 0
print("ready", flush=True)
while time.monotonic() < until:
    outsider.rename(one, two, outsider.EXCHANGE)
    flips += 1
print(flips)
"""


@contextmanager
def flipping(one: Path, two: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A program that makes two names trade places, as fast as it can."""
    arguments = [str(Path(outsider.__file__).parent), str(one), str(two), str(seconds)]
    program = subprocess.Popen([sys.executable, "-IS", "-c", FLIP, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        program.stdout.readline()
        yield program
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_no_flipping_link_leads_out(tmp_path: Path, what: str) -> None:
    """A folder, or the file itself, trades places with a link to the outside while we read, write, create, remove.

    A flip between our exchange and its taking back can leave the link with us: from then on two files trade places.
    Where that came before a link was met, or before anything was done, it goes on with others.
    """
    came: Counter[str] = Counter()
    for attempt_number in range(8):
        came += among_flips(tmp_path / str(attempt_number), what)
        print(what, dict(came))
        if came["done"] and met(came):
            break
    assert came["done"]
    assert met(came), "no flip was ever met"


def among_flips(top: Path, what: str) -> Counter[str]:
    """How often our rounds came out how; none of them may have touched the outside."""
    root, out = top / "checkout", top / "outside"
    for folder in (root / "d", out):
        folder.mkdir(parents=True)
        (folder / "f").write_bytes(b"inside" if folder != out else b"SECRET")
    if what == "folder":
        (root / "link").symlink_to(out)
        pair = (root / "d", root / "link")
    else:
        (root / "link").symlink_to(out / "f")
        pair = (root / "d/f", root / "link")
    workspace = Workspace(root)
    came: Counter[str] = Counter()
    with flipping(*pair, 2 * FLIPPING_S):
        until = time.monotonic() + FLIPPING_S
        number = 0
        while time.monotonic() < until:
            number += 1
            came[attempt(lambda: one_round(workspace, number))] += 1  # noqa: B023
            workspace.sweep(time.monotonic())
    workspace.close()
    assert {entry.name: entry.read_bytes() for entry in out.iterdir()} == {"f": b"SECRET"}
    return came


def met(came: Counter[str]) -> int:
    """How often one of the two names was found to be what it is not."""
    return came["FileVanished"] + came["outside_workspace"] + came["missing"] + came["NotRegular"]


def attempt(do: Callable[[], str]) -> str:
    """How it came out, in a word."""
    try:
        return do()
    except Refusal as refused:
        return refused.code
    except (FileVanished, NotRegular, FileBusy) as reason:
        return type(reason).__name__


def one_round(workspace: Workspace, number: int) -> str:
    """Read the file, write it, and make another beside it."""
    path = workspace.place("d/f", writing=True, policy=Policy()).path
    image = workspace.read(path, LIMIT)
    assert not image.data.startswith(b"SECRET")
    seen = image.signature
    over = FileNow(path, "file", Text.of(image.data), mode=0o644, inode=seen.ino, size=seen.size)
    result = workspace.perform(workspace.stage(Put(number, path, b"inside %d" % number, 0o644, over)))
    new = f"d/new{number}"
    made = workspace.perform(workspace.stage(Put(number, new, b"inside", 0o644, FileNow(new, "missing"))))
    for one in (result, made):
        if isinstance(one, SwapLost):
            workspace.discard(one.kept)
            return one.why
    return "done"
