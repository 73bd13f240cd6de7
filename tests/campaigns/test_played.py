"""Agents and other programs play over one journal, in memory, beside a model that knows nothing but texts.

A call is drawn, and what it must come to is worked out from the texts alone: which bytes, or that it is refused. The
reply, the file, the log, the past and the news of each agent are then compared with the model. Most lines carry a word
that stands nowhere else, so that it can be told whose line went where. `QUIRE_LONG=1` plays 300 games of 150 steps.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from saying import (
    MANY,
    ONE,
    PROVED_BY_TEXT,
    Lines,
    Splice,
    View,
    around,
    by_hashline,
    lines_of,
    of_hunk,
    places,
    spliced,
)

from live import SEED, length, sha256
from memory_daemon import MemoryDaemon

GAMES = length(2, 300)
STEPS = length(60, 150)

AGENTS = ("ann", "ben", "cal")
BOSS = "boss"
"""Asks, and writes nothing."""

PATHS = ("a.txt", "b.md", "src/c.txt", "src/d.txt")
FREE = ("e.txt", "src/deep/f.txt", "docs/g.txt")
COMMON = ("", "---", "end", "same as ever")
STALE = {"anchor_stale", "hash_mismatch", "stale_base", "stale_file", "write_conflict"}
NO_MATCH = {"old_text_not_found", "pattern_not_found", "patch_apply_error"}
WORD = re.compile(r"word\d+\b")


class Change(NamedTuple):
    """A version, as the model has it."""

    seq: int
    path: str
    data: bytes | None
    batch: int


def words(data: bytes | None) -> set[str]:
    return set(WORD.findall((data or b"").decode()))


# ── the game ─────────────────────────────────────────────────────────────────


class Game:
    """One journal, its agents, and what the model knows of both."""

    def __init__(self, seed: int) -> None:
        self.draw, self.daemon = random.Random(seed), MemoryDaemon()
        self.files: dict[str, bytes] = {}
        self.past: list[Change] = []
        self.views: dict[tuple[str, str], View] = {}
        self.news: set[tuple[str, str]] = set()  # others have changed what this agent has read
        self.unsure: set[tuple[str, str]] = set()  # whether they are told cannot be foretold from texts
        self.hashes: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.did: Lines = []
        self._words = 0
        for path in PATHS:
            self.other_program(path, self.text())

    def step(self) -> None:
        """One agent, or another program, does something; then everything is compared."""
        who, path = self.draw.choice(AGENTS), self.draw.choice(sorted(self.files) or [PATHS[0]])
        if path not in self.files:
            return self.other_program(path, self.text())
        known = [known for agent, known in self.views if agent == who and known in self.files]
        wanted = self.draw.choice(known) if known and self.draw.random() < 0.8 else path
        kinds: list[tuple[int, Callable[[], None]]] = [
            (4, lambda: self.read(who, path)),
            (9, lambda: self.edit(who, wanted)),
            (2, lambda: self.save(path)),
            (1, lambda: self.make_or_remove(who, path)),
            (1, lambda: self.move(who, path)),
            (2, lambda: self.undo(who)),
            (1, lambda: self.roll_back(who)),
            (1, lambda: self.restore(who, path)),
            (2, lambda: self.ask(path)),
        ]
        return self.draw.choices([do for _, do in kinds], [weight for weight, _ in kinds])[0]()

    # texts

    def line(self) -> str:
        if self.draw.random() < 0.15:
            return self.draw.choice(COMMON)
        return self.marked()

    def marked(self) -> str:
        """A line that stands nowhere else."""
        self._words += 1
        return f"{'    ' * self.draw.randrange(3)}größe word{self._words}"

    def text(self) -> bytes:
        end = self.draw.choice(("\n", "\n", "\r\n"))
        return "".join(self.line() + end for _ in range(self.draw.randrange(1, 20))).encode()

    def wish(self, data: bytes, most: int) -> list[Splice]:
        """Changes that begin and end at lines with a word, apart from each other and from the last line."""
        lines, found, free = lines_of(data), list[Splice](), 0
        for _ in range(self.draw.randint(1, most)):
            starts = [n for n in range(free, len(lines) - 1) if WORD.search(lines[n])]
            if not starts:
                break
            start = self.draw.choice(starts)
            ends = [n for n in starts if start <= n < start + 4]
            stop = self.draw.choice([start, start + 1, self.draw.choice(ends) + 1])
            new = [] if stop > start and self.draw.random() < 0.3 else [self.line(), self.line(), self.marked()]
            found.append(Splice(start, stop, new))
            free = stop + 2
        return found

    # calls

    def call(self, who: str, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        reply = self.daemon.ask(tool, args, who)
        self.did.append(f"{who} {tool} {args} → {reply}"[:2000])
        self.counts[f"{tool} {reply.get('error', 'ok')}"] += 1
        self._heard_news(who, reply)
        return reply

    def _heard_news(self, who: str, reply: dict[str, Any]) -> None:
        parts = [reply, *(file for file in reply.get("files") or () if isinstance(file, dict))]
        told = {entry["path"] for part in parts for entry in part.get("changed_since_your_read") or ()}
        news, unsure = ({path for agent, path in those if agent == who} for those in (self.news, self.unsure))
        assert told <= news | unsure, (told, news)
        if len(news | unsure) <= 3 and "changed_since_your_read_more" not in reply:
            assert told >= news - unsure, (told, news)

    def read(self, who: str, path: str) -> None:
        form = self.draw.choice(("hashed", "hashed", "hashline"))
        reply = self.call(who, "read_file", {"path": path, "format": form})
        rows = [row.partition("|") for row in reply["lines"]]
        assert [text for _, _, text in rows] == lines_of(self.files[path])
        assert (reply["sha256"], reply["version"]) == (sha256(self.files[path]), self.version(path))
        if form == "hashed":
            self.hashes |= {text: head.partition(" ")[0].partition("#")[2] for head, _, text in rows}
        refs = [head for head, _, _ in rows] if form == "hashline" else []
        self.views[who, path] = View(self.files[path], reply["version"], refs, [])
        self.news.discard((who, path))
        self.unsure.discard((who, path))

    def edit(self, who: str, path: str) -> None:
        """Change lines of a view, which may be old, in one of the dialects."""
        view = self.views.get((who, path))
        if view is None:
            return self.read(who, path)
        say = by_hashline if view.refs else self.draw.choice(ONE + MANY)
        splices = self.wish(view.data, 1 if say in ONE else 3)
        lines = lines_of(view.data)
        if not splices or len({*lines} - {*COMMON}) < len([line for line in lines if line not in COMMON]):
            return self.read(who, path)
        try:
            tool, args = say(path, view, splices, self.hashes)
        except KeyError:  # a line that the agent wrote itself: it has not seen its hash
            return self.read(who, path)
        args |= {"on_stale": self.draw.choice(("reject", "rebase")), "safety_check": "off"}
        if tool in ("edit", "insert_lines", "replace_lines", "hashline_edit"):
            args["base"] = view.version
        return self._judge(who, path, view, splices, tool, args)

    def _judge(self, who: str, path: str, view: View, splices: list[Splice], tool: str, args: dict[str, Any]) -> None:
        now = self.files[path]
        foretold = self._foretold(view, now, splices)
        if self.draw.random() < 0.3:
            plan = self.call(who, tool, {**args, "dry_run": True})
            self.settle(BOSS)
            if not plan["valid"] and plan["error"] in STALE:
                assert foretold is None or now != view.data, "refused without reason"
                return self._was_shown(who, path)
        else:
            plan = {}
        reply = self.call(who, tool, args)
        assert plan.get("valid", reply["ok"]) == reply["ok"]
        if not reply["ok"]:
            assert reply["error"] in STALE | NO_MATCH
            assert now != view.data, "refused without reason"
            stands = args["on_stale"] == "rebase" and foretold is not None
            assert not stands or (who, path) in self.unsure, "refused, though its lines and their neighbours stand"
            self.settle(BOSS)
            return self._was_shown(who, path)
        made = self.daemon.files[path]
        proved = tool in PROVED_BY_TEXT or tool == "hashline_edit"
        assert now == view.data or proved or args["on_stale"] == "rebase", "applied to what is not known"
        if foretold is not None and not reply.get("failed"):
            assert made == foretold
        wished = {
            word for s in splices for line in lines_of(view.data)[s.start : s.stop] for word in WORD.findall(line)
        }
        assert words(now) - words(made) <= wished, "lines of others have gone"
        part = next((file for file in reply.get("files") or [reply] if file["path"] == path), reply)
        self._check_reply(part, now, made)
        self.settle(who)
        if foretold is None or now != view.data:
            self.views.pop((who, path), None)
        else:
            self.views[who, path] = View(made, part["version"], [], [])
        return None

    def _foretold(self, view: View, now: bytes, splices: list[Splice]) -> bytes | None:
        """The outcome, where the lines and their neighbours stand together now and stood so ever since; else None."""
        moved = []
        for splice in splices:
            wanted = around(view.data, splice)
            if any(not WORD.search(line) and line not in ("<begin>", "<end>") for line in wanted):
                if now != view.data:
                    return None
            elif any(data is None or len(places(data, wanted)) != 1 for data in [*view.since, now]):
                return None
            at = places(now, wanted)[0] if now != view.data else splice.start
            moved.append(Splice(at, at + splice.stop - splice.start, splice.new))
        return spliced(now, moved)

    def _was_shown(self, who: str, path: str) -> None:
        """A stale refusal shows some lines: its caller's base is another one now."""
        self.views.pop((who, path), None)
        self.unsure.add((who, path))

    def _check_reply(self, part: dict[str, Any], before: bytes, after: bytes) -> None:
        """Size, hash and line counts; and the diff must lead from one to the other."""
        old, new = lines_of(before), lines_of(after)
        assert (part["sha256"], part["sizeBytes"]) == (sha256(after), len(after))
        assert (part["lines_before"], part["lines_after"]) == (len(old), len(new))
        rows = [re.fullmatch(r"([ +-])(\d+)#(\w+) \[\w+\]\|(.*)", row) for row in part["diff"]]
        shown: dict[str, dict[int, str]] = {" ": {}, "+": {}, "-": {}}
        for row in rows:
            assert row is not None
            shown[row[1]][int(row[2]) - 1] = row[4]
        for sign, lines in ((" ", new), ("+", new), ("-", old)):
            assert all(lines[number] == text for number, text in shown[sign].items())
        kept = [line for number, line in enumerate(old) if number not in shown["-"]]
        assert kept == [line for number, line in enumerate(new) if number not in shown["+"]]

    def make_or_remove(self, who: str, path: str) -> None:
        free = [name for name in FREE + PATHS if name not in self.files]
        if free and self.draw.random() < 0.6:
            name, content = self.draw.choice(free), self.text().decode().replace("\r\n", "\n")
            assert self.call(who, "write_file", {"path": name, "content": content, "safety_check": "off"})["ok"]
            assert self.daemon.files[name] == content.encode()
        else:
            self._may_be_stale(who, path, self.call(who, "delete_file", {"path": path}))
        self.settle(who)

    def move(self, who: str, path: str) -> None:
        to = self.draw.choice(FREE + PATHS)
        reply = self.call(who, "move_file", {"path": path, "to": to})
        if to in self.files:
            assert reply["error"] in {"already_exists"} | STALE
        self._may_be_stale(who, path, reply)
        self.settle(who)

    def _may_be_stale(self, who: str, path: str, reply: dict[str, Any]) -> None:
        if not reply["ok"] and reply["error"] in STALE:
            view = self.views.get((who, path))
            assert view is None or view.data != self.files[path] or (who, path) in self.news
            self._was_shown(who, path)

    # undo

    def undo(self, who: str) -> None:
        """The own last batch, of somebody, of all; mostly it is taken back at once, which leads to where it began."""
        chosen: dict[str, Any] = self.draw.choice(
            [
                {},
                {"writer": self.draw.choice(AGENTS), "last": 2},
                {"writer": "*", "from": f"seq:{self.past[-1].seq - 4}"},
            ]
        )
        before = dict(self.files)
        plan = self.call(who, "undo", {**chosen, "plan": True})
        self.settle(BOSS)
        reply = self.call(who, "undo", {"token": plan["token"]} if plan["ok"] else chosen)
        assert reply["ok"] == (plan["ok"] and plan["valid"])
        self.settle(who)
        if not reply["ok"]:
            assert reply["error"] in ("not_found", "conflict")
        elif self.draw.random() < 0.7 and self.files != before:
            back = self.draw.choice([("redo", {}), ("undo", {"batch": reply["batch"]})])
            assert self.call(who, *back)["ok"]
            self.settle(who)
            assert self.files == before
            self.counts["undone and redone"] += 1

    def roll_back(self, who: str) -> None:
        """To the end of a batch, everyone's work: that is the tree of then, where nothing is said to stay."""
        at = self.draw.choice([change.batch for change in self.past[len(PATHS) :]] or [0]) - 1
        reply = self.call(who, "rollback", {"to": f"seq:{max(at, len(PATHS))}", "writer": "*"})
        self.settle(who)
        if reply["ok"] and not any(file["skipped"] or file["conflicts"] for file in reply["files"]):
            assert self.files == self.tree(max(at, len(PATHS)))
            self.counts["rolled back"] += 1

    def restore(self, who: str, path: str) -> None:
        change = self.draw.choice([one for one in self.past if one.path == path])
        reply = self.call(who, "restore", {"at": f"seq:{change.seq}", "path": path})
        self.settle(who)
        assert reply["ok"] == (change.data is not None)
        assert change.data is None or self.files[path] == change.data

    # other programs

    def other_program(self, path: str, data: bytes | None) -> None:
        self.did.append(f"another program: {path} {data!r}")
        if data is None:
            del self.daemon.files[path]
        else:
            self.daemon.save(path, data)
        self.settle("")

    def save(self, path: str) -> None:
        gone = len(self.files) > 3 and self.draw.random() < 0.1
        self.other_program(path, None if gone else spliced(self.files[path], self.wish(self.files[path], 3)))

    # what the journal tells

    def version(self, path: str) -> str:
        return f"v{next(change.seq for change in reversed(self.past) if change.path == path)}"

    def tree(self, seq: int) -> dict[str, bytes]:
        found: dict[str, bytes | None] = {}
        for change in self.past:
            if change.seq <= seq:
                found[change.path] = change.data
        return {path: data for path, data in found.items() if data is not None}

    def settle(self, who: str) -> None:
        """The log must tell what the disk tells, and that `who` did it ("": another program)."""
        self.daemon.watch()
        for record in self._records(f"seq:{self.past[-1].seq}" if self.past else "seq:0"):
            if record["version"] is None:
                continue
            assert record["writer"]["agent"] == who, record
            to = record.get("to", record["path"])
            if to != record["path"] and record["base"] == self.version(record["path"]):  # else it had gone before
                self._changed(Change(record["seq"], record["path"], None, record["batch"]), who)
            if to != record["path"]:
                self.news.discard((who, to))
            self._changed(Change(record["seq"], to, self._bytes(record, to), record["batch"]), who)
        assert self.files == self.daemon.files == self.tree(self.past[-1].seq)

    def _records(self, since: str) -> list[dict[str, Any]]:
        reply = self.daemon.ask("log", {"since": since, "order": "oldest", "limit": 1000}, BOSS)
        return [record for record in reply["records"] if record["kind"] != "edit_refused"]

    def _bytes(self, record: dict[str, Any], path: str) -> bytes | None:
        """Of the version that a record made. Between two looks a file may have changed twice."""
        if "deleted" in record["kind"]:
            return None
        shown = self.daemon.ask("read_file", {"path": path, "at": record["version"]}, BOSS)
        end = "\r\n" if shown["newlineStyle"] == "crlf" else "\n"
        data = str(shown["content"]).replace("\n", end).encode()
        assert sha256(data) == record["sha256"]
        return data

    def _changed(self, change: Change, who: str) -> None:
        self.past.append(change)
        if change.data is None:
            self.files.pop(change.path, None)
        else:
            self.files[change.path] = change.data
        for agent in AGENTS:
            view = self.views.get((agent, change.path))
            if agent == who:
                self.views.pop((agent, change.path), None)
                self.unsure.add((agent, change.path))  # the next read settles what it knows
            elif view is not None:
                view.since.append(change.data)
                self.news.add((agent, change.path))

    def ask(self, path: str) -> None:
        """The past: a version, a tree, a diff, pages of the log, who wrote the lines."""
        one, other = sorted(self.draw.choices([change.seq for change in self.past], k=2))
        entries = self.call(BOSS, "tree", {"at": f"seq:{one}"})["entries"]
        assert {e["path"]: e["sha256"] for e in entries} == {p: sha256(d) for p, d in self.tree(one).items()}
        old, new = self.tree(one), self.tree(other)
        files = self.call(BOSS, "diff", {"from": f"seq:{one}", "to": f"seq:{other}"})["files"]
        assert {file["path"] for file in files} == {p for p in {*old, *new} if old.get(p) != new.get(p)}
        for file in files:
            if file["path"] in old and file["path"] in new:
                splices = [of_hunk(hunk) for hunk in file["hunks"]]
                assert lines_of(spliced(old[file["path"]], splices)) == lines_of(new[file["path"]])
        paged: list[Any] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.call(BOSS, "log", {"limit": self.draw.randint(1, 9), **cursor})
            paged += page["records"]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
        assert paged == self.call(BOSS, "log", {"limit": 1000})["records"]
        blamed = self.call(BOSS, "blame", {"path": path})["lines"]
        assert [line["text"] for line in blamed] == lines_of(self.files[path])


@pytest.mark.timeout(length(60, 3600))
def test_every_call_comes_to_what_the_texts_say() -> None:
    counts: Counter[str] = Counter()
    for number in range(GAMES):
        game = Game(SEED + number)
        try:
            for _ in range(STEPS):
                game.step()
        except Exception as error:
            error.add_note(f"game {number} of seed {SEED}; it ended so:\n" + "\n".join(game.did[-6:]))
            raise
        counts += game.counts
    assert min(counts[what] for what in ("edit ok", "hashline_edit ok", "undone and redone", "tree ok")), counts
    assert sum(counts[f"{what}"] for what in counts if what.split()[-1] in STALE), counts
