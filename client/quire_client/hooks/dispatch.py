"""Reports a hook event to the daemon by tool calls, and turns the replies into an answer for the agent.

A refusal with a code in `DENYING` denies the agent's tool call; any other refusal becomes a warning to the user.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from quire_client.cli import render
from quire_client.hooks.base import Intent, Outcome
from quire_client.hooks.payloads import MOST_BYTES, size

Call = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
GREETING: Final = "Quire keeps every version of every file here, whoever writes."

ELSEWHERE: Final = ("also_changed", "leased_elsewhere", "lease_taken", "lease_unconfirmed")
"""Types of warnings about changes and leases in other checkouts of the same repository."""

DENYING: Final = ("stale_file", "stale_base", "lease_held")

MOST_PATHS: Final = 200
MOST_CHARACTERS: Final = 16_384
MOST_LINES: Final = 30
MOST_WIDE: Final = 200
MOST_OTHERS: Final = 5


def tell(intent: Intent, rereads: bool, call: Call, quire: str = "quire") -> Outcome:
    """Report `intent` (with paths relative to the workspace) to the daemon, and return the answer for the agent.
    `rereads`: the agent reports its reads; `quire`: name of the command in the agent's shell.
    """
    match intent.moment:
        case "before":
            return _judged(call("native", {**_native(intent), "rereads": rereads}))
        case "after":
            reply = call("native", {**_native(intent), "ok": intent.ok})
            return Outcome(notice=notice(reply), warning=_trouble(reply))
        case "read":
            # the daemon refuses binary files; that is harmless
            replies = [call("read_file", {"path": path, **_lines(intent)}) for path in intent.paths]
            return Outcome(notice="\n".join(filter(None, map(elsewhere, replies))))
        case "start":
            reply = call("native", {"moment": "start"})
            here = welcome(call("who", {"present": True, "limit": 20}), quire)
            told = notice(reply)
            return Outcome(notice=f"{here}\n{told}".strip(), warning=_trouble(reply))
        case "turn":
            said = {"prompt": intent.prompt[:MOST_CHARACTERS], "transcript": intent.transcript}
            reply = call("native", {"moment": "turn", **{name: text for name, text in said.items() if text}})
            return Outcome(notice=notice(reply), warning=_trouble(reply))
        case _:
            return Outcome(warning=_trouble(call("native", {"moment": intent.moment})))


def _native(intent: Intent) -> dict[str, Any]:
    large = size(intent.replaces) > MOST_BYTES
    told: dict[str, Any] = {
        "moment": intent.moment,
        "tool": intent.tool,
        "call": intent.call,
        "paths": list(intent.paths[:MOST_PATHS]),
        "whole": intent.whole or large,
        "replaces": [] if large else list(intent.replaces),
    }
    if intent.command:
        told["command"] = intent.command[:MOST_CHARACTERS]
    if not intent.ok:
        return told  # nothing was written
    if size(intent.payloads) > MOST_BYTES:
        return {**told, "payload_dropped": True}
    return {**told, "payloads": list(intent.payloads)} if intent.payloads else told


def _lines(intent: Intent) -> dict[str, int]:
    given = {"start_line": intent.start_line, "end_line": intent.end_line}
    return {name: line for name, line in given.items() if line is not None}


def _judged(reply: Mapping[str, Any]) -> Outcome:
    if reply.get("ok") or reply.get("error") not in DENYING:
        return Outcome(notice=elsewhere(reply), warning=_trouble(reply))
    return Outcome(allow=False, reason=reason(reply))


def _trouble(reply: Mapping[str, Any]) -> str:
    if reply.get("ok"):
        return ""
    said = render.one_line(reply.get("message", "it gave no reason"))
    return f"Quire could not take note of this call: {said}"


# ── in words ─────────────────────────────────────────────────────────────────


def reason(reply: Mapping[str, Any]) -> str:
    """Return the message to the agent: why its write is denied, and what to do instead."""
    said = render.one_line(reply.get("message", ""), 600)
    if reply.get("error") == "lease_held":
        return f"Quire: {said}\nNothing was written. Work on something else, or wait until that is over."
    lines = [f"Quire: {said}", *_changes(reply)]
    shown = [_numbered(str(row)) for row in (reply.get("lines") or ())[:MOST_LINES]]
    if shown:
        lines += ["The changed lines and those of your edit, as they are now:", *shown]
    if len(reply.get("lines") or ()) > MOST_LINES:
        lines.append("  …")
    lines.append(
        "Nothing was written. Read the file again, then edit what it holds now; do not take others' work back."
    )
    return "\n".join(lines)


def _changes(reply: Mapping[str, Any]) -> Iterator[str]:
    for change in reply.get("changes") or ():
        yield f"- {_where(change)} {_by(change)}"


def _numbered(row: str) -> str:
    anchor, _, line = row.partition("|")
    return f"{anchor.partition('#')[0]:>6}  {render.clean(line, keep=chr(9))[:MOST_WIDE]}"


def notice(reply: Mapping[str, Any]) -> str:
    """Return the message to the agent about files that it has read and that other writers, or its own command, changed;
    "" if there are none.
    """
    news, own = list(reply.get("news") or ()), list(reply.get("changed_by_command") or ())
    if own:
        names = ", ".join(render.one_line(path) for path in own)
        told = f"Quire: changed while your command ran, so that they are not as you read them: {names}."
        return f"{told}\n{notice({**reply, 'changed_by_command': []})}".strip()
    if not news:
        return ""
    lines = ["Quire: files that you have read were changed by others. Read them again before you rely on them:"]
    lines += [f"- {render.one_line(entry.get('path', ''))}: {_where(entry)} {_by(entry)}" for entry in news]
    if reply.get("news_more"):
        lines.append(f"- and {render.counted(reply['news_more'], 'more file')}")
    there = (entry for entry in news if "since" in entry and not entry.get("gone"))
    read = next((f"{shlex.quote(entry['path'])} --since {entry['since']}" for entry in there), "")
    if read:
        lines.append(f"Only what changed: `quire read {render.one_line(read, 200)}`.")
    return "\n".join(lines)


def elsewhere(reply: Mapping[str, Any]) -> str:
    told = [warning for warning in reply.get("warnings") or () if warning.get("type") in ELSEWHERE]
    return "\n".join(f"Quire: {render.one_line(warning.get('message', ''), 400)}" for warning in told)


def _where(change: Mapping[str, Any]) -> str:
    if change.get("gone"):
        return f"renamed to {render.one_line(change['moved_to'])}" if change.get("moved_to") else "removed"
    spans = [span for span in change.get("lines") or () if isinstance(span, Sequence) and len(span) == 2]
    if not spans:
        return "changed"
    told = ", ".join(str(a) if a == b else f"{a}-{b}" if b > a else f"before {a}" for a, b in spans[:MOST_OTHERS])
    one = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"line{'' if one else 's'} {told}{', …' if len(spans) > MOST_OTHERS else ''} changed"


def _by(change: Mapping[str, Any]) -> str:
    when = render.moment(change.get("at", ""))
    return f"by {writer_told(change.get('writer'))} at {when}{_meanwhile(change.get('hint') or '')}"


def _meanwhile(hint: str) -> str:
    said = render.one_line(render.hint(hint), 120)
    if said in ("git", render.GIT_RAN):
        return f", {render.GIT_RAN}"
    return "" if not said else f' ("{said}")' if said.startswith("git") else f', while "{said}" ran'


def writer_told(writer: Any) -> str:
    """Return a writer's name for a message to an agent, in quotes if another agent chose the name."""
    who = writer if isinstance(writer, Mapping) else {}
    if who.get("type") == "outside" and not who.get("agent"):
        return "another program"
    names = "/".join(render.one_line(who[part], 60) for part in ("agent", "agent_session") if who.get(part))
    return f'"{names}"' if names else "a person"


def welcome(reply: Mapping[str, Any], quire: str = "quire") -> str:
    """Return the message to a new agent session: hints about Quire, and the other writers present."""
    others = [entry for entry in reply.get("writers") or () if entry.get("present") and not entry.get("you")]
    lines = [
        f"{GREETING} `{quire} log PATH`, `{quire} diff` and `{quire} blame PATH` tell what happened; `{quire} burst` "
        f"lists the calls of agents' own tools, `{quire} undo --burst N` takes one back and keeps what others did."
    ]
    for entry in others[:MOST_OTHERS]:
        files = [render.one_line(f.get("path", ""), 80) for f in (entry.get("on") or {}).get("writing") or ()]
        lines.append(f"- {writer_told(entry)} works here too{', on ' + ', '.join(files[:3]) if files else ''}")
    if len(others) > MOST_OTHERS:
        lines.append(f"- and {render.counted(len(others) - MOST_OTHERS, 'other')}")
    return "\n".join(lines)
