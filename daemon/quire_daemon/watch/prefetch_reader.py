"""Reading new files beside the loop, on its worker threads."""

from __future__ import annotations

from collections.abc import Sequence

from quire_daemon.watch.observe import Observer
from quire_daemon.watch.prefetch import ReadAhead
from quire_daemon.workspace import FileBusy, FileVanished, NotRegular, TooLarge
from quire_journal.maintenance import secret_scan
from quire_journal.model import Refusal
from quire_journal.storage.blobs import codec


def read_ahead(observer: Observer, paths: Sequence[str]) -> list[ReadAhead | None]:
    """Plain files that nobody is writing, of which the journal knows nothing; None for all else.

    For any thread: it asks nothing that the loop changes. `Observer.note_ahead` asks the rest.
    """
    return [None if observer.ignore.secret(path) else _read_one(observer, path) for path in paths]


def _read_one(observer: Observer, path: str) -> ReadAhead | None:
    capture, taken_ns = observer.settings.capture, observer.recorder.clock.now_ns()
    try:
        image = observer.workspace.read(path, capture.max_bytes)
    except (FileBusy, FileVanished, NotRegular, TooLarge, OSError, Refusal):
        return None  # the loop will find the same, and knows what follows
    if capture.scan_secrets and secret_scan.find(image.data):
        return None
    return ReadAhead(path, image.signature, image.settled, codec.compress(image.data), taken_ns)
