"""Who is there: connections that answer, processes that live, files that were named last."""

from __future__ import annotations

import os

from clocks import SetClock
from leased import Lines

from quire_daemon.core.decision import Who
from quire_daemon.engine.presence import MOST_CALLERS, MOST_FILES, MOST_LINES, Presence
from quire_daemon.ops import ProcessTree, pid_start
from quire_journal.model.events import WriterIntroduced
from quire_journal.model.ids import SETUP, WriterId

ANN = Who(WriterId(1), b"ann     ", "ann", "s1")
ME = WriterIntroduced(0, 1000, os.getpid(), pid_start(os.getpid()))


def test_a_connection_counts_as_long_as_somebody_is_there() -> None:
    lines, clock = Lines(), SetClock()
    presence = Presence(lines, clock, ProcessTree())
    presence.called(ANN, b"one", ME)
    presence.called(ANN, b"two", ME)
    presence.called(ANN, b"one", ME)
    there = presence.now()[ANN.key]
    assert (there.connections, there.alive, there.called_ns) == (2, True, clock.ns)
    lines.gone = {b"one"}
    assert presence.now()[ANN.key].connections == 1
    asked = len(lines.asked)
    presence.now()
    assert len(lines.asked) == asked + 1, "who is gone is not asked again"


def test_setup_is_nobody_who_is_there() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    setup = Who(WriterId(2), b"setup   ", SETUP, "")
    presence.called(setup, b"one", ME)
    presence.named(setup, [".mcp.json"])
    assert presence.now() == {}


def test_a_connection_is_that_of_the_caller_who_used_it_last() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    guessed = Who(WriterId(2), b"guessed ", "ann", "mcp-1")
    presence.called(guessed, b"one", ME)
    presence.called(ANN, b"one", ME)
    now = presence.now()
    assert (now[guessed.key].connections, now[ANN.key].connections) == (0, 1)


def test_a_session_that_has_ended_is_there_again_when_it_calls() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    presence.called(ANN, b"one", ME, by_hook=True)
    presence.ended(ANN)
    assert (presence.now()[ANN.key].gone, presence.now()[ANN.key].connections) == (True, 0)
    presence.called(ANN, b"two", ME, by_hook=True)
    assert not presence.now()[ANN.key].gone


def test_an_agent_is_there_as_long_as_its_process() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    agent = os.getpid(), pid_start(os.getpid())
    presence.called(ANN, b"one", ME, by_hook=True, agent=agent)
    assert (presence.now()[ANN.key].alive, presence.now()[ANN.key].gone) == (True, False)
    presence.called(ANN, b"one", ME, by_hook=True, agent=(agent[0], agent[1] - 1))
    assert (presence.now()[ANN.key].alive, presence.now()[ANN.key].gone) == (False, True)


def test_another_process_with_the_same_number_is_not_the_one_that_called() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    presence.called(ANN, b"one", WriterIntroduced(0, 1000, os.getpid(), ME.pid_start - 1))
    assert presence.now()[ANN.key].alive is False
    presence.called(ANN, b"one", WriterIntroduced(0, 1000, 0, 0))
    assert presence.now()[ANN.key].alive is None


def test_the_end_of_a_hooks_process_says_nothing_of_its_agent() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    gone = WriterIntroduced(0, 1000, os.getpid(), ME.pid_start - 1)
    presence.called(ANN, b"one", gone, by_hook=True)
    presence.called(ANN, b"two", gone)  # its hook told of a read, as everybody reads
    assert (presence.now()[ANN.key].hooks, presence.now()[ANN.key].alive) == (True, None)


def test_the_files_that_were_named_last_come_first_and_nothing_grows() -> None:
    presence = Presence(Lines(), SetClock(), ProcessTree())
    presence.called(ANN, b"one", ME)
    presence.named(ANN, (f"{n}.txt" for n in range(20)))
    presence.named(ANN, ["15.txt"])
    files = [path for path, _ in presence.now()[ANN.key].files]
    assert files == ["15.txt", "19.txt", "18.txt", "17.txt", "16.txt", "14.txt", "13.txt", "12.txt"]
    assert len(files) == MOST_FILES
    for n in range(MOST_LINES + 5):
        presence.called(ANN, b"%d" % n, ME)
    assert presence.now()[ANN.key].connections == MOST_LINES
    for n in range(MOST_CALLERS):
        presence.called(Who(WriterId(n + 2), b"%08d" % n), b"x", ME)
    assert len(presence.now()) == MOST_CALLERS
    assert ANN.key not in presence.now()
    presence.named(ANN, ["f.txt"])
