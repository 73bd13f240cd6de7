"""Runs a command on a copy-on-write view of a folder: Linux's overlayfs in the command's own namespaces.

All mounts and processes of the command end with its parent. The view shows the real `.git` and `.quire`.

Source: mount(2), user_namespaces(7), pid_namespaces(7), prctl(2); Documentation/filesystems/overlayfs.rst of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final, NamedTuple, NoReturn

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
PR_SET_PDEATHSIG: Final = 1

REAL: Final = (".git", ".quire")
"""Top-level names that the view shares with the checkout instead of copying them on write."""

ROOM: Final = 1 << 30
IN_MEMORY: Final = Path("/dev/shm")
PREFIX: Final = "quire-copy-"
KEPT: Final = "quire-kept-"

NOT_EXECUTABLE: Final = 126
NOT_FOUND: Final = 127

SIGNALLED: Final = 128
"""Exit status of a command that signal N ended, minus N."""

_WAITED_OUT: Final = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class CannotIsolate(Exception):
    """The kernel or the file system does not allow a copy-on-write view; the text is a sentence with the reason."""


class CommandEnd(NamedTuple):
    status: int  # exit status, 128 + N after signal N
    signal: int = 0  # number of the signal that ended the command; 0 if it ended by itself


class CopyOnWriteView:
    """A context manager for one command on a copy-on-write view of a folder; leaving it deletes the copy."""

    def __init__(self, root: Path, state_dir: Path) -> None:
        """`root` is the folder to view; `state_dir` holds the copy if memory has too little room."""
        self._root, self._state_dir = root, state_dir
        self._folder = Path()
        self._lock = -1

    def __enter__(self) -> CopyOnWriteView:
        if not sys.platform.startswith("linux"):
            raise CannotIsolate("Copy-on-write views of a checkout need Linux.")
        above = _folder_in_memory() or self._state_dir
        _remove_what_was_left(above)
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above))
        self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.upper.mkdir()
        (self._folder / "work").mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _remove(self._folder)
        os.close(self._lock)

    @property
    def upper(self) -> Path:
        return self._folder / "upper"

    @property
    def began_ns(self) -> int:
        """Time when the view was made, by the clock of file times, which all local file systems share."""
        return os.fstat(self._lock).st_ctime_ns

    def keep(self) -> Path:
        """Move what the command changed to a folder that stays, and return it."""
        kept = self._folder.with_name(KEPT + self._folder.name.removeprefix(PREFIX))
        self.upper.chmod(0o700)  # it leaves a folder that is closed to others
        return self.upper.rename(kept)

    def run(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> CommandEnd:
        """Run the command in `folder`, as the view has it, and return how it ended.

        Raises CannotIsolate if the command could not be started in a view.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        reading, writing = os.pipe2(os.O_CLOEXEC)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            self._enter(parent, writing, command, folder, environ)
        os.close(writing)
        heard = set[int]()

        def pass_on(number: int, frame: FrameType | None) -> None:
            heard.add(number)
            _passing_on(child)(number, frame)

        before = {number: signal.signal(number, pass_on) for number in _heard(_PASSED_ON)}
        before |= {number: signal.signal(number, lambda number, _: heard.add(number)) for number in _heard(_WAITED_OUT)}
        try:
            with os.fdopen(reading, "rb") as pipe:
                told = pipe.read().decode(errors="replace")
            os.waitpid(child, 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if told and not told.lstrip("-").isdigit():
            raise CannotIsolate(told)
        return command_end(int(told or -signal.SIGKILL), heard)  # no word: the whole view was killed

    def _enter(
        self, parent: int, told: int, command: Sequence[str], folder: Path, environ: Mapping[str, str]
    ) -> NoReturn:
        try:
            _die_with(parent)
            for number in _heard(_WAITED_OUT):
                signal.signal(number, lambda *_: None)  # a terminal sends them to the command, too
            self._mount()
            first = os.fork()
            if first == 0:
                os.close(self._lock)
                _first_process(told, command, folder, environ)
            for number in _heard(_PASSED_ON):
                signal.signal(number, _passing_on(first))
            os.close(told)
            os.waitpid(first, 0)
        except OSError as error:
            _tell_failure(told, error)
        finally:
            os._exit(0)

    def _mount(self) -> None:
        uid, gid = os.getuid(), os.getgid()
        _unshare(CLONE_NEWNS | CLONE_NEWPID | (0 if uid == 0 else CLONE_NEWUSER))
        if uid != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        _mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        root = os.fsencode(self._root)
        real = {name: os.open(self._root / name, os.O_PATH) for name in REAL if (self._root / name).exists()}
        layers = {"lowerdir": self._root, "upperdir": self.upper, "workdir": self._folder / "work"}
        options = ",".join(f"{name}={_escaped(os.fspath(path))}" for name, path in layers.items())
        _mount(b"overlay", root, b"overlay", 0, os.fsencode(f"{options},userxattr"))
        for name, descriptor in real.items():
            _mount(
                f"/proc/self/fd/{descriptor}".encode(), os.path.join(root, name.encode()), None, MS_BIND | MS_REC, None
            )
            os.close(descriptor)


# ── in the namespaces ────────────────────────────────────────────────────────


def _first_process(told: int, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> NoReturn:
    """Run the command, and write to `told` how it ended: its exit status, or minus the number of a signal."""
    try:
        _die_with(0)
        with suppress(OSError):  # in some containers: the command sees the process ids outside then
            _mount(b"proc", b"/proc", b"proc", 0, None)
        os.chdir(folder)  # again, in the view
        child = os.fork()
        if child == 0:
            _execute(command, environ)
        for number in _heard(_PASSED_ON):
            signal.signal(number, _passing_on(child))
        while True:
            pid, waited = os.wait()
            if pid == child:
                os.write(told, str(os.waitstatus_to_exitcode(waited)).encode())
                break
    except OSError as error:
        _tell_failure(told, error)
    finally:
        os._exit(0)


def _execute(command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, which a program would inherit
    try:
        os.execvpe(command[0], list(command), dict(environ))
    except (FileNotFoundError, NotADirectoryError):
        print(f"quire: {command[0]}: there is no such program", file=sys.stderr)
        os._exit(NOT_FOUND)
    except (OSError, ValueError) as error:
        print(f"quire: {command[0]}: {getattr(error, 'strerror', '') or error}", file=sys.stderr)
        os._exit(NOT_EXECUTABLE)


def _die_with(parent: int) -> None:
    _called("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent and os.getppid() != parent:
        os._exit(70)


def _unshare(flags: int) -> None:
    _called("unshare", flags)


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int, data: bytes | None) -> None:
    _called("mount", source, target, kind, ctypes.c_ulong(flags), data)


def _called(name: str, *arguments: object) -> None:
    ctypes.set_errno(0)
    if getattr(_libc(), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _tell_failure(told: int, error: OSError) -> None:
    with suppress(OSError):
        os.write(told, f"{_doing(error)}: {os.strerror(error.errno or errno.EIO)}.".encode())


def _doing(error: OSError) -> str:
    return {
        "unshare": "The kernel gives this user no namespaces of its own (unshare)",
        "mount": "The kernel does not mount a copy-on-write view here (overlayfs)",
    }.get(str(error.filename), f"The view of the checkout could not be made ({error.filename})")


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\:," else letter for letter in path)


def _heard(numbers: Sequence[signal.Signals]) -> list[signal.Signals]:
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def _passing_on(pid: int) -> Callable[[int, FrameType | None], None]:
    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    return pass_on


def command_end(code: int, heard: Container[int]) -> CommandEnd:
    """Return the end of a command with this exit code, which is minus N after signal N. A command that returns 128 + N
    was ended by signal N if `quire run` heard it, too: programs that clean up do so.
    """
    if code < 0:
        return CommandEnd(SIGNALLED - code, -code)
    return CommandEnd(code, code - SIGNALLED if code - SIGNALLED in heard else 0)


# ── the scratch folder ───────────────────────────────────────────────────────


def _folder_in_memory() -> Path | None:
    """Return `/dev/shm` if it has room and supports overlayfs' attributes (Linux 6.6 and later), else None."""
    try:
        free = os.statvfs(IN_MEMORY)
        if free.f_bavail * free.f_frsize < ROOM:
            return None
        with tempfile.NamedTemporaryFile(prefix=PREFIX, dir=IN_MEMORY) as probe:
            os.setxattr(probe.name, b"user.overlay.probe", b"y")
    except OSError:
        return None
    return IN_MEMORY


def _remove_what_was_left(above: Path) -> None:
    for folder in above.glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # somebody else's, or about to be made
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        except OSError:
            pass  # in use
        finally:
            os.close(lock)


def _remove(folder: Path) -> None:
    inner = folder / "work" / "work"  # which overlayfs makes without any right
    with suppress(OSError):
        inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
