"""A patch of one writer alone, after random renames and edits by two, against a model that knows what each did."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import live
from memory_daemon import MemoryDaemon, lines

HEAD = "1" * 40
NAMES = ("a", "b", "c", "d")
ROWS = 6
WRITERS = ("ann", "ben")


@dataclass
class File:
    """A file of the tree: what it was in the commit, and what each writer did to it."""

    rows: list[str]
    committed_as: str = ""  # its name in the commit
    made_by: str = ""
    named: dict[str, str] = field(default_factory=dict)  # writer → the name without the writer's renames
    done: dict[int, tuple[str, str]] = field(default_factory=dict)  # row → its writer and text

    @property
    def text(self) -> bytes:
        return self.without("")

    def without(self, writer: str) -> bytes:
        """The text that only this writer's edits are in; everybody's for ""."""
        rows = [*self.rows]
        for n, (by, row) in self.done.items():
            rows[n] = row if writer in ("", by) else rows[n]
        return lines(*rows)


class Play:
    """A daemon on which a random script is played, and the model of it."""

    def __init__(self, seed: int, steps: tuple[str, ...]) -> None:
        self.rng, self.steps = random.Random(seed), steps
        self.head = {name: lines(*(f"{name} {n}" for n in range(ROWS))) for name in NAMES[:2]}
        self.daemon = MemoryDaemon(self.head)
        self.daemon.watch("captured")
        self.daemon.git_answers.trees[HEAD] = {name: ("100644", data) for name, data in self.head.items()}
        self.there = {name: File(data.decode().splitlines(), name) for name, data in self.head.items()}
        self.gone: list[tuple[File, str]] = []  # with who removed it
        self.reused: set[str] = set()  # names of the commit that another file has had
        self.told: list[str] = []
        for who in WRITERS:
            self.daemon.who(who)

    def step(self) -> None:
        getattr(self, self.rng.choice(self.steps))()
        self.reused |= {name for name, file in self.there.items() if file.committed_as != name}
        assert dict(self.daemon.files) == {name: file.text for name, file in self.there.items()}

    def edit(self) -> None:
        name, who = self.rng.choice([*self.there] or [""]), self.rng.choice(WRITERS)
        file = self.there.get(name)
        free = [n for n in range(ROWS) if file and n not in file.done and file.made_by in ("", who)]
        if file and free:
            n = self.rng.choice(free)
            file.done[n] = who, f"{who}'s {n} of {len(self.told)}"
            self.daemon.write(name, file.text, self.daemon.who(who))
            self.told.append(f"{who} edits {name}:{n}")

    def rename(self, name: str = "", to: str = "") -> None:
        free = [other for other in (*NAMES, "e") if other not in self.there]
        if not self.there or not free:
            return
        name, to = name or self.rng.choice([*self.there]), to or self.rng.choice(free[:-1] or free)
        who = self.rng.choice((*WRITERS, "mv", "git mv"))
        if who in WRITERS:
            self.daemon.move(name, to, self.daemon.who(who))
        else:
            self.daemon.outside_moves(name, to, "" if who == "mv" else who)
        file = self.there[to] = self.there.pop(name)
        file.named |= {other: to for other in WRITERS if other != who}
        if to == file.committed_as and not file.done:
            file.named = {}  # it is as in the commit
        self.told.append(f"{who}: {name} -> {to}")

    def swap(self) -> None:
        if len(self.there) >= 2 and "e" not in self.there:
            one, other = self.rng.sample([*self.there], 2)
            for name, to in ((one, "e"), (other, one), ("e", other)):
                self.rename(name, to)

    def make(self) -> None:
        free = [name for name in NAMES if name not in self.there]
        if free:
            name, who = self.rng.choice(free), self.rng.choice(WRITERS)
            file = self.there[name] = File([f"new {len(self.told)} {n}" for n in range(ROWS)], made_by=who)
            self.daemon.write(name, file.text, self.daemon.who(who))
            self.told.append(f"{who} makes {name}")

    def remove(self) -> None:
        if self.there:
            name, who = self.rng.choice([*self.there]), self.rng.choice(WRITERS)
            self.gone.append((self.there.pop(name), who))
            self.daemon.delete(name, self.daemon.who(who))
            self.told.append(f"{who} removes {name}")

    def stash(self) -> None:
        """Git goes to the commit and back; not where a name of the commit is another file's, which git takes for a
        change.
        """
        if any(name in self.head and file.committed_as != name for name, file in self.there.items()):
            return
        now = dict(self.daemon.files)
        self.daemon.by_git("git stash -u", **{name: self.head.get(name) for name in {*now, *self.head}})
        self.daemon.by_git("git stash pop", **{name: now.get(name) for name in {*now, *self.head}})
        self.told.append("stash, pop")

    def alone(self, writer: str) -> dict[str, bytes] | None:
        """The commit with what this writer did alone; None if two files have one name then, or another file has had
        that of a removed one.
        """
        if {file.committed_as for file, _ in self.gone} & self.reused:
            return None
        found: list[tuple[str, bytes]] = []
        for name, file in self.there.items():
            if file.committed_as:
                is_renamed = file.named.get(writer, file.committed_as) != name
                found.append((name if is_renamed else file.committed_as, file.without(writer)))
            elif file.made_by == writer:
                found.append((name, file.text))
        kept = [file.committed_as for file, who in self.gone if file.committed_as and who != writer]
        found += [(name, self.head[name]) for name in kept]
        return dict(found) if len({name for name, _ in found}) == len(found) else None

    def patched(self, writer: str) -> tuple[dict[str, bytes], bool]:
        """(the commit with the patch of this writer, True if the patch says that it lacks something)."""
        asked = {"from": f"commit:{HEAD}", "writer": writer, "alone": "apart", "context": 99}
        reply = self.daemon.ask("diff", asked)
        assert reply["ok"], reply
        found, new = dict(self.head), dict[str, bytes]()
        for one in reply["files"]:
            old = one.get("moved_from", one["path"])
            found.pop(old, None)
            if one["status"] != "removed":
                new[one["path"]] = _made(one, self.head.get(old, b""))
        return found | new, any("resting" in one or "inseparable" in one for one in reply["files"])


def _made(file: dict[str, Any], old: bytes) -> bytes:
    rows = [row for hunk in file.get("hunks", ()) for row in hunk["lines"]]
    return lines(*(row[1:] for row in rows if row[:1] != "-")) if rows else old


SCRIPTS = {
    "two files": ("edit", "edit", "rename"),
    "files that come and go": ("edit", "rename", "make", "remove", "stash"),
    "names that are swapped": ("edit", "rename", "make", "swap", "stash"),
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("seed", range(live.length(12, 600)))
def test_a_patch_upon_the_commit_is_what_one_did_alone(script: str, seed: int) -> None:
    play = Play(seed, SCRIPTS[script])
    for _ in range(play.rng.randint(2, 8)):
        play.step()
    for writer in WRITERS:
        made, lacks = play.patched(writer)
        alone = play.alone(writer)
        assert alone is None or lacks or made == alone, (writer, play.told)
