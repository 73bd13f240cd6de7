"""Faces: the public names of a room, loaded at first use. Each room lists its names in its call of `face`, and repeats
them for the type checker below `if TYPE_CHECKING`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def face(room: str, **names: str) -> Callable[[str], Any]:
    """Return the `__getattr__` (PEP 562) of `room`, which loads public names; it raises `AttributeError` for other
    names. `names`: a module of the room → its public names, separated by spaces.
    """
    homes = {name: module for module, offered in names.items() for name in offered.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return load
