"""Command line of `quired`, the daemon that watches and serves one workspace. The client starts it on demand."""

from __future__ import annotations

import gc
import getopt
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from quire_journal import VERSION
from quire_journal.journal import OtherFormat
from quire_journal.model import JournalDamaged, Refusal, limits
from quire_journal.storage import StoreFailure, UnfitFolder
from quire_journal.workspaces import (
    Identity,
    Lock,
    LockHolder,
    Place,
    WorkspaceRefused,
    checked,
    hold_lock,
    identity_for,
    make_private_folder,
    place_of,
    require_own_kinds,
    reserve_file,
    served_already,
    settle,
)

USAGE: Final = "usage: quired --workspace WORKSPACE [--state-dir STATE_DIR] [--socket SOCKET] [--check-settings]"

ABOUT: Final = """\
The daemon of one workspace. The client starts it; a person may, too.

  --workspace WORKSPACE  the checkout to watch
  --state-dir STATE_DIR  keep journal and lock here instead of in the XDG state folder
  --socket SOCKET        the socket's path; from systemd, the socket that it hands over is used
  --check-settings       only read the settings and say what is wrong with them; nothing is started or written
  --version              show the version"""


SWITCH_S = 0.001
"""Seconds that the main loop waits for the interpreter while a worker thread runs (`sys.setswitchinterval`)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon until it is stopped. Returns the exit status: 0 stopped, 2 cannot start, 3 another daemon serves
    this workspace.
    """
    try:
        options = _options(sys.argv[1:] if argv is None else argv)
    except getopt.GetoptError as error:
        print(f"{USAGE}\nquired: {error}", file=sys.stderr)
        return 2
    if "version" in options or "help" in options or "h" in options:
        print(f"quired {VERSION}" if "version" in options else f"{USAGE}\n\n{ABOUT}", flush=True)
        return 0
    if "check-settings" in options:
        return _check_settings(Path(options["workspace"]))
    try:
        state_dir = Path(options["state-dir"]) if options.get("state-dir") else None
        place = checked(place_of(Path(options["workspace"]), state_dir))
        make_private_folder(place.state)
        with hold_lock(place.lock) as lock:
            if lock is None:
                print(f"quired: another daemon serves {place.root} already.", file=sys.stderr)
                return 3
            require_own_kinds(place)
            socket_path = Path(options["socket"]) if options.get("socket") else place.socket
            return _serve(place, identity_for(place), socket_path, lock)
    except _Mistrusted as error:
        print(f"quired: {error}; the journal is checked now.", file=sys.stderr)
        sys.stderr.flush()
        _begin_again()
        return 2
    except (WorkspaceRefused, Refusal, UnfitFolder, OtherFormat, JournalDamaged, StoreFailure, OSError) as error:
        limit = limits.reached(error)
        said = error.strerror if isinstance(error, OSError) and limit else error
        print(f"quired: {said}{f': {limits.sentence(limit)}' if limit else ''}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if not (limit := limits.reached(error)):
            raise
        print(f"quired: {limits.sentence(limit)}", file=sys.stderr)
        return 2


_WITHOUT_SETTINGS: Final = (
    "No daemon runs without valid settings, because they may name secrets and protected files: correct the file, or "
    "move it away, and call again."
)


def _check_settings(root: Path) -> int:
    from quire_daemon.config import BadSettings, SettingsFiles

    files = SettingsFiles(root)
    try:
        files.read()
    except BadSettings as error:
        print(f"quired: {error}", file=sys.stderr)
        return 2
    print(", ".join(str(path) for path in files.paths if path.exists()) or "none", flush=True)
    return 0


class _Mistrusted(Exception):
    """Raised if a journal that was opened without a check is damaged, so that the daemon restarts with a check."""


def _begin_again() -> None:
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        os.set_inheritable(3, True)  # the listener of systemd
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _options(argv: Sequence[str]) -> dict[str, str]:
    long = ["help", "version", "check-settings", "workspace=", "state-dir=", "socket="]
    found, rest = getopt.getopt(list(argv), "h", long)
    options = {name.lstrip("-"): value for name, value in found}
    if rest:
        raise getopt.GetoptError(f"{rest[0]!r} is not an option")
    if not options.keys() & {"h", "help", "version"} and not options.get("workspace"):
        raise getopt.GetoptError("--workspace is missing")
    return options


def _serve(place: Place, identity: Identity, socket_path: Path, lock: Lock) -> int:
    # Imported here: `quired --version` and a refused start need none of it. Without the freeze the cycle collector
    # visits the modules repeatedly: an eighth of the time of a start.
    gc.disable()
    from quire_daemon import server
    from quire_daemon.app import App
    from quire_daemon.clock import SystemClock
    from quire_daemon.commit import Recorder, Reserve
    from quire_daemon.config import BadSettings, LiveSettings, SettingsFiles
    from quire_daemon.integrity import verdict
    from quire_daemon.ops import Log, bound_malloc, fault_injection
    from quire_daemon.startup import RecoveryContext, bring_back, recover
    from quire_daemon.watch import CapturePolicy, Ignore
    from quire_daemon.workers import process
    from quire_daemon.workspace import Workspace
    from quire_journal.journal import Journal
    from quire_journal.storage import STORES, boot_mark
    from quire_journal.views import replay

    gc.freeze()
    gc.enable()
    bound_malloc()
    os.umask(0o077)
    server.raise_file_limit()
    process.require_threads()
    process.require_files()

    settings_files = SettingsFiles(place.root)
    try:
        settings = settings_files.read()
    except BadSettings as error:
        print(f"quired: {error}. {_WITHOUT_SETTINGS}", file=sys.stderr)
        return 2
    in_force = LiveSettings(settings, settings_files)
    most, step = settings.capture.max_bytes, fault_injection.from_environment(os.environ)
    workspace = Workspace(place.root, steps=step, owner=identity.id, most_bytes=most)
    other = workspace.own()
    if other is not None:  # before a journal is made
        print(f"quired: {served_already(place.root, other, _state_dir_of(other))}", file=sys.stderr)
        return 3
    settle(place, identity)
    reserve = Reserve(reserve_file(place.state), settings.retention.reserve_bytes)
    reserve.make_room()
    clock, log = SystemClock(), Log.to(place.log)
    if crash := verdict.crash_of(place.journal):
        log.warning("crashed", trace=crash)
    found = verdict.prepare(
        place.journal,
        identity.id,
        clock.now_ns(),
        lambda doing: lock.announce(LockHolder(os.getpid(), "", "", doing)),
    )
    if found.checked:
        log.warning("journal_checked", **found._asdict())
    try:
        with verdict.telling_of_crashes(place.journal):
            store = STORES["lmdb"](place.journal)
            if found.views_differ:
                replay.rebuild(store)
            journal = Journal.open(store, clock.now_ns(), identity.id, repair=found.repair)
            if journal.workspace_id != identity.id:
                journal.close()
                print(
                    f"quired: the journal in {place.journal} is that of another workspace ({journal.workspace_id}, and "
                    f"{place.identity_file} says {identity.id}); nothing was changed; put the right one in its place.",
                    file=sys.stderr,
                )
                return 2
            ignore = Ignore(place.root, settings.capture.ignore, settings.capture.secret_globs)
            if workspace.read_only:  # unfinished writes wait for a daemon that can finish them
                log.warning("checkout_read_only", reason=workspace.read_only)
            else:
                recorder = Recorder(journal, clock)
                capture_policy = CapturePolicy(recorder, ignore, in_force)
                start = RecoveryContext(recorder, workspace, log, most, capture_policy.of_anybody)
                recover(start)
                if not found.machine_ran:
                    bring_back(start)
            boot_mark.leave(place.journal)  # only now: if this start fails, the next one asks again
            epoch = secrets.token_hex(8)
            inherited = _inherited_listener()
            if inherited is not None:
                listener, socket_path = inherited, Path(os.fsdecode(inherited.getsockname()))
            else:
                make_private_folder(socket_path.parent)
                listener = server.listen(socket_path)
            door = server.Server(listener, socket_path, epoch, ours=inherited is None)
            recorder = Recorder(journal, clock)
            app = App(place.state, recorder, workspace, door, in_force, ignore, log, reserve, step)
            _collect_seldom()
            sys.setswitchinterval(SWITCH_S)
            lock.announce(LockHolder(os.getpid(), epoch, os.fspath(socket_path)))
            app.run()
    except OtherFormat:
        verdict.leave_as_found(place.journal, found)
        raise
    except JournalDamaged as error:  # at the opening: a running loop handles its own
        log.fault("damaged", error)
        verdict.mistrust(place.journal)
        if found.trusted:
            raise _Mistrusted(str(error)) from error
        raise
    if app.sound:
        verdict.leave_mark(place.journal)
    return 0


def _state_dir_of(daemon: int) -> Path | None:
    try:
        words = Path(f"/proc/{daemon}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((Path(os.fsdecode(after)) for word, after in pairwise(words) if word == b"--state-dir"), None)


YOUNG: Final = 5_000
"""Number of new objects that starts a garbage collection of the youngest generation."""

MIDDLE: Final = 2_000
"""Number of youngest-generation collections before one of the middle generation (20 ms or more)."""


def _collect_seldom() -> None:
    """Make the garbage collector rarely visit long-lived objects. Request handling must create no reference cycles
    (`tests/daemon/ops/test_memory.py`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, 100)


def _inherited_listener() -> socket.socket | None:
    """Return the listening socket passed by systemd (sd_listen_fds(3)); None if there is none."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    listener = socket.socket(fileno=3)
    os.set_inheritable(3, False)  # not for child processes
    listener.setblocking(False)
    return listener


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Everything is closed by now. Not `sys.exit`: a thread of a library would keep the process alive.
    os._exit(status)
