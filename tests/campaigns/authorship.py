"""A game of agents, people, formatters and git over one checkout, and a ledger that knows who typed each line.

Agents announce the calls of their own tools to a daemon in memory and write beside it, as their hooks do; the others
just write. The watcher looks now and then, so that several writes may come to it as one. What the journal says of each
version is then held against the ledger: a line is right where the writer of the version that brought it has typed it.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_daemon import MemoryDaemon
from proc_folder import told
from quire_daemon.core.traced_writer import Ancestor, TracedWriter
from quire_journal.model.events import WorkspaceOpened, WorkspaceScanned
from quire_journal.model.evidence import CAPTURED, DURING, NAMING, PROVED, SCANNED, WATCHED
from quire_journal.model.ids import disk_path
from quire_journal.model.messages import Caller
from quire_journal.views.files import OUTSIDE_TYPE


class Mix(NamedTuple):
    """How often what happens. It was written down before the first game, and is not tuned."""

    # ── the table ──
    agents: tuple[int, int] = (2, 4)  # at least, at most
    subagents: float = 0.3  # agents that have one
    files: int = 5
    lines: tuple[int, int] = (15, 40)  # of a file at the beginning
    steps: int = 40  # of a game
    equal_lines: float = 0.15  # games in which all lines are out of a dozen
    steps_of: Mapping[str, float] = {
        "begin": 26,  # an agent announces a call
        "write": 30,  # a call that is under way writes, or writes on
        "end": 24,  # a call that has written ends
        "save": 8,  # a person saves a file
        "program": 2,  # another program writes one
        "git": 3,  # away, and back
        "format": 1,  # a formatter of somebody's runs over the tree
        "look": 5,  # the watcher looks
        "turn": 1.5,  # a person gives an agent its next task
        "kill": 0.5,  # the daemon is killed; the next hook starts one
        "forge": 0.5,  # a hook of another process tree claims an agent's session, and its program writes
    }
    calls: Mapping[str, float] = {"edit": 44, "write": 22, "shell": 32, "lie": 2}
    shells: Mapping[str, float] = {
        "named": 40,  # writes the file that the command line names
        "formatter": 15,
        "generator": 20,
        "unnamed": 10,  # writes files that the command line does not name
        "idle": 15,  # writes nothing
    }
    edits_in_call: tuple[int, int] = (1, 3)
    replaced: tuple[int, int] = (1, 3)  # lines that an edit takes away
    typed: tuple[int, int] = (0, 4)  # lines that it puts in their place
    new_file: tuple[int, int] = (4, 15)  # lines
    generated: tuple[int, int] = (5, 20)  # lines of a file that a generator writes
    generated_files: tuple[int, int] = (1, 3)
    whole_of_new: float = 0.4  # calls that write a whole file: of a new one; else of one that is there
    several_files: float = 0.3  # patches that are about two
    seen_at_once: float = 0.75  # writes that the watcher tells of before the next one
    end_lost: float = 0.03  # hooks after a call that never come
    outlives: float = 0.25  # shell commands of Codex that go on behind their call, which then has no end
    denied: float = 0.02  # calls that the person does not allow: no write, no hook afterwards
    formats_itself: float = 0.08  # edits after which the agent's own formatter runs, within the call
    stale_buffer: float = 0.1  # saves of an editor that had not seen what others wrote
    twin: float = 0.03  # saves of just what a call that is under way is about to write
    git_heard: float = 0.8  # git commands of which the daemon knows when they run
    reads_first: float = 0.3  # calls before which the agent tells of a read
    traced: float = 0.5  # games in which the kernel tells who wrote; added with that evidence, before its first game
    gone: float = 0.02  # writes of processes that were gone before they could be read


MIX: Final = Mix()

VOCABULARY: Final = ("}", "{", "    return x", "x = 1", "x=1", "if x:", "    pass", "else:", "a()", "b()", "# end", "y")
AGENTS: Final = ("claude-code", "codex", "gemini", "opencode")
GENERATORS: Final = (
    ("protoc --python_out=gen api.proto", "api{}_pb2.py"),
    ("npm run codegen", "api{}.ts"),
    ("make gen", "out{}.py"),
)
"""A command line, and the files that it makes."""

STRICT: Final = ("claude-code", "opencode")
"""Agents whose tools refuse a file that was changed since they read it."""

OTHERS: Final = {
    "git": ("git", "/usr/bin/git"),
    "program": ("python3", "/usr/bin/python3"),
    "formatted": ("black", "/usr/bin/black"),
    "forged": ("node", "/usr/bin/elsewhere"),
}
"""How the processes of others are called, by what they do."""

EDITOR: Final = ("vim", "/usr/bin/vim")

NOBODY: Final = ("", "before")
PERSON: Final = ("", "person")
PROGRAM: Final = ("", "program")
FORGER: Final = ("", "forger")

Actor = tuple[str, str]
"""(agent, agent session); of others ("", who)."""


class Kernel:
    """Tells which processes wrote a file since it was looked at, in the place of `Tracer`."""

    state = "fanotify"
    reads = True

    def __init__(self) -> None:
        self.now: Callable[[], float] = float
        self._writers: dict[str, list[TracedWriter | None]] = defaultdict(list)

    def wrote(self, path: str, line: tuple[Ancestor, ...] | None) -> None:
        """A process wrote; None: one that could not be read any more."""
        now = self.now()
        self._writers[path].append(None if line is None else TracedWriter(line, line[0].start / 100, now, now))

    def restarted(self) -> None:
        """Another daemon asks, who knows nothing of before."""
        self._writers.clear()

    def writers_of(self, path: str) -> tuple[TracedWriter, ...] | None:
        found = [one for one in self._writers[path] if one is not None]
        return tuple(found) if len(found) == len(self._writers[path]) else None

    def looked(self, path: str, at_s: float) -> None:
        self._writers.pop(path, None)

    def ask(self, paths: Sequence[str]) -> None:
        """It is there."""

    def starts(self) -> bool:
        return False

    begin = look = close = lambda self: None


class Ledger:
    """Who typed which line. A line is known by its text; where texts come twice, all who typed it count."""

    def __init__(self) -> None:
        self.typed_by: dict[str, set[Actor]] = defaultdict(set)
        self.how: dict[str, str] = {}  # in which kind of act, for who looks for a fault

    def typed(self, by: Actor, before: str | None, after: str | None, how: str) -> None:
        """Somebody made one text of another."""
        self.said(by, Counter(rows(after)) - Counter(rows(before)), how)

    def said(self, by: Actor, lines: Iterable[str], how: str) -> None:
        """Somebody typed these lines."""
        for line in lines:
            self.typed_by[line].add(by)
            self.how.setdefault(line, how)


@dataclass
class Call:
    """A call of an agent's own tool that is under way."""

    agent: Agent
    tool: str
    number: str
    told: dict[str, Any]  # what both hooks say of it
    writes: list[Callable[[], bool]]  # what is left to be done; each says whether it could be
    after: dict[str, Any] = field(default_factory=dict)  # what the hook afterwards says more
    ok: bool = True
    ends: bool = True  # with a hook


@dataclass
class Agent:
    """An agent session, or a subagent of one."""

    kind: str
    session: str
    pid: int
    parent: str = ""
    turn: int = 1
    calls: list[Call] = field(default_factory=list)

    @property
    def actor(self) -> Actor:
        return self.kind, self.session

    def caller(self, number: str = "") -> Caller:
        """As its hooks say."""
        call = "" if self.kind == "gemini" else number
        return Caller(self.kind, self.session, f"turn-{self.turn}", call, "", self.parent)


@dataclass
class Figures:
    """What came of games."""

    games: int = 0
    lines: int = 0  # that agents typed, and a version has
    right: int = 0  # of them: with their author, or `~` and their author
    proved: int = 0  # lines brought by versions that are proved to be somebody's
    proved_wrong: list[str] = field(default_factory=list)
    probable: int = 0  # lines marked `~`
    probable_wrong: list[str] = field(default_factory=list)
    mistaken: Counter[str] = field(default_factory=Counter)  # these, by the acts that typed them and the calls
    undos: int = 0
    taken: list[str] = field(default_factory=list)  # lines of others that an undo took
    lost: Counter[str] = field(default_factory=Counter)  # lines of agents without their author, by how they were typed
    words: Counter[str] = field(default_factory=Counter)  # lines of agents by evidence

    def told(self) -> str:
        """The figures, in a few lines."""
        share = self.right / max(self.lines, 1)
        wrong = len(self.probable_wrong) / max(self.probable, 1)
        return "\n".join(
            [
                f"{self.games} games; {self.lines} lines of agents, {share:.2%} with their author",
                f"{self.proved} lines proved, {len(self.proved_wrong)} of them wrong",
                f"{self.probable} lines probable, {len(self.probable_wrong)} of them wrong ({wrong:.2%})",
                f"{self.undos} undos by writer, {len(self.taken)} lines of others taken",
                f"by evidence: {dict(self.words)}",
                f"without their author: {dict(self.lost.most_common())}",
                *(f"{count} wrong: {why}" for why, count in self.mistaken.most_common()),
            ]
        )


def rows(text: str | None) -> list[str]:
    """The lines of a text that can be told apart."""
    return [] if text is None else [line for line in text.split("\n") if line.strip()]


def between(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines from the first that differs to the last."""
    most = min(len(old), len(new))
    first = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - first) if old[-1 - n] != new[-1 - n]), most - first)
    return list(new[first : len(new) - tail])


def layout(text: str) -> str:
    """What a formatter makes of a text."""
    return re.sub(r"[ ]*=[ ]*", " = ", text)


def substituted(text: str, swaps: Iterable[tuple[str, str]]) -> str:
    """What `sed` makes of a text: the first place in each line, of each swap."""
    lines = text.split("\n")
    for old, new in swaps:
        lines = [line.replace(old, new, 1) for line in lines]
    return "\n".join(lines)


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    """What changed, with three lines around it, as an agent tells afterwards."""
    old, new = before.split("\n"), after.split("\n")
    found = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines = []
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[i:j]]
            else:
                lines += [f"-{line}" for line in old[i:j]] + [f"+{line}" for line in new[k:m]]
        found.append({"start": group[0][1] + 1, "lines": lines})
    return found


class Game:
    """One game, played to its end."""

    def __init__(self, seed: int, proc: Path, mix: Mix = MIX) -> None:
        self.random, self.mix = random.Random(seed), mix
        self.ledger, self.dirty, self.down = Ledger(), set[str](), False
        self.equal = self.random.random() < mix.equal_lines
        self.count = 0
        self.away: dict[str, str | None] = {}  # path → what a stash holds, or a branch
        self.left: dict[str, str | None] = {}  # path → what git put there instead
        self.under_git = ""
        self.buffers: dict[str, str | None] = {}  # what an editor had read, once
        self.heard = set[str]()  # agent sessions whose process the daemon knows
        self.agents = self._agents(proc)
        self.kernel = Kernel() if self.chance(mix.traced) else None
        self.daemon = MemoryDaemon(proc=proc, tracer=self.kernel)
        if self.kernel is not None:
            self.kernel.now = lambda: self.daemon.clock.mono_s()
        told_by = self.daemon.app.observer.hint
        self._hint = lambda path, at_ns, exact: self.under_git or told_by(path, at_ns, exact)
        self.daemon.app.observer.hint = self._hint
        for number in range(mix.files):
            path = ("src/a.py", "src/b.py", "src/c.py", "docs/n.md", "data.txt")[number % 5]
            text = self.text(mix.lines)
            self.ledger.typed(NOBODY, None, text, "before")
            self.daemon.save(path, text)
        self.daemon.watch(CAPTURED)

    # ── who plays ──

    def _agents(self, proc: Path) -> list[Agent]:
        told(proc, 1, 0, 1, "systemd", "/sbin/init")
        told(proc, 99, 1, 99, "node", "/usr/bin/elsewhere")
        found: list[Agent] = []
        for number in range(self.random.randint(*self.mix.agents)):
            home, hook = 100 + 10 * number, 101 + 10 * number
            told(proc, home, 1, home, "node", f"/usr/bin/agent{number}")
            told(proc, hook, home, hook, "quire", "/usr/bin/python3")
            agent = Agent(self.random.choice(AGENTS), f"s{number}", hook)
            found.append(agent)
            if self.random.random() < self.mix.subagents:
                found.append(Agent(agent.kind, f"{agent.session}.sub", hook, agent.session))
        return found

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def drawn(self, weights: Mapping[str, float]) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]

    # ── texts ──

    def line(self) -> str:
        """A line that nobody has typed before; in some games, one that many have."""
        if self.equal:
            return self.random.choice(VOCABULARY)
        self.count += 1
        equals = "=" if self.chance(0.4) else " = "
        return f"{' ' * self.random.choice((0, 4))}w{self.count}{equals}f({self.count})"

    def text(self, lines: tuple[int, int]) -> str:
        return "".join(f"{self.line()}\n" for _ in range(self.random.randint(*lines)))

    def disk(self, path: str) -> str | None:
        data = self.daemon.files.get(path)
        return None if data is None else data.decode()

    def paths(self) -> list[str]:
        """Files that are there."""
        return list(self.daemon.files)

    def some_path(self) -> str | None:
        found = [path for path in self.paths() if not path.startswith("gen/")]
        return self.random.choice(found) if found else None

    # ── writing, looking, and hooks ──

    def put(self, path: str, text: str | None, by: tuple[Ancestor, ...]) -> None:
        """A process makes it stand on the disk; the watcher tells of it at once, or later."""
        if text == self.disk(path):
            return
        self.daemon.clock.at_s += 1
        if self.kernel is not None and not self.down:
            self.kernel.wrote(path, None if self.chance(self.mix.gone) else by)
        if text is None:
            del self.daemon.files[path]
        else:
            self.daemon.files[path] = text.encode()
        self.dirty.add(path)
        if not self.down and self.chance(self.mix.seen_at_once):
            self.look([path])

    def typed(self, by: Actor, path: str, text: str | None, how: str) -> None:
        """Somebody writes what is nobody else's. Of lines that come twice, all in what was written may be new."""
        before = self.disk(path)
        self.ledger.typed(by, before, text, how)
        if self.equal and before is not None and text is not None:
            old, new = before.split("\n"), text.split("\n")
            self.ledger.said(by, rows(text if how == "Write" else "\n".join(between(old, new))), how)
        self.put(path, text, self.process(by, how))

    def process(self, by: Actor, how: str) -> tuple[Ancestor, ...]:
        """The process that writes, and those that it descends from."""
        started = int(self.daemon.clock.mono_s() * 100)
        agent = next((one for one in self.agents if one.actor == by), None)
        if agent is None:
            return Ancestor(200, 200, *OTHERS.get(how, EDITOR)), Ancestor(1, 1, "systemd", "/sbin/init")
        home = Ancestor(agent.pid - 1, agent.pid - 1, "node", "/usr/bin/agent")
        own = how in ("Edit", "Write", "apply_patch", "lie")
        return (home,) if own else (Ancestor(300 + started, started, "sh", "/bin/sh"), home)

    def look(self, paths: Iterable[str] | None = None) -> None:
        """The watcher has told of these, or of all that was written."""
        if self.down:
            return
        for path in sorted(self.dirty if paths is None else paths):
            observation = self.daemon.app.observer.observe(disk_path(path), WATCHED)
            self.daemon.app.observer.note(observation, observation.event)
            self.dirty.discard(path)
        self.daemon.recorder.commit()

    def restart(self) -> None:
        """The next daemon compares the tree with the journal."""
        if self.down:
            self.down = False
            self.daemon.recorder.note(WorkspaceOpened("/", "another", "0"))
            self.daemon.watch(SCANNED)
            self.daemon.recorder.note(WorkspaceScanned("start", len(self.paths()), len(self.dirty)))
            self.daemon.recorder.commit()
            self.dirty.clear()

    def hook(self, agent: Agent, moment: str, number: str = "", pid: int = 0, **args: Any) -> dict[str, Any]:
        """A hook calls; before it is heard, the watcher has caught up."""
        self.restart()
        self.look()
        if not pid:
            self.heard.add(agent.parent or agent.session)
        told = {"moment": moment, **args}
        if number and agent.kind != "gemini":
            told["call"] = number
        return self.daemon.said("native", told, agent.caller(number), pid or agent.pid)

    # ── what happens ──

    def play(self) -> None:
        for _ in range(self.mix.steps):
            getattr(self, f"_{self.drawn(self.mix.steps_of)}")()
        self.under_git = ""
        self.restart()
        for agent in self.agents:
            if self.chance(0.8):
                self._end_all(agent)
        self.look()
        self.daemon.after(1000)
        self.daemon.app.burst_expiry.tidy()
        self.daemon.recorder.commit()

    def _begin(self) -> None:
        agent = self.random.choice(self.agents)
        if len(agent.calls) >= 2:
            return
        self.count += 1
        number = f"c{self.count}"
        call = self._call(agent, number)
        if call is None:
            return
        if call.told.get("paths") and self.chance(self.mix.reads_first):
            self.restart()
            self.look()
            for path in call.told["paths"]:
                self.daemon.said("read_file", {"path": path}, agent.caller(), agent.pid)
        begun = self.hook(agent, "before", number, tool=call.tool, **call.told)
        if not begun["ok"] or self.chance(self.mix.denied):
            return  # the agent does not go on
        agent.calls.append(call)

    def _write(self) -> None:
        calls = [call for agent in self.agents for call in agent.calls if call.writes]
        if calls:
            call = self.random.choice(calls)
            call.ok = call.writes.pop(0)() and call.ok
            if not call.ok:
                call.writes.clear()

    def _end(self) -> None:
        calls = [call for agent in self.agents for call in agent.calls if not call.writes and call.ends]
        if calls:
            self._ended(self.random.choice(calls))

    def _ended(self, call: Call) -> None:
        call.agent.calls.remove(call)
        if self.chance(self.mix.end_lost):
            return
        told = {**call.told, **call.after} if call.ok else {k: v for k, v in call.told.items() if k != "payloads"}
        self.hook(call.agent, "after", call.number, tool=call.tool, ok=call.ok, **told)

    def _turn(self) -> None:
        agent = self.random.choice(self.agents)
        self._end_all(agent)
        agent.turn += 1
        self.hook(agent, "turn", prompt="go on")

    def _end_all(self, agent: Agent) -> None:
        """What is under way is done, and the turn is over."""
        for call in list(agent.calls):
            while call.writes:
                call.ok = call.writes.pop(0)() and call.ok
                if not call.ok:
                    call.writes.clear()
            if call.ends:
                self._ended(call)
            else:
                agent.calls.remove(call)
        self.hook(agent, "end")

    def _look(self) -> None:
        self.look()

    def _kill(self) -> None:
        if not self.down:
            self.daemon.kill()
            if self.kernel is not None:
                self.kernel.restarted()
            self.heard.clear()
            self.daemon.app.observer.hint = self._hint
            self.down = True

    # ── people, other programs, git ──

    def _save(self) -> None:
        path = self.some_path()
        if path is None:
            return
        pending = [call for agent in self.agents for call in agent.calls if call.writes and call.tool != "Bash"]
        if pending and self.chance(self.mix.twin):
            self._twin(self.random.choice(pending))
            return
        now = self.disk(path)
        known = self.buffers.get(path) if self.chance(self.mix.stale_buffer) else now
        self.buffers.setdefault(path, now)
        if known is not None:
            self.typed(PERSON, path, self.edited(known), "saved")

    def _twin(self, call: Call) -> None:
        """A person types just what an agent is about to write, whose tool then finds its text gone, or file changed."""
        for payload in call.told.get("payloads", ()):
            path, now = payload.get("path", ""), self.disk(payload.get("path", ""))
            if payload["kind"] != "replace" or now is None:
                continue
            for edit in payload["edits"]:
                now = now.replace(edit["old"], edit["new"], 1)
            self.typed(PERSON, path, now, "twin")
            call.writes = [lambda: False]

    def _program(self) -> None:
        path = self.some_path()
        if path is not None:
            self.typed(PROGRAM, path, self.edited(self.disk(path) or ""), "program")

    def _format(self) -> None:
        for path in self.paths():
            if path.startswith("src/") and self.chance(0.5):
                self.typed(PROGRAM, path, layout(self.disk(path) or ""), "formatted")

    def _git(self) -> None:
        """A branch is checked out, or changes are stashed; the next time all of it comes back."""
        self.under_git = "git checkout main" if self.chance(self.mix.git_heard) else ""
        if self.away:
            for path, text in self.away.items():
                if self.disk(path) == self.left[path]:  # else git would refuse
                    self.put(path, text, self.process(PERSON, "git"))
            self.away = {}
        else:
            chosen = self.random.sample(self.paths(), min(3, len(self.paths())))
            self.away = {path: self.disk(path) for path in chosen}
            self.left = {path: self._older(path) for path in chosen}
            for path, text in self.left.items():
                self.put(path, text, self.process(PERSON, "git"))
        if self.under_git:
            self.look()
        self.under_git = ""

    def _older(self, path: str) -> str | None:
        """The file as it was once."""
        if self.down:
            return self.disk(path)
        with self.daemon.history() as history:
            seen = [one for one in history.versions(path) if not one.gone]
            held = history.bytes_held(self.random.choice(seen).blob) if seen else None
        return None if held is None else held.decode()

    def _forge(self) -> None:
        """A program says that it is an agent's session, which the daemon knows by its process."""
        agent, path = self.random.choice(self.agents), self.some_path()
        if path is None or (agent.parent or agent.session) not in self.heard:
            return
        text = self.edited(self.disk(path) or "")
        told: dict[str, Any] = {"tool": "Write", "paths": [path], "whole": True}
        told["payloads"] = [{"kind": "content", "path": path, "text": text}]
        self.count += 1
        self.hook(agent, "before", f"c{self.count}", 99, **told)
        self.typed(FORGER, path, text, "forged")
        self.hook(agent, "after", f"c{self.count}", 99, **told)

    def edited(self, text: str) -> str:
        """What a person makes of a text."""
        lines = text.split("\n")
        at = self.random.randrange(len(lines))
        gone = self.random.choice((0, 0, 1, 2))
        lines[at : at + gone] = [self.line() for _ in range(self.random.randint(1, 3))]
        return "\n".join(lines)

    # ── calls ──

    def _call(self, agent: Agent, number: str) -> Call | None:
        kind = self.drawn(self.mix.calls)
        if kind == "shell":
            return self._shell(agent, number)
        if kind == "lie":
            return self._lie(agent, number)
        if agent.kind == "codex":
            return self._patch(agent, number)
        return self._edit(agent, number) if kind == "edit" else self._whole(agent, number)

    def _replaced(self, text: str) -> tuple[str, str] | None:
        """(lines that stand once in a text, what comes in their place)."""
        lines = text.split("\n")[:-1]
        for _ in range(10):
            count = self.random.randint(*self.mix.replaced) + 2 * self.equal
            if count > len(lines):
                return None
            at = self.random.randrange(len(lines) - count + 1)
            old = "\n".join(lines[at : at + count])
            kept = lines[at : at + self.random.randint(0, count)]
            fresh = [self.line() for _ in range(self.random.randint(*self.mix.typed))]
            new = "\n".join([*kept, *fresh])
            if text.count(old) == 1 and old != new:
                return old, new
        return None

    def _edit(self, agent: Agent, number: str) -> Call | None:
        path = self.some_path()
        known = None if path is None else self.disk(path)
        if path is None or known is None:
            return None
        edits: list[dict[str, Any]] = []
        coming = known
        most = self.random.randint(*self.mix.edits_in_call) if agent.kind == "claude-code" and self.chance(0.25) else 1
        for _ in range(most):
            found = self._replaced(coming)
            if found is not None:
                edits.append({"old": found[0], "new": found[1], "all": False})
                coming = coming.replace(found[0], found[1], 1)
        if not edits:
            return None
        payload = {"kind": "replace", "path": path, "edits": edits}
        replaces = [edit["old"] for edit in edits]
        call = Call(agent, "Edit", number, {"paths": [path], "replaces": replaces, "payloads": [payload]}, [])

        def write() -> bool:
            now = self.disk(path)
            if now is None or (agent.kind in STRICT and now != known):
                return False
            made = now
            for edit in edits:
                if made.count(edit["old"]) != 1:
                    return False
                made = made.replace(edit["old"], edit["new"], 1)
            self._wrote(call, path, made, payload)
            return True

        call.writes = self._and_formats(call, path, write)
        return call

    def _whole(self, agent: Agent, number: str) -> Call | None:
        path = self.some_path()
        if path is None or self.chance(self.mix.whole_of_new):
            self.count += 1
            path = f"src/new{self.count}.py"
        known = self.disk(path)
        text = self.text(self.mix.new_file) if known is None else self.edited(self.edited(known))
        payload = {"kind": "content", "path": path, "text": text}
        call = Call(agent, "Write", number, {"paths": [path], "whole": True, "payloads": [payload]}, [])

        def write() -> bool:
            if agent.kind in STRICT and self.disk(path) != known:
                return False
            self._wrote(call, path, text, payload)
            return True

        call.writes = self._and_formats(call, path, write)
        return call

    def _wrote(self, call: Call, path: str, text: str, payload: Mapping[str, Any]) -> None:
        """The tool writes; some agents tell afterwards what came of it."""
        before = self.disk(path)
        self.typed(call.agent.actor, path, text, call.tool)
        if before is not None and call.agent.kind in ("claude-code", "gemini"):
            came = {"kind": "hunks", "path": path, "before": before, "hunks": hunks(before, text)}
            call.after["payloads"] = [payload, came] if came["hunks"] else [payload]

    def _and_formats(self, call: Call, path: str, write: Callable[[], bool]) -> list[Callable[[], bool]]:
        """The writes of a call, behind which the agent may have its own formatter run."""

        def formats() -> bool:
            now = self.disk(path)
            if now is not None:
                self.typed(call.agent.actor, path, layout(now), "own formatter")
            return True

        return [write, formats] if self.chance(self.mix.formats_itself) else [write]

    def _patch(self, agent: Agent, number: str) -> Call | None:
        """Codex: one or two files are updated, added, removed or moved by one patch."""
        said: list[str] = ["*** Begin Patch"]
        acts: list[Callable[[], dict[str, str | None] | None]] = []
        paths: list[str] = []
        for _ in range(1 + self.chance(self.mix.several_files)):
            one = self._patched(said, paths)
            if one is not None:
                acts.append(one)
        if not acts:
            return None
        patch = "\n".join([*said, "*** End Patch", ""])
        told = {"paths": paths, "payloads": [{"kind": "patch", "text": patch}]}
        call = Call(agent, "apply_patch", number, told, [])

        def write() -> bool:
            made = [act() for act in acts]
            if any(one is None for one in made):
                return False
            for one in made:
                for path, text in (one or {}).items():
                    self.typed(agent.actor, path, text, "apply_patch")
            return True

        call.writes = self._and_formats(call, paths[0], write)
        return call

    def _patched(self, said: list[str], paths: list[str]) -> Callable[[], dict[str, str | None] | None] | None:
        """Add a file to a patch; what comes of it when it is applied, None where it does not fit any more."""
        kind = self.drawn({"update": 70, "add": 15, "delete": 5, "move": 10})
        self.count += 1
        new = f"src/new{self.count}.py"
        if kind == "add":
            text = self.text(self.mix.new_file)
            said += [f"*** Add File: {new}", *(f"+{line}" for line in text.split("\n")[:-1])]
            paths.append(new)
            return lambda: {new: text}
        path = self.some_path()
        known = None if path is None or path in paths else self.disk(path)
        if path is None or known is None:
            return None
        if kind == "delete":
            said.append(f"*** Delete File: {path}")
            paths.append(path)
            return lambda: {path: None} if self.disk(path) is not None else None
        found = self._replaced(known)
        if found is None:
            return None
        old, new_lines = found[0].split("\n"), found[1].split("\n") if found[1] else []
        said.append(f"*** Update File: {path}")
        paths.append(path)
        if kind == "move":
            said.append(f"*** Move to: {new}")
            paths.append(new)
        said += ["@@", *(f"-{line}" for line in old), *(f"+{line}" for line in new_lines)]

        def act() -> dict[str, str | None] | None:
            lines = (self.disk(path) or "").split("\n")
            at = next((n for n in range(len(lines)) if lines[n : n + len(old)] == old), None)
            if at is None:
                return None
            lines[at : at + len(old)] = new_lines
            if lines[-1]:
                lines.append("")
            text = "\n".join(lines)
            return {path: text} if kind == "update" else {new: text, path: None}

        return act

    def _lie(self, agent: Agent, number: str) -> Call | None:
        """A payload that says other lines than the tool writes."""
        path = self.some_path()
        if path is None:
            return None
        said = self.edited(self.disk(path) or "")
        payload = {"kind": "content", "path": path, "text": said}
        call = Call(agent, "Write", number, {"paths": [path], "whole": True, "payloads": [payload]}, [])

        def write() -> bool:
            self.typed(agent.actor, path, self.edited(self.disk(path) or ""), "lie")
            return True

        call.writes = [write]
        return call

    def _shell(self, agent: Agent, number: str) -> Call | None:
        kind = self.drawn(self.mix.shells)
        writes: list[Callable[[], bool]] = []

        def writing(path: str, make: Callable[[str | None], str | None]) -> None:
            def write() -> bool:
                self.typed(agent.actor, path, make(self.disk(path)), f"{kind} shell")
                return True

            writes.append(write)

        path = self.some_path()
        if path is None:
            return None
        command = "pytest -q"
        if kind == "named":
            command, make = self._naming(path)
            writing(path, make)
        elif kind == "formatter":
            command = self.random.choice(("black src", "ruff format src/", "black --quiet src"))
            for one in self.paths():
                if one.startswith("src/") and self.chance(0.6):
                    writing(one, lambda now: None if now is None else layout(now))
        elif kind == "generator":
            command, name = self.random.choice(GENERATORS)
            for _ in range(self.random.randint(*self.mix.generated_files)):
                self.count += 1
                made = self.text(self.mix.generated)
                writing(f"gen/{name.format(self.count % 5)}", lambda _, made=made: made)
        elif kind == "unnamed":
            command = self.random.choice(("python3 tools/run.py", "./script.sh"))
            writing(path, lambda now: self.edited(now or ""))
        call = Call(agent, "Bash", number, {"paths": [], "command": command}, writes)
        call.ends = not (agent.kind == "codex" and self.chance(self.mix.outlives))
        return call

    def _naming(self, path: str) -> tuple[str, Callable[[str | None], str]]:
        """A command line that names the file, and what such a program makes of it: nothing else than it can."""
        match self.random.choice(("sed", ">", ">>")):
            case "sed":
                known = rows(self.disk(path)) or [self.line()]
                news = [self.line().strip() for _ in range(self.random.randint(1, 3))]
                swaps = [(self.random.choice(known).strip(), new) for new in news]
                script = " ".join(f"-e 's/{old}/{new}/'" for old, new in swaps)
                return f"sed -i {script} {path}", lambda now: substituted(now or "", swaps)
            case ">":
                return f"./fill.sh > {path}", lambda now: self.edited(now or "")
            case _:
                more = "".join(f"{self.line()}\n" for _ in range(self.random.randint(1, 3)))
                return f"cat notes >> {path}", lambda now: (now or "") + more

    # ── what came of it ──

    def count_lines(self, figures: Figures) -> None:
        """Hold what the journal says of each version against the ledger."""
        figures.games += 1
        seen: set[str] = set()
        for seq, path, brought, actor, word in sorted(self._versions(), key=lambda one: one[0]):
            for line in brought:
                typed_by = self.ledger.typed_by[line]
                told = f"{path}: {line.strip()} is of {sorted(typed_by)}, not {actor} ({self.ledger.how[line]})"
                if word in PROVED:
                    figures.proved += 1
                    foreign = actor == ("", "") and any(not agent for agent, _ in typed_by)  # proved to be no agent's
                    if actor not in typed_by and not foreign:
                        figures.proved_wrong.append(told)
                elif word == DURING:
                    figures.probable += 1
                    if actor not in typed_by:
                        figures.probable_wrong.append(told)
                        figures.mistaken[f"{self.ledger.how[line]}, given to {self._call_of(seq)}"] += 1
                if line in seen or len(typed_by) > 1:
                    continue
                seen.add(line)
                if all(agent for agent, _ in typed_by):
                    figures.lines += 1
                    right = word in NAMING and actor in typed_by
                    figures.right += right
                    figures.words[word if right else "none"] += 1
                    if not right:
                        figures.lost[self.ledger.how[line]] += 1

    def _call_of(self, seq: int) -> str:
        """The call to which the journal gives a write: its command line without names of files, or its tool."""
        with self.daemon.history() as history:
            record = history.record(seq)
            found = None if record is None else history.attribution(record)
            burst = None if found is None else history.burst(found.burst)
        if burst is None:
            return "nobody"
        traced = ", traced" if self.kernel is not None else ""
        return re.sub(r"'.*'|\S+\.(?:py|md|txt)", "…", burst.command or burst.label.split()[0]) + traced

    def _versions(self) -> Iterator[tuple[int, str, list[str], Actor, str]]:
        """(seq, path, lines that it brought, who is said to have, by which evidence) of each outside version."""
        with self.daemon.history() as history:
            for path in [path for path, _ in history.paths()]:
                before: str | None = None
                for version in history.versions(path):
                    held = None if version.gone else history.bytes_held(version.blob)
                    text = None if held is None else held.decode()
                    brought = list((Counter(rows(text)) - Counter(rows(before))).elements())
                    before = text
                    if version.type == OUTSIDE_TYPE:
                        who = history.writer(version.writer)
                        actor = ("", "") if who is None else (who.agent, who.agent_session)
                        yield version.seq, path, brought, actor, version.evidence

    def undo_by_writer(self, figures: Figures) -> None:
        """Take back what one session did: every line of the others stays."""
        agent = self.random.choice([one for one in self.agents if not one.parent])
        own = {one.actor for one in self.agents if agent.session in (one.session, one.parent)}
        before = {path: Counter(rows(self.disk(path))) for path in self.paths()}
        undone = self.daemon.ask("undo", {"writer": f"{agent.kind}/{agent.session}"}, "boss")
        figures.undos += bool(undone.get("ok"))
        for path, lines in before.items():
            left = Counter(rows(self.disk(path)))
            for line in lines - left:
                if not self.ledger.typed_by[line] & own:
                    how = self.ledger.how[line]
                    figures.taken.append(f"{path}: {line.strip()} of {sorted(self.ledger.typed_by[line])} ({how})")


def played(seeds: Sequence[int], folder: Path, mix: Mix = MIX) -> Figures:
    """What came of games with these seeds."""
    figures = Figures()
    for seed in seeds:
        proc = folder / str(seed)
        proc.mkdir()
        game = Game(seed, proc, mix)
        game.play()
        game.count_lines(figures)
        game.undo_by_writer(figures)
    return figures
