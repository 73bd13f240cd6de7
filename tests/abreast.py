"""Tests run abreast: `pytest -n N` shares them out among N forks of the process that has collected them.

To collect three thousand tests takes seconds of processor time. Processes that each collect for themselves, as those
of pytest-xdist, spend them again, and three times as much to tell each other of each test. A fork has all at once, so
there may be more forks than processors: many tests wait for a disk, a clock, or a daemon.

All that is to be done stands in a pipe, as numbers of files: tests of one file come one after the other in one process,
since they may share what is dear to set up. A fork takes a number when it has done what it had. What it finds goes to
the first process as pytest's own reports, and is told there as if it had been found there.

A fork that ends before its work does (an extension crashed) has failed the test that it was in; another goes on with
the rest at the end.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from types import SimpleNamespace
from typing import Any, Final, NoReturn

import pytest
from _pytest.config import create_terminal_writer

NUMBER: Final = 4
"""Bytes of a number in the pipe."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """As pytest-xdist has it."""
    say = parser.getgroup("abreast")._addoption  # short ones of small letters are pytest's own
    say("-n", type=int, default=0, dest="abreast", metavar="N", help="run tests in N processes; 0: in this one")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests, if they are to run abreast."""
    option = session.config.option
    if not option.abreast or option.collectonly or not session.items:
        return None
    if session.testsfailed and not option.continue_on_collection_errors:
        return None  # pytest says so
    run(session, option.abreast)
    return True


def together(item: pytest.Item) -> Hashable:
    """Tests that have this in common run in one process: a file's, and all that import the SDK of MCP."""
    return "mcp" if "mcp" in item.path.name else item.path


@dataclass
class Work:
    """What there is to do: `files` are ranges of the collected tests; the numbers of those not taken are in `queue`."""

    session: pytest.Session
    files: Sequence[range]
    queue: int

    def taken(self, rest: Iterable[int]) -> Iterator[int]:
        """The numbers of tests to run: `rest`, and then whatever nobody else has taken."""
        yield from rest
        while number := os.read(self.queue, NUMBER):
            yield from self.files[int.from_bytes(number)]


@dataclass
class Fork:
    """One process. `at`: the test that it is in, None before its first and after its last."""

    pid: int
    line: Connection
    at: int | None = None


def run(session: pytest.Session, count: int) -> None:
    """All collected tests, in `count` forks."""
    items = session.items
    numbers = [list(file) for _, file in groupby(range(len(items)), lambda number: together(items[number]))]
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # once, and before there are others
    queue, fill = os.pipe()
    os.write(fill, b"".join(number.to_bytes(NUMBER) for number in range(len(numbers))))
    os.close(fill)
    work = Work(session, [range(file[0], file[-1] + 1) for file in numbers], queue)
    left = set(range(len(items)))
    forks: list[Fork] = []
    try:
        for _ in range(min(count, len(numbers))):
            forks.append(_fork(work, forks, ()))
        _until_all_end(work, forks, left)
        while left:  # what those had taken that ended before their work did
            before = len(left)
            os.read(queue, NUMBER * len(numbers))  # or what nobody took, since all of them did
            forks.append(_fork(work, forks, sorted(left)))
            _until_all_end(work, forks, left)
            assert len(left) < before, "processes end before their first test"
    finally:
        os.close(queue)
        for fork in forks:
            fork.line.close()  # which ends it when it has something to tell
        for fork in forks:
            with contextlib.suppress(KeyboardInterrupt):  # it has had that, too
                os.waitpid(fork.pid, 0)


def _until_all_end(work: Work, forks: list[Fork], left: set[int]) -> None:
    """Tell what they find; each test that was found out about, or that a process ended in, is not left any more."""
    while forks:
        for line in wait([one.line for one in forks]):
            (fork,) = (one for one in forks if one.line is line)
            try:
                found, after = fork.line.recv()
            except EOFError:
                forks.remove(fork)
                fork.line.close()
                os.waitpid(fork.pid, 0)
                found, after = [_ended_in(work.session, fork.at)] if fork.at is not None else [], None
            if fork.at is not None:
                left.remove(fork.at)
                _tell(work.session, work.session.items[fork.at], found)
            fork.at = after


def _tell(session: pytest.Session, item: pytest.Item, found: Sequence[dict[str, Any]]) -> None:
    hook = session.config.hook
    for one in found:
        hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=session.config, data=one))
    location = found[-1]["location"] if found else item.location  # the item's is worked out when it is asked for
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=location)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _ended_in(session: pytest.Session, at: int) -> dict[str, Any]:
    """The report of a test that a process did not come out of."""
    item = session.items[at]
    said = "the process that ran this test ended in it"
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
    told: dict[str, Any] = session.config.hook.pytest_report_to_serializable(config=session.config, report=report)
    return told


def _fork(work: Work, others: Sequence[Fork], rest: Iterable[int]) -> Fork:
    here, there = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        for line in (here, *(other.line for other in others)):
            line.close()
        _be_a_fork(work, there, rest)
    there.close()
    return Fork(pid, here)


def beside(act: Callable[[], None]) -> None:
    """Do something in a process of its own, which is let go and ends with it."""
    if not os.fork():
        with contextlib.suppress(BaseException):
            act()
        os._exit(0)


def _be_a_fork(work: Work, line: Connection, rest: Iterable[int]) -> NoReturn:
    status = 1
    try:
        atexit._clear()  # what is to be done at the end of the first process
        _apart(work.session.config)
        _take_turns(work, line, rest)
        status = 0
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # nobody wants to know any more
    except BaseException:  # noqa: BLE001 - it is told, and the process ends
        traceback.print_exc()
    finally:
        try:
            work.session._setupstate.teardown_exact(None)  # nothing, but where it was interrupted
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _apart(config: pytest.Config) -> None:
    """Share nothing that is written to: what tests print, their folders, and the terminal."""
    plugins = config.pluginmanager
    capture = plugins.get_plugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    folders = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"fork-{os.getpid()}"
    folders._basetemp.mkdir(mode=0o700)
    plugins.unregister(name="terminalreporter")
    # pytest-timeout writes there where each thread is: to what is shown with a failure.
    plugins.register(SimpleNamespace(_tw=create_terminal_writer(config, sys.__stderr__)), "terminalreporter")


class _Found:
    """A plugin that keeps reports."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)


def _take_turns(work: Work, line: Connection, rest: Iterable[int]) -> None:
    session, hook, found = work.session, work.session.config.hook, _Found()
    session.config.pluginmanager.register(found)
    turns = work.taken(rest)
    at = next(turns, None)
    line.send(([], at))
    while at is not None:
        after = next(turns, None)
        following = session.items[after] if after is not None else None
        hook.pytest_runtest_protocol(item=session.items[at], nextitem=following)
        told = [hook.pytest_report_to_serializable(config=session.config, report=one) for one in found.reports]
        line.send((told, after))
        found.reports.clear()
        if session.shouldfail or session.shouldstop:
            return
        at = after
