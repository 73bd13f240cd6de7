"""The row about the source: how much of it an act passes, and how large its rooms are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import house as source
from table import Line, Scale, bounded

from live import Live

EDIT = {"frames": 600, "functions": 300, "modules": 60}
"""What an edit may pass."""

LINES = 59_269
"""Of the product: 4,000 less than when they were counted first."""

MODULES = 20
"""Of a room."""


def house(scale: Scale) -> Iterator[Line]:
    """What acts pass in a real daemon, and the size of the source."""
    at = Live(on_disk=scale.name != "quick")
    try:
        told = {act: size for scene in ("acts", "start") for act, size in _played(scene, at).items()}
    finally:
        at.close()
    for act, (frames, functions, modules) in told.items():
        if act == "edit":
            for (what, most), count in zip(EDIT.items(), (frames, functions, modules), strict=True):
                yield bounded(f"{act}: {what}", count, what, most)
        else:
            yield Line(f"{act}: frames", "frames", frames, note=f"{functions} functions, {modules} modules")
    known = source.sources()
    rooms, sizes, commits = source.lines_by_room(known), source.modules_by_room(known), source.commits(known)
    yield bounded("lines of the product", rooms.total(), "lines", LINES)
    for package in ("quire_journal", "quire_daemon", "quire_client"):
        inside = Counter({room.partition(".")[2] or "flat": n for room, n in rooms.items() if room.startswith(package)})
        yield Line(f"lines of {package}", "lines", inside.total(), note=_listed(inside))
    tests = source.lines_of_tests()
    yield Line("lines of tests", "lines", tests.total(), note=_listed(tests))
    (_, largest), *_ = sizes.most_common(1)
    yield bounded("largest room", largest, "modules", MODULES, _listed(Counter(dict(sizes.most_common(5)))))
    once, every = source.imported_once(known), sizes.total()
    yield Line("modules with one importer", "modules", len(once), note=f"of {every}")
    yield bounded("places that commit to the log", commits.total(), "places", 1, _listed(commits))


def _played(scene: str, at: Live) -> dict[str, list[int]]:
    """What a daemon counted. It kills itself."""
    program = Path(__file__).with_name("traced_daemon.py")
    command = [sys.executable, program, scene, at.root, at.state_dir]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, list[int]] = json.loads(ran.stdout)
    return found


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
