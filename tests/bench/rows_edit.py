"""Rows about one file: what an edit and a read of it cost, as the file and its history grow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from floor import durable_edits, echo, timed
from peers import edits_of_peers, reads_of_peers
from processes import used_s, wait_for_rest
from table import Line, Scale, compared

from live import Live, ok

WARM = 5
"""Rounds that are not counted."""

LARGE = 50_000
"""From so many lines on fewer rounds are measured, and the lines are short."""


def functions(lines: int) -> str:
    """Functions, as source has them, in which every line is unique; of many lines short ones, or it were too large."""
    if lines >= LARGE:
        return "".join(f"value_{n} = {n}\n" for n in range(lines))
    made: list[str] = []
    for n in range(lines // 4 + 1):
        made += [
            f"def function_{n}(value):  # one of many",
            f"    found_{n} = compute(value, 'some words that make it as long as code is', {n})",
            f"    if found_{n} > {n}:",
            f"        return found_{n} - {n}",
        ]
    return "\n".join(made[:lines]) + "\n"


def anchors(client: Any, path: str) -> list[str]:
    """An anchor of every line, as an agent that has read the file has them."""
    shown: list[str] = []
    start: int | None = 1
    while start:
        page = ok(client.call("read_file", {"path": path, "hashes": True, "start_line": start}))
        shown += page["lines"]
        start = page.get("next_line")
    return [line.partition(" ")[0] for line in shown]


def editor(client: Any, path: str) -> Callable[[], None]:
    """One-line edits of `path` by anchor, each of another line; where all were edited, it begins again."""
    known = anchors(client, path)
    step, number = max(1, len(known) // 997), 0

    def once() -> None:
        nonlocal number
        at = 1 + 4 * (number * step % (len(known) // 4))
        line = f"    found_{at} = compute(value, 'edited', {number})"
        change = {"op": "replace_line", "hash": known[at], "content": line}
        reply = ok(client.call("edit", {"path": path, "operations": [change]}))
        known[at] = next(row for row in reply["diff"] if row.startswith("+"))[1:].strip().partition(" ")[0]
        number += 1

    return once


@contextlib.contextmanager
def served(scale: Scale, files: dict[str, str]) -> Iterator[tuple[Live, Any]]:
    """A daemon on a checkout with these files, and a client. The journal is verified in the end.

    Where sizes are small nothing is measured really, and the daemon need not be a program.
    """
    at = Live(on_disk=scale.name != "quick")
    try:
        for name, content in files.items():
            at.write(name, content)
        client = at.connect("bench", "bench", timeout_s=300.0)
        yield at, client
        verdict = client.call("verify", {})
        assert verdict["ok"], verdict
    finally:
        at.close()


def edit(scale: Scale) -> Iterator[Line]:
    """A durable edit of one line, by anchor, from the call to the reply."""
    medians: dict[int, float] = {}
    for lines in scale.lines:
        rounds = scale.rounds if lines < LARGE else max(scale.rounds // 10, 5)
        for kind, name in (("text", "big.txt"), ("Python, parsed", "big.py")):
            if kind != "text" and lines != 2000:
                continue
            data = functions(lines)
            with served(scale, {name: data}) as (at, client), durable_edits(data.encode()) as floor:
                once = editor(client, name)
                mine, theirs, note = _interleaved(once, floor, rounds, at)
            curve = "" if kind == "text" else kind
            what = f"durable edit, {lines:,} lines, {kind}"
            line = compared(what, mine, "floor", theirs, at_most=1.9, note=note, size=lines, curve=curve)
            yield line
            if kind == "text":
                medians[lines] = line.ours
    if {2000, 20_000} <= medians.keys():
        few, many = medians[2000], medians[20_000]
        yield compared("20,000 lines beside 2,000", [many], "2,000 lines", [few], at_most=4)
    yield from edits_of_peers(functions(2000), scale.rounds)


def history(scale: Scale) -> Iterator[Line]:
    """The same edit when the file has many versions."""
    data = functions(2000)
    with served(scale, {"old.txt": data, "new.txt": data}) as (at, client):
        old, new = editor(client, "old.txt"), editor(client, "new.txt")
        for _ in range(scale.versions):
            old()
        mine, theirs, _ = _interleaved(old, new, scale.rounds, at)
    yield compared(
        f"durable edit, file with {scale.versions:,} versions",
        mine,
        "with few",
        theirs,
        at_most=1.25,
        size=scale.versions,
    )


def read(scale: Scale) -> Iterator[Line]:
    """`read_file` with hashes of a file that has not changed, beside an echo of as many bytes."""
    for lines in scale.lines:
        if lines > 2000:
            continue  # longer ones are answered in pages of as many bytes
        with served(scale, {"big.txt": functions(lines)}) as (at, client), echo(200) as trip:
            import msgspec

            asked = {"path": "big.txt", "hashes": True}
            size = len(msgspec.msgpack.encode(ok(client.call("read_file", asked))))
            mine, theirs, note = _interleaved(
                lambda c=client, a=asked: ok(c.call("read_file", a)), lambda s=size: trip(s), scale.rounds, at
            )
        yield compared(
            f"read with hashes, {lines:,} lines, unchanged",
            mine,
            f"echo of {size:,} bytes",
            theirs,
            at_most=2,
            note=note,
            size=lines,
        )
    yield from reads_of_peers(functions(2000), scale.rounds)


def _interleaved(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int, at: Live
) -> tuple[list[float], list[float], str]:
    """Milliseconds of ours and of theirs, by turns, and a note of what ours takes of the daemon besides.

    Each begins when the daemon is at rest: what it does after its reply must not slow the other one down. What that is
    shows where the next of ours follows at once.
    """
    pid, mine, others = at.daemon_pid(), list[float](), list[float]()
    for number in range(-WARM, rounds):
        if number == 0:
            before = used_s(pid)
        for took, act in ((mine, ours), (others, theirs)):
            wait_for_rest(pid)
            took.append(timed(act))
    used_ms = (used_s(pid) - before) / rounds * 1000
    closed_ms = timed(lambda: [ours() for _ in range(rounds)]) / rounds
    note = f"{used_ms:.1f} ms of the daemon's processor; {closed_ms:.2f} ms each, where the next follows at once"
    return mine[WARM:], others[WARM:], note
