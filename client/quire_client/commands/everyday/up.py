"""`quire up`: starts the daemon and captures the workspace."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import TOLD_S, Command, Invocation, Option, captured
from quire_journal.workspaces import running

if TYPE_CHECKING:
    from quire_client.api import Client

STARTING_S: Final = 1.5
MANY_FILES: Final = 200_000
"""Number of files above which `up` asks for confirmation, because the folder is probably the wrong one."""

FEW_VERSIONS: Final = 20_000
NAMED: Final = 3


def run(call: Invocation) -> int:
    call.at_most(1)
    if call.arguments:
        call.options = {**call.options, "workspace": str(call.folder / call.arguments[0])}
    refused = None if "yes" in call.options or call.place.identity_file.exists() else _unasked(call)
    if refused is not None:
        return refused
    try:
        with _starting(call):
            opened = call.connect(told=_Told(call))
        with opened as client:
            reply = client.status() if "no-wait" in call.options else captured(client, call)
            lacking = _lacking(client, reply) if reply.get("ok") and not call.json else ""
            return call.answer(reply, lambda reply: _show(reply, lacking))
    except KeyboardInterrupt:
        call.say("The daemon goes on by itself; `quire status` tells how far it is, `quire down` ends it.")
        raise


def _unasked(call: Invocation) -> int | None:
    from quire_journal.model import Refusal

    root = call.place.root
    if sum(1 for _ in zip(files_of(root), range(MANY_FILES + 1), strict=False)) <= MANY_FILES:
        return None
    many = f"{root} holds more than {MANY_FILES:,} files"
    if not call.can_ask:
        message = (
            f"{many}. Nothing was started. `quire up --yes` records them all; .quireignore names what to leave out."
        )
        return call.answer(Refusal("not_confirmed", message, "confirm").reply(), lambda reply: "")
    if call.agreed(f"{many}. Record them all?"):
        return None
    return call.declined("Nothing was started.")


def files_of(root: Path) -> Iterator[str]:
    """Yield the files below `root`; in a git checkout those that git does not ignore."""
    if (root / ".git").exists():
        # No program named in the repository's configuration may run.
        asked = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", os.fspath(root), "ls-files", "-z"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            listed = subprocess.run(
                [*asked, "--cached", "--others", "--exclude-standard"],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
        except OSError:
            pass  # git is not installed
        else:
            if listed.returncode == 0:
                yield from os.fsdecode(listed.stdout).split("\0")[:-1]
                return
    for _, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        yield from names


@contextmanager
def _starting(call: Invocation) -> Iterator[None]:
    if call.person_watches or running(call.place) is not None:
        yield
        return
    ended = threading.Event()

    def tell() -> None:
        call.say("Starting the daemon.")
        while not ended.wait(STARTING_S):
            call.say("The daemon is still starting.")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


class _Told:
    def __init__(self, call: Invocation, now: Callable[[], float] = time.monotonic) -> None:
        self._call = call
        self._now = now
        self._said = ""
        self._at = 0.0

    def __call__(self, doing: str) -> None:
        what = doing if self._call.person_watches else doing.partition(" (")[0]
        if what != self._said or self._now() - self._at >= TOLD_S:
            self._said, self._at = what, self._now()
            self._call.say(f"The daemon is {render.one_line(doing)}.")


def _lacking(client: Client, reply: Mapping[str, Any]) -> str:
    journal = reply.get("journal")
    journal = journal if isinstance(journal, Mapping) else {}
    count = int(journal.get("uncaptured") or 0)
    if not count:
        return ""
    told = [f"the bytes of {render.counted(count, 'file')} (`quire ls` marks each with the reason)"]
    if int(journal.get("versions") or 0) <= FEW_VERSIONS:
        from quire_client.export import ExportStop, fetch

        try:
            found = fetch(client).uncaptured
        except ExportStop:
            found = []
        told = [f"{render.one_line(one['path'])} ({str(one['uncaptured']).replace('_', ' ')})" for one in found[:NAMED]]
        if len(found) > NAMED:
            told.append(f"{len(found) - NAMED} more files (`quire ls` marks each with the reason)")
    return ", ".join(told)


def _show(reply: Mapping[str, Any], lacking: str) -> str:
    waits = (reply.get("capture") or {}).get("waits_for")
    said = [_runs(reply), _left_out(lacking), reply.get("salvaged") or "", "" if waits else NEXT]
    return "\n".join(render.clean_text(one) for one in said if one)


NEXT: Final = (
    "Next: `quire setup claude-code` connects an agent (or codex, cursor, gemini,\n"
    "opencode); `quire watch` shows what happens now, `quire log` what happened."
)


def _left_out(lacking: str) -> str:
    ignored = "Not recorded: what .gitignore and .quireignore name"
    return f"{ignored}; {lacking}." if lacking else f"{ignored}."


def _runs(reply: Mapping[str, Any]) -> str:
    root, pid = render.clean(reply.get("workspace", "")), reply.get("pid")
    capture = reply.get("capture") or {}
    if capture.get("waits_for"):
        return f"The daemon (pid {pid}) runs for {root}; its files are not recorded yet: {capture['waits_for']}."
    if not capture.get("finished", True):
        return f"The daemon (pid {pid}) runs for {root}; it is still recording the files."
    return f"The daemon (pid {pid}) runs for {root} and records every change."


COMMAND = Command(
    arguments="[PATH]",
    about="Starts the daemon for the workspace that holds the current folder, or for PATH, which becomes a workspace\n"
    "if it is none, and waits until every file is in the journal. Other commands start it as well. A system folder\n"
    f"is refused; a folder with more than {MANY_FILES:,} files is recorded only when you agree.",
    example="quire up ~/projects/site",
    run=run,
    options=(
        Option("no-wait", "", "return when the daemon answers, before everything is recorded"),
        Option("yes", "", "do not ask, however many files there are", "y"),
    ),
)
