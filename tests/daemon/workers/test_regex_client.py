"""Searches: what one finds, and that a process which can be killed finds the same as one that cannot."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from searches import LONG_MS, Loop, Poll, children, endless, search

from quire_daemon.dialects.text.replace import replaced
from quire_daemon.workers.regex.client import SearchClient
from quire_daemon.workers.regex.job import (
    Answer,
    BadPattern,
    BadReplacement,
    Replacements,
    ResultTooLarge,
    Search,
    SearchFailure,
    TimedOut,
    run,
)
from quire_journal.text.splice import apply
from quire_journal.text.text import Text

# ── what a search finds ──


def applied(text: bytes, found: Answer) -> bytes:
    """The text after the edits."""
    assert isinstance(found, Replacements)
    assert all(one[1] <= other[0] for one, other in pairwise(found.edits))
    for start, stop, new in reversed(found.edits):
        text = text[:start] + new + text[stop:]
    return text


PIECES = st.sampled_from([b"a", b"b", b"ab", b" ", b"\n", b"\xc3\xa9", b"\xff", b"\xc3", "\N{GRINNING FACE}".encode()])
PATTERNS = [
    "a",
    "a*",
    "^",
    "$",
    "",
    ".",
    "(a)(b)?",
    r"\n",
    r"a\nb",
    "^.*$",
    r"(?s).+",
    r"\s*",
    "é",
    r"[^a]",
    r"(?P<x>a+)b",
]
REPLACEMENTS = ["", "x", "é\n", r"\\", r"<\g<0>>", r"\n", "\n\n", r"a\r\nb"]


@given(
    st.lists(PIECES, max_size=12).map(b"".join),
    st.sampled_from(PATTERNS),
    st.sampled_from(REPLACEMENTS),
    st.integers(0, 3),
)
def test_it_is_what_re_sub_makes_of_the_text(text: bytes, pattern: str, replacement: str, count: int) -> None:
    decoded = text.decode("utf-8", "surrogateescape")
    wanted, made = re.subn(pattern, replacement, decoded, count=count, flags=re.MULTILINE)
    found = run(search(text, pattern, replacement, count))
    assert isinstance(found, Replacements)
    assert found.made == made
    lf = wanted.replace("\r\n", "\n").encode("utf-8", "surrogateescape")
    assert applied(text, found) == lf
    splices, final_break = replaced(Text.of(text), found.edits)
    assert apply(Text.of(text), splices, final_break).data == lf


def test_replacements_on_one_line_are_one_edit() -> None:
    found = run(search("a-a-a\nb\na\n", "a"))
    assert found == Replacements(4, ((0, 5, b"X-X-X"), (8, 9, b"X")))


def test_a_match_behind_the_final_break_is_told() -> None:
    assert run(search("a\n", "^", "# ")) == Replacements(2, ((0, 0, b"# "), (2, 2, b"# ")), beyond=True)
    assert run(search("a", "$", ";")) == Replacements(1, ((1, 1, b";"),))
    assert run(search("a\n", "(?m:$)", "")) == Replacements(2, ((1, 1, b""), (2, 2, b"")))


@pytest.mark.parametrize(
    ("pattern", "position"),
    [("a(b", 1), ("a)", 1), ("*", 0), ("[z-a]", 1), (r"\q", 0), (r"(?P<x>a)(?P<x>b)", 12), ("a(?i)", 1)],
)
def test_what_is_no_pattern_is_told_with_its_place(pattern: str, position: int) -> None:
    answer = run(search("a", pattern))
    assert isinstance(answer, BadPattern)
    assert (answer.position, bool(answer.why)) == (position, True)


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "a{99999999999999999999}", "(?L)a"])
def test_what_only_the_compiler_chokes_on_is_no_pattern_either(pattern: str) -> None:
    assert isinstance(run(search("a", pattern)), BadPattern)


@pytest.mark.parametrize("text", ["a", "b"])
@pytest.mark.parametrize("replacement", [r"\3", r"\g<x>", r"\g<", "\\", r"\q", r"\g<99>"])
def test_an_invalid_replacement_is_reported_even_without_a_match(text: str, replacement: str) -> None:
    assert isinstance(run(search(text, "(a)", replacement)), BadReplacement)


def test_what_a_lossy_read_shows_never_matches_but_its_escape_does() -> None:
    assert run(search(b"caf\xe9 \xef\xbf\xbd\n", "\ufffd")) == Replacements(0)
    assert run(search(b"caf\xe9 \xef\xbf\xbd\n", r"\ufffd")) == Replacements(1, ((5, 8, b"X"),))


def test_a_result_over_the_limit_is_not_made() -> None:
    assert run(search("aaaa", "a", "b" * 10, most=40)) == Replacements(4, ((0, 4, b"b" * 40),))
    assert run(search("aaaa", "a", "b" * 10, most=39)) == ResultTooLarge(40)


# ── who runs it ──


class InProcess:
    """The fake: it searches when it is looked at, and cannot be stopped."""

    def __init__(self) -> None:
        self._asked: dict[int, Search] = {}
        self._last = 0

    def ask(self, search: Search, limit_ms: int) -> int:
        self._last += 1
        self._asked[self._last] = search
        return self._last

    def cancel(self, ticket: int) -> None:
        self._asked.pop(ticket, None)

    def look(self, now_s: float) -> list[tuple[int, Answer]]:
        asked, self._asked = self._asked, {}
        return [(ticket, run(search)) for ticket, search in asked.items()]

    def next_look_s(self, now_s: float) -> float:
        return now_s if self._asked else float("inf")

    def close(self) -> None:
        self._asked.clear()


Open = Callable[..., Loop]


@pytest.fixture
def real() -> Iterator[Open]:
    """Makes loops with a real process behind them."""
    opened: list[Loop] = []

    def make(**more: object) -> Loop:
        poll = Poll()
        opened.append(Loop(SearchClient(poll, **more), poll))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for loop in opened:
        loop.asked.close()
        assert not loop.poll.watched


@pytest.fixture(params=["fake", "real"])
def loop(request: pytest.FixtureRequest, real: Open) -> Loop:
    """A loop with either behind it."""
    return real() if request.param == "real" else Loop(InProcess(), Poll())


def test_each_answer_is_that_of_its_own_question(loop: Loop) -> None:
    asked = {
        loop.asked.ask(one, LONG_MS): run(one)
        for one in (
            search("one two", "t"),
            search(b"\xff\xe9\n" * 3, r"[^\n]$", "é"),
            search("a", "("),
            search("a", "a", r"\1"),
            search("a", "b"),
            search("", "", "new"),
            search("aa", "a", "b" * 9, most=2),
        )
    }
    assert loop.until(*asked) == asked


def test_a_text_larger_than_any_buffer_goes_there_and_back(loop: Loop) -> None:
    text = "some words on a line\n" * 30_000
    found = loop.one(search(text, "words", "WORDS", most=len(text)))
    assert isinstance(found, Replacements)
    assert (found.made, found.edits[-1][2]) == (30_000, b"WORDS")


def test_a_search_that_was_cancelled_has_no_answer(loop: Loop) -> None:
    first, second = (loop.asked.ask(search("a", "a"), LONG_MS) for _ in range(2))
    loop.asked.cancel(first)
    assert loop.until(second).keys() == {second}


def test_a_process_is_started_for_the_first_search_and_stays(real: Open) -> None:
    loop = real()
    assert loop.turn(most_s=0) == []
    assert not children()
    assert loop.one(search("a", "a")) == Replacements(1, ((0, 1, b"X"),))
    first = children()
    assert len(first) == 1
    assert loop.one(search("b", "b")) == Replacements(1, ((0, 1, b"X"),))
    assert children() == first
    loop.asked.close()
    assert not children()


def test_a_search_over_its_limit_is_stopped_and_the_next_one_is_not_held_up(real: Open) -> None:
    loop = real()
    good = search("a", "a")
    loop.one(good)
    killed = children()
    asked = [loop.asked.ask(one, limit) for one, limit in ((endless(), 60), (good, LONG_MS), (endless(), 70))]
    answers = loop.until(*asked)
    assert [*answers.values()] == [TimedOut(60), run(good), TimedOut(70)]
    assert loop.one(good) == run(good)
    assert len(children()) == 1
    assert not children() & killed


def test_a_cancelled_search_does_not_run_on(real: Open) -> None:
    loop = real()
    loop.one(search("a", "a"))
    first = children()
    ticket = loop.asked.ask(endless(), LONG_MS)
    assert loop.turn(most_s=0) == []
    loop.asked.cancel(ticket)
    assert loop.one(search("a", "a")) == Replacements(1, ((0, 1, b"X"),))
    assert not children() & first


def test_no_look_takes_as_long_as_a_search_that_runs_or_a_text_that_is_sent(real: Open) -> None:
    loop = real()
    loop.one(search("a", "a"))
    loop.slowest_look_s = 0.0
    assert loop.one(search("a" * 60 + "!\n" + "b\n" * 2_000_000, r"\A(a|aa)+$", most=1 << 23), 300) == TimedOut(300)
    assert loop.slowest_look_s < 0.2


def test_a_process_that_is_killed_in_a_search_fails_that_one_alone(real: Open) -> None:
    loop = real()
    loop.one(search("a", "a"))
    first, second = loop.asked.ask(endless(), LONG_MS), loop.asked.ask(search("b", "b"), LONG_MS)
    loop.turn(most_s=0)
    (pid,) = children()
    os.kill(pid, signal.SIGKILL)
    answers = loop.until(first, second)
    assert isinstance(answers[first], SearchFailure)
    assert answers[second] == Replacements(1, ((0, 1, b"X"),))


def test_a_process_that_was_killed_meanwhile_is_replaced_unnoticed(real: Open) -> None:
    loop = real()
    loop.one(search("a", "a"))
    (pid,) = children()
    os.kill(pid, signal.SIGKILL)
    loop.turn()
    assert loop.one(search("a", "a")) == Replacements(1, ((0, 1, b"X"),))


def test_a_search_that_wants_all_memory_gets_an_answer_and_leaves_the_machine_alone(real: Open) -> None:
    answer = real().one(search("a" * 1_000_000, "(?s)(.*)", r"\1" * 2000, most=1 << 40))
    assert isinstance(answer, SearchFailure)
    assert "memory" in answer.why


@pytest.mark.parametrize(
    "command",
    [
        lambda fd: [sys.executable, "-c", "pass"],
        lambda fd: ["/nowhere/python"],
        lambda fd: [sys.executable, "-c", f"import os; os.write({fd}, b'x' * 64)"],
        lambda fd: [sys.executable, "-c", "import signal; signal.pause()"],
    ],
    ids=["ends at once", "is not there", "talks nonsense", "says nothing"],
)
def test_a_process_that_does_not_start_fails_every_search_and_hangs_none(
    real: Open, command: Callable[[int], Sequence[str]]
) -> None:
    loop = real(command=command, start_s=0.2)
    first, second = (loop.asked.ask(search("a", "a"), LONG_MS) for _ in range(2))
    answers = loop.until(first, second)
    assert all(isinstance(answer, SearchFailure) for answer in answers.values())


def test_the_process_ends_with_whoever_started_it_even_in_a_search() -> None:
    code = """if True:
        import os, sys
        from searches import LONG_MS, Loop, Poll, children, endless, search
        from quire_daemon.workers.regex.client import SearchClient
        poll = Poll()
        loop = Loop(SearchClient(poll), poll)
        loop.one(search("a", "a"))
        loop.asked.ask(endless(), LONG_MS)
        loop.turn(0)
        print(*children(), flush=True)
        os._exit(0)
    """
    path = os.pathsep.join(filter(None, [*sys.path]))
    environ = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    pid = int(ran.stdout)
    until = time.monotonic() + 10
    while _alive(pid):
        assert time.monotonic() < until
        select.select([], [], [], 0.01)


def _alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
