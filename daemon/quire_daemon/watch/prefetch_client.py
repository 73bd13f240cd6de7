"""Readers of new files outside the loop: on worker threads, or in processes if there are many files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from quire_daemon.watch.observe import Observer
from quire_daemon.watch.prefetch import ReadAhead
from quire_daemon.watch.prefetch_worker import Readers, Task, named, read_one

READER_FROM: Final = 500
"""Number of new files from which on processes read them: their start takes as long as some hundred files."""


class ReadingAhead:
    """Reader of new files; `read` is for any thread."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._readers: Readers | None = None

    def begin(self, files: int) -> None:
        if files >= READER_FROM and self._readers is None:
            self._readers = Readers(self._task())

    def end(self) -> None:
        readers, self._readers = self._readers, None
        if readers is not None:
            readers.close()

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """Read new plain files that no program is writing; None for other files, which the main loop looks at itself.
        Uses no state that the loop changes.
        """
        asked = [path for path in paths if not self._observer.ignore.secret(path)]
        readers = self._readers
        try:
            found = readers.read(asked) if readers is not None else self._read_here(asked)
        except (OSError, EOFError):
            found = self._read_here(asked)
        by_path = dict(zip(asked, found, strict=True))
        return [by_path.get(path) for path in paths]

    def _read_here(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        now_ns, task, read = self._observer.recorder.clock.now_ns, self._task(), self._observer.workspace.read
        return named(paths, [read_one(read, path, task, now_ns()) for path in paths])

    def _task(self) -> Task:
        capture, workspace = self._observer.settings.capture, self._observer.workspace
        return Task(os.fspath(workspace.root), workspace.protection, capture.max_bytes, capture.scan_secrets)
