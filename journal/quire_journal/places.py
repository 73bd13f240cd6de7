"""Where a workspace's things are: its state folder, its socket, its lock; and which folder is a workspace at all.

Daemon and client compute the same places from the same two facts, the workspace's real path and (for tests and
containers) an explicit state folder. Standard library only: every start of the command line pays for this import.

    <state folder>/workspace.json   {"id", "root", "created"}; its existence is what makes a folder a workspace
                  /journal/         the log and the blobs
                  /lock             flock held by the daemon for life; {"pid", "epoch", "socket"} for discovery
                  /start.lock       flock held by a client while it starts the daemon
                  /start.err        what the daemon said on stderr, from its last start on
                  /daemon.log       the daemon's log
    <workspace>/.quire/workspace-id the journal's id, so that `adopt` finds it again after the folder was moved

State folders and locks belong to one user; nothing here follows a symbolic link inside the workspace.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shlex
import stat
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_journal.mapped_paths import BadMap, mapped, parsed

SOCKET_PATH_MAX: Final = 103
"""Bytes of a socket's path: sun_path holds 104 with the final NUL on macOS (108 on Linux)."""

LOCK_PATIENCE_S: Final = 0.5
"""How long `hold_lock` tries again: readers test the lock by taking it shared for a few microseconds."""

_NETWORK_FILE_SYSTEMS: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs")
)
_ID: Final = re.compile(r"[0-9a-f]{32}")


class WorkspaceRefused(Exception):
    """A folder cannot be a workspace, or a state folder cannot hold a journal; the text is a sentence that says why."""


class Identity(NamedTuple):
    """The contents of `workspace.json`."""

    id: str  # 32 hex digits, made once
    root: str  # real path of the workspace
    created: str  # RFC 3339, UTC


class Running(NamedTuple):
    """What the holder of the lock says about itself. pid 0: it holds the lock and has not said it yet."""

    pid: int
    epoch: str
    socket: str
    doing: str = ""  # what it does before it listens, in words


class Place(NamedTuple):
    """A workspace and its state folder, both real paths. Nothing needs to exist yet."""

    root: Path
    state: Path

    @property
    def journal(self) -> Path:
        """Folder of the log and the blobs."""
        return self.state / "journal"

    @property
    def lock(self) -> Path:
        """File that the daemon holds by flock for life."""
        return self.state / "lock"

    @property
    def start_lock(self) -> Path:
        """File that a client holds by flock while it starts the daemon."""
        return self.state / "start.lock"

    @property
    def start_error(self) -> Path:
        """The daemon's stderr since its last start."""
        return self.state / "start.err"

    @property
    def log(self) -> Path:
        """The daemon's log."""
        return self.state / "daemon.log"

    @property
    def identity_file(self) -> Path:
        """`workspace.json`."""
        return self.state / "workspace.json"

    @property
    def socket(self) -> Path:
        """Where a daemon of this state folder listens, unless its lock names another path."""
        return runtime_dir() / f"{_key(self.state)}.sock"


def trace_socket(socket: str | Path) -> Path:
    """Where the daemon that listens at `socket` hears what git processes say of themselves."""
    return Path(socket).with_suffix(".trace")


def state_home() -> Path:
    """The folder of all state folders: `$XDG_STATE_HOME/quire`. A relative value is ignored, as XDG asks."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    base = Path(chosen) if os.path.isabs(chosen) else Path.home() / ".local" / "state"
    return base / "quire"


def runtime_dir() -> Path:
    """The folder of all sockets: `$XDG_RUNTIME_DIR/quire` where that exists and is ours, else `/tmp/quire-<uid>`.

    A longer one than a socket's path may be is passed over, too.
    """
    chosen = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(chosen) and len(os.fsencode(chosen)) + len("/quire/0123456789abcdef.sock") <= SOCKET_PATH_MAX:
        with contextlib.suppress(OSError):
            if os.stat(chosen).st_uid == os.getuid():
                return Path(chosen) / "quire"
    return Path(f"/tmp/quire-{os.getuid()}")


def make_private_folder(path: Path) -> None:
    """Make `path` with mode 0700, and its parents; refuse one that another user owns or that is a symbolic link.

    Raises WorkspaceRefused.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise WorkspaceRefused(f"{path} is a link or a file where a folder of our own must be.")
        if found.st_uid != os.getuid():
            raise WorkspaceRefused(f"{path} belongs to another user (uid {found.st_uid}).")
        if found.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise WorkspaceRefused(f"{path} cannot be used: {error.strerror}.") from error


def at_home(path: Path | str) -> Path:
    """A real path as the daemon's side calls it: who runs in a container has QUIRE_PATH_MAP=/THERE=/HERE.

    Raises WorkspaceRefused where that cannot be read.
    """
    said = os.environ.get("QUIRE_PATH_MAP", "")
    try:
        return Path(mapped(os.fspath(path), parsed(said))) if said else Path(path)
    except BadMap as error:
        raise WorkspaceRefused(f"QUIRE_PATH_MAP cannot be used: {error}.") from error


def place_of(root: Path | str, state_dir: Path | str | None = None) -> Place:
    """The place of exactly this folder, whether or not it has a journal; nothing is checked."""
    real = at_home(os.path.realpath(root))
    if state_dir is not None:
        return Place(real, Path(os.path.realpath(state_dir)))
    name = re.sub(r"[^A-Za-z0-9._-]", "_", real.name)[:40]
    return Place(real, Path(os.path.realpath(state_home())) / f"{name}-{_key(real)}")


def find_workspace(folder: Path | str, state_dir: Path | str | None = None, *, given: bool = False) -> Place:
    """The workspace that holds `folder`: the nearest one with a journal, else a new one.

    A new one is `folder` itself where a person named it (`given`), else the top of its git checkout; no other
    folder becomes a workspace by accident. An explicit `state_dir` knows its workspace. Raises WorkspaceRefused.
    """
    seen = Path(os.path.realpath(folder))
    real = at_home(seen)
    if not seen.is_dir() and not real.is_dir():
        raise WorkspaceRefused(f"{folder} is not a folder.")
    if state_dir is not None:
        recorded = read_identity(place_of(real, state_dir))
        if recorded is not None and _within(real, Path(recorded.root)):
            return place_of(recorded.root, state_dir)
    else:
        for candidate in (real, *real.parents):
            place = place_of(candidate)
            if place.identity_file.exists():
                return place
    if given:
        return checked(place_of(real, state_dir))
    for candidate in (real, *real.parents):
        if (candidate / ".git").exists():
            return checked(place_of(candidate, state_dir))
    raise WorkspaceRefused(f"{real} is in no workspace and in no git checkout; name the folder with -C PATH.")


def checked(place: Place) -> Place:
    """`place`, when a journal may live and be started there. Raises WorkspaceRefused with the reason when not."""
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


def settle(place: Place) -> Identity:
    """Make the state folder a journal's home and leave the id in the workspace; the daemon does this under its lock.

    Raises WorkspaceRefused.
    """
    make_private_folder(place.state)
    identity = read_identity(place)
    if identity is None:
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        identity = Identity(os.urandom(16).hex(), os.fspath(place.root), created)
        _write_identity(place.state, identity)
    if workspace_id(place.root) != identity.id:
        _write_workspace_id(place.root, identity.id)
    return identity


def read_identity(place: Place) -> Identity | None:
    """Whose journal lives in the state folder; None when none does. Raises WorkspaceRefused when it is unreadable."""
    try:
        fields = json.loads(place.identity_file.read_bytes())
        return Identity(str(fields["id"]), str(fields["root"]), str(fields["created"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkspaceRefused(f"{place.identity_file} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise WorkspaceRefused(
            f"{place.identity_file} is damaged: it is not the description of a workspace."
        ) from error


def workspace_id(root: Path) -> str | None:
    """The id that `.quire/workspace-id` carries; None when there is none. Links are not followed."""
    try:
        with _quire_folder(root) as folder:
            fd = os.open("workspace-id", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(fd, "rb") as file:
                found = file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return None
    return found if _ID.fullmatch(found) else None


def drop_workspace_id(root: Path, wanted: str) -> None:
    """Take the id `wanted` out of a workspace, and `.quire` where nothing of anybody's is left in it.

    A folder that has gone, or carries another journal's id, is left as it is.
    """
    if workspace_id(root) != wanted:
        return
    with contextlib.suppress(OSError), _quire_folder(root) as folder:
        for name in ("workspace-id", ".gitignore"):
            os.unlink(name, dir_fd=folder)
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # a file, or a folder in which something is
                os.rmdir(name, dir_fd=folder)
    with contextlib.suppress(OSError):
        os.rmdir(root / ".quire")


def adopt(root: Path | str, state_dir: Path | str | None = None) -> Place:
    """Give a moved folder its journal back, found by the id in `.quire/workspace-id`.

    The state folder gets the name that belongs to the new path. Refused (WorkspaceRefused) when the id is unknown,
    a daemon holds the journal, or the old folder is still there with that id: then this one is a copy.
    """
    target = place_of(root, state_dir)
    if not target.root.is_dir():
        raise WorkspaceRefused(f"{root} is not a folder.")
    wanted = workspace_id(target.root)
    if wanted is None:
        raise WorkspaceRefused(
            f"{target.root} carries no journal's id (.quire/workspace-id); there is nothing to adopt."
        )
    found = _state_folder_of(wanted, target, state_dir is not None)
    identity = read_identity(Place(target.root, found))
    assert identity is not None  # `_state_folder_of` read it
    old = Path(identity.root)
    if old != target.root and workspace_id(old) == wanted and not _same_folder(old, target.root):
        raise WorkspaceRefused(f"{old} is still there and has this journal; {target.root} is a copy of it.")
    _check_root(target.root)
    _check_state(target)
    _check_overlap(target, besides=found)
    with hold_lock(found / "lock") as lock:
        if lock is None:
            raise WorkspaceRefused(
                f"A daemon runs on the journal of {old}; stop it first ({_how_to_stop(old, found)})."
            )
        if old != target.root:
            _write_identity(found, identity._replace(root=os.fspath(target.root)))
        if found != target.state:
            _rename_state(found, target.state)
    return target


class Lock:
    """An flock held by this process. `announce` tells clients who holds it; closing gives it up."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def announce(self, running: Running) -> None:
        """Write who holds the lock; a reader sees nothing or all of it."""
        text = json.dumps(running._asdict()).encode()
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, text, 0)

    def close(self) -> None:
        """Give the lock up."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def take_lock(path: Path, patience_s: float = LOCK_PATIENCE_S) -> Lock | None:
    """Take the flock on `path`, trying for `patience_s`; None when another process keeps it.

    What an earlier holder announced is wiped. The file goes only with its whole folder (`quire forget`), and who
    waited for it meanwhile takes it as gone: a lock on a removed file locks nothing.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(fd)
                return None
            time.sleep(0.01)
        except BaseException:
            os.close(fd)
            raise
        else:
            if not _stands(fd, path):
                os.close(fd)
                return None
            os.ftruncate(fd, 0)
            return Lock(fd)


def _stands(fd: int, path: Path) -> bool:
    """Is the open file still the one at `path`?"""
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False


@contextlib.contextmanager
def hold_lock(path: Path, patience_s: float = LOCK_PATIENCE_S) -> Iterator[Lock | None]:
    """`take_lock` for the time of a block; None inside when another process keeps the lock."""
    lock = take_lock(path, patience_s)
    try:
        yield lock
    finally:
        if lock is not None:
            lock.close()


def running(place: Place) -> Running | None:
    """The daemon that holds the lock; None when nobody does. What a dead daemon left in the file counts for nothing."""
    try:
        fd = os.open(place.lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _parse_running(os.pread(fd, 4096, 0))
        return None
    finally:
        os.close(fd)


def known_journals() -> Iterator[tuple[Path, Identity]]:
    """Every journal of this user's state home; damaged descriptions are left out."""
    try:
        names = sorted(os.listdir(state_home()))
    except OSError:
        return
    for name in names:
        state = state_home() / name
        with contextlib.suppress(WorkspaceRefused):
            identity = read_identity(Place(state, state))
            if identity is not None:
                yield Path(os.path.realpath(state)), identity


def _key(path: Path) -> str:
    return sha256(os.fsencode(path)).hexdigest()[:16]


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.stat(), other.stat())
    except OSError:
        return False


def _check_root(root: Path) -> None:
    if not root.is_dir():
        raise WorkspaceRefused(f"{root} is not a folder.")
    if root == Path("/"):
        raise WorkspaceRefused("/ is the whole machine; a workspace is one project's folder.")
    home = Path(os.path.realpath(Path.home()))
    if root == home:
        raise WorkspaceRefused(f"{root} is your home folder; a workspace is a project's folder inside it.")
    if _within(home, root):
        raise WorkspaceRefused(f"{root} holds your home folder; a workspace is one project's folder.")
    if ".git" in root.parts:
        raise WorkspaceRefused(f"{root} lies inside a .git folder, which belongs to git alone.")


def _check_state(place: Place) -> None:
    """The state folder is ours, on a local disk, and neither in the workspace nor under version control."""
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
        raise WorkspaceRefused(f"The state folder {place.state} is on a network file system ({kind}).")
    if nearest == place.state and _tracked_by_git(place.state):
        raise WorkspaceRefused(
            f"The state folder {place.state} is tracked by git; a journal from a clone is not trusted."
        )


def _check_overlap(place: Place, besides: Path | None = None) -> None:
    """Two journals must not watch one file: no journal of a parent or child folder, no second daemon on this one."""
    for state, identity in known_journals():
        other = Path(identity.root)
        if state in (place.state, besides) or not other.is_dir():
            continue
        if other == place.root:
            if running(Place(other, state)) is not None:
                raise WorkspaceRefused(f"A daemon with the state folder {state} runs on {other} already.")
        elif _within(place.root, other):
            raise WorkspaceRefused(
                f"{place.root} lies inside the workspace {other}, which has a journal; use that one."
            )
        elif _within(other, place.root):
            raise WorkspaceRefused(f"{place.root} holds the workspace {other}, which has a journal of its own.")


def _check_moved(place: Place) -> None:
    """A folder with the id of a journal whose own folder is gone was moved: a new journal would hide the old one."""
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
    """The one state folder of the journal `wanted`. Raises WorkspaceRefused when there is none, or several."""
    if explicit:
        recorded = read_identity(target)
        if recorded is None or recorded.id != wanted:
            raise WorkspaceRefused(f"{target.state} does not hold the journal {wanted}.")
        return target.state
    found = [state for state, identity in known_journals() if identity.id == wanted]
    if not found:
        raise WorkspaceRefused(f"No journal in {state_home()} has the id {wanted}.")
    if len(found) > 1:
        raise WorkspaceRefused(f"Several state folders have the id {wanted}: {', '.join(map(str, found))}.")
    return found[0]


def _how_to_stop(root: Path, state: Path) -> str:
    """The command that ends the daemon; one whose workspace was moved away has only its process id for a name."""
    if root.is_dir():
        return f"`quire down -C {shlex.quote(os.fspath(root))}`"
    found = running(Place(root, state))
    return f"`kill {found.pid}`" if found is not None and found.pid else "it is just starting or ending"


def _rename_state(found: Path, target: Path) -> None:
    try:
        os.rename(found, target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise WorkspaceRefused(f"{target} exists: the folder has another journal already.") from error
        raise WorkspaceRefused(f"{found} cannot be renamed to {target}: {error.strerror}.") from error


def _write_identity(state: Path, identity: Identity) -> None:
    """Replace `workspace.json` in one step, synced: a half-written one would hide the journal."""
    new = state / "workspace.json.new"
    with open(new, "w", encoding="ascii", opener=_private) as file:
        json.dump(identity._asdict(), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, state / "workspace.json")
    _sync_folder(state)


def _write_workspace_id(root: Path, wanted: str) -> None:
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(root / ".quire", 0o700)
        with _quire_folder(root) as folder:
            # The folder hides itself from git, so that nobody's `git add -A` picks it up.
            _replace_file(folder, ".gitignore", b"*\n")
            _replace_file(folder, "workspace-id", wanted.encode() + b"\n")
    except OSError as error:
        raise WorkspaceRefused(f"{root / '.quire'} cannot be used: {error.strerror}.") from error


@contextlib.contextmanager
def _quire_folder(root: Path) -> Iterator[int]:
    """`.quire` of the workspace as a descriptor. Raises OSError; a link in its place is one."""
    fd = os.open(root / ".quire", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _replace_file(folder: int, name: str, content: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{name}.new", dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(f"{name}.new", flags, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
    os.replace(f"{name}.new", name, src_dir_fd=folder, dst_dir_fd=folder)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _parse_running(text: bytes) -> Running:
    try:
        fields: Any = json.loads(text)
        return Running(int(fields["pid"]), str(fields["epoch"]), str(fields["socket"]), str(fields.get("doing", "")))
    except (ValueError, KeyError, TypeError):
        return Running(0, "", "")  # it has the lock and is about to write


def _file_system(path: Path) -> str:
    """The type of the file system that holds `path`, as the kernel names it; "" where it cannot be known."""
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
        if inside and len(point) >= len(best):  # a later mount on the same point hides the earlier one
            best, kind = point, fields[2]
    return kind


def _tracked_by_git(folder: Path) -> bool:
    """Whether git tracks a file of `folder`. Without git, or where it will not say, no."""
    if not any((parent / ".git").exists() for parent in folder.parents):
        return False
    import subprocess

    # A clone's own configuration must not make us run its programs, nor the environment name another repository.
    command = ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(folder), "ls-files", "-z", "--", "."]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        listed = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and bool(listed.stdout)
