"""Four writers and other programs edit the same few lines at once, from old reads, and undo each other's work.

What is undone is held against a ledger that knows each line as an object (`line_ledger`): no line goes or comes back
that the undone batches do not account for, no line of others changes its place, and what could not be undone is told.
`scripts/test --wide` plays 20,000 operations, of which 2,000 meet a conflict.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from line_ledger import Ledger

from live import SEED, length
from memory_daemon import MemoryDaemon

WRITERS = ("ann", "ben", "cal", "dan")
PATHS = ("a.txt", "b.txt")
COMMON = ("}", "")
THERE = "there"
STEPS = 100
GAMES = 4
MANY_GAMES = 230

STALE = {"write_conflict", "stale_base", "patch_apply_error", "multiple_matches", "not_found"}
NOT_DONE = {"not_found", "conflict"}


class Game:
    """One journal, four writers, two files."""

    def __init__(self, seed: int) -> None:
        self.draw, self.daemon = random.Random(seed), MemoryDaemon()
        self.ledgers = {path: Ledger() for path in PATHS}
        self.views: dict[tuple[str, str], tuple[list[str], str]] = {}
        self.batches: list[int] = []
        self.saves: dict[str, list[list[str]]] = {path: [] for path in PATHS}
        self.counts: Counter[str] = Counter()
        self.did: list[str] = []
        self.words = 0
        self.common = self.draw.random() < 0.3
        for path in PATHS:
            self.save(path, [self.word() for _ in range(6)])

    # ── texts ──

    def word(self) -> str:
        self.words += 1
        return f"w{self.words}"

    def line(self, path: str) -> str:
        """A new line; or one that stood there before, or one of those that stand everywhere."""
        if self.common and self.draw.random() < 0.3:
            return self.draw.choice(COMMON)
        gone = [line.text for line in self.ledgers[path].lines if not line.there and line.text != THERE]
        if gone and self.draw.random() < 0.25:
            again = self.draw.choice(gone)
            if again not in self.ledgers[path].text:
                return again
        return self.word()

    def lines(self, path: str) -> list[str]:
        return (self.daemon.read(path) or "").splitlines()

    def own(self, path: str) -> list[str]:
        """The lines that the ledger looks at, the first of which says that there is a file."""
        there = [THERE] if path in self.daemon.files else []
        return there + [line for line in self.lines(path) if line not in COMMON]

    def changed(self, path: str, lines: list[str], most: int) -> list[str]:
        """With some lines more, some others, and some less."""
        made = list(lines)
        for _ in range(self.draw.randint(1, most)):
            at = self.draw.randint(0, len(made))
            new = [self.line(path) for _ in range(self.draw.choice((0, 1, 1, 2)))]
            new = [one for one in new if one in COMMON or one not in made]
            made[at : at + self.draw.choice((0, 1, 1, 2) if len(made) > 3 else (0,))] = dict.fromkeys(new)
        return made

    # ── what is done ──

    def step(self) -> None:
        who, path = self.draw.choice(WRITERS), self.draw.choice(PATHS)
        kinds: list[tuple[int, Callable[[], None]]] = [
            (3, lambda: self.read(who, path)),
            (8, lambda: self.edit(who, path)),
            (2, lambda: self.edit_both(who)),
            (2, lambda: self.save(path, self.changed(path, self.lines(path), 2))),
            (1, lambda: self.check_out(path)),
            (1, lambda: self.remove(who, path)),
            (8, lambda: self.undo(who, path)),
            (3, lambda: self.redo(who)),
            (1, lambda: self.roll_back(who)),
            (1, lambda: self.restore(who, path)),
        ]
        self.draw.choices([do for _, do in kinds], [weight for weight, _ in kinds])[0]()

    def call(self, who: str, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        reply = self.daemon.ask(tool, args, who)
        self.did.append(f"{who} {tool} {args} → {reply.get('error') or reply.get('batch') or reply.get('version')}")
        self.counts[f"{tool} {reply.get('error', 'ok')}"] += 1
        self.counts["operations"] += tool != "read_file"
        return reply

    def read(self, who: str, path: str) -> None:
        if path in self.daemon.files:
            version = self.call(who, "read_file", {"path": path})["version"]
            self.views[who, path] = self.lines(path), version

    def edit(self, who: str, path: str) -> None:
        """Change what this writer read, which may be old by now."""
        if path not in self.daemon.files:
            lines = [self.line(path) for _ in range(3)]
            return self.wrote(who, self.call(who, "write_file", {"path": path, "content": text(lines)}), (path,))
        if (who, path) not in self.views or self.draw.random() < 0.4:
            self.read(who, path)
        lines, version = self.views[who, path]
        args: dict[str, Any] = {"path": path, "safety_check": "off", "on_stale": "rebase", "base": version}
        if self.draw.random() < 0.5:
            made = self.changed(path, lines, 2)
            return self.wrote(who, self.call(who, "write_file", {**args, "content": text(made)}), (path,))
        at = self.draw.randint(1, max(1, len(lines)))
        stop = min(len(lines), at + self.draw.choice((0, 0, 1)))
        new = [one for one in dict.fromkeys(self.line(path) for _ in range(self.draw.choice((0, 1, 2)))) if one]
        if not lines or set(new) & set(lines):
            return self.read(who, path)
        args |= {"start_line": at, "end_line": stop, "new_text": "\n".join(new)}
        return self.wrote(who, self.call(who, "replace_lines", args), (path,))

    def edit_both(self, who: str) -> None:
        """One batch in both files."""
        if any(path not in self.daemon.files or not self.own(path)[1:] for path in PATHS):
            return None
        parts = []
        for path in PATHS:
            old = self.draw.choice(self.own(path)[1:])
            parts.append(f"*** Update File: {path}\n@@\n-{old}\n+{self.word()}\n")
        patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch"
        return self.wrote(who, self.call(who, "apply_patch", {"patch": patch, "safety_check": "off"}), PATHS)

    def remove(self, who: str, path: str) -> None:
        if path in self.daemon.files:
            self.wrote(who, self.call(who, "delete_file", {"path": path}), (path,))

    def wrote(self, who: str, reply: dict[str, Any], paths: Sequence[str]) -> None:
        """Note what came of an edit."""
        if not reply["ok"]:
            assert reply["error"] in STALE, reply
            return
        batch = self.newest_batch()
        for path in paths:
            self.views.pop((who, path), None)
            if self.own(path) != [*self.ledgers[path].text]:
                self.ledgers[path].edited(self.own(path), batch, who)
                self.saves[path].append(self.lines(path))
        if not reply.get("unchanged"):
            self.batches.append(batch)

    def save(self, path: str, lines: list[str]) -> None:
        """Another program writes."""
        if text(lines) == self.daemon.read(path):
            return
        self.did.append(f"another program: {path} {lines}")
        self.counts["operations"] += 1
        self.counts["saves"] += 1
        self.daemon.save(path, text(lines))
        self.daemon.watch()
        batch = self.newest_batch()
        self.ledgers[path].put_back(self.own(path), batch, "outside")
        self.batches.append(batch)
        self.saves[path].append(lines)

    def check_out(self, path: str) -> None:
        """Another program puts back what stood there some time ago."""
        self.save(path, self.draw.choice(self.saves[path]))

    def newest_batch(self) -> int:
        """Of what was done last."""
        kinds = {"file_written", "file_deleted", "outside_written", "outside_deleted"}
        seq = self.daemon.journal.head
        while (record := self.daemon.record(seq)) is not None:
            if record.kind in kinds:
                return record.batch
            seq -= 1
        raise AssertionError("nothing was done")

    # ── what is undone ──

    def undo(self, who: str, path: str) -> None:
        newest = self.batches[-12:]
        choices: list[dict[str, Any]] = [
            {},
            {"last": self.draw.randint(1, 3)},
            {"writer": self.draw.choice(WRITERS)},
            {"writer": self.draw.choice((*WRITERS, "outside")), "last": self.draw.randint(1, 3)},
            {"batch": self.draw.choice(newest)},
            {"batch": self.draw.choice(newest)},
            {"path": path},
            {"writer": "*", "from": f"seq:{self.draw.choice(newest) - 1}"},
            {"writer": self.draw.choice(WRITERS), "from": f"seq:{newest[0]}", "to": f"seq:{newest[-1]}"},
        ]
        choice = self.draw.choice(choices)
        self.went_back(who, "undo", {**choice, "conflicts": self.draw.choice(("skip", "skip", "skip", "abort"))})

    def redo(self, who: str) -> None:
        choices: list[dict[str, Any]] = [
            {},
            {"batch": self.draw.choice(self.batches[-12:])},
            {"writer": self.draw.choice(WRITERS), "last": 1},
        ]
        self.went_back(who, "redo", self.draw.choice(choices))

    def roll_back(self, who: str) -> None:
        to = f"seq:{self.draw.choice(self.batches[-12:])}"
        self.went_back(who, "rollback", {"to": to, "writer": self.draw.choice((who, who, "*", *WRITERS))})

    def restore(self, who: str, path: str) -> None:
        reply = self.call(who, "restore", {"at": f"seq:{self.draw.choice(self.batches)}", "path": path})
        if reply["ok"] and not reply.get("unchanged"):
            self.batches.append(reply["batch"])
            self.ledgers[path].put_back(self.own(path), reply["batch"], who)
            self.saves[path].append(self.lines(path))
        assert reply["ok"] or reply["error"] in NOT_DONE, reply

    def went_back(self, who: str, tool: str, args: dict[str, Any]) -> None:
        before = dict(self.daemon.files)
        reply = self.call(who, tool, args)
        files = {file["path"]: file for file in reply.get("files", ())}
        conflicts = [conflict for file in files.values() for conflict in file["conflicts"]]
        self.counts["conflicts"] += bool(conflicts)
        for conflict in conflicts:
            record = self.daemon.record(conflict["seq"])
            assert record is not None, conflict
            assert conflict["writer"]["type"], conflict
        if not reply["ok"]:
            assert reply["error"] in NOT_DONE, reply
            assert self.daemon.files == before
            return
        self.batches.append(reply["batch"])
        inside = [args["path"]] if "path" in args else PATHS
        for path in PATHS:
            file = files.get(path)
            if path not in inside or (file is not None and file["skipped"]):
                assert self.daemon.files.get(path) == before.get(path)
                continue
            told = file is not None and bool(file["conflicts"] or file.get("first_seen"))
            wrong = self.ledgers[path].undone(self.own(path), reply["batch"], reply["batches"], told)
            assert not wrong, (path, wrong)
            self.saves[path].append(self.lines(path))
        if self.draw.random() < 0.2:
            after = dict(self.daemon.files)
            back = self.call(who, "undo" if tool == "redo" else "redo", {"batch": reply["batch"]})
            if back["ok"]:
                assert self.daemon.files == before, "undone and redone is not nothing"
                self.batches.append(back["batch"])
                for path in PATHS:
                    file = files.get(path)
                    if path in inside and not (file is not None and file["skipped"]):
                        wrong = self.ledgers[path].undone(self.own(path), back["batch"], back["batches"], told=False)
                        assert not wrong, (path, wrong)
            else:
                assert after == before


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def play(games: int) -> Counter[str]:
    """So many games; what was counted."""
    counts: Counter[str] = Counter()
    for number in range(games):
        game = Game(SEED + number)
        try:
            for _ in range(STEPS):
                game.step()
        except AssertionError as wrong:
            told = "\n".join(game.did[-40:])
            raise AssertionError(f"game {SEED + number}: {wrong}\n{told}") from wrong
        counts += game.counts
    return counts


def test_no_line_goes_or_comes_back_that_what_is_undone_does_not_account_for() -> None:
    counts = play(GAMES)
    assert counts["conflicts"] > GAMES


@pytest.mark.wide
@pytest.mark.timeout(length(900, 7200))
def test_no_line_does_so_in_twenty_thousand_operations() -> None:
    counts = play(MANY_GAMES)
    assert counts["operations"] >= 20_000, counts
    assert counts["conflicts"] >= 2_000, counts
