"""Fault injection: a crash test makes the daemon kill itself at a named step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping


def from_environment(environ: Mapping[str, str]) -> Callable[[str], None]:
    """Return a function to call with each step's name; `QUIRE_FAULT=step:n` makes it kill the process at the n-th call
    for that step.
    """
    asked = environ.get("QUIRE_FAULT", "")
    if not asked:
        return _nothing
    name, _, count = asked.partition(":")
    return _Killer(name, int(count or 1))


def _nothing(step: str) -> None: ...


class _Killer:
    def __init__(self, step: str, passing: int) -> None:
        self._step, self._left = step, passing

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
