"""Faces: what a room offers to other rooms. A name is loaded when it is first asked for, so a face costs nothing.

Each room states its names in its call of `face`. Below `if TYPE_CHECKING` it tells the type checker their modules by
`import *`, or name by name where modules of the room have a public name in common. A test holds both against each
other.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def face(room: str, **names: str) -> Callable[[str], Any]:
    """The `__getattr__` of `room`: each keyword is a module of the room, its value the names that it offers.

    Source: PEP 562. The function raises `AttributeError` for a name that the room does not offer.
    """
    homes = {name: module for module, offered in names.items() for name in offered.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return load
