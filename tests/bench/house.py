"""How large the source is, and how much of it one act passes: what `scripts/bench house` counts.

Nothing here is timed. Rooms and faces are those of docs/architecture.md.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import faces

ROOT = Path(__file__).resolve().parents[2]


class Size(NamedTuple):
    """What one act passes."""

    frames: int
    functions: int
    modules: int


class Tally:
    """A function for `sys.setprofile` that keeps every call of Python in these folders. Imports do not count."""

    def __init__(self, *folders: Path) -> None:
        self._within = tuple(f"{folder}/" for folder in folders)
        self._calls: list[CodeType] = []  # a list takes calls of several threads

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._calls.append(frame.f_code)

    def clear(self) -> None:
        """Begin anew."""
        self._calls.clear()

    def size(self) -> Size:
        """What was passed since then."""
        codes = [c for c in self._calls if c.co_name != "<module>" and c.co_filename.startswith(self._within)]
        functions = {(code.co_filename, code.co_firstlineno, code.co_name) for code in codes}
        return Size(len(codes), len(functions), len({code.co_filename for code in codes}))


class Source(NamedTuple):
    """A module of the product."""

    room: str
    face: bool
    lines: int
    tree: ast.Module


def sources(root: Path = ROOT) -> dict[str, Source]:
    """Every module of the product by its dotted name; a face by that of its room."""
    found = {}
    for folder in ("journal", "daemon", "client"):
        for path in sorted((root / folder / f"quire_{folder}").rglob("*.py")):
            *room, name = path.relative_to(root / folder).with_suffix("").parts
            text, face = path.read_text("utf-8"), name == "__init__"
            dotted = ".".join(room if face else [*room, name])
            found[dotted] = Source(".".join(room), face, text.count("\n"), ast.parse(text))
    return found


def importers(known: Mapping[str, Source]) -> dict[str, set[str]]:
    """Module → the modules that import it. A name of a face counts for the module that defines it."""
    homes = {
        f"{face}.{name}": home
        for face, one in known.items()
        if one.face
        for name, home in faces.offered(one.tree, face).items()
        if home != face
    }
    found: dict[str, set[str]] = defaultdict(set)
    for module, one in known.items():
        for name in () if one.face else faces.named(one.tree):
            home = homes.get(name) or (name if name in known else name.rpartition(".")[0])
            if home in known:
                found[home].add(module)
    return found


def imported_once(known: Mapping[str, Source]) -> list[str]:
    """Modules with one importer: private parts of a neighbour."""
    found = importers(known)
    return [module for module, one in known.items() if not one.face and len(found[module]) == 1]


def commits(known: Mapping[str, Source]) -> Counter[str]:
    """Module → places in it that commit to the log: calls of a recorder's `commit`."""
    return Counter(
        module
        for module, one in known.items()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit"
        if ast.unparse(node.func.value).endswith("recorder")
    )


def lines_by_room(known: Mapping[str, Source]) -> Counter[str]:
    """Room of a package → its lines, with those of the rooms within it."""
    found: Counter[str] = Counter()
    for one in known.values():
        found[".".join(one.room.split(".")[:2])] += one.lines
    return found


def modules_by_room(known: Mapping[str, Source]) -> Counter[str]:
    """Room → its modules."""
    return Counter(one.room for one in known.values() if not one.face)


def lines_of_tests(root: Path = ROOT) -> Counter[str]:
    """Folder of the tests → its lines."""
    found: Counter[str] = Counter()
    for path in (root / "tests").rglob("*.py"):
        folder, *below = path.relative_to(root / "tests").parts
        found[folder if below else "beside them"] += path.read_text("utf-8").count("\n")
    return found
