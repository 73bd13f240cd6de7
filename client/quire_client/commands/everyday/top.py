"""`quire top`: a live view of the workspace, until `q` or an interruption."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import DONE, NO_DAEMON, Command, Invocation, Option, Usage, status_of

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.commands.everyday.top_view import TopReplies

EVERY_S: Final = 1.0
"""Seconds between two updates."""

RECORDS: Final = 200
"""Most records read."""


Draw = Callable[["TopReplies"], None]


def run(call: Invocation) -> int:
    """Draw once, or repeatedly on a terminal. Starts no daemon."""
    call.at_most(0)
    every = _every(call)
    # A mere observer is no agent at work: notices are left for the agent's own calls.
    call.options = {"agent": "", "session": "", **call.options}
    if call.json or "once" in call.options or not sys.stdout.isatty():
        return _once(call)
    with contextlib.suppress(KeyboardInterrupt), _Looks(call) as looks, _screen(call) as draw, _keys() as quits:
        while True:
            draw(looks.look())
            if quits(every):
                break
    return DONE


def _every(call: Invocation) -> float:
    """`--every`, in seconds. Raises Usage."""
    text = call.options.get("every", str(EVERY_S))
    with contextlib.suppress(ValueError):
        if 0.1 <= float(text) <= 3600:
            return float(text)
    raise Usage(f"--every wants seconds, from 0.1 to 3600, not {text!r}.")


def _once(call: Invocation) -> int:
    from quire_client.commands.everyday.top_view import lines

    with _Looks(call) as looks:
        seen = looks.look(wait=True)
    if not seen.status.get("ok"):
        return call.answer(seen.status, lambda reply: "")
    if call.json:
        told = {name: getattr(seen, name) for name in ("status", "who", "claims", "log")}
        print(render.as_json({"ok": True, "message": seen.status.get("message", ""), **told}))
    else:
        print("\n".join(lines(seen, 0, 0, call.colours)))
    return DONE


class _Looks:
    """Queries of the workspace, through one connection as long as its daemon lives."""

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._client: Client | None = None

    def look(self, *, wait: bool = False) -> TopReplies:
        """The current replies. Without a daemon the reason; with `wait` NoDaemon is raised."""
        from quire_client.commands.everyday.top_view import TopReplies
        from quire_client.transport import NoDaemon

        try:
            if self._client is None:
                self._client = self._call.connect(start=False)
            asked: tuple[tuple[str, dict[str, Any]], ...] = (
                ("status", {}),
                ("who", {"present": True}),
                ("claims", {}),
                ("log", {"limit": RECORDS}),
            )
            status, *others = [self._client.call(tool, arguments) for tool, arguments in asked]
        except NoDaemon as error:
            if wait:
                raise
            return TopReplies({}, {}, {}, {}, str(error))
        if status_of(status) == NO_DAEMON:  # the next query connects anew
            self.__exit__()
        who, claims, log = others
        return TopReplies(status, who, claims, log)

    def __enter__(self) -> _Looks:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


@contextlib.contextmanager
def _screen(call: Invocation) -> Iterator[Draw]:
    """A function that draws a picture: on an alternate screen by rich, or line by line on simpler terminals."""
    from quire_client.commands.everyday.top_view import lines

    def picture(seen: TopReplies) -> str:
        width, height = shutil.get_terminal_size()
        return "\n".join(lines(seen, height, width, call.colours))

    if call.environ.get("TERM", "dumb") != "dumb":
        with contextlib.suppress(ImportError):
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

            # The picture is already cut and coloured.
            console = Console(highlight=False, no_color=not call.colours.on, soft_wrap=True)
            with Live(console=console, screen=True, auto_refresh=False) as live:
                yield lambda seen: live.update(Text.from_ansi(picture(seen), no_wrap=True), refresh=True)
            return
    drawn = ""

    def below(seen: TopReplies) -> None:
        nonlocal drawn
        if (now := picture(seen)) != drawn:
            print(f"\n{now}", flush=True)
        drawn = now

    yield below


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """A function that waits so many seconds; True if `q` was typed."""
    import termios
    import tty

    def quits(seconds: float) -> bool:
        ready, _, _ = select.select([sys.stdin] if typed else [], [], [], seconds)
        return bool(ready) and os.read(sys.stdin.fileno(), 64).lower() in (b"q", b"")

    typed = sys.stdin.isatty()
    before = termios.tcgetattr(sys.stdin) if typed else []
    if typed:
        tty.setcbreak(sys.stdin)
    try:
        yield quits
    finally:
        if typed:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


COMMAND = Command(
    arguments="",
    about="Shows who is present and on what, the leases, the files that changed last, the newest records, and how the\n"
    "daemon and the journal are, drawn anew every second until q or an interruption. A daemon that ends is waited\n"
    "for. Where stdout is no terminal, and with --once or --json, it is drawn once.",
    example="quire top --once",
    run=run,
    options=(
        Option("once", "", "draw once, all of it"),
        Option("every", "SECONDS", "how often; 1 if not said"),
    ),
)
