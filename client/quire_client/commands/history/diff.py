"""`quire diff`: prints the changes between two points."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import (
    COMMIT,
    Command,
    Invocation,
    Option,
    Usage,
    commit_named,
    end_of,
    is_point,
    point_of,
    stretch,
)
from quire_client.commands.history import counts, names, names_with_status, patches, whole, words

if TYPE_CHECKING:
    from quire_client.api import Client

Show = Callable[[Mapping[str, Any], render.Palette], Iterator[str]]

_REVISION: Final = re.compile(r"HEAD|[0-9a-f]{7,64}|[\w./-]+([~^][~^0-9]*|@\{[^{}]+\})")
FORMS: Final[Mapping[str, Show]] = {
    "stat": counts,
    "name-only": names,
    "name-status": names_with_status,
    "word-diff": words,
}


def run(call: Invocation) -> int:
    asked = [form for form in FORMS if form in call.options]
    if len(asked) > 1:
        raise Usage(f"--{asked[0]} and --{asked[1]} do not go together.")
    show = FORMS[asked[0]] if asked else patches
    points, paths = _parted(call)
    between = call.stated({"since": "from", "until": "to"})
    if points and between:
        raise Usage("A point and --since or --until both say from when on; give one of them.")
    points |= between
    arguments: dict[str, Any] = {**points, **call.stated(("cursor", "writer", "agent-session", "turn"))}
    arguments |= call.session_meant()
    arguments |= call.stated((), {"unified": "context"}, {"ignore-all-space": "ignore_space"})
    if paths:
        arguments["paths"] = [call.in_workspace(path) for path in paths]
    with call.connect() as client:
        bare = "from" not in arguments
        if bare:
            arguments["from"] = _base(call, client)
        reply = client.call("diff", arguments)
        if not call.json:
            reply = whole(client, reply, arguments)
    status = call.answer(reply, lambda reply: "".join(f"{line}\n" for line in show(reply, call.colours)), patch=True)
    if reply.get("ok") and not reply.get("files"):
        call.say(_nothing(arguments, bare))
    return status


def _nothing(arguments: Mapping[str, Any], bare: bool) -> str:
    whose = next((str(arguments[name]) for name in ("writer", "agent_session", "turn") if name in arguments), "")
    if not whose:
        return "Nothing differs."
    name = "you" if whose == "me" else render.one_line(whose)
    if bare and arguments["from"].startswith(COMMIT):
        return f"Of what {name} did nothing differs from HEAD; --since 1h compares with an hour ago."
    return f"Of what {name} did nothing differs; `quire log` tells what was done."


def _parted(call: Invocation) -> tuple[dict[str, str], list[str]]:
    """Return (points, paths) of the command line: `A..B`, `A B` or `A` before the paths. Raises Usage."""
    words = list(call.arguments)
    if not words or _is_path(call, words[0]):
        return {}, words
    call.require_no_lines(words[0])
    start, dots, end = words.pop(0).partition("..")
    if start and end.startswith("."):
        other = end.lstrip(".") or "HEAD"
        raise Usage(
            f"{start}...{other} is in git what {other} has since both parted: `quire diff $(git merge-base {start} "
            f"{other})..{other}` shows it, `quire diff {start}..{other}` how the two differ."
        )
    if dots and not start:
        raise Usage(
            f"A..B has two dots and a point in front of them: `quire diff v10..v12`, not {call.arguments[0]!r}."
        )
    if not dots and words and not _is_path(call, words[0]) and _is_end(call, words[0]):
        end = words.pop(0)
    return {"from": point_of(start), **({"to": end_of(end)} if end else {})}, words


def _is_end(call: Invocation, word: str) -> bool:
    forms = is_point(word) or _REVISION.fullmatch(word)
    return bool(forms or commit_named(word, call.folder, call.environ))


def _is_path(call: Invocation, word: str) -> bool:
    if is_point(word.partition("..")[0]):
        return False
    if os.path.lexists(call.folder / word) or any(sign in word for sign in "*?["):
        return True
    if "/" not in word or ".." in word.split("/")[-1]:
        return False
    return not any(commit_named(part, call.folder, call.environ) for part in word.split("..") if part)


def _base(call: Invocation, client: Client) -> str:
    head = commit_named("HEAD", call.place.root, call.environ)
    if head:
        return COMMIT + head
    named = client.call("checkpoint", {"action": "list"}).get("checkpoints") or ()
    newest = max(named, key=lambda one: one.get("seq", 0), default=None)
    if newest is None:
        raise Usage("There is no commit and no checkpoint to compare with; name a point: `quire diff 1h`.")
    call.say(f"Since the checkpoint {render.one_line(newest['name'])}:")
    return str(newest["name"])


COMMAND = Command(
    arguments="[A..B | A B | A] [PATH ...]",
    about="Shows what changed from point A to point B, or to now with A alone, in everything or in the paths named;\n"
    "without a point, from git's HEAD, or the last checkpoint where there is none. Points may be git's, too: HEAD~1,\n"
    "a branch, a commit. What goes into a file or pipe is a patch that `git apply` takes; lines behind # name what no\n"
    "patch holds. --writer, --session and --turn show only the lines that these changed in between, and who else\n"
    "changed the same files.",
    example="quire diff before-refactoring.. src/app.py",
    run=run,
    options=(
        Option("unified", "N", "so many unchanged lines around each change; 3 if not said", "U"),
        Option("ignore-all-space", "", "lines that differ in white space only are equal", "w"),
        Option("patch", "", "the patch, which is shown without it, too", "p"),
        Option("stat", "", "only how many lines came and went in each file"),
        Option("name-only", "", "only the paths"),
        Option("name-status", "", "only the paths, behind A, D, M or R"),
        Option("word-diff", "", "mark the words that changed, not the lines"),
        Option("writer", "WHO", "only what WHO changed: an agent's name, user, me, w3 or outside"),
        Option("agent-session", "ID", "only what this agent session changed; so does --session without --agent"),
        Option("turn", "T", "only what was changed in this turn"),
        *stretch("from this point", "up to this point"),
        Option("cursor", "C", "with the `next` of a reply in JSON: the files behind those that it tells of"),
    ),
)
