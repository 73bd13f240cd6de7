"""A daemon that counts the calls of Python which an act passes. It plays a scene, prints the sizes, and kills itself.

    python tests/bench/traced_daemon.py {acts|start} CHECKOUT STATE

`acts`: an edit, an outside write and an undo, each some times in a warm daemon, and the least. `start`: from the first
line of the program to the first turn. All threads of the daemon count, its other processes and imports do not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from house import ROOT, Size, Tally, sources
from rows_edit import editor, functions

import quire_client
from quire_daemon import __main__
from quire_daemon.app import App
from quire_daemon.core import IncomingRequest

PLAYED = 8
WARM = 2
"""Of them are not counted."""

LINES = 52
QUIET_S = 0.2
WAIT_S = 30.0

TALLY = Tally(ROOT / "daemon" / "quire_daemon", ROOT / "journal" / "quire_journal")


def turn(app: App) -> None:
    """A turn, as the loop takes it."""
    app.turn(app.server.poll(min(app._patience(), QUIET_S)))


def settle(app: App) -> None:
    """Take turns until none is asked for."""
    until, quiet = time.monotonic() + WAIT_S, False
    while not quiet:
        assert time.monotonic() < until, "the daemon does not come to rest"
        patience_s, begun = app._patience(), time.monotonic()
        turn(app)
        quiet = patience_s > QUIET_S and time.monotonic() - begun >= QUIET_S
    app.turn([])  # what is done each second is done


class Caller:
    """A client in another process. The daemon takes its turns while a call waits."""

    def __init__(self, app: App, agent: str, *places: str) -> None:
        self._app = app
        command = [sys.executable, __file__, "client", *places, agent]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        """The reply. The tally has the turns from the request to the reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        settle(self._app)
        self._process.stdin.write(json.dumps([tool, args]) + "\n")
        self._process.stdin.flush()
        answered, send = [], self._app.server.reply
        self._app.server.reply = lambda *reply: answered.append(send(*reply))  # type: ignore[method-assign]
        came: list[IncomingRequest] = []
        while not came:
            TALLY.clear()
            came = self._app.server.poll(WAIT_S)
        self._app.turn(came)
        while not answered:
            turn(self._app)
        del self._app.server.reply
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert reply["ok"], reply
        return reply

    def end(self) -> None:
        """Wait for the process."""
        self._process.communicate()


def least(act: Callable[[int], Any]) -> Size:
    """The size of an act in a warm daemon; a chore that falls due meanwhile is not part of it."""
    sizes = []
    for number in range(PLAYED):
        act(number)
        sizes.append(TALLY.size())
    return min(sizes[WARM:])


def acts(app: App, root: Path, *places: str) -> dict[str, Size]:
    """What each act passes."""
    app.long_decisions._mono_s = lambda: 0.0  # no decision takes several turns because its calls are counted
    for name in ("edited.py", "outside.py"):
        (root / name).write_text(functions(LINES))
    ann = Caller(app, "ann", *places)
    edit = editor(ann, "edited.py")

    def write_outside(_: int) -> None:
        settle(app)
        head = app.recorder.journal.head
        TALLY.clear()
        with (root / "outside.py").open("a") as file:
            file.write("# more\n")
        while app.recorder.journal.head == head:
            turn(app)

    def undo(number: int) -> None:
        name, ben = f"undone{number}.py", Caller(app, f"ben{number}", *places)
        (root / name).write_text(functions(LINES))
        for who, line in ((ben, 1), (ann, 9)):
            change = {"old_text": f"function_{line}(", "new_text": f"changed_{line}("}
            who.call("edit_replace", {"file": name, **change})
        ann.call("undo", {"writer": f"ben{number}"})
        ben.end()

    found = {
        "edit": least(lambda _: edit()),
        "outside write, until it is journaled": least(write_outside),
        "undo of a writer's edit, on which another one lies": least(undo),
    }
    ann.end()
    return found


def main(what: str, *places: str) -> int:
    """Play it."""
    if what == "client":
        with quire_client.connect(places[0], agent=places[2], session="s1", state_dir=places[1], start=False) as client:
            for line in sys.stdin:
                print(json.dumps(client.call(*json.loads(line))), flush=True)
        return 0

    def run(app: App) -> None:
        app.open()
        found = {"start after kill -9": TALLY.size()} if what == "start" else acts(app, Path(places[0]), *places)
        print(json.dumps(found), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    for module in sources():
        if module.startswith(("quire_daemon", "quire_journal")):
            import_module(module)
    App.run = run  # type: ignore[method-assign]
    threading.setprofile(TALLY)
    sys.setprofile(TALLY)
    return __main__.main(["--workspace", places[0], "--state-dir", places[1]])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
