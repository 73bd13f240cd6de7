"""Cost against size, drawn from the figures that a run kept: one picture a row that grows with something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from table import Line, Row


def draw(rows: Mapping[Row, Sequence[Line]], figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """One SVG and one PNG for each row that has lines of different sizes; the files that were made."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "quire"  # the same figures give the same file
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for row, lines in rows.items():
        curves = series(lines)
        if not row.grows_with or not curves:
            continue
        picture, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
        ours = {line.curve or "Quire" for line in lines}
        for name, points in curves.items():
            sizes, costs = zip(*points, strict=True)
            axes.plot(sizes, costs, marker="o", linestyle="-" if name in ours else "--", label=name)
        axes.set(xscale="log", yscale="log", xlabel=row.grows_with, ylabel=lines[0].unit, title=row.about)
        axes.title.set_fontsize(9)
        axes.grid(True, which="both", alpha=0.2)
        axes.legend(fontsize=8)
        picture.text(0.995, 0.005, f"{figures['machine']}, {figures['date']}", ha="right", fontsize=5, alpha=0.6)
        for kind in ("svg", "png"):
            path = folder / f"{row.name}.{kind}"
            picture.savefig(path, dpi=150, metadata={"Date": None} if kind == "svg" else None)
            made.append(path)
        pyplot.close(picture)
    return made


def series(lines: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
    """Points of ours, and of each reference, by size; nothing for rows with fewer than two sizes."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for line in lines:
        if not line.size or line.ours <= 0:
            continue
        curves.setdefault(line.curve or "Quire", []).append((line.size, line.ours))
        if line.theirs:
            told = f"{line.reference}, beside {line.curve}" if line.curve else line.reference
            curves.setdefault(told, []).append((line.size, line.theirs))
    return {name: points for name, points in curves.items() if len({size for size, _ in points}) > 1}
