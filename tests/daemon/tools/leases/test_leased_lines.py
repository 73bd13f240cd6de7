"""The lines of a lease under edits, who waits for what, and leases beside a naive model of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st
from leased import TEN, after, claim

from memory_daemon import BEGAN_NS, SECOND, MemoryDaemon
from quire_daemon.config.settings import Settings
from quire_daemon.core.decision import FileNow, World
from quire_daemon.tools.leases.scope import carried, disturbs, free_lines
from quire_daemon.tools.leases.tool import (
    CLAIMS_TOOL,
    ClaimParams,
    decide_claim,
    decide_claims,
    wanted_lease,
)
from quire_journal.history.history import History
from quire_journal.model.refusals import Refusal
from quire_journal.text.line_diff import diff
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text
from quire_journal.views.leases import Lease

# ── lines, by themselves ─────────────────────────────────────────────────────


def text(*lines: str) -> Text:
    return Text.of("".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize(
    ("before", "now", "lines", "hit"),
    [
        ("abcd", "aBcd", (1, 2), True),
        ("abcd", "aBcd", (2, 4), False),
        ("abcd", "axbcd", (1, 3), False),  # right before
        ("abcd", "abcxd", (1, 3), False),  # right behind
        ("abcd", "abxcd", (1, 3), True),  # between
        ("abcd", "ad", (1, 2), True),
        ("abcd", "acd", (2, 4), False),
        ("aab", "aaab", (0, 1), False),  # which `a` is new? not the leased one
        ("aab", "aaab", (1, 2), False),
        ("aab", "aaab", (0, 3), False),
        ("aab", "aaxb", (0, 3), True),
        ("aab", "ab", (0, 1), False),
        ("aab", "ab", (0, 2), True),
        ("-f-g", "-n-f-g", (0, 2), False),  # a block that begins as the leased one does, before it
        ("-f-g", "-f-n-g", (2, 4), False),
        ("abcd", "abcd", (0, 4), False),
        ("abcd", "", (1, 2), True),
    ],
)
def test_whether_a_change_disturbs_lines(before: str, now: str, lines: tuple[int, int], hit: bool) -> None:
    assert disturbs(text(*before), text(*now), lines) is hit


def test_a_break_behind_an_unfinished_last_line_is_no_change_to_it() -> None:
    assert not disturbs(Text.of(b"a\nb"), Text.of(b"a\nb\nc\n"), (1, 2))


small = st.text("abc-", max_size=8)


@given(before=small, now=small, start=st.integers(0, 8), length=st.integers(1, 8))
def test_lines_that_are_not_disturbed_are_still_there_together(before: str, now: str, start: int, length: int) -> None:
    stop = min(len(before), start + length)
    if start < stop and not disturbs(text(*before), text(*now), (start, stop)):
        assert before[start:stop] in now


@given(before=small, now=small, start=st.integers(0, 8), length=st.integers(1, 8))
def test_lines_are_carried_to_lines_of_the_file_and_undisturbed_ones_to_themselves(
    before: str, now: str, start: int, length: int
) -> None:
    stop = min(len(before), start + length)
    if start < stop:
        splices = diff(text(*before), text(*now))
        first, last = carried((start, stop), splices)
        assert 0 <= first <= last <= len(now)
        if not any((s.start < stop and start < s.stop) or start < s.start == s.stop < stop for s in splices):
            assert now[first:last] == before[start:stop]


def test_what_is_free_is_what_no_lease_is_about() -> None:
    assert free_lines(10, [(2, 4), (3, 5), (9, 10)]) == [(0, 2), (5, 9)]
    assert free_lines(3, []) == [(0, 3)]
    assert free_lines(3, [(0, 3)]) == []


# ── the queue ────────────────────────────────────────────────────────────────


def world(daemon: MemoryDaemon, history: History, by: str, queue: list[Lease]) -> World:
    files = {"f.txt": FileNow("f.txt", "file", Text.of(TEN.encode()), history.file("f.txt"), size=len(TEN))}
    number = daemon.journal.head + 1
    return World(daemon.now_ns, daemon.who(by), Settings(), files, history, number, BEGAN_NS, queue=queue)


def test_who_comes_later_is_not_served_before_who_waits_for_the_same() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann", kind="shared")
    for name in ("ben", "cleo"):
        daemon.who(name)
    with daemon.journal.store.reading() as reading:
        history = History(reading)
        params = ClaimParams(path="f.txt", kind="exclusive", reason="first", wait_ms=1000)
        waiting = wanted_lease(params, world(daemon, history, "ben", []))
        later = world(daemon, history, "cleo", [waiting])
        with pytest.raises(Refusal) as refused:
            decide_claim(ClaimParams(path="f.txt", kind="shared"), later)
        assert (refused.value.code, refused.value.details["lease"]) == ("lease_held", None)
        assert refused.value.details["holder"]["agent"] == "ben"
        assert "waits for exclusive" in refused.value.message
        assert decide_claim(ClaimParams(path="f.txt"), later).reply["ok"], "an intent is in nobody's way"
        renewed = decide_claim(ClaimParams(path="f.txt", kind="shared"), world(daemon, history, "ann", [waiting])).reply
        assert (renewed["renewed"], renewed["queued"]) == (True, 1)
        listed = decide_claims(CLAIMS_TOOL.params(), later).reply
        assert [one["holder"]["agent"] for one in listed["waiting"]] == ["ben"]


# ── against a naive model ────────────────────────────────────────────────────


FILES = ("a/x", "a/y", "b")


CALLERS = ("ann", "ben", "cleo")


@dataclass
class Held:
    """A lease as the model has it: who may do what with which lines of which files until when."""

    holder: str
    kind: str
    path: str
    lines: frozenset[tuple[str, int]]
    until_ns: int


def lines_of(path: str, span: tuple[int, int] | None) -> frozenset[tuple[str, int]]:
    files = [name for name in FILES if name == path or name.startswith(f"{path}/")]
    first, last = span or (1, 4)
    return frozenset((name, line) for name in files for line in range(first, last + 1))


steps = st.one_of(
    st.tuples(
        st.just("claim"),
        st.sampled_from(CALLERS),
        st.tuples(
            st.sampled_from(["a", *FILES]),
            st.sampled_from(["intent", "shared", "exclusive"]),
            st.sampled_from([None, (1, 2), (2, 3), (4, 4)]),
            st.sampled_from([5, 20]),
        ),
    ),
    st.tuples(st.just("release"), st.sampled_from(CALLERS), st.sampled_from(["a", *FILES])),
    st.tuples(st.just("write"), st.sampled_from(CALLERS), st.tuples(st.sampled_from(FILES), st.integers(1, 4))),
    st.tuples(st.just("wait"), st.just(""), st.integers(1, 10)),
)


class Model:
    """The leases as a list, and every question asked of all of them, line by line."""

    def __init__(self, daemon: MemoryDaemon) -> None:
        self.daemon = daemon
        self.held: list[Held] = []

    def now(self) -> int:
        return self.daemon.now_ns

    def others(self, caller: str, kinds: tuple[str, ...], lines: frozenset[tuple[str, int]]) -> list[Held]:
        alive = [h for h in self.held if h.until_ns > self.now()]
        return [h for h in alive if h.holder != caller and h.kind in kinds and h.lines & lines]

    def claim(self, caller: str, path: str, kind: str, span: tuple[int, int] | None, ttl_s: int) -> bool:
        lines = lines_of(path, span)
        against = {"intent": (), "shared": ("exclusive",), "exclusive": ("shared", "exclusive")}[kind]
        same = [
            h
            for h in self.held
            if (h.holder, h.kind, h.path, h.lines) == (caller, kind, path, lines) and h.until_ns > self.now()
        ]
        until_ns = self.now() + ttl_s * SECOND
        if same:
            same[0].until_ns = until_ns
        elif self.others(caller, against, lines):
            return False
        else:
            self.held.append(Held(caller, kind, path, lines, until_ns))
        return True

    def release(self, caller: str, path: str) -> bool:
        there = [h for h in self.held if h.path == path and h.until_ns > self.now()]
        mine = [h for h in there if h.holder == caller]
        self.held = [h for h in self.held if h not in mine]
        return bool(mine)

    def write(self, caller: str, path: str, line: int) -> bool:
        return not self.others(caller, ("exclusive",), frozenset({(path, line)}))


@given(script=st.lists(steps, min_size=4, max_size=12))
def test_leases_are_what_a_list_of_them_would_be(script: list[tuple[str, str, Any]]) -> None:
    daemon = MemoryDaemon(dict.fromkeys(FILES, "1\n2\n3\n4\n"))
    model = Model(daemon)
    for caller in CALLERS:
        daemon.who(caller)
    daemon.watch()
    for step, caller, details in script:
        if step == "wait":
            after(daemon, details)
        elif step == "claim":
            path, kind, span, ttl_s = details
            span = None if path == "a" else span
            expected = model.claim(caller, path, kind, span, ttl_s)
            lines = {} if span is None else {"start_line": span[0], "end_line": span[1]}
            reply = claim(daemon, caller, path, kind, ttl_s=ttl_s, **lines)
            assert (reply["ok"], reply.get("error")) == (expected, None if expected else "lease_held")
        elif step == "release":
            expected = model.release(caller, details)
            assert daemon.ask("release", {"path": details}, by=caller)["ok"] is expected
        else:
            path, line = details
            daemon.ask("read_file", {"path": path}, by=caller)
            expected = model.write(caller, path, line)
            content = f"{line} by {daemon.now_ns}"
            arguments = {"path": path, "start_line": line, "end_line": line, "new_text": content}
            reply = daemon.ask("replace_lines", arguments, by=caller)
            assert (reply["ok"], reply.get("error")) == (expected, None if expected else "lease_held")


def test_a_plan_of_splices_is_carried_as_the_text_is() -> None:
    before = text("a", "b", "c", "d", "e")
    splices = (Splice(0, 1, (b"x", b"y")), Splice(2, 2, (b"m",)), Splice(3, 5, (b"z",)))
    now = apply(before, splices)
    first, last = carried((1, 4), splices)
    assert now.lines[first:last] == [b"b", b"m", b"c", b"z"]
