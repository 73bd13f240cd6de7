"""A daemon that keeps the real one's manners (lock, announcement, socket) and does nothing else.

`FakeDaemon` runs it on a thread of the test; started with the daemon's arguments it is a process. What it does
with a request depends on the tool's name:

    shutdown  answers and ends        silent  never answers           late  answers when `go_on` is set
    die       ends without an answer  noise   answers somebody else's id first, then the request
    anything  answers with what it was asked
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

import msgspec
import zmq

from quire_journal.model.messages import Reply, Request, decode_request, encode
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import Place, make_private_folder
from quire_journal.workspaces.lock import LockHolder, take_lock

LIFE_S = 50.0
"""It ends by itself: no test takes that long."""


class FakeDaemon:
    """Holds the lock of `place` and answers at `socket`; `start` is for threads, `serve` for processes."""

    def __init__(self, place: Place, socket: Path | None = None, silent: Collection[str] = ()) -> None:
        """`silent`: more tools that it never answers."""
        self._unanswered = {"silent", "die", *silent}
        self.epoch = os.urandom(8).hex()
        self.go_on = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.serve, name="fake daemon")
        make_private_folder(place.state)
        lock = take_lock(place.lock)
        if lock is None:
            raise BlockingIOError("another daemon serves this workspace already.")
        self._lock = lock
        path = socket or place.socket
        make_private_folder(path.parent)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.linger = 0
        self._router = self._context.socket(zmq.ROUTER)
        self._router.bind(f"ipc://{path}")
        self._lock.announce(LockHolder(os.getpid(), self.epoch, os.fspath(path)))

    def serve(self) -> str:
        """Answer until told to stop; the tool that ended it."""
        until = time.monotonic() + LIFE_S
        last = ""
        while time.monotonic() < until and not self._stop.is_set() and last not in ("die", "shutdown"):
            if self._router.poll(20):
                who, frame = self._router.recv_multipart()
                last = self._take(who, decode_request(frame))
        self._context.destroy(linger=200 if last == "shutdown" else 0)
        self._lock.close()
        return last

    def _take(self, who: bytes, request: Request) -> str:
        if request.tool == "late":
            self.go_on.wait(10)
        if request.tool == "noise":
            self._send(who, Reply(request.id + 1000, {"ok": False, "message": "Not yours."}, self.epoch))
        if request.tool not in self._unanswered:
            self._send(who, Reply(request.id, asked(request), self.epoch))
        return request.tool

    def _send(self, who: bytes, reply: Reply) -> None:
        self._router.send_multipart([who, encode(reply)])

    def __enter__(self) -> FakeDaemon:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self.go_on.set()
        self._thread.join(10)


def asked(request: Request) -> dict[str, object]:
    """A reply that says what was asked, and by whom."""
    said = {"tool": request.tool, "args": msgspec.msgpack.decode(request.args), "epoch": request.epoch}
    caller = {"agent": request.caller.agent, "agent_session": request.caller.agent_session}
    return {"ok": True, "message": "Done.", **said, **caller, "op": request.op.hex(), "pid": os.getpid()}


def main() -> int:
    """The process: counts its starts. With a file `refuse` in the workspace it refuses, with `die`, `break` it ends."""
    parser = argparse.ArgumentParser()
    for name in ("--workspace", "--state-dir", "--socket"):
        parser.add_argument(name, type=Path, required=True)
    args = parser.parse_args()
    place = Place(args.workspace, args.state_dir)
    if (place.root / "refuse").exists():
        print("Settings are read.\nquired: .quire.toml: line 3: there is no key `edti`.", file=sys.stderr)
        return 2
    if (place.root / "die").exists():
        (place.root / "die").unlink()  # the next one lives
        os.kill(os.getpid(), signal.SIGBUS)
    if (place.root / "break").exists():
        raise RuntimeError("nobody expected that")
    try:
        daemon = FakeDaemon(place, args.socket)
    except BlockingIOError as error:
        print(f"quired: {error}", file=sys.stderr)
        return 3
    settle(place)
    with open(place.state / "starts", "a") as starts:
        starts.write(f"{os.getpid()}\n")
    return 3 if daemon.serve() == "die" else 0


if __name__ == "__main__":
    sys.exit(main())
