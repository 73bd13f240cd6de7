"""Lists all journals of the user, and removes a journal.

A removed journal's folder is renamed under both locks, and then emptied. After an interruption either the whole journal
or none of it exists.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from quire_client.transport import Quick, Unreachable
from quire_journal.model import Refusal
from quire_journal.workspaces import (
    Identity,
    LockHolder,
    Place,
    branch_of,
    drop_workspace_id,
    family_in,
    hold_lock,
    known_journals,
    read_identity,
    reserve_file,
    running,
    state_home,
)

ANSWER_S: Final = 1.0
_ASIDE: Final = ".forgotten-"
_OURS: Final = re.compile(
    r"\.?(journal|lock|start|daemon\.log|(workspace|family)\.json|reserve|mounts|gc\.begun|"
    r"(mcp|page)\.token|page\.(port|html))(\..*)?",
    re.DOTALL,
)


class KnownJournal(NamedTuple):
    state: Path
    identity: Identity
    exists: bool  # True if the workspace's folder exists
    bytes: int  # disk usage of the whole state folder, without `shared`
    shared: Mapping[tuple[int, int], int]  # file with several names → disk usage: packs of other journals, too
    changed_ns: int  # time of the last write to the journal; 0: never
    daemon: LockHolder | None
    version: str  # of the daemon, if one runs and answers
    family: str  # of its repository or settings; "": none
    branch: str

    @property
    def place(self) -> Place:
        return Place(Path(self.identity.root), self.state)


def journals(state_dir: Path | None = None) -> Iterator[KnownJournal]:
    """Yield every journal in the user's state home, sorted by path; with `state_dir`, only the journal in it."""
    if state_dir is None:
        found = sorted(known_journals(), key=lambda one: one[1].root)
    else:
        state = Path(os.path.realpath(state_dir))
        identity = read_identity(Place(state, state))
        found = [(state, identity)] if identity is not None else []
    for state, identity in found:
        place = Place(Path(identity.root), state)
        used = measured(state)
        daemon = running(place)
        version = _version(place) if daemon is not None else ""
        family, branch = family_in(state, place.root), branch_of(place.root)
        exists, changed_ns = place.root.is_dir(), measured(place.journal).changed_ns
        yield KnownJournal(state, identity, exists, used.own, used.shared, changed_ns, daemon, version, family, branch)


class DiskUsage(NamedTuple):
    own: int  # bytes of files with one name
    shared: Mapping[tuple[int, int], int]  # file with several names → bytes
    changed_ns: int  # newest modification time, but of lock files


def measured(folder: Path) -> DiskUsage:
    """Return the disk usage of the files below `folder`."""
    own = newest = 0
    shared: dict[tuple[int, int], int] = {}
    for above, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(above, name))
            except OSError:
                continue
            if found.st_nlink > 1:
                shared[found.st_dev, found.st_ino] = found.st_blocks * 512
            else:
                own += found.st_blocks * 512
            newest = max(newest, 0 if name.startswith("lock") else found.st_mtime_ns)
    return DiskUsage(own, shared, newest)


def forget(journal: KnownJournal) -> int:
    """Remove the journal and its workspace's id; return the number of freed bytes.

    Raises Refusal: `busy` while a daemon runs or starts, `config_unusable` if the folder holds other files.
    """
    state, identity = journal.state, journal.identity
    at_home = state.parent == Path(os.path.realpath(state_home()))
    strange = [name for name in os.listdir(state) if not _OURS.fullmatch(name)]
    if strange and not at_home:
        message = f"{state} holds {sorted(strange)[0]!r}, which is not Quire's; nothing was removed."
        raise Refusal("config_unusable", message, "look_there", path=str(state))
    with hold_lock(journal.place.start_lock) as starting, hold_lock(journal.place.lock) as lock:
        if starting is None or lock is None:
            message = f"A daemon runs for {identity.root}, or is being started; nothing was removed."
            raise Refusal("busy", message, "stop_daemon")
        used = measured(state).own
        aside = state.with_name(f"{_ASIDE}{state.name}-{secrets.token_hex(4)}")
        try:
            os.rename(state, aside)
            os.unlink(aside / "workspace.json")
        except OSError as error:
            message = f"{state} cannot be removed: {error.strerror}."
            raise Refusal("permission_denied", message, "check_permissions", path=str(state)) from error
        drop_workspace_id(Path(identity.root), identity.id)
    # Remains of other removed journals are deleted too, but only in the state home: elsewhere a name proves nothing.
    for left in (aside, *(state.parent.glob(f"{_ASIDE}*") if at_home else ())):
        if not (left / "workspace.json").exists():
            shutil.rmtree(left, ignore_errors=True)
    if at_home and not any(known_journals()):
        reserve_file(state).unlink(missing_ok=True)
    return used


def _version(place: Place) -> str:
    try:
        with Quick(place, {}, time.monotonic() + ANSWER_S) as line:
            line.call("hello", {})
            return line.version
    except Unreachable:
        return ""
