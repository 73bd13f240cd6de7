"""A progress bar on stderr, shown only after a second."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress, TaskID

PATIENCE_S: Final = 1.0


class Progress:
    """Context manager with a progress bar on stderr. It pulses until `update` is called."""

    def __init__(self, title: str, shown: bool) -> None:
        self._title = title
        self._shown = shown
        self._timer = threading.Timer(PATIENCE_S, self._begin)
        self._guard = threading.Lock()  # the bar appears on the timer's thread
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._state: tuple[int, int | None] = (0, None)

    def update(self, done: int, total: int) -> None:
        with self._guard:
            self._state = (done, total or None)
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=done, total=total or None)

    def __enter__(self) -> Progress:
        if self._shown:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            self._timer.cancel()
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        with self._guard:
            self._bar = RichProgress(console=Console(stderr=True), transient=True)
            done, total = self._state
            self._task = self._bar.add_task(self._title, completed=done, total=total)
            self._bar.start()
