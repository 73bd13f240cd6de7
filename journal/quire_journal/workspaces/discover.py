"""Discovery: which folder is or may become a workspace, and adoption of moved workspaces. Imports only the standard
library, as every start of the command line imports this.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
from pathlib import Path
from typing import Final

from quire_journal.workspaces.identity import known_journals, read_identity, workspace_id, write_identity
from quire_journal.workspaces.layout import NoFolder, Place, WorkspaceRefused, at_home, place_of, state_home
from quire_journal.workspaces.lock import hold_lock, running

_NETWORK_FILE_SYSTEMS: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs")
)

_SYSTEM_TREE: Final = (
    r"/(bin|boot|etc|lib(32|64|x32)?|proc|sbin|sys|usr/(bin|include|lib(32|64|exec)?|sbin|share)|"
    r"System|Library|Applications|private/etc)(?=/|$)"
)
"""System folders with everything below (FHS 3.0, hier(7); the last names are of macOS)."""

_SYSTEM_FOLDER: Final = (
    r"/(dev|dev/shm|home|media|mnt|opt|root|run|srv|tmp|usr|usr/local|usr/src|var|var/lib|var/log|var/tmp|"
    r"Users|Volumes|private|private/tmp|private/var)"
)
"""System folders below which projects may be."""


def find_workspace(folder: Path | str, state_dir: Path | str | None = None, *, given: bool = False) -> Place:
    """Return the workspace of `folder`: the nearest folder with a journal, else a new one.

    A new workspace is `folder` itself if a person named it (`given`), else the top of its git checkout. An explicit
    `state_dir` names its workspace. Raises WorkspaceRefused.
    """
    seen = Path(os.path.realpath(folder))
    real = at_home(seen)
    if not os.path.isdir(seen) and not os.path.isdir(real):  # also False in an unreadable folder
        raise NoFolder(f"{folder} is not a folder.")
    if state_dir is not None:
        recorded = read_identity(place_of(real, state_dir))
        if recorded is not None and _within(real, Path(recorded.root)):
            return place_of(recorded.root, state_dir)
    else:
        for candidate in (real, *real.parents):
            place = place_of(candidate)
            if _has_journal(place):
                return place
    if given:
        return checked(place_of(real, state_dir))
    for candidate in (real, *real.parents):
        if (candidate / ".git").exists():
            return checked(place_of(candidate, state_dir))
    _check_root(real)
    raise WorkspaceRefused(
        f"{real} is in no workspace and in no git checkout; name the folder with -C PATH, or make this one a "
        "workspace with `quire up .`."
    )


def _has_journal(place: Place) -> bool:
    try:
        return place.identity_file.exists()
    except OSError as error:
        raise WorkspaceRefused(f"{place.identity_file} cannot be read: {error.strerror}.") from error


def checked(place: Place) -> Place:
    """Return `place`, if a journal may be started in it. Raises WorkspaceRefused."""
    _check_root(place.root)
    _check_state(place)
    recorded = read_identity(place)
    if recorded is not None and recorded.root != os.fspath(place.root):
        raise WorkspaceRefused(
            f"{place.state} holds the journal of {recorded.root}, not of {place.root}; "
            f"if the folder was moved, run `quire adopt {shlex.quote(os.fspath(place.root))}`."
        )
    _check_overlap(place)
    if recorded is None:
        _check_moved(place)
    return place


def adopt(root: Path | str, state_dir: Path | str | None = None) -> Place:
    """Attach a moved folder to its journal, found by the id in `.quire/workspace-id`, and rename the state folder.
    Raises WorkspaceRefused, as when the id is unknown, a daemon holds the journal, or the old folder has that id, too.
    """
    target = place_of(root, state_dir)
    if not target.root.is_dir():
        raise NoFolder(f"{root} is not a folder.")
    wanted = workspace_id(target.root)
    if wanted is None:
        raise WorkspaceRefused(
            f"{target.root} carries no journal's id (.quire/workspace-id); there is nothing to adopt."
        )
    found = _state_folder_of(wanted, target, state_dir is not None)
    identity = read_identity(Place(target.root, found))
    assert identity is not None  # `_state_folder_of` has read it
    old = Path(identity.root)
    if old != target.root and workspace_id(old) == wanted and not _same_folder(old, target.root):
        raise WorkspaceRefused(
            f"{old} is still there and has this journal; {target.root} is a copy of it. `quire up` there begins a "
            "journal of its own."
        )
    _check_root(target.root)
    _check_state(target)
    _check_overlap(target, besides=found)
    with hold_lock(found / "lock") as lock:
        if lock is None:
            raise WorkspaceRefused(
                f"A daemon runs on the journal of {old}; stop it first ({_how_to_stop(old, found)})."
            )
        if old != target.root:
            write_identity(found, identity._replace(root=os.fspath(target.root)))
        if found != target.state:
            _rename_state(found, target.state)
    return target


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.stat(), other.stat())
    except OSError:
        return False


def _check_root(root: Path) -> None:
    if not root.is_dir():
        raise NoFolder(f"{root} is not a folder.")
    if root == Path("/"):
        raise WorkspaceRefused("/ is the whole machine; a workspace is one project's folder.")
    tree = re.match(_SYSTEM_TREE, os.fspath(root))
    if tree is not None or (re.fullmatch(_SYSTEM_FOLDER, os.fspath(root)) and not (root / ".git").exists()):
        raise WorkspaceRefused(f"{tree[0] if tree else root} is a folder of the system; a workspace is a project's.")
    try:
        os.fspath(root).encode()
    except UnicodeEncodeError:
        said = repr(os.fsencode(root))[2:-1]
        raise WorkspaceRefused(
            f"The path {said} is not UTF-8, in which a journal says where it belongs; rename the folder. Of the files "
            "in a workspace any name will do."
        ) from None
    home = Path(os.path.realpath(Path.home()))
    if root == home:
        raise WorkspaceRefused(f"{root} is your home folder; a workspace is a project's folder inside it.")
    if _within(home, root):
        raise WorkspaceRefused(f"{root} holds your home folder; a workspace is one project's folder.")
    if ".git" in root.parts:
        raise WorkspaceRefused(f"{root} lies inside a .git folder, which belongs to git alone.")


def _check_state(place: Place) -> None:
    """Raise WorkspaceRefused unless the state folder is this user's, on a local disk, outside the workspace, and not
    tracked by git.
    """
    if _within(place.state, place.root):
        raise WorkspaceRefused(f"The state folder {place.state} lies inside the workspace; choose one outside.")
    if _within(place.root, place.state):
        raise WorkspaceRefused(f"The workspace {place.root} lies inside the state folder {place.state}.")
    nearest = next(folder for folder in (place.state, *place.state.parents) if folder.exists())
    if not nearest.is_dir():
        raise WorkspaceRefused(f"{nearest} is not a folder, so the state folder {place.state} cannot be made.")
    if nearest == place.state and nearest.stat().st_uid != os.getuid():
        raise WorkspaceRefused(f"The state folder {place.state} belongs to another user.")
    kind = _file_system(nearest)
    if kind in _NETWORK_FILE_SYSTEMS:
        raise WorkspaceRefused(
            f"The state folder {place.state} is on a network file system ({kind}); name a local one with --state-dir."
        )
    if nearest == place.state and _tracked_by_git(place.state):
        raise WorkspaceRefused(
            f"The state folder {place.state} is tracked by git; a journal from a clone is not trusted."
        )


def _check_overlap(place: Place, besides: Path | None = None) -> None:
    for state, identity in known_journals():
        other = Path(identity.root)
        if state in (place.state, besides) or not other.is_dir():
            continue
        if other == place.root:
            if (found := running(Place(other, state))) is not None:
                raise WorkspaceRefused(served_already(other, found.pid, state))
        elif _within(place.root, other):
            raise WorkspaceRefused(
                f"{place.root} lies inside the workspace {other}, which has a journal; use that one."
            )
        elif _within(other, place.root):
            raise WorkspaceRefused(
                f"{place.root} holds the workspace {other}, which has a journal of its own; use that one, or give its "
                "journal up with `quire forget`."
            )


def _check_moved(place: Place) -> None:
    """Raise WorkspaceRefused for a moved folder whose old path is gone, as a new journal would hide the old one."""
    carried = workspace_id(place.root)
    if carried is None:
        return
    for _, identity in known_journals():
        if identity.id == carried and not Path(identity.root).is_dir():
            raise WorkspaceRefused(
                f"{place.root} was moved here from {identity.root}; "
                f"run `quire adopt {shlex.quote(os.fspath(place.root))}` to keep its journal."
            )


def _state_folder_of(wanted: str, target: Place, explicit: bool) -> Path:
    if explicit:
        recorded = read_identity(target)
        if recorded is None or recorded.id != wanted:
            raise WorkspaceRefused(f"{target.state} does not hold the journal {wanted}.")
        return target.state
    found = [state for state, identity in known_journals() if identity.id == wanted]
    if not found:
        raise WorkspaceRefused(
            f"No journal in {state_home()} has the id {wanted} that {target.root} carries; `quire up` begins a new one."
        )
    if len(found) > 1:
        raise WorkspaceRefused(f"Several state folders have the id {wanted}: {', '.join(map(str, found))}.")
    return found[0]


def served_already(root: Path, pid: int, state: Path | None) -> str:
    """Return a message that a daemon with another state folder serves the workspace. `pid` 0, `state` None: unknown."""
    who = f"A daemon (pid {pid})" if pid else "A daemon"
    whose = f"another state folder, {state}," if state is not None else "another state folder"
    end = f"`kill {pid}` ends it" if pid else "stop that first"
    if state is not None:
        end = f"{_how_to_stop(root, state)} ends it"
    return f"{who} with {whose} serves {root} already; {end}."


def _how_to_stop(root: Path, state: Path) -> str:
    if root.is_dir():
        usual = state == place_of(root).state
        where = "" if usual else f" --state-dir {shlex.quote(os.fspath(state))}"
        return f"`quire down -C {shlex.quote(os.fspath(root))}{where}`"
    found = running(Place(root, state))
    return f"`kill {found.pid}`" if found is not None and found.pid else "it is just starting or ending"


def _rename_state(found: Path, target: Path) -> None:
    try:
        os.rename(found, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise WorkspaceRefused(f"{target} exists: the folder has another journal already.") from error
        raise WorkspaceRefused(f"{found} cannot be renamed to {target}: {error.strerror}.") from error


def _file_system(path: Path) -> str:
    best, kind = "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    for line in mounts:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[1])
        inside = point == "/" or real == point or real.startswith(point + "/")
        if inside and len(point) >= len(best):  # a later mount hides an earlier one at the same point
            best, kind = point, fields[2]
    return kind


def _tracked_by_git(folder: Path) -> bool:
    if not any((parent / ".git").exists() for parent in folder.parents):
        return False
    import subprocess

    # A clone's configuration must not start programs, nor the environment name another repository.
    command = ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(folder), "ls-files", "-z", "--", "."]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        listed = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and bool(listed.stdout)


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
