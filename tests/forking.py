"""The process that forks daemons for tests (`nursery`): `python -P forking.py SOCKET SOCKET`.

Both are numbers of descriptors. It ends when nobody has the other end of the first any more. Who wants something
connects to the other, and sends `marshal.dumps([kind, words, environ, folder])` with descriptors:

- "daemon", its log and its stderr: is told its process id, a line, and its exit status when it has ended.
- "program", its stdin, stdout and stderr: is told its exit status, and ends it by going away. A daemon
  is none of these: it goes on, and has children of its own.
- "living": is told the process ids of the daemons that were forked in an environment such as this (`MARK`), in a line.

A daemon starts programs, too: one that searches, one that parses, one that checks a journal. A daemon that was forked
has these forked as well (`Children`): not from itself, which has threads and a database by then, but from a process
that was forked from it before it had either, and does nothing else. They are the daemon's own children all the same.
"""

from __future__ import annotations

import contextlib
import gc
import json
import marshal
import os
import re
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

MARK: Final = "QUIRE_TEST_MARK"
"""The variable that all daemons of one `Live` have in their environment."""

MOST: Final = 1 << 20
"""Bytes of one request."""

PROGRAMS: Final = tuple(f"quire_daemon.{name}" for name in ("examiner", "parsing", "purger", "reader", "searcher"))
"""What a daemon runs as `python -m NAME` with arguments, and is forked here."""

AT_FIRST_USE: Final = ("difflib", "encodings.ascii", "lmdb._envid", "tomllib")
"""What many a daemon, or what it uses, imports later."""

PR_SET_CHILD_SUBREAPER: Final = 36  # see prctl(2)


class Running(NamedTuple):
    """A fork. `line`: the descriptor of who asked for it, which is told how it ends."""

    pid: int
    kind: str
    mark: bytes
    line: int


def serve(alive: socket.socket, door: socket.socket) -> None:
    """Fork for each request, and tell how each fork ended, until nobody is at the other end of `alive`."""
    running: dict[int, Running] = {}  # by the descriptor that becomes readable at its end
    while True:
        programs = {one.line: one.pid for one in running.values() if one.kind == "program"}
        ready = select.select([alive, door, *running, *programs], [], [])[0]
        for one in ready:
            if one in running:
                _told_of(running.pop(one))
                os.close(one)
        for fd in programs:
            if fd in ready and any(one.line == fd for one in running.values()):
                with contextlib.suppress(ProcessLookupError):  # b"" is of nobody: who waited for it has been killed
                    os.kill(programs[fd], signal.SIGINT if os.read(fd, 16) else signal.SIGKILL)
        if door in ready:
            _answer(door.accept()[0], running)
        if alive in ready:
            for pid in programs.values():
                os.kill(pid, signal.SIGKILL)
            return


def _told_of(ended: Running) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(ended.pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        os.write(ended.line, b"%d" % status)
    os.close(ended.line)


def _answer(line: socket.socket, running: dict[int, Running]) -> None:
    with line:
        request, streams, _, _ = socket.recv_fds(line, MOST, 3)
        if not request:
            return
        kind, words, environ, folder = marshal.loads(request)
        mark = environ.get(MARK.encode(), b"")
        if kind == "living":
            pids = [one.pid for one in running.values() if one.kind == "daemon" and one.mark == mark]
            line.send(b"%s\n" % json.dumps(pids).encode())
            return
        pid = os.fork()
        if not pid:
            named = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
            if kind == "daemon":
                become(words, named, *streams)
            os.chdir(folder)
            be(partial(_as_python, words), words, words, named, dict(enumerate(streams)))
        for fd in streams:
            os.close(fd)
        if kind == "daemon":
            line.send(b"%d\n" % pid)
        running[os.pidfd_open(pid)] = Running(pid, kind, mark, line.detach())


def become(words: list[str], environ: dict[str, str], log: int, errors: int) -> NoReturn:
    """Be the daemon that `words` would start."""
    from quire_daemon.__main__ import main

    def with_children() -> int:
        os.setsid()
        Children.of_this()
        return main()

    streams = {0: os.open(os.devnull, os.O_RDONLY), 1: log, 2: errors}
    be(with_children, ["quired", *words[3:]], words, environ, streams)


class Child:
    """A daemon that was forked from this process, as `quire_client.start` sees it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        """To be called once, and from whichever thread: `start` has one for it."""
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def apart(words: list[str], log: int, errors: int) -> Child:
    """In place of `quire_client.start.apart`, for a daemon that shall have the rights of this process, which has no
    other threads."""
    pid = os.fork()
    if not pid:
        become(words, {**os.environ}, log, errors)
    return Child(pid)


def _as_python(words: list[str]) -> int:
    """What the interpreter does with its command line: `-m MODULE`, `-c CODE`, `-` or a file, and arguments."""
    from nursery import Nursery
    from quire_client import start

    sys.executable, how, *rest = words
    start.apart = Nursery(Path(sys.executable).parent).apart
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        buffering = 1 if name == "stderr" or os.isatty(fd) else -1
        setattr(sys, name, os.fdopen(fd, mode, buffering, encoding="utf-8", closefd=False))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which may be ignored by whoever started this
    warnings.simplefilter("ignore")  # of runpy, that a module was imported before
    try:
        if how == "-m":
            sys.argv[:] = rest
            if rest[0] == "quire_client":
                return import_module("quire_client.__main__").main() or 0
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif how in ("-c", "-"):
            sys.argv[:] = [how, *(rest[1:] if how == "-c" else rest)]
            program = types.ModuleType("__main__")
            sys.modules["__main__"] = program
            exec(compile(rest[0] if how == "-c" else sys.stdin.read(), "<string>", "exec"), program.__dict__)
        else:
            sys.argv[:] = [how, *rest]
            sys.path.insert(0, str(Path(how).resolve().parent))
            runpy.run_path(how, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def be(
    main: Callable[[], int | None],
    argv: list[str],
    words: list[str],
    environ: Mapping[str, str],
    descriptors: Mapping[int, int],
) -> NoReturn:
    """Be the program that `words` would start, in a process just forked.

    `descriptors`: by the number that each shall have. No other one stays open.
    """
    status = 1
    try:
        # First out of the way: what has the number of another one would be lost.
        above = 1 + max(*map(int, os.listdir("/proc/self/fd")), *descriptors)
        for there, here in descriptors.items():
            os.dup2(here, above + there)
        for there in descriptors:
            os.dup2(above + there, there)
        for number in range(2 * above):
            if number not in descriptors:
                with contextlib.suppress(OSError):
                    os.close(number)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv[:] = argv
        sys.orig_argv[:] = words
        status = main() or 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())  # as at the end of a program
        raise
    finally:
        os._exit(status)


class Children:
    """Forks, for a daemon that was forked, what it would start as programs."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._turn = threading.Lock()

    @classmethod
    def of_this(cls) -> None:
        """From now on this process, which has one thread, has its children forked; they are its own none the less."""
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if not os.fork():
            line.close()
            _breed(theirs)
        theirs.close()
        _Forked.children = cls(line)
        subprocess.Popen = _Forked  # type: ignore[misc]

    def fork(self, words: list[str], descriptors: Mapping[int, int]) -> int:
        """The process id of a child that is what `words` would start."""
        mask = int(re.search(r"Umask:\s*(\d+)", Path("/proc/self/status").read_text())[1], 8)
        inherited = mask, resource.getrlimit(resource.RLIMIT_NOFILE)
        request = json.dumps([words, [*descriptors], inherited]).encode()
        with self._turn:
            socket.send_fds(self._line, [request], [*descriptors.values()])
            return int(self._line.recv(16))


class _Forked(subprocess.Popen[Any]):
    """In place of `subprocess.Popen`; other programs are started as ever."""

    children: Children

    def _execute_child(self, args: Any, *given: Any) -> None:
        """As `subprocess` has it. `given[3]` are the descriptors to pass on, at 9 to 14 the two ends of each pipe."""
        if not (isinstance(args, list) and args[0] == sys.executable and any(word in PROGRAMS for word in args)):
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        pipes = given[9:15]
        streams = (pipes[0], pipes[3], pipes[5])
        try:
            here = {there: there if fd == -1 else fd for there, fd in enumerate(streams)}
            self.pid = self.children.fork(args, here | {fd: fd for fd in given[3]})
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _breed(line: socket.socket) -> NoReturn:
    """Fork for each request, until the daemon has ended."""
    while True:
        request, given, _, _ = socket.recv_fds(line, MOST, 16)
        if not request:
            os._exit(0)
        told, tell = os.pipe()
        # A child of a child that ends at once: with that it becomes one of the daemon.
        between = os.fork()
        if not between:
            between = os.getpid()
            pid = os.fork()
            if pid:
                os.write(tell, b"%d" % pid)
                os._exit(0)
            while os.getppid() == between:
                time.sleep(0.0005)
            words, numbers, (mask, files) = json.loads(request)
            os.umask(mask)
            resource.setrlimit(resource.RLIMIT_NOFILE, files)
            _be_child(words, dict(zip(numbers, given, strict=True)))
        os.waitpid(between, 0)
        line.send(os.read(told, 16))
        for one in (told, tell, *given):
            os.close(one)


def _be_child(words: list[str], descriptors: Mapping[int, int]) -> NoReturn:
    """Be the program that `words` would start."""
    at = words.index("-m")
    program = import_module(words[at + 1])
    Path("/proc/self/comm").write_text(words[at + 1].rpartition(".")[2])  # what `Live.programs` looks for
    be(program.main, words[at + 1 :], words, os.environ.copy(), descriptors)


def main() -> None:
    from quire_daemon import __main__, app, config, examining, faults, forgotten, recovery, server, soundness  # noqa: F401
    from quire_daemon.ignore import Ignore
    from quire_journal import replay  # noqa: F401
    from quire_journal.stores import lmdb  # noqa: F401

    sys.path.append(str(Path(__file__).parent))
    import nursery  # noqa: F401
    from quire_client.commands import COMMANDS

    for module in (*PROGRAMS, *AT_FIRST_USE):
        import_module(module)
    for name in COMMANDS:
        import_module(f"quire_client.commands.{name.replace('-', '_')}")
    # What is made at its first use has been made then: conversions of settings, and expressions.
    capture = config.load(None, None).capture
    Ignore(Path("/"), capture.ignore, capture.secret_globs)
    gc.collect()
    gc.freeze()  # a daemon leaves what was imported alone
    alive, door = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:])
    serve(alive, door)


if __name__ == "__main__":
    main()
