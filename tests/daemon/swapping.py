"""What happens at a step of a swap, and what is left when all is done."""

from __future__ import annotations

import os
from collections.abc import Callable

from quire_daemon.workspace.displaced import GRACE_S
from quire_daemon.workspace.workspace import Workspace


class Steps:
    """Does something, once, when a named step is passed."""

    def __init__(self) -> None:
        self._planned: dict[str, Callable[[], object]] = {}

    def at(self, step: str, do_this: Callable[[], object]) -> None:
        self._planned[step] = do_this

    def __call__(self, step: str) -> None:
        planned = self._planned.pop(step, None)
        if planned is not None:
            planned()


def in_tmp(workspace: Workspace) -> list[str]:
    return os.listdir(workspace.root / ".quire/tmp")


def settle(workspace: Workspace) -> None:
    """Let all grace times pass."""
    workspace.sweep(0.0)
    assert workspace.sweep(GRACE_S + 0.1) == []
    assert workspace.displaced_files() == 0
