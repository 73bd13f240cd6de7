"""What a tracer makes of the process that it asks, and of its silence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.watch.fanotify.tracer import ANSWER_S, NOT_YET, Tracer

BEGINS = """
import json, socket, struct, sys
wire = socket.socket(fileno=int(sys.argv[1]))
def send(message):
    text = json.dumps(message).encode()
    wire.sendall(struct.pack(">Q", len(text)) + text)
def heard():
    head = wire.recv(8, socket.MSG_WAITALL)
    return json.loads(wire.recv(struct.unpack(">Q", head)[0], socket.MSG_WAITALL)) if head else sys.exit()
"""
READS = 'send({"off": "", "since": 5.0})\n'
CLAUDE = [10, 5, "claude", "/bin/claude", False]
SED = [[20, 9, "sed", "/bin/sed", False], CLAUDE]


class Scripted(Tracer):
    """A tracer with a process that does what a test says."""

    def __init__(self, script: str) -> None:
        super().__init__(Path("/"), lambda path, folder: path == "made", SystemClock())
        self._script, self._why_not = BEGINS + script, NOT_YET

    def _words(self, fd: int) -> Sequence[str]:
        return [sys.executable, "-S", "-c", self._script, str(fd)]

    def begun(self) -> Scripted:
        """When the process has said how it is."""
        self.begin()
        assert self._pull(20.0)
        self.look()
        return self


@pytest.fixture
def tracers() -> Iterator[Callable[[str], Scripted]]:
    made: list[Scripted] = []

    def begun(script: str) -> Scripted:
        made.append(Scripted(script))
        return made[-1].begun()

    yield begun
    for one in made:
        one.close()


def test_a_process_that_cannot_read_says_why(tracers: Callable[[str], Scripted]) -> None:
    tracer = tracers('send({"off": "needs Linux 6.0"})')
    assert tracer.state == "off (needs Linux 6.0)"
    tracer.begin()
    assert tracer.writers_of("f") is None
    assert tracer.state == "off (needs Linux 6.0)"


def test_a_process_starts_until_it_reports(tracers: Callable[[str], Scripted]) -> None:
    silent = Scripted("heard()")
    assert not silent.starts()
    silent.begin()
    assert silent.starts()
    silent.close()
    assert not silent.starts()
    assert not tracers(READS + "heard()").starts()
    assert not tracers('send({"off": "needs Linux 6.0"})').starts()


def test_a_look_while_the_process_starts_leaves_no_gap(tracers: Callable[[str], Scripted]) -> None:
    """The writers of a file that was recorded before the first report stayed unknown."""
    script = f"""
asked = heard()
send({{"answer": asked["ask"], "writes": [[["f", {SED}, 1, 6, 7]] if asked["paths"] == [["f", 5.0]] else None]}})
heard()
"""
    tracer = tracers(READS + script)
    tracer.looked("f", 4.0)
    assert [one.process.name for one in tracer.writers_of("f") or ()] == ["sed"]


def test_a_question_that_is_not_answered_is_waited_for_once(tracers: Callable[[str], Scripted]) -> None:
    """The loop serves nobody meanwhile."""
    tracer = tracers(READS + "heard()\nsys.stdin.read()\nheard()\nheard()")
    clock = SystemClock()
    assert tracer.writers_of("f") is None
    began_s = clock.mono_s()
    assert [tracer.writers_of(f"f{number}") for number in range(20)] == [None] * 20
    assert clock.mono_s() - began_s < 10 * ANSWER_S


def test_a_write_seen_by_a_look_is_not_reported_again(tracers: Callable[[str], Scripted]) -> None:
    writes = [["f", SED, 1.0, 6.0, 7.0], ["old", [CLAUDE], 1.0, 6.0, 8.0]]
    answer = f'n = heard()["ask"]; send({{"answer": n, "writes": [{writes}]}})\n'.replace("False", "False")
    tracer = tracers(READS + answer * 2 + "heard()")
    assert [one.process.name for one in tracer.writers_of("f") or ()] == ["sed", "claude"]
    tracer.looked("old", 9.0)
    assert [one.process.name for one in tracer.writers_of("f") or ()] == ["sed"]


def test_a_look_at_a_renamed_folder_does_not_hide_who_renamed_it_from_its_files(
    tracers: Callable[[str], Scripted],
) -> None:
    """Of the files of a folder that an agent had moved, some were only probably its own."""
    writes = [["new", SED, 1.0, 6.0, 7.0], ["old", SED, 1.0, 6.0, 7.0]]
    answer = f'n = heard()["ask"]; send({{"answer": n, "writes": [{writes}]}})\n'
    tracer = tracers(READS + answer + "heard()")
    for folder in ("new", "old"):
        tracer.looked(folder, 8.0)
    assert [one.process.name for one in tracer.writers_of("new/f") or ()] == ["sed"]


def test_an_unreadable_process_makes_writers_unknown_unless_a_look_followed(
    tracers: Callable[[str], Scripted],
) -> None:
    writes = [["f", SED, 1.0, 6.0, 7.0], ["old", None, 0.0, 6.0, 8.0]]
    answer = f'n = heard()["ask"]; send({{"answer": n, "writes": [{writes}]}})\n'
    tracer = tracers(READS + answer * 2 + "heard()")
    assert tracer.writers_of("f") is None
    tracer.looked("old", 9.0)
    assert [one.process.name for one in tracer.writers_of("f") or ()] == ["sed"]


def test_the_process_is_told_the_outermost_folders_that_are_ignored(tracers: Callable[[str], Scripted]) -> None:
    script = """
send({"folders": ["made/deep/er", "src", "made"]})
told = {**heard(), **heard()}
found = [["f", [[1, 2, name, "", False]], 1.0, 6.0, 7.0] for name in told["ignored"]]
send({"answer": told["ask"], "writes": [found]})
heard()
"""
    tracer = tracers(READS + script)
    assert [one.process.name for one in tracer.writers_of("f") or ()] == ["made"]
