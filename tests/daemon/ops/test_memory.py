"""Memory: what the daemon keeps has a bound, and what it lets go of is free at once."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from daemon_turns import Daemon

from quire_daemon.commit.recorder import weight
from quire_daemon.ops.address_space import ARENAS
from quire_daemon.workers.fiber import Fiber, Pause
from quire_journal.storage.lru import Recent
from quire_journal.text.line_hash import LineHashes, hash8
from quire_journal.text.text import Text

LINES = "".join(f"value_{number} = {number}\n" for number in range(50))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-value_7 = 7\n+value_7 = {}\n*** End Patch"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(tmp_path)
    (one.root / "a.py").write_text(LINES)
    yield one
    one.app.close()


def rounds() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """What an agent does, over and over."""
    for number in count():
        yield [
            ("read_file", {"path": "a.py", "hashes": True}),
            ("edit_replace", {"file": "a.py", "old_text": f"value_{number} =", "new_text": f"VALUE_{number} ="}),
            ("edit_replace", {"file": "a.py", "old_text": "what is not there", "new_text": "x"}),
            ("apply_patch", {"patch": PATCH.format(number)}),
            ("write_file", {"path": f"new{number}.txt", "content": LINES}),
            ("undo", {"plan": True}),
            ("undo", {}),
            ("undo", {"last": 2}),
            ("who", {}),
        ]


def circles(act: Callable[[], None]) -> Counter[str]:
    """The types of what only the collector of circles would free, of all that `act` leaves."""
    while gc.collect():
        pass  # a daemon in memory of an earlier test lets go of its app, a circle itself, only as it is collected
    gc.disable()
    try:
        act()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return Counter(type(one).__name__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_no_call_leaves_a_circle_that_only_the_collector_of_circles_would_free(daemon: Daemon) -> None:
    """It hardly ever comes in a daemon: 80,000 edits of small files had taken two gigabytes."""
    agent = rounds()

    def work() -> None:
        for call in next(agent):
            daemon.turn(ann=call)

    work()  # what is made once
    work()
    assert not circles(work)


def replaced(path: str, start: bytes, end: bytes, content: str, **more: Any) -> tuple[str, dict[str, Any]]:
    operation = {"op": "replace_range", "start_hash": hash8(start)[:6], "end_hash": hash8(end)[:6], "content": content}
    return "edit", {"path": path, "operations": [operation], **more}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (("undo", {}), "conflict"),
        (("claim", {"path": "a.py", "kind": "exclusive"}), "lease_held"),
        (replaced("a.py", b"same", b"print(1)", "x"), "anchor_context_ambiguous"),
        (replaced("a.py", b"other", b"print(1)", "f(", safety_check="strict", dry_run=True), "safety_check_failed"),
    ],
    ids=["undo", "claim", "edit", "safety"],
)
def test_no_refusal_leaves_a_circle(daemon: Daemon, call: tuple[str, dict[str, Any]], code: str) -> None:
    """An exception holds the frames that it passed. A frame with a name for that exception closes the circle."""
    (daemon.root / "a.py").write_text("mine = 0\nsame\nother\nsame\nprint(1)\n")
    for caller, old, new in (("ann", "mine = 0", "mine = 1"), ("bob", "mine = 1", "mine = 2")):
        daemon.turn(**{caller: ("edit_replace", {"file": "a.py", "old_text": old, "new_text": new})})
    daemon.turn(bob=("claim", {"path": "a.py", "kind": "exclusive"}))
    daemon.turn(ann=("read_file", {"path": "a.py", "hashes": True}))

    def work() -> None:
        reply = daemon.turn(ann=call)["ann"]
        assert reply.get("error") == code, reply

    work()  # what is made once
    assert not circles(work)


@pytest.mark.parametrize(("lines", "wide"), [(1, 10), (100, 20), (3000, 40)])
def test_texts_at_hand_are_bounded_by_the_memory_that_they_take(lines: int, wide: int) -> None:
    """Ten times their bytes, where the lines are short: a bound of bytes was none."""
    texts = Recent(4 << 20, weight)
    kept = [
        Text.of(b"".join(b"%d\n" % (10**wide + number + n) for n in range(lines)))
        for number in range(1500 // lines + 9)
    ]
    for text in kept:
        LineHashes.of(text).rows(0, len(text))
        texts.keep(text.blob, text)
    held = [text for text in kept if texts.find(text.blob) is not None]
    assert held == kept[-len(held) :], "the ones used last"
    assert sum(map(weight, held)) <= 4 << 20
    assert len(held) == len(kept) or sum(map(weight, held)) + weight(kept[0]) > 4 << 20


def test_a_text_that_is_over_the_bound_by_itself_is_not_kept() -> None:
    texts = Recent(100_000, weight)
    small, large = Text.of(b"small\n"), Text.of(b"line\n" * 1000)
    texts.keep(small.blob, small)
    texts.keep(large.blob, large)
    assert texts.find(large.blob) is None
    assert texts.find(small.blob) is small


def test_work_in_a_fiber_that_fails_or_is_given_up_leaves_no_circle() -> None:
    def fails(pause: Pause) -> None:
        raise LookupError

    def lasts(pause: Pause) -> None:
        while True:
            pause()

    def work() -> None:
        failing, lasting = Fiber(fails, lambda: 0.0), Fiber(lasts, lambda: 0.0)
        failing.go_on(1.0)
        with pytest.raises(LookupError):
            failing.result()
        lasting.go_on(0.0)
        lasting.drop()

    work()  # what is made once
    assert not circles(work)


IN_A_THREAD = """
import ctypes, os, sys, threading
from quire_daemon.ops import bound_malloc
bound_malloc() if sys.argv[1:] else None
libc = ctypes.CDLL(None)
libc.fopen.restype, libc.malloc_info.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
libc.fclose.argtypes = (ctypes.c_void_p,)
together = threading.Barrier(12)
threads = [threading.Thread(target=lambda: (bytearray(10_000), together.wait())) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
out = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, out)
libc.fclose(out)
"""


KEPT_BETWEEN = """
import re, sys
from pathlib import Path
from quire_daemon.ops import bound_malloc
bound_malloc() if sys.argv[1:] else None
bytearray(1 << 20)  # is freed at once, which raises the measure of glibc
texts = [(bytearray(200_000), bytearray(1_000)) for _ in range(100)]
kept = [small for _, small in texts]
del texts
print(re.search(r"RssAnon:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""

GLIBC = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="another C library than glibc")


@GLIBC
def test_texts_that_are_let_go_leave_no_holes_between_those_that_stay() -> None:
    """A fifth of the daemon's memory were such holes, and no bound held for them."""

    def kept_kb(*words: str) -> int:
        run = [sys.executable, "-c", KEPT_BETWEEN, *words]
        return int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)

    assert kept_kb() - kept_kb("bound") > 15_000, "twenty megabytes were let go"


@GLIBC
def test_threads_of_the_daemon_share_a_few_arenas_of_malloc() -> None:
    """What each of them read stayed in an arena of its own: two megabytes in ten minutes of a soak."""

    def arenas(*words: str) -> int:
        run = [sys.executable, "-c", IN_A_THREAD, *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.count("<heap ")

    assert arenas() > ARENAS
    assert 1 < arenas("shared") <= ARENAS
