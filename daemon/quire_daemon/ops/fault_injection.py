"""Fault points: a crash test asks the daemon to kill itself at a named step, so that each gap between two is met."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping


def from_environment(environ: Mapping[str, str]) -> Callable[[str], None]:
    """What to call between two steps. `QUIRE_FAULT=step:n` kills the process at the n-th passing of `step`."""
    asked = environ.get("QUIRE_FAULT", "")
    if not asked:
        return _nothing
    name, _, count = asked.partition(":")
    return _Killer(name, int(count or 1))


def _nothing(step: str) -> None:
    """No fault was asked for."""


class _Killer:
    """Counts the passings of one step and ends the process as a power cut would: no clean-up runs."""

    def __init__(self, step: str, passing: int) -> None:
        self._step, self._left = step, passing

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
