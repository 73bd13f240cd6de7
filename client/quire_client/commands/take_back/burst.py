"""`quire burst`: groups changes, so that they can be undone together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, chosen, is_number

_ACTIONS = ("begin", "end", "list", "show")
_TAKES = {"begin": " LABEL", "end": " N", "list": "", "show": " N"}


def run(call: Invocation) -> int:
    action, *rest = call.arguments or ["list"]
    chosen("What `quire burst` can do", action, _ACTIONS)
    if len(rest) > (0 if action == "list" else 1):
        words = "; a LABEL of several words wants quotes" if action == "begin" else ""
        raise Usage(f"Unexpected argument {rest[-1]!r}. Usage: `quire burst {action}{_TAKES[action]}`{words}.")
    arguments: dict[str, Any] = {"action": action, **_arguments(call, action, rest)}
    with call.connect() as client:
        reply = client.call("burst", arguments)
    if action != "begin":
        return call.answer(reply, {"list": _list, "show": _show}.get(action, _ended))
    if reply.get("ok"):
        call.say(render.said(reply.get("message", "")))
    return call.answer(reply, lambda reply: str(reply["burst"]))


def _arguments(call: Invocation, action: str, rest: list[str]) -> dict[str, Any]:
    if action == "begin":
        found = call.stated(("kind",), {"ttl": "ttl_s"})
        if rest:
            found["label"] = rest[0]
        if "outside" in call.options or "not-outside" in call.options:
            found["outside"] = "outside" in call.options
        return found
    found = call.stated(numbers=("limit",))
    if rest:
        if not is_number(rest[0]):
            raise Usage(f"N is the number of a burst, not {rest[0][:40]!r}.")
        found["burst"] = int(rest[0])
    elif action == "show":
        raise Usage("N is missing: `quire burst show N`.")
    return found


def _list(reply: Mapping[str, Any]) -> str:
    rows = [tuple(_cells(burst)) for burst in reply.get("bursts") or ()]
    return (
        "\n".join(render.columns(rows, render.terminal_width()))
        if rows
        else "There is no burst; `quire burst begin` begins one."
    )


def _cells(burst: Mapping[str, Any]) -> Iterator[str]:
    yield str(burst.get("burst", "?"))
    yield render.moment(burst.get("began_at") or "")
    yield render.writer(burst.get("owner"))
    why = burst.get("why")
    yield "open" if burst.get("state") == "open" else f"ended ({render.one_line(why)})" if why else "ended"
    unclear = burst.get("unclear", 0)
    yield render.counted(burst.get("batches", 0), "batch", "batches") + (f", {unclear} may belong" if unclear else "")
    yield render.one_line(burst.get("kind", ""))
    yield render.one_line(burst.get("label", ""))


def _ended(reply: Mapping[str, Any]) -> str:
    lines = [render.said(reply.get("message", ""))]
    if reply.get("batches"):
        lines.append(f"To take it back: quire undo --burst {reply.get('burst')}")
    elif reply.get("outside") is False:
        lines.append("What is written past Quire belongs to a burst that began with --outside.")
    return "\n".join(lines)


def _show(reply: Mapping[str, Any]) -> str:
    lines = ["  ".join(cell for cell in _cells(reply) if cell)]
    lines += render.columns((tuple(_batch(batch)) for batch in reply.get("contents") or ()), render.terminal_width())
    if reply.get("more"):
        lines.append(f"  and {reply['more']} more")
    return "\n".join(lines)


def _batch(batch: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {batch.get('batch', '?')}"
    yield render.moment(batch.get("at") or "")
    yield render.writer(batch.get("writer"))
    state = "" if batch.get("in_force", True) else "undone"
    yield state if batch.get("belongs", True) else f"may belong ({render.one_line(batch.get('evidence', ''))})"
    paths = ", ".join(render.one_line(path) for path in batch.get("paths") or ())
    yield f"{paths} and {batch['paths_more']} more" if batch.get("paths_more") else paths


COMMAND = Command(
    arguments="[begin [LABEL] | end [N] | list | show N]",
    about="What you write from `begin` to `end` belongs together: a tool call, a formatter, a git operation. `begin`\n"
    "prints the burst's number; `end` without one ends your newest. It ends by itself after --ttl seconds. With\n"
    "--outside (the rule for formatter and git) what other programs write meanwhile belongs to it, unless another\n"
    "such burst is open. `quire undo --burst N` takes all of it back, `quire log --burst N` lists it.",
    example='quire burst begin "format the tree" --kind formatter --ttl 120',
    run=run,
    words=_ACTIONS,
    options=(
        Option("kind", "WORD", "tool_call (if not said), formatter, git, or another word"),
        Option("ttl", "SECONDS", "ends by itself after so long; 600 if not said"),
        Option("outside", "", "other programs' writes belong to it, too"),
        Option("not-outside", "", "they do not"),
        Option("limit", "N", "list, show: at most so many"),
    ),
)
