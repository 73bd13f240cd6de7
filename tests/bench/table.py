"""What a row of the benchmark is, and how its lines are printed and kept."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple


class Scale(NamedTuple):
    """How much is measured. `full` is what the figures in the documents come from; `quick` shows that a row works."""

    name: str
    rounds: int
    files: tuple[int, ...]  # trees
    lines: tuple[int, ...]  # files
    versions: int  # that a file has before it is edited once more
    clients: tuple[int, ...]
    events: tuple[int, ...]  # in a log
    undone: tuple[int, ...]  # files
    kept: str = ""  # folder with the long journals, made by the first row that wants one


FULL = Scale("full", 200, (1000, 20_000, 100_000), (200, 2000, 20_000, 200_000), 10_000, (1, 4, 16, 64),
             (10_000, 100_000, 1_000_000), (1, 1000))  # fmt: skip
QUICK = Scale("quick", 20, (200,), (200, 2000), 100, (1, 4), (2000,), (1, 20))


@dataclass(frozen=True)
class Line:
    """One figure, beside what it is measured against in the same run."""

    what: str
    unit: str  # "ms", "/s", "MB", "bytes", "s", "%"
    ours: float
    spread: tuple[float, float] = (0.0, 0.0)  # the tenth and the ninetieth of a hundred
    reference: str = ""
    theirs: float = 0.0
    budget: str = ""
    holds: bool | None = None  # None: nothing was promised
    note: str = ""
    size: int = 0  # what the cost may grow with, for the plot
    curve: str = ""  # to which line of the plot it belongs; "": the row's only one
    over: float = 0.0  # how many times the budget it is; 0: there is none in one figure
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Ours by theirs."""
        return self.ours / self.theirs if self.theirs else None


@dataclass(frozen=True)
class Row:
    """A question about cost, and the code that answers it."""

    name: str
    about: str
    run: Callable[[Scale], Iterator[Line]]
    grows_with: str = ""  # what `Line.size` counts; "" for a row without a plot
    reason: str = ""  # why a budget is missed, where one is


def spread(took: Sequence[float]) -> tuple[float, float]:
    """The tenth and the ninetieth of a hundred."""
    ordered = sorted(took)
    return ordered[len(ordered) // 10], ordered[len(ordered) * 9 // 10]


def compared(
    what: str,
    ours: Sequence[float],
    reference: str = "",
    theirs: Sequence[float] = (),
    *,
    at_most: float = 0.0,
    unit: str = "ms",
    note: str = "",
    size: int = 0,
    curve: str = "",
) -> Line:
    """A line of medians. `at_most` is the budget: how many times theirs ours may be."""
    mine = statistics.median(ours)
    other = statistics.median(theirs) if theirs else 0.0
    budget = f"≤ {at_most:g} ×" if at_most else ""
    over = mine / (at_most * other) if at_most and other else 0.0
    return Line(what, unit, mine, spread(ours), reference, other, budget, over <= 1 if over else None, note, size,
                curve, over)  # fmt: skip


def bounded(
    what: str,
    value: float,
    unit: str,
    most: float,
    note: str = "",
    size: int = 0,
    *,
    curve: str = "",
    reference: str = "",
    theirs: float = 0.0,
) -> Line:
    """A line whose budget is a figure, not a ratio, whatever stands beside it."""
    over = value / most
    return Line(what, unit, value, (0.0, 0.0), reference, theirs, f"≤ {most:,g} {unit}", over <= 1, note, size, curve,
                over)  # fmt: skip


def skipped(what: str, why: str) -> Line:
    """A line about something that is not here: it is named, and what would bring it."""
    return Line(what, "ms", 0.0, note=f"skipped: {why}")


def figure(value: float, unit: str) -> str:
    """A value with as many digits as it deserves."""
    if isinstance(value, int) or value >= 1000:
        text = f"{value:,.0f}"
    elif value >= 100:
        text = f"{value:.0f}"
    elif value >= 10:
        text = f"{value:.1f}"
    else:
        text = f"{value:.2f}"
    return f"{text}{'' if unit.startswith('/') else ' '}{unit}"


HEADLINES: Final = {
    "durable edit, 2,000 lines, text": "an edit of 2,000 lines, answered when it is safe on disk",
    "read with hashes, 2,000 lines, unchanged": "a read of 2,000 lines",
    "outside write to `since`, p50": "a save of another program, until it is in the journal",
    "hook before an edit": "a hook before each call of an agent's own tool",
    "first capture of 20,000 files": "the first recording of 20,000 files",
    "undo of 1,000 files on ext4 with a journal": "an undo in 1,000 files",
    "start after kill -9, 1,000,000 events, 20,000 files": "a start after kill -9, with 1,000,000 records",
    "blame of 2,000 lines, 1,000 versions": "blame of 2,000 lines with 1,000 versions",
    "all of a version, of 7,226 of flask": "disk for each version of a file (Flask's history)",
    "memory at rest, 20,000 files": "memory at rest, 20,000 files",
}
"""Rows that the README shows, and their names there. A row that was not measured is left out."""

HEADS = ("what", "ours", "spread", "reference", "theirs", "ratio", "budget", "")


def verdict(line: Line) -> str:
    """Whether the budget holds, and where it does not, how many times the budget it takes."""
    if line.holds is None:
        return ""
    if line.holds:
        return "holds"
    return f"behind, {line.over:.2g} × the budget" if line.over > 1 else "behind"


def cells(line: Line) -> tuple[str, ...]:
    """A line as it is printed."""
    low, high = line.spread
    return (
        line.what,
        figure(line.ours, line.unit) if line.ours or line.holds is not None else "",
        f"{figure(low, line.unit).split(' ')[0]}–{figure(high, line.unit).split(' ')[0]}" if high else "",
        line.reference,
        figure(line.theirs, line.unit) if line.theirs else "",
        f"{line.ratio:.2f} ×" if line.ratio is not None else "",
        line.budget,
        verdict(line),
    )


def printed(lines: Sequence[Line]) -> str:
    """Lines as a table for a terminal."""
    rows = [HEADS, *(cells(line) for line in lines)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEADS))]
    out = []
    for row, line in zip(rows, (None, *lines), strict=True):
        out.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if line is not None and line.note:
            out.append(f"    {line.note}")
    return "\n".join(out)


def misses(lines: Sequence[Line]) -> bool:
    """Is a budget missed in one of these?"""
    return any(line.holds is False for line in lines)


# ── figures that are kept ────────────────────────────────────────────────────


def beside(earlier: dict[str, Any], figures: dict[str, Any], anywhere: bool = False) -> bool:
    """Take the rows of earlier figures over, if they are of this machine and of this scale; else leave them out.

    `anywhere`: those of another machine are taken over, too, and the figures stay that machine's.
    """
    alike = all(earlier[what] == figures[what] for what in (("scale",) if anywhere else ("machine", "scale")))
    if alike:
        figures |= {"machine": earlier["machine"], "rows": dict(earlier["rows"])}
        figures["elsewhere"] = dict(earlier.get("elsewhere", {}))
    return alike


def put(
    figures: dict[str, Any], name: str, lines: list[dict[str, Any]], date: str, order: Sequence[str], machine: str = ""
) -> None:
    """Put a row to the figures, in the place that the order of all rows gives it; with its `machine`, if another."""
    elsewhere = figures.setdefault("elsewhere", {})
    elsewhere.pop(name, None)
    if machine not in ("", figures["machine"]):
        elsewhere[name] = machine
    rows = {**figures["rows"], name: lines}
    figures["rows"] = {row: rows[row] for row in order if row in rows}
    figures["date"] = date
