"""Overlap: what a change by others means for the lines of a call, against a model that writes down every place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon
from quire_daemon.tools.overlap import MOST_STEPS, image, inverse, lines_of, relation, strongest
from quire_journal.text.line_hash import LineHashes
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text

Ranges = Sequence[tuple[int, int]]


# ── the model ────────────────────────────────────────────────────────────────
#
# The places of a text are its lines and the gaps between them: line n is place 2n+1, the gap before it is place 2n.


def places(ranges: Ranges) -> set[int]:
    """The places of these lines; those of an empty range are its gap."""
    found = {2 * a for a, b in ranges if a == b}
    return with_gaps(found | {2 * n + 1 for a, b in ranges for n in range(a, b)})


def with_gaps(found: set[int]) -> set[int]:
    """The same places, and each gap between two lines among them."""
    return found | {place + 1 for place in found if place % 2 and place + 2 in found}


def runs(found: set[int]) -> list[set[int]]:
    """The places in runs of lines, with what is between them; and the gaps that are alone."""
    out: list[set[int]] = []
    for place in sorted(found):
        if {place - 1, place - 2 if place % 2 else place + 1} <= found:
            out[-1].add(place)
        else:
            out.append({place})
    return out


def changed(s: Splice) -> tuple[set[int], set[int]]:
    """The places that a splice changes, and those right beside them."""
    if s.start == s.stop:
        return {2 * s.start}, {2 * s.start - 1, 2 * s.start + 1}
    return set(range(2 * s.start + 1, 2 * s.stop)), set(range(2 * s.start - 1, 2 * s.start + 1)) | {
        2 * s.stop,
        2 * s.stop + 1,
    }


def meaning(theirs: Sequence[Splice], mine: set[int]) -> str:
    """What the splices mean for these places."""
    if any(changed(s)[0] & mine for s in theirs):
        return "conflicting"
    return "touching" if any(changed(s)[1] & mine for s in theirs) else "none"


def carried(theirs: Sequence[Splice], mine: set[int]) -> set[int]:
    """Where these places are after the splices, with what stands there instead."""
    found: set[int] = set()
    moved = 0
    left = {p for p in mine if p % 2 or not {p - 1, p + 1} <= mine}  # gaps between two lines come by themselves
    before: set[int] = set()
    for s in theirs:
        within, _ = changed(s)
        ahead = {p for p in left if p < min(within)}
        before |= {p + 2 * moved for p in ahead}
        left -= ahead
        start = s.start + moved
        if mine & within:
            lines = {2 * n + 1 for n in range(start, start + len(s.lines))}
            # Of a run that lost lines at its end the rest is left; of one that is gone, a gap.
            gone = any(run & within and run <= within for run in runs(mine))
            found |= lines or ({2 * start} if gone else set())
        left -= within
        moved += s.shift
    return with_gaps(found | before | {p + 2 * moved for p in left})


# ── the arithmetic ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("theirs", "word"),
    [
        (Splice(0, 1), "none"),
        (Splice(2, 3), "touching"),
        (Splice(3, 3, (b"n",)), "touching"),
        (Splice(4, 4, (b"n",)), "conflicting"),
        (Splice(4, 9), "conflicting"),
        (Splice(5, 5, (b"n",)), "touching"),
        (Splice(6, 6, (b"n",)), "none"),
    ],
)
def test_what_a_change_means_for_lines_has_three_words(theirs: Splice, word: str) -> None:
    assert relation([theirs], [(3, 5)]) == word


@pytest.mark.parametrize(
    ("theirs", "word"),
    [
        (Splice(3, 3, (b"n",)), "conflicting"),  # into the very gap
        (Splice(2, 4), "conflicting"),  # on both sides of it
        (Splice(2, 3), "touching"),
        (Splice(3, 4), "touching"),
        (Splice(1, 2), "none"),
        (Splice(4, 4, (b"n",)), "none"),
    ],
)
def test_a_gap_is_a_place_too(theirs: Splice, word: str) -> None:
    assert relation([theirs], [(3, 3)]) == word


def test_the_strongest_of_several_counts() -> None:
    assert strongest([]) == "none"
    assert strongest(["touching", "none"]) == "touching"
    assert strongest(["none", "conflicting", "touching"]) == "conflicting"


@st.composite
def splices(draw: st.DrawFn, length: int) -> list[Splice]:
    """Splices of a text of this length, as a comparison makes them: an untouched line is between any two."""
    at = sorted(draw(st.lists(st.integers(0, length), max_size=6)))
    found: list[Splice] = []
    for start, stop in zip(at[::2], at[1::2], strict=False):
        if not found or start > found[-1].stop:
            new = tuple(b"new %d" % n for n in range(draw(st.integers(0, 3))))
            found += [Splice(start, stop, new)] if new or start < stop else []
    return found


some_ranges = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)).map(lambda r: (r[0], min(sum(r), 12))))


@given(splices(12), some_ranges)
def test_lines_and_gaps_are_judged_and_carried_as_the_model_does(theirs: list[Splice], drawn: Ranges) -> None:
    mine = lines_of([Splice(a, b) for a, b in drawn])
    assert places(mine) == places(drawn)
    assert relation(theirs, mine) == meaning(theirs, places(mine))
    assert places(image(theirs, mine)) == carried(theirs, places(mine))


@given(splices(12))
def test_what_is_taken_back_is_as_it_was(theirs: list[Splice]) -> None:
    before = Text.of(b"".join(b"line %d\n" % n for n in range(12)))
    after = apply(before, theirs)
    assert apply(after, inverse(theirs, before)).data == before.data


# ── what replies say ─────────────────────────────────────────────────────────


class Checkout:
    """A file of lines no two of which are alike, what ann has read of it, and its text at every version."""

    def __init__(self, lines: int) -> None:
        self.daemon = MemoryDaemon()
        self.made = 0
        self.versions: dict[str, list[bytes]] = {}
        self.by_others: set[str] = set()
        self.write([self.new() for _ in range(lines)])
        self.base = self.read()

    def new(self) -> bytes:
        """A line that was never there."""
        self.made += 1
        return b"line %d of all" % self.made

    def write(self, lines: Sequence[bytes]) -> None:
        """Another program writes the file."""
        self.daemon.save("f.txt", b"".join(line + b"\n" for line in lines))
        self.daemon.watch()
        self.note(by_others=True)

    def note(self, by_others: bool = False) -> str:
        """Remember the version that there is now."""
        reply = self.daemon.ask("read_file", {"path": "f.txt"}, by="noter")
        version, lines = reply["version"], reply["content"].encode().splitlines()
        if version not in self.versions and by_others:
            self.by_others.add(version)
        self.versions[version] = lines
        return str(version)

    def read(self) -> str:
        """Ann reads the file: from here on she knows that version."""
        return str(self.daemon.ask("read_file", {"path": "f.txt", "hashes": True})["version"])

    @property
    def lines(self) -> list[bytes]:
        return self.versions[self.note()]

    def meaning_of(self, version: str, mine: Ranges, at: str) -> str:
        """What this version means for lines of version `at`, by the model."""
        found, order = places(mine), list(self.versions)
        a, b = order.index(at), order.index(version)
        if a < b:  # forward, up to what the version did
            for old, new in zip(order[a : b - 1], order[a + 1 : b], strict=True):
                found = carried(difference(self.versions[old], self.versions[new]), found)
            return meaning(difference(self.versions[order[b - 1]], self.versions[version]), found)
        for new, old in zip(order[a:b:-1], order[a - 1 : b - 1 if b else None : -1], strict=True):
            found = carried(difference(self.versions[new], self.versions[old]), found)
        return meaning(difference(self.versions[version], self.versions[order[b - 1]]), found)


def difference(old: Sequence[bytes], new: Sequence[bytes]) -> list[Splice]:
    """The splices from one list of lines to another; what both have stands in the same order."""
    found: list[Splice] = []
    both = [line for line in old if line in new]
    a = b = 0
    for line in [*both, None]:
        i, j = (len(old), len(new)) if line is None else (old.index(line), new.index(line))
        if a < i or b < j:
            found.append(Splice(a, i, tuple(new[b:j])))
        a, b = i + 1, j + 1
    return found


@st.composite
def changed_lines(draw: st.DrawFn, lines: Sequence[bytes], new: Any) -> list[bytes]:
    """The lines after somebody has replaced, removed or added some."""
    start = draw(st.integers(0, len(lines)))
    stop = draw(st.integers(start, min(start + 2, len(lines))))
    count = draw(st.integers(0 if start < stop else 1, 2))
    out = [*lines[:start], *(new() for _ in range(count)), *lines[stop:]]
    return out or [new()]


def hashed(lines: Sequence[bytes], at: int) -> str:
    """The anchor of a line."""
    row = LineHashes.of(Text.of(b"".join(line + b"\n" for line in lines))).row(at)
    return row.split(" ")[0]


@st.composite
def calls(draw: st.DrawFn, base: Sequence[bytes], token: str, new: Any) -> tuple[str, dict[str, Any], Ranges]:
    """A call about some lines of `base`."""
    first = draw(st.integers(0, len(base) - 1))
    last = draw(st.integers(first, min(first + 2, len(base) - 1)))
    text = new().decode()
    kind = draw(
        st.sampled_from(["replace_line", "insert_after", "replace_range", "replace_lines", "insert_lines", "write"])
    )
    if kind == "replace_range" and first < last:
        ends = {"start_hash": hashed(base, first), "end_hash": hashed(base, last)}
        return "edit", {"operations": [{"op": kind, **ends, "content": text}]}, [(first, last + 1)]
    if kind in ("replace_line", "replace_range"):
        return (
            "edit",
            {"operations": [{"op": "replace_line", "hash": hashed(base, first), "content": text}]},
            [(first, first + 1)],
        )
    if kind == "insert_after":
        operation = {"op": kind, "hash": hashed(base, first), "content": text}
        return "edit", {"operations": [operation]}, [(first, first + 1), (first + 1, first + 1)]
    if kind == "replace_lines":
        args = {"start_line": first + 1, "end_line": last + 1, "new_text": text, "base": token}
        return kind, args, [(first, last + 1)]
    if kind == "insert_lines":
        return kind, {"line_number": first + 1, "text": text, "base": token}, [(first, first + 1), (first, first)]
    content = "".join(line.decode() + "\n" for line in [*base[:first], text.encode(), *base[last + 1 :]])
    return "write_file", {"content": content, "base": token}, [(first, last + 1)]


@given(st.data())
def test_replies_say_what_others_changes_mean_for_the_lines_of_the_call(data: st.DataObject) -> None:
    at = Checkout(data.draw(st.integers(3, 12)))
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            at.write(data.draw(changed_lines(at.lines, at.new)))
            continue
        tool, args, mine = data.draw(calls(at.versions[at.base], at.base, at.new))
        on_stale = data.draw(st.sampled_from(["reject", "rebase"]))
        reply = at.daemon.ask(tool, {"path": "f.txt", "on_stale": on_stale, "safety_check": "off", **args})
        for entry in reply.get("changed_since_your_read", ()):
            assert entry["touches"] == at.meaning_of(entry["version"], mine, at.base), (tool, args, entry)
        if not reply["ok"] and reply["reason"] == "changed":
            assert reply["touches"] == strongest(e["touches"] for e in reply["changes"]), reply
        at.base = reply["version"] if reply["ok"] else at.note()
        at.note()


@pytest.mark.parametrize(("line", "touches"), [(3, "conflicting"), (4, "touching"), (5, "none"), (90, "none")])
def test_a_text_that_still_matches_says_where_others_have_been(line: int, touches: str) -> None:
    at = Checkout(100)
    at.write([content + b", new" if n == line else content for n, content in enumerate(at.lines, 1)])
    args = {"path": "f.txt", "old_text": "line 3 of all", "new_text": "X"}
    reply = at.daemon.ask("edit_replace", args)
    assert (reply["ok"], [entry["touches"] for entry in reply["changed_since_your_read"]]) == (True, [touches])


def test_what_is_gone_or_came_back_touches_everything() -> None:
    at = Checkout(9)
    at.daemon.files.clear()
    at.daemon.watch()
    at.write([b"line 1 of all"])
    args = {"path": "f.txt", "old_text": "line 1 of all", "new_text": "X"}
    told = at.daemon.ask("edit_replace", args)["changed_since_your_read"]
    assert [entry["touches"] for entry in told] == ["conflicting", "conflicting"]


def test_far_more_versions_than_are_looked_at_one_by_one_tell_the_same() -> None:
    at = Checkout(100)
    for n in range(MOST_STEPS + 5):
        lines = at.lines
        at.write([*lines[:50], at.new(), *lines[50:]] if n % 2 else [*lines[:50], *lines[51:]])
    last = [*at.lines]
    last[1] = at.new()
    at.write(last)
    for text, touches in ((b"line 2 of all", "touching"), (b"line 90 of all", "none")):
        anchor = hashed(at.versions[at.base], at.versions[at.base].index(text) + (1 if touches == "touching" else 0))
        operation = {"op": "replace_line", "hash": anchor, "content": "X"}
        reply = at.daemon.ask("edit", {"path": "f.txt", "operations": [operation], "dry_run": True, "base": at.base})
        assert reply["changes"][-1]["touches"] == touches, reply["changes"][-1]
