"""Figures that were kept as the documents show them: `docs/costs.md`, whole, and the short table of the README.

Both are held to `docs/bench/figures.json` by `tests/test_bench.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plot import series
from table import HEADLINES, Line, Row, cells, misses

_TOP = """\
# What it costs

{machine}, shared with others; {date}.

Each figure is a median, beside something real that was measured in the same run; the journals that were made were
verified afterwards. Milliseconds differ from machine to machine, and on this one by the hour, the ratios less.

`scripts/bench --json docs/bench/figures.json --plot docs/bench` measures it all anew; with `--from
docs/bench/figures.json`, `--markdown` prints this page, and `--headlines` the table of the README. What a row does
stands in `tests/bench/`.
"""


def costs(figures: Mapping[str, Any], rows: Mapping[str, Row], lines: Mapping[str, Sequence[Line]]) -> str:
    """All rows as a page: what each asks, its table, its picture, and why it misses a budget where it does."""
    parts = [_TOP.format(machine=figures["machine"], date=figures["date"])]
    for name, some in lines.items():
        row = rows[name]
        parts += [f"## {name}: {row.about}", _table(_told(some))]
        if row.grows_with and series(some):
            parts.append(f"![{row.about}](bench/{name}.svg)")
        if name in figures.get("elsewhere", {}):
            parts.append(f"Measured on {figures['elsewhere'][name]}.")
        if misses(some) and row.reason:
            parts.append(f"Why it is behind: {row.reason}")
    return "\n\n".join(part.strip() for part in parts)


def headlines(lines: Mapping[str, Sequence[Line]]) -> str:
    """The table of the README: figures and what stands beside them; budgets are for the page of all figures."""
    named: dict[str, Line] = {}
    for line in (line for some in lines.values() for line in some):
        named.setdefault(line.what, line)
    out = ["| | Quire | beside it, in the same run |", "|---|---|---|"]
    for what in HEADLINES:
        if what in named:
            _, ours, _, reference, theirs, *_ = cells(named[what])
            out.append(f"| {HEADLINES[what]} | {ours} | {f'{reference}: {theirs}' if reference else ''} |")
    return "\n".join(out)


def _told(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """The lines that measured something, each with its note."""
    return ((line, f" ({line.note})" if line.note else "") for line in lines if line.ours or line.holds is not None)


def _table(lines: Iterator[tuple[Line, str]]) -> str:
    out = ["| what | Quire | beside it | ratio | budget |", "|---|---|---|---|---|"]
    for line, note in lines:
        what, ours, _, reference, theirs, ratio, budget, holds = cells(line)
        beside = f"{reference}: {theirs}" if reference else ""
        told = f"{budget}, {holds}" if budget and holds else budget
        out.append(f"| {what.strip()}{note} | {ours} | {beside} | {ratio} | {told} |")
    return "\n".join(out)
