"""Runs beside two agents and a person's saves, against a model that knows who wrote each version."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from live import LONG, SEED
from memory_daemon import MemoryDaemon
from proc_folder import Kernel, told
from quire_daemon.core.traced_writer import Ancestor
from quire_journal.model.messages import Caller

GAMES = 1000 if LONG else 40
FILES = tuple(f"{name}.py" for name in "abcdef")
STEPS = 14

MIX = {"run writes": 5, "run begins": 3, "run ends": 3, "person saves": 2, "agent edits": 3, "editor tells": 1}
"""What happens how often: fixed before the first game."""

VIM = Ancestor(70, 45, "vim", "/usr/bin/vim")
SHELL = Ancestor(41, 41, "bash", "/bin/bash")
RUNNERS = {50: Caller("", "max"), 51: Caller("aider")}


class Game:
    """A random course of events; `truth` has who wrote each version by another program."""

    def __init__(self, seed: int, proc: Path, traced: bool) -> None:
        proc.mkdir()
        self.random, self.proc, self.traced = random.Random(seed), proc, traced
        told(proc, 1, 0, 1, "systemd", "/sbin/init")
        told(proc, 40, 1, 40, "bash", "/bin/bash")
        for pid in RUNNERS:
            told(proc, pid, 40, pid, "quire", "/usr/bin/python3")
        self.kernel = Kernel()
        self.daemon = MemoryDaemon(dict.fromkeys(FILES, b"start\n"), proc=proc, tracer=self.kernel)
        self.daemon.watch("captured")
        self.runs: dict[int, tuple[int, str]] = {}  # pid → burst, and the file that the command names
        self.truth: dict[int, str] = {}
        self.count = 0

    def play(self) -> None:
        """All steps; then the runs end."""
        for _ in range(STEPS):
            (step,) = self.random.choices([*MIX], [*MIX.values()])
            getattr(self, step.replace(" ", "_"))()
        for pid in list(self.runs):
            self._end(pid)

    def run_begins(self) -> None:
        free = [pid for pid in RUNNERS if pid not in self.runs]
        if free:
            pid, file = self.random.choice(free), self.random.choice(FILES)
            arguments = {"action": "begin", "command": ["python3", "gen.py", file]}
            reply = self.daemon.said("run", arguments, RUNNERS[pid], pid)
            self.runs[pid] = reply["burst"], file

    def run_writes(self) -> None:
        if self.runs:
            pid = self.random.choice([*self.runs])
            child = Ancestor(60, int(self.daemon.clock.at_s * 100) + 100, "sed", "/bin/sed")
            self._write(self.runs[pid][1], str(RUNNERS[pid]), child, Ancestor(pid, pid, "quire", "/usr/bin/python3"))

    def run_ends(self) -> None:
        if self.runs:
            self._end(self.random.choice([*self.runs]))

    def person_saves(self) -> None:
        self._write(self.random.choice(FILES), "person", VIM, SHELL)

    def editor_tells(self) -> None:
        file = self.random.choice(FILES)
        self._write(file, "person", VIM, SHELL)
        with self.daemon.history() as history:
            head = history.file(file)
        assert head is not None
        self.daemon.said("saved", {"path": file, "sha256": [head.blob.hex()]}, Caller("", "max"), 0)

    def agent_edits(self) -> None:
        agent, file = self.random.choice(("ann", "ben")), self.random.choice(FILES)
        assert self.daemon.ask("read_file", {"path": file}, agent)["ok"]
        arguments = {"path": file, "line_number": -1, "text": self._line()}
        self.daemon.ask("insert_lines", arguments, agent)

    def _write(self, file: str, who: str, *line: Ancestor) -> None:
        self.kernel.line = line if self.traced else ()
        self.truth[self.daemon.outside(file, self.daemon.files[file] + f"{self._line()}\n".encode())] = who
        self.kernel.line = ()

    def _end(self, pid: int) -> None:
        burst, _ = self.runs.pop(pid)
        arguments = {"action": "end", "burst": burst, "status": 0}
        assert self.daemon.said("run", arguments, RUNNERS[pid], pid)["ok"]
        self.daemon.clock.at_s += 1

    def _line(self) -> str:
        self.count += 1
        return f"line {self.count}"

    def verdicts(self) -> Counter[tuple[str, bool]]:
        """How often each evidence named a runner, and whether that runner wrote it."""
        found: Counter[tuple[str, bool]] = Counter()
        names = {"user/max": str(RUNNERS[50]), "aider": str(RUNNERS[51])}
        with self.daemon.history() as history:
            for seq, who in self.truth.items():
                record = history.record(seq)
                attribution = None if record is None else history.attribution(record)
                if attribution is None or not attribution.writer:
                    found["nobody", who == "person"] += 1
                    continue
                named = names[history.named(attribution.writer)]
                saved = who == "person" and attribution.evidence == "exact" and named == names["user/max"]
                found[attribution.evidence, saved or named == who] += 1
        return found


@pytest.mark.parametrize("traced", [True, False])
def test_nothing_is_a_runs_that_it_did_not_write(tmp_path: Path, traced: bool) -> None:
    found: Counter[tuple[str, bool]] = Counter()
    for number in range(GAMES):
        game = Game(SEED + number, tmp_path / str(number), traced)
        game.play()
        found += game.verdicts()
    print(dict(found))
    assert found["traced", False] == found["exact", False] == 0
    assert found["traced", True] > 0 if traced else found["during", True] > 0
    if traced:
        assert found["during", False] == 0
