"""`quire review`: lists changes that nobody has accepted yet, and accepts or rejects them by writer, turn, file or
lines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import COMMIT, DONE, Command, Invocation, Option, Usage, commit_named, point_of

if TYPE_CHECKING:
    from quire_client.api import Client

ACCEPT: Final = "accept"
REJECT: Final = "reject"

LOOK_S: Final = 1.0
CALLS_S: Final = 60.0
WAITED_OUT: Final = 1


def run(call: Invocation) -> int:
    verb = call.arguments[0] if call.arguments[:1] and call.arguments[0] in (ACCEPT, REJECT) else ""
    if verb:
        call.arguments = call.arguments[1:]
    if verb and "wait" in call.options:
        raise Usage(f"--wait and {verb} exclude each other.")
    asked = _asked(call)
    with call.connect() as client:
        if verb == ACCEPT:
            return call.answer(client.call("accept", asked), lambda reply: str(reply["message"]))
        if verb == REJECT:
            return _reject(call, client, asked)
        return _wait(call, client, asked) if "wait" in call.options else _list(call, client, asked)


def _asked(call: Invocation) -> dict[str, Any]:
    asked: dict[str, Any] = call.stated(("writer", "turn"), ("upto",), ("all",)) | call.session_meant()
    asked.pop("agent_session", None)
    named = [call.path_lines(word) for word in call.arguments]
    lines = [lines for _, lines in named if lines]
    if lines and len(named) > 1:
        raise Usage("PATH:LINES is about one file; name it alone.")
    if lines:
        asked["lines"] = lines[0].replace(",", "-").replace(":", "-")
    if named:
        asked["paths"] = [call.in_workspace(path) for path, _ in named]
    if since := call.options.get("since"):
        commit = commit_named(since, call.place.root, call.environ)
        return asked | {"since": COMMIT + commit if commit else point_of(since)}
    head = commit_named("HEAD", call.place.root, call.environ)
    return asked | ({"since": COMMIT + head} if head else {})


# ── what is left ─────────────────────────────────────────────────────────────


def _list(call: Invocation, client: Client, asked: Mapping[str, Any]) -> int:
    reply = client.call("review", asked)
    status = call.answer(reply, lambda reply: "\n".join(_told(reply, call)))
    if reply.get("ok") and reply["files"] and not call.json:
        accepts = f"`quire review accept --upto {reply['seq']}` accepts what is shown"
        call.say(f"{accepts}, `quire review reject PATH:LINES` takes it back.")
    return status


def _wait(call: Invocation, client: Client, asked: Mapping[str, Any]) -> int:
    until = time.monotonic() + call.timeout_s(float("inf"))
    told = ""
    while True:
        reply = client.call("review", asked)
        if not reply.get("ok") or not reply["files"]:
            return call.answer(reply, lambda reply: str(reply["message"]))
        if time.monotonic() >= until:
            call.answer(reply, lambda reply: "\n".join(_told(reply, call)))
            return WAITED_OUT
        if told != reply["message"]:
            told = reply["message"]
            call.say(told)
        time.sleep(LOOK_S)


def _told(reply: Mapping[str, Any], call: Invocation) -> Iterator[str]:
    yield str(reply["message"])
    for one in reply["by"]:
        prompt = f'  "{render.one_line(one["prompt"], 60)}"' if one.get("prompt") else ""
        turn = f" {render.one_line(one['turn'], 20)}" if one["turn"] else ""
        yield f"  {render.writer(one['writer'])}{turn}: {render.counted(one['lines'], 'line')}{prompt}"
    for file in reply["files"]:
        for hunk in file["hunks"]:
            yield ""
            who = ", ".join(dict.fromkeys(render.writer(writer) for writer in hunk["writers"]))
            yield call.colours.diff_line(f"@@ {_place(file, hunk)} @@ {who}")
            yield from (call.colours.diff_line(render.clean(row, keep="\t")) for row in hunk["rows"])
            if hunk["rows_more"]:
                yield f"… and {render.counted(hunk['rows_more'], 'more line')}"
    if reply["more"]:
        yield f"… and {render.counted(reply['more'], 'more file')}"


def _place(file: Mapping[str, Any], hunk: Mapping[str, Any]) -> str:
    path = render.one_line(file["path"])
    if hunk["whole"] or file["status"] == "removed":
        return f"{path} ({file['status']})"
    if hunk["end"] < hunk["start"]:
        return f"{path}, in front of line {hunk['start']}"
    return f"{path}:{hunk['start']}-{hunk['end']}" if hunk["end"] > hunk["start"] else f"{path}:{hunk['start']}"


# ── taking back ──────────────────────────────────────────────────────────────


def _reject(call: Invocation, client: Client, asked: Mapping[str, Any]) -> int:
    reply = client.call("review", asked)
    if not reply.get("ok") or not reply["files"]:
        return call.answer(reply, lambda reply: str(reply["message"]))
    if call.can_ask and "yes" not in call.options:
        print("\n".join(_told(reply, call)))
        if not call.agreed("Take this back?"):
            return call.declined("Nothing was taken back.")
    _wait_for_calls(call, client, reply["files"])
    done, left = 0, list[str]()
    for file in reply["files"]:
        for hunk in reversed(file["hunks"]):
            ranges = [""] if _is_whole(file, hunk) else _ranges(hunk)
            for lines in reversed(ranges):
                undone = client.call("undo", _undo(file, hunk, lines, asked))
                if undone.get("ok") and any(one.get("action") != "none" for one in undone.get("files") or ()):
                    done += 1
                else:
                    left.append(f"{_place(file, hunk)}: {render.said(undone.get('message', ''))}")
    message = f"{render.counted(done, 'place')} taken back."
    answer = {"ok": True, "message": message, "undone": done, "left": left}
    return call.answer(answer, lambda reply: "\n".join([reply["message"], *reply["left"]])) or (1 if left else DONE)


def _undo(file: Mapping[str, Any], hunk: Mapping[str, Any], lines: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    writer = asked.get("writer") or "*"
    told = {"path": file["path"], "writer": writer, "probable": True}
    if lines:
        return {**told, "lines": lines}
    (one, *_) = hunk["writers"]
    return {**told, "writer": asked.get("writer") or one["id"]}


def _is_whole(file: Mapping[str, Any], hunk: Mapping[str, Any]) -> bool:
    new = file["status"] == "added" and all(row[:1] == "+" for row in hunk["rows"]) and len(file["hunks"]) == 1
    return hunk["whole"] or file["status"] == "removed" or (new and hunk["start"] == 1)


def _ranges(hunk: Mapping[str, Any]) -> list[str]:
    if hunk["end"] < hunk["start"]:
        return [""]
    if hunk["rows_more"]:
        return [f"{hunk['start']}-{hunk['end']}"]
    found: list[list[int]] = []
    number = hunk["start"] - 1
    for row in hunk["rows"]:
        if row[:1] == "-":
            continue
        number += 1
        if row[:1] == "+":
            if found and found[-1][1] == number - 1:
                found[-1][1] = number
            else:
                found.append([number, number])
    return [f"{first}-{last}" for first, last in found]


def _wait_for_calls(call: Invocation, client: Client, files: Sequence[Mapping[str, Any]]) -> None:
    agents = {
        (writer["agent"], writer["agent_session"])
        for file in files
        for hunk in file["hunks"]
        for writer in hunk["writers"]
        if writer["agent"]
    }
    until, told = time.monotonic() + call.timeout_s(CALLS_S), False
    while time.monotonic() < until and (busy := _busy(client) & agents):
        if not told:
            told = True
            names = ", ".join("/".join(filter(None, one)) for one in sorted(busy))
            call.say(f"Waiting until the call of {render.one_line(names)} has ended.")
        time.sleep(LOOK_S / 4)


def _busy(client: Client) -> set[tuple[str, str]]:
    bursts = client.call("burst", {}).get("bursts") or ()
    owners = (burst.get("owner") or {} for burst in bursts if burst.get("state") == "open")
    return {(owner.get("agent", ""), owner.get("agent_session", "")) for owner in owners}


COMMAND = Command(
    arguments="[accept|reject] [PATH[:LINES]…]",
    about="Shows what agents have written that nobody has accepted yet, by place, writer and turn. What git's HEAD\n"
    "has needs no review. `accept` marks places, and the marks move with their lines; a line that is changed again is\n"
    "shown again. `reject` undoes these lines and keeps what others did, when the calls of their writers have ended.\n"
    "Both take what the command shows with the same words; --upto leaves out what came after it.",
    example="quire review accept --writer claude-code",
    run=run,
    words=(ACCEPT, REJECT),
    options=(
        Option("writer", "WHO", "only this writer's work: an agent's name, NAME/SESSION, user, me or w3"),
        Option("turn", "ID", "only what was done in this turn"),
        Option("since", "POINT", "what this point has needs no review; git's HEAD if not said"),
        Option("upto", "SEQ", "only what was written up to this record"),
        Option("all", "", "everybody's work, not only agents'"),
        Option("wait", "", "wait until nothing is left to review; --timeout ends it with exit status 1"),
        Option("yes", "", "reject without a question"),
    ),
)
