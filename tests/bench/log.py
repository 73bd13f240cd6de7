"""What a long journal costs: its size, how fast it opens, the first page of every query, and who wrote a file's lines.

    scripts/bench log [--events N] [--files N] [--rounds N] [--in FOLDER] [--keep FOLDER] [--whole] [--json]

A journal of N events (100,000; the promise is about 1,000,000) is made by `Journal.append`, as a daemon would make it:
six agents edit files in sessions and turns, other programs save, readers read, some edits are refused. Then a process
of its own opens it and asks each question `--rounds` times, by the decisions that the daemon answers with; what the
socket adds stands in `scripts/bench`. Promised: first page of any query under 20 ms, opened in under 1 s, under 150 MB.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from quire_daemon.config.settings import Settings
from quire_daemon.core.decision import Who, World
from quire_daemon.tools.history.log import LOG_TOOL, SINCE_TOOL
from quire_daemon.tools.history.stories import STORIES_TOOL
from quire_daemon.watch.scan import NAMES_AT_ONCE
from quire_journal.history.history import History
from quire_journal.history.line_blame import blame
from quire_journal.history.path_cache import PathNames
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import (
    EditRefused,
    Event,
    FileWritten,
    OutsideWritten,
    ReadServed,
    WriterIntroduced,
    WritesSettled,
)
from quire_journal.model.ids import BatchId, WriterId
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.text.text import Text

SECOND = 1_000_000_000
BEGAN_NS = 1_700_000_000 * SECOND
AGENTS = ("ann", "ben", "cem", "dora", "eli", "fay")
IN_BATCH = 2000
RARE = "needle_in_the_hay"


def path_of(number: int) -> str:
    """Paths as a tree has them."""
    suffix = ("py", "py", "py", "md", "ts", "json")[number % 6]
    return f"src/part{number // 200}/group{number // 20 % 10}/file{number}.{suffix}"


# ── the journal ──────────────────────────────────────────────────────────────


class Maker:
    """Makes events as a busy checkout has them, and what they name."""

    def __init__(self, journal: Journal, files: int) -> None:
        self.journal = journal
        self.files = files
        self.draw = random.Random(20261)
        self.entries: list[NewRecord] = []
        self.blobs: list[tuple[bytes | Text, str | None]] = []
        self.texts: dict[int, list[bytes]] = {}
        self.heads: dict[int, int] = {}
        self.writer = 0
        self.made = 0

    def note(self, event: Event, writer: int = 0) -> int:
        """One record; its seq."""
        seq = self.journal.head + 1 + len(self.entries)
        self.entries.append(NewRecord(event, WriterId(writer), BEGAN_NS + seq * SECOND // 4, BatchId(seq)))
        self.made += 1
        return seq

    def text(self, number: int, changing: bool = True) -> Text:
        """The next text of a file: a line or two differ from the one before."""
        lines = self.texts.get(number)
        if lines is None:
            lines = [b"value_%d = compute(%d, %d)" % (i, i, number) for i in range(30)]
            self.texts[number] = lines
        if changing:
            lines[self.draw.randrange(len(lines))] = b"changed = %d" % self.made
        return Text.of(b"\n".join(lines) + b"\n")

    def any_file(self) -> int:
        """Some files are worked on much more than others."""
        return int(self.draw.random() ** 3 * self.files)

    def capture(self) -> None:
        """The first scan."""
        for number in range(self.files):
            self._put(number, "captured", 0)

    def _put(self, number: int, evidence: str, writer: int) -> None:
        text, path = self.text(number, evidence != "captured"), path_of(number)
        self.blobs.append((text, path))
        base, size = self.heads.get(number, 0), len(text.data)
        event: Event = (
            OutsideWritten(path, text.blob, size, 0o644, evidence, base)
            if evidence
            else FileWritten(path, text.blob, size, 0o644, base)
        )
        self.heads[number] = self.note(event, writer)

    def turn(self, number: int) -> None:
        """An agent's turn: some reads, some edits, a refusal now and then; other programs save meanwhile."""
        agent = AGENTS[number % len(AGENTS)]
        claims = {"agent": agent, "agent_session": f"{agent}-{number // 240}", "turn": f"turn-{number}"}
        for call in range(self.draw.randrange(2, 9)):
            self.writer += 1
            self.note(WriterIntroduced(self.writer, 1000, 99, 7, tool_call=f"call-{call}", **claims), self.writer)
            file = self.any_file()
            self.note(ReadServed(path_of(file), self.heads[file], ((0, 20),)), self.writer)
            if self.draw.random() < 0.1:
                self.note(EditRefused("edit", path_of(file), "anchor_stale"), self.writer)
                continue
            self._put(file, "", self.writer)
            self.note(WritesSettled(self.heads[file]), self.writer)
            if self.draw.random() < 0.3:
                self._put(self.any_file(), "watched", 0)

    def turns(self, events: int) -> None:
        """Turns until so many records have been made, in transactions of a size that is soon made."""
        turn = 0
        while self.made < events:
            self.turn(turn)
            turn += 1
            if len(self.entries) >= IN_BATCH:
                self.flush()
        self.flush()

    def rare(self) -> None:
        """What the searches for something rare look for: one file that few touch, one turn long ago."""
        self.writer += 1
        self.note(WriterIntroduced(self.writer, 1000, 99, 7, "gil", "gil-1", "the-rare-turn"), self.writer)
        self.texts[0] = [RARE.encode(), *self.texts[0]]
        self._put(0, "", self.writer)

    def flush(self) -> None:
        """One transaction of what is made by now."""
        self.journal.append(self.entries, self.blobs)
        self.entries, self.blobs = [], []


def kept(folder: Path, events: int, files: int) -> Path:
    """A journal of so many events: that in `folder`, made first where none is there yet."""
    state = folder / f"log-{events}"
    if not state.exists():
        making = folder / f"log-{events}.making"
        shutil.rmtree(making, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        make(making, events, files)
        making.rename(state)
    else:  # its views may be those of an earlier Quire, and are folded again when it is opened
        Journal.open(LmdbStore.open(state), BEGAN_NS).close()
    return state


def make(folder: Path, events: int, files: int) -> float:
    """The journal; how many seconds it took."""
    begun = time.perf_counter()
    journal = Journal.open(LmdbStore.open(folder), BEGAN_NS)
    maker = Maker(journal, files)
    maker.capture()
    maker.flush()
    maker.rare()
    maker.turns(events)
    journal.close()
    return time.perf_counter() - begun


# ── the questions ────────────────────────────────────────────────────────────


def questions(head: int) -> dict[str, dict[str, Any]]:
    """The arguments of `log` by what is asked."""
    middle = f"seq:{head // 2}"
    return {
        "everything": {},
        "oldest first": {"order": "oldest"},
        "one file": {"path": path_of(3)},
        "a folder": {"path": "src/part1"},
        "glob, many files": {"path": "*.py"},
        "glob, one file": {"path": "src/**/file17.*"},
        "glob, none": {"path": "*.rs"},
        "kind, frequent": {"kind": "read_served"},
        "kind, rare": {"kind": "writer_introduced", "agent": "gil"},
        "kind, none": {"kind": "lease_broken"},
        "writer by name": {"writer": "dora"},
        "writer w1": {"writer": "w1"},
        "outside": {"writer": "outside"},
        "agent, rare": {"agent": "gil"},
        "agent session": {"agent_session": "cem-0"},
        "turn": {"turn": "turn-17"},
        "turn, rare": {"turn": "the-rare-turn"},
        "turn in a folder": {"turn": "turn-17", "path": "src"},
        "time, from the middle": {"since": middle, "order": "oldest"},
        "time, a window": {"since": "2023-11-14T22:30:00Z", "until": "2023-11-14T22:40:00Z"},
        "file and agent": {"path": path_of(3), "agent": "eli"},
        "-S, in a file": {"text_changed": "compute(7,", "path": path_of(3)},
        "-S, everywhere": {"text_changed": RARE},
        "contains": {"contains": RARE, "path": path_of(0)},
        "patches": {"patch": True},
        "patches of a file": {"patch": True, "path": path_of(3)},
        "stat": {"stat": True},
    }


STORIES: dict[str, dict[str, Any]] = {
    "stories": {},
    "stories, all": {"all": True},
    "stories, agents": {"agents": True},
    "stories, a writer": {"writer": "dora"},
    "stories, a turn": {"turn": "turn-17"},
    "stories, rare": {"writer": "gil"},
    "stories, one file": {"path": path_of(3)},
    "stories, a folder": {"path": "src/part1"},
}
"""The arguments of `stories` by what is asked."""


def ask(folder: Path, rounds: int, to_the_end: bool) -> dict[str, Any]:
    """Open the journal, ask everything; what it took."""
    begun = time.perf_counter()
    store = LmdbStore.open(folder)
    journal = Journal.open(store, BEGAN_NS)
    names = PathNames()
    with store.reading() as reading:  # as a daemon does before it answers
        History(reading, names=names).read_names(NAMES_AT_ONCE)
    opened_ms = (time.perf_counter() - begun) * 1000

    def call(args: dict[str, Any], stories: bool = False) -> dict[str, Any]:
        with store.reading() as reading:
            history = History(reading, names=names)
            world = World(
                now_ns=time.time_ns(),
                who=Who(WriterId(0), b""),
                settings=Settings(),
                files={},
                history=history,
                next_seq=journal.head + 1,
                first_event_ns=BEGAN_NS,
            )
            tool = STORIES_TOOL if stories else SINCE_TOOL if args.get("cursor") == "now" else LOG_TOOL
            params = msgspec.convert(
                {**args, "cursor": f"seq:{journal.head - 20}"} if tool is SINCE_TOOL else args, tool.params
            )
            reply = tool.decide(params, world).reply
            msgspec.msgpack.encode(reply)
            return reply

    blamed, versions_of_it = often_edited(store)

    def lines_of_it() -> int:
        with store.reading() as reading:
            history = History(reading, names=names)
            head = history.file(blamed)
            assert head is not None
            return len(blame(history, blamed, head).text)

    took = [timed(lines_of_it) for _ in range(rounds)]
    who = {"first_ms": round(took[0], 2), "median_ms": round(statistics.median(took), 2)}
    who |= {"versions": versions_of_it, "lines": lines_of_it()}
    rows: dict[str, Any] = {}
    for name, args in {**questions(journal.head), **STORIES, "since": {"cursor": "now"}}.items():
        used, took, stories = [], [], name in STORIES
        for _ in range(rounds):
            cpu_s = time.process_time()
            took.append(timed(lambda args=args, stories=stories: call(args, stories)))
            used.append((time.process_time() - cpu_s) * 1000)
        reply = call(args, stories)
        more = reply.get("next") is not None if "next" in reply else reply["more"]
        rows[name] = {
            "first_ms": round(took[0], 2),
            "median_ms": round(statistics.median(took), 2),
            "first_cpu_ms": round(used[0], 2),  # what is left of it where other programs have the machine, too
            "cpu_ms": round(statistics.median(used), 2),
            "records": len(reply["stories" if stories else "records"]),
            "more": more,
        }
    whole = {
        name: pages(call, args)
        for name, args in questions(journal.head).items()
        if to_the_end and ("rare" in name or "S, e" in name)
    }
    with store.reading() as reading:
        versions, bytes_of_terms = reading.count("versions"), sum(len(k) + len(v) for k, v in reading.scan("terms"))
    return {
        "events": journal.head,
        "versions": versions,
        "journal_bytes": store.size_bytes(),
        "terms_bytes": bytes_of_terms,
        "open_ms": round(opened_ms, 1),
        "own_mb": memory_mb("RssAnon"),
        "peak_mb": memory_mb("VmHWM"),
        "queries": rows,
        "blame": who,
        "to_the_end": whole,
    }


def often_edited(store: LmdbStore, most: int = 100) -> tuple[str, int]:
    """The file that is edited most, of those with at most so many versions, and how many it has."""
    with store.reading() as reading:
        history = History(reading)
        for number in range(1000):
            versions = sum(1 for _ in history.versions(path_of(number)))
            if 0 < versions <= most:
                return path_of(number), versions
    raise SystemExit(f"no file has at most {most} versions")


def memory_mb(what: str) -> float:
    """Of this process: `VmHWM`, the most that it ever had in memory, or `RssAnon`, without what it maps of files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def pages(call: Callable[[dict[str, Any]], dict[str, Any]], args: dict[str, Any]) -> dict[str, Any]:
    """All pages of a question, one after the other."""
    begun, count, records, slowest = time.perf_counter(), 0, 0, 0.0
    cursor: str | None = None
    while count < 2000:
        page_begun = time.perf_counter()
        reply = call({**args, "cursor": cursor} if cursor else args)
        slowest = max(slowest, (time.perf_counter() - page_begun) * 1000)
        count += 1
        records += len(reply["records"])
        cursor = reply["next"]
        if cursor is None:
            break
    seconds = time.perf_counter() - begun
    return {"pages": count, "records": records, "seconds": round(seconds, 2), "slowest_page_ms": round(slowest, 2)}


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1000


def main() -> None:
    """Make the journal, ask in a process of its own, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in", dest="folder", help="make the journal on the file system of this folder")
    parser.add_argument(
        "--keep", help="make the journal in this folder and leave it there; ask one that is there again"
    )
    parser.add_argument("--whole", action="store_true", help="follow some questions to their last page, too")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask(Path(options.ask), options.rounds, options.whole)))
        return
    with tempfile.TemporaryDirectory(prefix="quire-bench-", dir=options.folder) as scratch:
        begun = time.perf_counter()
        folder = kept(Path(options.keep or scratch), options.events, options.files)
        made_s = time.perf_counter() - begun
        child = [sys.executable, __file__, "--ask", str(folder), "--rounds", str(options.rounds)]
        child += ["--whole"] if options.whole else []
        figures = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
    figures["made_s"] = round(made_s, 1)
    if options.json:
        print(json.dumps(figures))
        return
    show(figures)


def show(figures: dict[str, Any]) -> None:
    """The figures for people."""
    versions, size = figures["versions"], figures["journal_bytes"]
    print(f"{figures['events']:,} events, {versions:,} versions, made in {figures['made_s']} s")
    print(
        f"journal {size / 1e6:,.1f} MB, {size / versions:,.0f} bytes a version; "
        f"of it the index of terms {figures['terms_bytes'] / 1e6:.1f} MB"
    )
    print(
        f"opened in {figures['open_ms']} ms; {figures['own_mb']} MB of memory, "
        f"at most {figures['peak_mb']} MB with the pages of the journal that were looked at"
    )
    print(f"{'first page of':28}{'first':>9}{'median':>9}{'CPU':>9}{'records':>9}")
    for name, row in figures["queries"].items():
        more = " and more" if row["more"] else ""
        times = "".join(f"{row[what]:>6.2f} ms" for what in ("first_ms", "median_ms", "cpu_ms"))
        print(f"{name:28}{times}{row['records']:>9}{more}")
    row = figures["blame"]
    what = f"blame, {row['versions']} versions"
    print(f"{what:28}{row['first_ms']:>6.2f} ms{row['median_ms']:>6.2f} ms{row['lines']:>18} lines")
    for name, row in figures["to_the_end"].items():
        told = (
            f"{row['pages']} pages, {row['records']} records, {row['seconds']} s, slowest {row['slowest_page_ms']} ms"
        )
        print(f"all of {name:21}{told}")


if __name__ == "__main__":
    main()
