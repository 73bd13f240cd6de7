"""The tree at any point, exported, is what was on disk then: a random walk by tools and other programs.

After each step the watcher catches up, the cursor is noted and the disk is looked at. At the end the trees of many of
those cursors are exported, and each must be what the disk was: names, bytes, modes, links, and folders with nothing in
them. `QUIRE_LONG=1` takes 2,000 steps.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from live import SEED, Live, caught_up, eventually, length, ok, verified
from quire_client.export.tree import export, fetch

STEPS = length(80, 2000)
CHECKED = length(12, 400)

Snapshot = dict[bytes, tuple[Any, ...]]

NAMES = ("a", "b", "ü", "with blank", "new\nline", "\udcff\udcfe")
"""Names that files and folders get; the last is not UTF-8."""


def snapshot(root: Path) -> Snapshot:
    """Everything below `root`: modes and bytes of files, targets of links, modes of folders with nothing in them."""
    found: Snapshot = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        if folder == os.fsencode(root):
            folders[:] = [name for name in folders if name != b".quire"]
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, os.fsencode(root))
            seen = os.lstat(path)
            if stat.S_ISLNK(seen.st_mode):
                found[inside] = ("link", os.readlink(path))
            elif stat.S_ISDIR(seen.st_mode):
                if not os.listdir(path):
                    found[inside] = ("folder", stat.S_IMODE(seen.st_mode))
            else:
                with open(path, "rb") as file:
                    found[inside] = ("file", stat.S_IMODE(seen.st_mode), file.read())
    return found


class Walk:
    """Draws steps and takes them. Each says what it did, for the message of a failure."""

    def __init__(self, live: Live, client: Any, seed: int) -> None:
        self.live, self.client = live, client
        self.draw = random.Random(seed)
        self.count = 0

    def step(self) -> str:
        """One step."""
        self.count += 1
        return self.draw.choice(self._steps())()

    def _steps(self) -> list[Callable[[], str]]:
        outside = [self._write, self._write, self._chmod, self._rename, self._remove, self._link, self._folder]
        tools = [self._tool_write, self._tool_write, self._tool_edit, self._tool_move, self._tool_delete]
        return [*outside, self._prune, *tools, self._tool_undo]

    # what there is

    def _all(self, kind: str) -> list[Path]:
        root = self.live.root
        paths = [Path(os.fsdecode(name)) for name, seen in sorted(snapshot(root).items()) if seen[0] == kind]
        return [root / path for path in paths]

    def _some_file(self) -> Path:
        files = self._all("file")
        return self.draw.choice(files) if files else self._written(self.live.root / "a file")

    def _free(self) -> Path:
        """A path where nothing stands, whose folders are folders."""
        while True:
            path = self.live.root
            for _ in range(self.draw.randrange(0, 3)):
                path /= self.draw.choice(NAMES)
                if path.is_symlink() or (path.exists() and not path.is_dir()):
                    path = self.live.root
            path /= f"{self.draw.choice(NAMES)}{self.draw.randrange(30)}"
            if not os.path.lexists(path):
                return path

    def _written(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"line %d\n" % self.count * self.draw.randrange(1, 5))
        return path

    def _utf8(self, path: Path) -> str:
        """As a tool takes it."""
        return str(path.relative_to(self.live.root))

    # outside

    def _write(self) -> str:
        path = self._written(self._free() if self.draw.random() < 0.5 else self._some_file())
        return f"wrote {path}"

    def _chmod(self) -> str:
        path = self.draw.choice([self._some_file(), *self._all("folder")])
        path.chmod(self.draw.choice((0o755, 0o700, 0o640)) | (0o100 if path.is_dir() else 0) | 0o600)
        return f"chmod {path}"

    def _rename(self) -> str:
        path = self._some_file() if self.draw.random() < 0.6 else self._some_file().parent
        to = self._free()
        if path == self.live.root or to.is_relative_to(path):
            return self._write()
        to.parent.mkdir(parents=True, exist_ok=True)
        path.rename(to)
        return f"renamed {path} to {to}"

    def _remove(self) -> str:
        path = self.draw.choice([self._some_file(), *self._all("link"), *self._all("folder")])
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        return f"removed {path}"

    def _prune(self) -> str:
        path = self._some_file().parent
        if path == self.live.root:
            return self._remove()
        shutil.rmtree(path)
        return f"removed all of {path}"

    def _link(self) -> str:
        path = self._free()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.draw.choice(("a", "../b", "/nowhere", "ü/a1", "\udcff")))
        return f"linked {path}"

    def _folder(self) -> str:
        path = self._free()
        path.mkdir(parents=True)
        return f"made {path}"

    # by tools

    def _tool_write(self) -> str:
        path = self._free()
        reply = self.client.call("write_file", {"path": self._told(path), "content": f"tool {self.count}\n"})
        assert reply["ok"] or reply["error"] in ("permission_denied", "not_a_file", "outside_workspace"), reply
        return f"tool wrote {path}: {reply['message']}"

    def _tool_edit(self) -> str:
        path = self._told(self._some_file())
        reply = self.client.call("insert_lines", {"file": path, "line_number": -1, "text": f"more {self.count}"})
        return f"tool edited {path}: {reply['message']}"

    def _tool_move(self) -> str:
        path, to = self._told(self._some_file()), self._told(self._free())
        reply = self.client.call("move_file", {"path": path, "to": to})
        return f"tool moved {path} to {to}: {reply['message']}"

    def _tool_delete(self) -> str:
        path = self._told(self._some_file())
        reply = self.client.call("delete_file", {"path": path})
        return f"tool deleted {path}: {reply['message']}"

    def _tool_undo(self) -> str:
        reply = self.client.call("undo", {"conflicts": "skip"})
        return f"tool undid: {reply['message']}"

    def _told(self, path: Path) -> str:
        """A path as a tool takes it: escaped where it is not UTF-8."""
        from quire_journal.model.ids import journal_path

        return journal_path(self._utf8(path))


@pytest.fixture
def live() -> Iterator[Live]:
    live = Live()
    yield live
    live.close()


@pytest.mark.timeout(length(60, 540))
def test_the_tree_at_any_cursor_is_what_was_on_disk_then(live: Live, journals: Path) -> None:
    live.write("first/file", "one\n")
    (live.root / "nothing" / "in here").mkdir(parents=True)
    client = live.connect(timeout_s=60.0)
    eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["finished"])
    walk = Walk(live, client, SEED)
    seen: list[tuple[str, Snapshot, str]] = []
    for _ in range(STEPS):
        did = walk.step()
        cursor = caught_up(client)
        seen.append((f"seq:{cursor[1:].partition('.')[0]}", snapshot(live.root), did))
    checked = sorted(walk.draw.sample(range(len(seen)), min(CHECKED, len(seen))))
    for number in [*checked, len(seen) - 1]:
        point, expected, did = seen[number]
        target = journals / f"tree{number}"
        missing = export(client, fetch(client, point), target)
        assert missing == []
        assert snapshot(target) == expected, f"step {number} of seed {SEED} at {point}: {did}"
        shutil.rmtree(target)
    verified(client)
