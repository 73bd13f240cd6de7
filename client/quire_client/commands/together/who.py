"""`quire who`: lists present and recent callers, and their work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import ALL_CHECKOUTS, Command, Invocation, Option, Usage, asked, shown

LATELY_H: Final = 12
MOST_FILES: Final = 5
MOST_RANGES: Final = 4


def run(call: Invocation) -> int:
    call.at_most(0)
    arguments: dict[str, Any] = {"hours": 0 if "all" in call.options else LATELY_H, **call.stated(numbers=("limit",))}
    if "minutes" in call.options:
        try:
            arguments["minutes"] = float(call.options["minutes"])
        except ValueError:
            raise Usage(f"--minutes wants a number, not {call.options['minutes']!r}.") from None
    everybody = "all" in call.options
    if ALL_CHECKOUTS.name in call.options:
        return call.answer(asked(call, "who", arguments), lambda reply: shown(reply, lambda one: _show(one, everybody)))
    with call.connect() as client:
        reply = client.call("who", arguments)
    return call.answer(reply, lambda reply: _show(reply, everybody))


def _show(reply: Mapping[str, Any], ids: bool) -> str:
    writers = [writer for writer in reply.get("writers") or () if isinstance(writer, Mapping)]
    rows = [(_ids(writer), *row(writer)) if ids else row(writer) for writer in writers]
    lines = [*_collisions(reply), *(render.columns(rows, render.terminal_width()) or ["Nobody is there."])]
    more = int(reply.get("total") or 0) - len(writers)
    if more > 0:
        how = "a larger --limit lists them" if ids else "--all lists them"
        lines.append(f"and {more} more; {how}" if writers else f"{more} have been; {how}")
    return "\n".join(lines)


def _collisions(reply: Mapping[str, Any]) -> Iterator[str]:
    for one in reply.get("collisions") or ():
        writers = [each for each in one.get("writers") or () if isinstance(each, Mapping)]
        names = [render.writer(each.get("writer")) for each in writers]
        meet = render.meeting({**one, "writers": writers}, names)
        if not meet:
            each_in = [_lines_of(each) for each in writers]
            meet = f" (lines {'; '.join(each_in)})" if all(each_in) else ""
        yield f"{render.one_line(one.get('path', ''))}: {' and '.join(names)}{meet}"
    if reply.get("collisions"):
        yield ""


def _lines_of(each: Mapping[str, Any]) -> str:
    spans = [{"start": first, "end": last} for first, last in each.get("lines") or ()]
    more = f" and {len(spans) - MOST_RANGES} more" if len(spans) > MOST_RANGES else ""
    return f"{render.lines(spans[:MOST_RANGES])}{more}"


def row(writer: Mapping[str, Any]) -> tuple[str, ...]:
    turn = render.short_id(writer.get("turn") or "")
    marks = [mark for mark, is_so in (("subagent", "parent"), ("you", "you")) if writer.get(is_so)]
    return (
        " ".join([render.writer(writer), *(f"({mark})" for mark in marks)]),
        f"turn {turn}" if turn else "",
        _there(writer),
        render.moment(writer.get("last_seen") or ""),
        "; ".join(_on(writer.get("on"))),
    )


def _there(writer: Mapping[str, Any]) -> str:
    return "present" if writer.get("present") or writer.get("connections") else "gone"


def _ids(writer: Mapping[str, Any]) -> str:
    before = int(writer.get("turns") or 1) - 1
    return render.one_line(writer.get("id") or "") + (f" and {before} before" if before > 0 else "")


def _on(on: object) -> Iterator[str]:
    told = on if isinstance(on, Mapping) else {}
    for lease in told.get("leases") or ():
        kind, path = render.one_line(lease.get("kind", "")), render.one_line(lease.get("path", ""))
        yield f"{kind} lease on {path}"
    for burst in told.get("bursts") or ():
        yield f"burst {render.one_line(burst.get('burst', ''))} {render.one_line(burst.get('label', ''), 60)}".rstrip()
    files = [render.one_line(file.get("path", "")) for file in told.get("writing") or ()]
    if files:
        more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        yield f"writes {', '.join(files[:MOST_FILES])}{more}"


COMMAND = Command(
    arguments="",
    about="Lists first the files that several write, with the function or the lines in which they meet. Then who is\n"
    "present (with an open connection, or having called this daemon lately) and who was in the last 12 hours\n"
    "and is gone, each with when it was last seen, its leases, open bursts, and the files that it writes. An agent\n"
    "session is shown once, though each process, turn and tool call of it is another writer; --all says how many,\n"
    "with the number of the newest. `quire log --agent-session` has what all of them did.",
    example="quire who --minutes 60",
    run=run,
    options=(
        Option("minutes", "N", "how long somebody who has no connection counts as present; 15 if not said"),
        Option("all", "", "list everybody who ever called, with the numbers of writers"),
        ALL_CHECKOUTS,
        Option("limit", "N", "at most so many"),
    ),
)
