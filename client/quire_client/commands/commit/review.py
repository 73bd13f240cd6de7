"""`quire review`: lists changes that nobody has accepted yet, and accepts or rejects them by writer, turn, file or
lines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import COMMIT, DONE, Command, Invocation, Option, Usage, commit_named, point_of

if TYPE_CHECKING:
    from quire_client.api import Client

ACCEPT: Final = "accept"
REJECT: Final = "reject"

LOOK_S: Final = 1.0
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
        yield f"  {_name(one['writer'], call)}{turn}: {render.counted(one['lines'], 'line')}{prompt}"
    for file in reply["files"]:
        for hunk in file["hunks"]:
            yield ""
            who = ", ".join(dict.fromkeys(_name(writer, call) for writer in hunk["writers"]))
            rejected = ", rejected: taken back when its turn has ended" if hunk.get("rejected") else ""
            yield call.colours.diff_line(f"@@ {_place(file, hunk)} @@ {who}{rejected}")
            yield from (call.colours.diff_line(render.clean(row, keep="\t")) for row in hunk["rows"])
            if hunk["rows_more"]:
                yield f"… and {render.counted(hunk['rows_more'], 'more line')}"
    if reply["more"]:
        yield f"… and {render.counted(reply['more'], 'more file')}"


def _name(writer: Mapping[str, Any], call: Invocation) -> str:
    return render.author({"writer": writer, "unclaimed": writer.get("unclaimed")}, call.person_watches)


def _place(file: Mapping[str, Any], hunk: Mapping[str, Any], lines: str = "") -> str:
    path = render.one_line(file["path"])
    if lines:
        first, _, last = lines.partition("-")
        return f"{path}:{first}" if first == last else f"{path}:{lines}"
    if hunk["whole"] or file["status"] == "removed":
        moved = f"renamed from {render.one_line(file['moved_from'])}" if file.get("moved_from") else file["status"]
        return f"{path} ({moved})"
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
    elif "yes" not in call.options and not call.arguments:
        said = "Nothing was taken back: without a PATH this is all that the review shows. Name a PATH, or say --yes."
        return call.answer({"ok": False, "error": "schema_invalid", "message": said, "files": reply["files"]}, str)
    rejected = client.call("reject", {"upto": reply["seq"], **asked})
    if not rejected.get("ok") or not rejected["rejections"]:
        return call.answer(rejected, lambda reply: str(reply["message"]))
    if rejected["waits_for"] and "now" not in call.options:
        return call.answer(rejected, lambda reply: str(reply["message"]))
    undone = client.call("undo", {"rejected": rejected["rejections"]})
    if not undone.get("ok"):
        return call.answer(undone, lambda reply: "")
    stayed = any(file.get("conflicts") for file in undone.get("files") or ())
    places = sum(file["places"] for file in rejected["files"])
    message = undone["message"] if stayed else f"{render.counted(places, 'place')} taken back."
    return call.answer({**undone, "message": message}, partial(_taken, rejected["files"])) or (1 if stayed else DONE)


def _taken(files: Sequence[Mapping[str, Any]], reply: Mapping[str, Any]) -> str:
    rows = (f"  {render.one_line(file['path'])}: {render.counted(file['places'], 'place')}" for file in files)
    return "\n".join([str(reply["message"]), *rows])


COMMAND = Command(
    arguments="[accept|reject] [PATH[:LINES]…]",
    about="Shows what agents have written that nobody has accepted yet, by place, writer and turn. What git's HEAD\n"
    "has needs no review. `accept` marks places, and the marks move with their lines; a line that is changed again is\n"
    "shown again. `reject` undoes these lines and keeps what others did, when the turn of their writer has ended.\n"
    "Both take what the command shows with the same words; --upto leaves out what came after it. At a terminal\n"
    "`reject` shows what goes, and asks; elsewhere it wants a PATH or --yes.",
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
        Option("now", "", "reject at once, also while the writer works"),
    ),
)
