"""Layout: the paths of a workspace's state folder, socket and lock.

Daemon and client compute them from the workspace's real path and an optional explicit state folder. Imports only the
standard library, as every start of the command line imports this module.

    <state folder>/workspace.json   {"id", "root", "created"}; its existence makes a folder a workspace
                  /journal/         the log and the blobs; packs of them may be shared with other journals
                  /lock             flock held by the daemon for life; {"pid", "epoch", "socket"} for discovery
                  /start.lock       flock held by a client while it starts the daemon
                  /start.err        stderr of the daemon since its last start
                  /daemon.log       the daemon's log
                  /family.json      note of the daemon to the other checkouts of the repository
                  /gc.begun         exists while a garbage collection drops; left behind if it was killed
                  /heads/           the newest signed head, and its Merkle tree
                  /signing.key      the journal's private key
                  /looked           position up to which the person has seen the history (`quire away`)
                  /mcp.token        of `quire mcp --http`
    <state home>/reserve            space reserved for a full disk, one file for all journals in the state home; of
                                    a journal elsewhere it is in the state folder
    <workspace>/.quire/workspace-id the journal's id, by which `adopt` finds the journal after a move

State folders and locks belong to one user; no symbolic link inside the workspace is followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from quire_journal.model import BadMap, mapped, parsed

if TYPE_CHECKING:
    from hashlib import sha256
else:  # without OpenSSL, for which `hashlib` takes a twelfth of a command's time; Python's own `random` does the same
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # before Python 3.12
        except ImportError:
            from hashlib import sha256

SOCKET_PATH_MAX: Final = 103
"""Maximum number of bytes of a socket's path: sun_path has 104 with the NUL on macOS."""


class WorkspaceRefused(Exception):
    """A folder cannot be a workspace, or a state folder cannot hold a journal. The text is a sentence."""


class NoFolder(WorkspaceRefused):
    pass


class Place(NamedTuple):
    """Workspace and its state folder, as real paths that need not exist."""

    root: Path
    state: Path

    @property
    def journal(self) -> Path:
        return self.state / "journal"

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    @property
    def start_lock(self) -> Path:
        return self.state / "start.lock"

    @property
    def start_error(self) -> Path:
        return self.state / "start.err"

    @property
    def log(self) -> Path:
        return self.state / "daemon.log"

    @property
    def identity_file(self) -> Path:
        return self.state / "workspace.json"

    @property
    def socket(self) -> Path:
        """Default socket of the daemon; its lock may name another."""
        return runtime_dir() / f"{_key(self.state)}.sock"


def trace_socket(socket: str | Path) -> Path:
    """Return the socket on which the daemon at `socket` receives git's trace2 events."""
    return Path(socket).with_suffix(".trace")


def trace_folder() -> Path:
    """Return the folder of git's trace2 events for all daemons of a user, if `quire setup git` made it."""
    return state_home() / "git-trace"


def settings_files(root: Path) -> tuple[Path, Path]:
    """Return `.quire.toml` of the workspace, and `$XDG_CONFIG_HOME/quire/config.toml`. Neither needs to exist."""
    return root / ".quire.toml", _home_of("XDG_CONFIG_HOME", ".config") / "quire" / "config.toml"


def state_home() -> Path:
    """Return the parent of all state folders: `$XDG_STATE_HOME/quire`."""
    return _home_of("XDG_STATE_HOME", ".local/state") / "quire"


def _home_of(variable: str, usual: str) -> Path:
    """Return the folder in an XDG variable, else the default. XDG ignores relative values."""
    chosen = os.environ.get(variable, "")
    return Path(chosen) if os.path.isabs(chosen) else Path.home() / usual


def reserve_file(state: Path) -> Path:
    """Return the file that reserves space for the journal in `state`, shared in the state home."""
    return _shared_in(state) / "reserve"


def packing_lock_file(state: Path) -> Path:
    """Return the file that a journal locks to be compacted after its first capture, alone in the state home."""
    return _shared_in(state) / "packing.lock"


def _shared_in(state: Path) -> Path:
    home = Path(os.path.realpath(state_home()))
    return home if state.parent == home else state


def runtime_dir(tmp: Path = Path("/tmp")) -> Path:
    """Return the folder of sockets: `$XDG_RUNTIME_DIR/quire` if that exists and is the user's own, else
    `/tmp/quire-<uid>`, or `run` in the state home if another user has made that. Too long paths are skipped.
    """
    chosen = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(chosen) and _takes_sockets(Path(chosen) / "quire"):
        with contextlib.suppress(OSError):
            if os.stat(chosen).st_uid == os.getuid():
                return Path(chosen) / "quire"
    usual, instead = tmp / f"quire-{os.getuid()}", state_home() / "run"
    return instead if _is_anothers(usual) and _takes_sockets(instead) else usual


def _takes_sockets(folder: Path) -> bool:
    return len(os.fsencode(folder)) + len("/0123456789abcdef.trace") <= SOCKET_PATH_MAX


def _is_anothers(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid()


def make_private_folder(path: Path) -> None:
    """Create `path` with mode 0700, and its parents. The state home gets mode 0700, too, as its entries name the user's
    projects. Raises WorkspaceRefused for a link or another user's folder.
    """
    home = Path(os.path.realpath(state_home()))
    if path != home and path.parent in (home, state_home()):
        make_private_folder(home)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise WorkspaceRefused(f"{path} is a link or a file, not a folder: move it away.")
        if found.st_uid != os.getuid():
            raise WorkspaceRefused(f"{path} belongs to another user (uid {found.st_uid}).")
        if found.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise WorkspaceRefused(f"{path} cannot be used: {error.strerror}.") from error


def open_own(path: Path, flags: int) -> int:
    """Open a file of the state folder, created if missing, without blocking on a FIFO. Raises OSError, and
    WorkspaceRefused if it is no regular file.
    """
    wanted = flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, wanted, 0o600)
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
            raise
    else:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    raise WorkspaceRefused(f"{path} is not a plain file: move it away, and run the command again.")


_FILES: Final = ("reserve", "packing.lock", "gc.begun", "signing.key", "heads/checkpoint", "heads/keys")


def require_own_kinds(place: Place) -> None:
    """Require plain files and folders (or links to them) at the known names of the state folder, as a FIFO would block
    a start. Raises WorkspaceRefused.
    """
    db, beside = place.journal / "db", [place.state / name for name in _FILES]
    folders = {place.journal, *place.journal.glob("db*"), place.journal / "salvage"}
    for path in (place.journal, *place.journal.glob("*"), *db.glob("*"), *beside):
        with contextlib.suppress(FileNotFoundError):
            path.lstat()
            mode = path.stat().st_mode if path.exists() else 0
            if not (stat.S_ISDIR(mode) if path in folders else stat.S_ISREG(mode)):
                kind = "folder" if path in folders else "plain file"
                raise WorkspaceRefused(f"{path} is not a {kind}: move it away, and run the command again.")


def at_once(path: str, flags: int) -> int:
    """Open a file without blocking on a FIFO; for `open(opener=…)`."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def at_home(path: Path | str) -> Path:
    """Return a real path as the daemon sees it, mapped by QUIRE_PATH_MAP=/THERE=/HERE in a container. Raises
    WorkspaceRefused for a malformed map.
    """
    said = os.environ.get("QUIRE_PATH_MAP", "")
    try:
        return Path(mapped(os.fspath(path), parsed(said))) if said else Path(path)
    except BadMap as error:
        raise WorkspaceRefused(f"QUIRE_PATH_MAP cannot be used: {error}.") from error


def place_of(root: Path | str, state_dir: Path | str | None = None) -> Place:
    """Return the place of this folder, with or without a journal, unchecked."""
    real = at_home(os.path.realpath(root))
    if state_dir is not None:
        return Place(real, Path(os.path.realpath(state_dir)))
    name = re.sub(r"[^A-Za-z0-9._-]", "_", real.name)[:40]
    return Place(real, Path(os.path.realpath(state_home())) / f"{name}-{_key(real)}")


def _key(path: Path) -> str:
    return sha256(os.fsencode(path)).hexdigest()[:16]
