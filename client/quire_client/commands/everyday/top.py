"""`quire top`: shows the callers at work now, as a page of `quire ui` or printed once."""

from __future__ import annotations

import shutil
import sys
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option
from quire_client.commands.everyday.ui import is_screen, show


def run(call: Invocation) -> int:
    from quire_client.ui import INSTALL, NOW, Filter, installed

    call.at_most(0)
    live = is_screen(call) and "once" not in call.options
    if live and installed():
        return show(call, NOW, Filter())
    status = _once(call)
    if live:
        call.say(INSTALL)
    return status


def _once(call: Invocation) -> int:
    from quire_client.ui import NOW_ASKED

    # A viewer must not count as the agent: the agent's notices are for its own calls.
    call.options = {"agent": "", "session": "", **call.options}
    with call.connect(start=False) as client:
        replies = {tool: client.call(tool, arguments) for tool, arguments in NOW_ASKED}
    status = replies["status"]
    if call.json and status.get("ok"):
        print(render.as_json({"ok": True, "message": status.get("message", ""), **replies}))
        return 0
    return call.answer(status, lambda reply: "\n".join(_lines(replies)))


def _lines(replies: dict[str, Any]) -> list[str]:
    from datetime import UTC, datetime

    from quire_client.ui import Marks, NowReplies, now_rows, plain

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 160
    return plain(now_rows(NowReplies(**replies), Marks(), datetime.now(UTC), width))


COMMAND = Command(
    arguments="",
    about="Shows who works now and on what, where several write one file, the leases, and what is not well, live: a\n"
    "page of `quire ui`, from which Escape leads to what happened. Where stdout is no terminal, without the extra\n"
    "`ui`, and with --once or --json, it is printed once. No daemon is started; one that ends is waited for.",
    example="quire top --once",
    run=run,
    options=(Option("once", "", "print it once"),),
)
