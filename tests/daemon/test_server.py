"""The door at its end: a signal, or a thread that has come late, still rings."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from quire_daemon.server import Server, listen


def test_who_rings_when_the_door_is_closed_writes_into_no_other_file(tmp_path: Path) -> None:
    """Its descriptors are those of other files by then: a second SIGTERM wrote into the mark of the good end."""
    path = tmp_path / "socket"
    door = Server(listen(path), path, "epoch")
    door.close()
    with ExitStack() as opened:
        files = [opened.enter_context((tmp_path / f"{n}").open("wb", buffering=0)) for n in range(20)]
        door.wake()
        assert [os.fstat(file.fileno()).st_size for file in files] == [0] * 20
