"""`quire run`: runs a command, and records its writer and its exit status."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, MissingArgument, Option, Usage, point_of
from quire_journal.model import MARK

if TYPE_CHECKING:
    from quire_client.isolation import CopyOnWriteView

FAILED: Final = 125
"""Exit status if Quire itself fails, as in env(1) and timeout(1)."""

NOT_EXECUTABLE: Final = 126
NOT_FOUND: Final = 127

MOVED: Final = 75
"""Exit status with `--strict` if other writers changed files during the command: EX_TEMPFAIL of sysexits.h."""

MOST_NAMED: Final = 5

MOST_BROUGHT: Final = 10_000

MOST_CHARACTERS: Final = 16_000
_WAITED_OUT: Final = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)


def run(call: Invocation) -> int:
    if not call.arguments:
        raise MissingArgument("CMD")
    if (misplaced := _misplaced(call)) is not None:
        return _refused(call, misplaced)
    if "at" in call.options:
        if other := {"strict", "isolated"} & call.options.keys():
            raise Usage(f"--{min(other)} is about the checkout; a tree of --at is a copy, into which nobody writes.")
        return _in_exported_tree(call)
    if "isolated" in call.options:
        return _isolated(call)
    asked = {"action": "begin", "command": _told_words(call.arguments)}
    begun = _begun(call, {**asked, "captured": True}, call.timeout_s(30.0))
    if begun.get("capturing"):
        begun = _asked(call, asked)
    if not begun.get("ok"):
        return _refused(call, begun)
    status = _ran(call)
    ended = _asked(call, {"action": "end", "burst": begun["burst"], "status": status})
    return _told(call, status, ended)


def _failed(code: str, error: Exception) -> dict[str, Any]:
    return {"ok": False, "error": code, "message": str(error)}


def _misplaced(call: Invocation) -> Mapping[str, Any] | None:
    """Return a refusal if no workspace holds the folder, else None."""
    from quire_journal.workspaces import NoFolder, WorkspaceRefused

    try:
        _ = call.place
    except (NoFolder, WorkspaceRefused) as error:
        return _failed("workspace_refused", error)
    return None


def _asked(call: Invocation, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import NoFolder, WorkspaceRefused

    try:
        reply = call.ask("run", arguments)
        return call.ask("run", arguments) if reply.get("error") == "unknown" else reply  # recorded once
    except NoDaemon as error:
        return _failed("no_daemon", error)
    except (NoFolder, WorkspaceRefused) as error:
        return _failed("workspace_refused", error)


def _begun(call: Invocation, asked: Mapping[str, Any], most_s: float = math.inf) -> Mapping[str, Any]:
    """Send `asked`, which begins a run, and return the reply; a failure is a reply, too. During the first capture, wait
    at most `most_s` seconds for its end and send `asked` again; a reply with `capturing` means that it still runs.
    """
    begun = _asked(call, asked)
    if not begun.get("capturing"):
        return begun
    from quire_client.commands import captured  # loads threads, for which no usual run has time
    from quire_client.transport import NoDaemon

    try:
        with call.connect() as client:
            capture = captured(client, call, most_s).get("capture") or {}
    except NoDaemon as error:
        return _failed("no_daemon", error)
    until = time.monotonic() + (call.timeout_s(30.0) if capture.get("finished") else 0.0)
    while (begun := _asked(call, asked)).get("capturing") and time.monotonic() < until:
        time.sleep(begun["retry_after_ms"] / 1000)  # the last records are being synced
    return begun


def _told_words(command: Sequence[str]) -> list[str]:
    told: list[str] = []
    left = MOST_CHARACTERS
    for word in command:
        told.append(os.fsencode(word).decode("utf-8", "replace")[:left])
        left -= len(word) + 1
        if left <= 0:
            break
    return told


def _refused(call: Invocation, reply: Mapping[str, Any]) -> int:
    call.answer(reply, lambda reply: "")
    call.say("The command was not run.")
    return FAILED


def _ran(call: Invocation) -> int:
    sys.stdout.flush()
    try:
        pid = os.posix_spawnp(call.arguments[0], call.arguments, _environment(call), setsigdef=_IGNORED_BY_PYTHON)
    except FileNotFoundError:
        return _not_run(call, NOT_FOUND, "there is no such program")
    except OSError as error:
        return _not_run(call, NOT_EXECUTABLE, error.strerror or str(error))
    except ValueError as error:
        return _not_run(call, NOT_EXECUTABLE, str(error))

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    before = {number: signal.signal(number, lambda *_: None) for number in _WAITED_OUT if not _is_ignored(number)}
    before |= {number: signal.signal(number, pass_on) for number in _PASSED_ON if not _is_ignored(number)}
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _environment(call: Invocation) -> dict[str, str]:
    agent, session = call.caller
    named = {"QUIRE_AGENT": agent, "QUIRE_SESSION": session}
    return {**call.environ, **{name: text for name, text in named.items() if text}}


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def _not_run(call: Invocation, status: int, why: str) -> int:
    call.say(f"quire: {render.one_line(call.arguments[0])}: {render.one_line(why)}")
    return status


# ── what came of it ──────────────────────────────────────────────────────────


def _told(call: Invocation, status: int, ended: Mapping[str, Any]) -> int:
    if call.json:
        print(render.as_json(ended))
    if not ended.get("ok"):
        said = render.one_line(ended.get("message", ""), 400)
        call.say(f"quire: The command ended with {status}; how it ended could not be recorded: {said}")
    for line in _lines(ended) if ended.get("ok") else ():
        call.say(f"quire: {line}")
    is_known = ended.get("ok") and not (ended.get("cut") or ended.get("early"))
    moved = not is_known or ended["by_others_count"] or ended["doubtful_count"]
    return MOVED if moved and status == 0 and "strict" in call.options else status


def _lines(ended: Mapping[str, Any]) -> Iterator[str]:
    changed, moved, doubtful = (ended.get(kind) or () for kind in ("changed", "by_others", "doubtful"))
    if changed:
        probable = any(file.get("probable") for file in changed)
        back = f"quire undo --burst {ended['burst']}{' --probable' if probable else ''}"
        sure = f"{MARK}" if probable else ""
        yield f"{sure}{_files(changed, ended['changed_count'])} changed by it; `{back}` takes that back."
    if ended.get("by_git"):
        many = render.counted(ended["by_git_count"], "file")
        yield f"{render.one_line(ended['git'], 200)}: {many}; `quire undo --git last` takes that back."
    if moved:
        yield f"{_files(moved, ended['by_others_count'], by=True)} changed by others meanwhile."
    if doubtful:
        yield f"{_files(doubtful, ended['doubtful_count'])} changed meanwhile, by it or by others."
    if ended.get("early"):
        yield "It began before all files were recorded for the first time; what it changed until then is not all known."
    if ended.get("cut"):
        yield f"More was written than is told; `quire log --burst {ended['burst']}` lists it."


def _files(files: Sequence[Mapping[str, Any]], count: int, by: bool = False) -> str:
    names = [render.one_line(file["path"]) + (f" (by {render.writer(file['writer'])})" if by else "") for file in files]
    more = count - len(names[:MOST_NAMED])
    return ", ".join(names[:MOST_NAMED]) + (f" and {render.counted(more, 'more file')}" if more else "")


# ── on a copy ────────────────────────────────────────────────────────────────


def _isolated(call: Invocation) -> int:
    from quire_client.isolation import CannotIsolate, CopyOnWriteView

    root = Path(os.path.realpath(call.place.root))
    with contextlib.ExitStack() as above, contextlib.ExitStack() as stack:
        try:
            view = stack.enter_context(CopyOnWriteView(root, call.place.state))
            begun = _begun(call, {"action": "begin", "command": _told_words(call.arguments), "isolated": True})
            if not begun.get("ok"):
                return _refused(call, begun)
            above.enter_context(_signals_held())  # from the end of the command until the copy is removed
            environ = _environment(call)
            call.name_caller(begun["owner"])
            end = view.run(call.arguments, Path.cwd(), environ)
        except (CannotIsolate, OSError) as error:
            return _refused(call, _failed("cannot_isolate", error))
        if end.signal:
            call.say(f"quire: The command was ended by signal {end.signal}; nothing of it has landed.")
            return _ended(call, begun["burst"], end.status)
        return _landed(call, view, root, begun, end.status)


def _landed(call: Invocation, view: CopyOnWriteView, root: Path, begun: Mapping[str, Any], status: int) -> int:
    """Land what the command changed, tell of it, and return the exit status. A kill of this process does not end that,
    so that the tree is never between before and after.
    """
    from quire_client.isolation import NotLanded, Transfer, outliving

    burst, told = begun["burst"], {name: begun["owner"].get(name, "") for name in ("turn", "model")}
    is_whole = False
    with contextlib.ExitStack() as stack:
        connected = functools.cache(lambda: stack.enter_context(call.connect()))

        def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            # only now: the process that lands needs a connection of its own
            return connected().call(tool, arguments, **told)

        def land() -> int:
            nonlocal is_whole
            lines, is_whole = transfer.land(), True
            for line in lines:
                call.say(f"quire: {render.one_line(line, 400)}")
            return _ended(call, burst, status, transfer.brought)

        try:
            transfer = Transfer(ask, root, view.upper, burst, view.began_ns)
            stack.callback(transfer.clear)
            if transfer.is_empty:
                is_whole = True
                return _ended(call, burst, status)
            transfer.require_room()
            done = outliving(land)
            return land() if done is None else done
        except BaseException as error:
            if not is_whole:
                call.say(f"quire: Not all of what the command changed has landed; it is kept in {view.keep()}.")
            if isinstance(error, NotLanded):
                return call.answer(error.reply, lambda reply: "")
            raise


def _ended(call: Invocation, burst: int, status: int, brought: Sequence[str] = ()) -> int:
    own = {"brought": brought[:MOST_BROUGHT]} if brought else {}
    return _told(call, status, _asked(call, {"action": "end", "burst": burst, "status": status, **own}))


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Delay signals until the end of the block, so that the changes of the command are copied completely. A second
    SIGINT raises KeyboardInterrupt at once.
    """
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGINT and number in came:
            raise KeyboardInterrupt
        came.append(number)

    before = {number: signal.signal(number, hold) for number in (*_WAITED_OUT, *_PASSED_ON) if not _is_ignored(number)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


# ── at a point ───────────────────────────────────────────────────────────────


def _in_exported_tree(call: Invocation) -> int:
    import tempfile

    from quire_client.commands.history import BEFORE_IT, began_later
    from quire_client.export import ExportStop, Unwritable, export, fetch
    from quire_client.transport import NoDaemon
    from quire_journal.model import Refusal

    point = point_of(call.options["at"])
    with tempfile.TemporaryDirectory(prefix="quire-run-", ignore_cleanup_errors=True) as above:
        top = Path(above, call.place.root.name or "tree")
        try:
            with call.connect() as client:
                tree = fetch(client, point)
                if began_later(tree):
                    return _refused(call, Refusal("not_found", BEFORE_IT, "choose_another_point").reply())
                missing = export(client, tree, top)
        except ExportStop as stopped:
            return _refused(call, stopped.reply)
        except Unwritable as error:
            return _refused(call, _failed("not_written", error))
        except NoDaemon as error:
            return _refused(call, _failed("no_daemon", error))
        moment = f" ({render.moment(tree.time)})" if tree.time else ""
        call.say(f"quire: In a copy of {render.one_line(point)}{moment}; what is ignored is not in it.")
        if missing:
            lacking = render.counted(len(missing), "entry of that time is", "entries of that time are")
            call.say(f"quire: {lacking} not in the journal.")
        begun = _asked(call, {"action": "begin", "command": _told_words(call.arguments), "at": point})
        if not begun.get("ok"):
            return _refused(call, begun)
        within = os.path.relpath(os.path.realpath(call.folder), os.path.realpath(call.place.root))
        folder = top / within
        os.chdir(folder if folder.is_dir() else top)
        try:
            status = _ran(call)
        finally:
            os.chdir(call.place.root)  # the tree is removed
    ended = _asked(call, {"action": "end", "burst": begun["burst"], "status": status, "upto": begun.get("upto", 0)})
    return _told(call, status, ended)


COMMAND = Command(
    arguments="[--] CMD [ARG ...]",
    about="Runs CMD, a formatter, a build, an agent without hooks. What it writes is yours in the journal, or that of\n"
    "--agent: for sure where the kernel tells who writes, else marked ~ where the command line accounts for it.\n"
    "At the end it tells which files CMD changed, what git wrote for it, and which others changed meanwhile. Its exit\n"
    "status is passed on and stays in the journal (`quire log --runs`); where Quire itself fails, CMD is not run, and\n"
    "the status is 125. In a new checkout CMD waits until all files are recorded, 30 seconds or --timeout at most.",
    example="quire run --agent aider -- aider --yes",
    run=run,
    options=(
        Option("strict", "", "exit with 75 if others changed files meanwhile, or may have"),
        Option("isolated", "", "run CMD on a copy-on-write view, and land what it changed when it has ended"),
        Option("at", "POINT", "run CMD in a copy of the tree of that time, which is removed afterwards"),
    ),
    passes_on=True,
)
