"""What a row of the benchmark is, and how its lines are printed and kept."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Scale(NamedTuple):
    """How much is measured. `full` is what the README's figures come from; `quick` shows that a row works."""

    name: str
    rounds: int
    files: tuple[int, ...]  # trees
    lines: tuple[int, ...]  # files
    versions: int  # that a file has before it is edited once more
    clients: tuple[int, ...]
    events: tuple[int, ...]  # in a log
    undone: tuple[int, ...]  # files


FULL = Scale("full", 200, (1000, 20_000, 100_000), (200, 2000, 20_000, 200_000), 10_000, (1, 4, 16, 64),
             (10_000, 100_000), (1, 1000))  # fmt: skip
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
    holds = mine <= at_most * other if at_most and other else None
    return Line(what, unit, mine, spread(ours), reference, other, budget, holds, note, size, curve)


def bounded(what: str, value: float, unit: str, most: float, note: str = "", size: int = 0) -> Line:
    """A line whose budget is a figure, not a ratio."""
    return Line(what, unit, value, budget=f"≤ {most:g} {unit}", holds=value <= most, note=note, size=size)


def figure(value: float, unit: str) -> str:
    """A value with as many digits as it deserves."""
    if value >= 1000:
        text = f"{value:,.0f}"
    elif value >= 100:
        text = f"{value:.0f}"
    elif value >= 10:
        text = f"{value:.1f}"
    else:
        text = f"{value:.2f}"
    return f"{text}{'' if unit.startswith('/') else ' '}{unit}"


HEADS = ("what", "ours", "spread", "reference", "theirs", "ratio", "budget", "")


def cells(line: Line) -> tuple[str, ...]:
    """A line as it is printed."""
    low, high = line.spread
    return (
        line.what,
        figure(line.ours, line.unit),
        f"{figure(low, line.unit).split(' ')[0]}–{figure(high, line.unit).split(' ')[0]}" if high else "",
        line.reference,
        figure(line.theirs, line.unit) if line.theirs else "",
        f"{line.ratio:.2f} ×" if line.ratio is not None else "",
        line.budget,
        "" if line.holds is None else "holds" if line.holds else "MISSES",
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


def markdown(rows: Mapping[str, Sequence[Line]], reasons: Mapping[str, str]) -> str:
    """Rows as a table for the README, and under it for each row that misses a budget why it does."""
    out = ["| what | Quire | beside it | ratio | budget |", "|---|---|---|---|---|"]
    for line in (line for lines in rows.values() for line in lines if line.ours or line.holds is not None):
        what, ours, _, reference, theirs, ratio, budget, holds = cells(line)
        beside = f"{reference}: {theirs}" if reference else ""
        told = f"{budget}, {holds}" if budget and holds else budget
        out.append(f"| {what.strip()}{f' ({line.note})' if line.note else ''} | {ours} | {beside} | {ratio} | {told} |")
    missed = [f"- {name}: {reasons[name]}" for name, lines in rows.items() if misses(lines) and reasons.get(name)]
    if missed:
        out += ["", "What misses its budget, and why:", "", *missed]
    return "\n".join(out)
