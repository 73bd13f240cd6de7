"""What the faces of rooms offer, and what modules import by them, from the syntax trees of both."""

from __future__ import annotations

import ast

PRODUCT = ("quire_journal", "quire_daemon", "quire_client")
"""The packages whose rooms have faces."""


def is_type_checking(node: ast.AST) -> bool:
    """Is this `if TYPE_CHECKING:`, whose imports never run?"""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in (
        getattr(node.test, "id", ""),
        getattr(node.test, "attr", ""),
    )


def offered(face: ast.Module, room: str) -> dict[str, str]:
    """Name → the module that defines it, as the face of `room` loads it; of a module of the room, the room itself."""
    calls = [node for node in ast.walk(face) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "face"]
    loaded = {
        name: f"{room}.{one.arg}"
        for call in calls
        for one in call.keywords
        for name in ast.literal_eval(one.value).split()
    }
    return {alias.name: room for node in told(face) if node.module == room for alias in node.names} | loaded


def told(face: ast.Module) -> list[ast.ImportFrom]:
    """The imports by which a face tells the type checker what its names are."""
    blocks = (node for node in face.body if is_type_checking(node) and isinstance(node, ast.If))
    return [one for block in blocks for one in block.body if isinstance(one, ast.ImportFrom)]


def named(module: ast.Module) -> set[str]:
    """What a module imports from modules and faces of ours, and what it takes from those that it imports whole.

    Both are dotted names: `room.name`.
    """
    nodes = [*ast.walk(module)]
    imported = [
        (alias.asname or alias.name, f"{node.module}.{alias.name}")
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PRODUCT
        for alias in node.names
    ]
    whole = dict(imported)
    used = {
        f"{whole[node.value.id]}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole
    }
    return {name for _, name in imported} | used
