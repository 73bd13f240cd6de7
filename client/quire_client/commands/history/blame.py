"""`quire blame`: prints the writer of each line of a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import git_output, render
from quire_client.commands import (
    ALL_CHECKOUTS,
    NOT_FOUND,
    Command,
    Invocation,
    MissingArgument,
    Option,
    Surplus,
    Usage,
    checkouts_of,
    git_commit,
    headed,
    is_of_nobody,
    is_point,
    point_of,
    read_at_hub,
    told_by,
    work_in,
)
from quire_client.commands.everyday import line_range
from quire_journal.model import disk_path
from quire_journal.workspaces import branch_of

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.commands import GitCommit
    from quire_client.hub import CommitContents

MOST_COMMITS: Final = 50
"""Maximum number of commits whose lines are looked for in other checkouts."""


def run(call: Invocation) -> int:
    call.at_most(2)
    words = call.arguments
    if len(words) == 2 and all(os.path.isfile(call.folder / word) for word in words) and not is_point(words[1]):
        raise Usage(f"blame is about one file, not {words[0]} and {words[1]}; a point stands behind it: FILE@v12.")
    if len(words) == 2 and "at" not in call.options:  # git's order: the point, then the file
        words = words if os.path.lexists(call.folder / words[0]) else words[::-1]
    elif len(words) == 2:
        raise Surplus(words[1])
    if not words:
        raise MissingArgument("PATH")
    named, lines = call.path_lines(words[0])
    named, definition = _definition(call, named)
    path, point = call.path_at(named)
    point = point_of(words[1]) if words[1:] else point
    arguments: dict[str, Any] = {"path": call.in_workspace(path or "."), **call.stated(("at", "writer"))}
    arguments |= {"at": point} if point else {}
    if definition and "writer" in call.options:
        raise Usage("PATH:NAME and --writer do not go together; --lines does.")
    arguments |= {} if definition else line_range(call.options.get("lines", lines))
    with call.connect() as client:
        reply = every = _whole(client, arguments)
        if ALL_CHECKOUTS.name in call.options and reply.get("ok"):
            whole_file = {name: value for name, value in arguments.items() if name in ("path", "at")}
            every = reply if whole_file == arguments else _whole(client, whole_file)
    if reply.get("ok") and arguments.get("start_line", 0) > reply.get("lineCount", 0) and not reply.get("lines"):
        return call.answer({"ok": False, "error": "not_found", "message": reply.get("message", "")}, lambda reply: "")
    if definition and reply.get("ok"):
        reply = _of_definition(reply, definition)
    if ALL_CHECKOUTS.name in call.options and reply.get("ok"):
        told = _with_other_hosts(call, _with_siblings(call, every))  # lines of a part may be found at other places
        by_number = {line["line"]: line for line in told.get("lines") or ()}
        reply = {**reply, "lines": [by_number.get(line["line"], line) for line in reply.get("lines") or ()]}
    if reply.get("ok"):
        for sentence in _said_beside(reply):
            call.say(sentence)
        if reply.get("lineCount") and not reply.get("lines") and "writer" in call.options:
            call.say(f"{render.one_line(call.options['writer'])} wrote none of these lines.")
        if call.person_watches and any(line.get("unclaimed") for line in reply.get("lines") or ()):
            call.say(render.ABOUT_YOU)
    status = call.answer(
        reply, lambda reply: "\n".join(_rows(reply, call.colours, call.person_watches)), exact=not reply.get("lines")
    )
    return NOT_FOUND if is_of_nobody(reply) else status


def _definition(call: Invocation, given: str) -> tuple[str, str]:
    if (name := call.options.get("lines", "")).startswith(":") and not name[1:].isdigit():
        return given, name[1:]
    path, colon, name = given.rpartition(":")
    is_name = bool(colon) and all(part.isidentifier() for part in name.split("."))
    if not is_name or os.path.lexists(call.folder / given) or not os.path.lexists(call.folder / path):
        return given, ""
    return path, name


def _of_definition(reply: dict[str, Any], name: str) -> dict[str, Any]:
    from quire_journal.text import definitions_at

    path, lines = reply.get("path", ""), reply.get("lines") or ()
    body = [str(line.get("text", "")).encode() for line in lines]
    found = ["".join(definitions_at(path, body, [at])) if line.strip() else "" for at, line in enumerate(body)]
    kept = _within(found, name)
    if not kept:
        raise Usage(f"{render.one_line(path)} has no definition {name}; `quire blame PATH` prints all of it.")
    first, last = lines[kept[0]].get("line"), lines[kept[-1]].get("line")
    message = f"Lines {first}-{last} of {reply.get('lineCount')}: {name}."
    said = {"message": message, "startLine": first, "endLine": last}
    return {**reply, **said, "lines": [lines[at] for at in kept]}


def _within(definitions: Sequence[str], name: str) -> list[int]:
    """Return the lines (from 0) of the definition `name`, which may be the end of a qualified name (`run` for
    `Task.run`). `definitions` has the definition around each line, "" for a blank line; a blank line, or a comment of
    lesser depth, between two lines of one definition belongs to it.
    """
    found: list[int] = []
    of = ""
    for at, definition in enumerate(definitions):
        inside = f".{definition}.".partition(f".{name}.")
        if not inside[1]:
            continue
        outer = f"{inside[0]}.{name}"
        found += range(found[-1] + 1 if found and outer == of else at, at + 1)
        of = outer
    return found


def _with_siblings(call: Invocation, reply: dict[str, Any]) -> dict[str, Any]:
    """Return the reply with the field `elsewhere` at lines that commits brought: their writers in other checkouts on
    this machine. A message names each checkout whose daemon does not answer.
    """
    from quire_client.hub import joined

    path, lines = str(reply.get("path", "")), list(reply.get("lines") or ())
    try:
        siblings = checkouts_of(call)[1:]
    except Usage:
        if not joined(call.place.state):
            raise
        return reply  # a team's checkout whose journal is outside of the state home
    dates = {line["commit"]["id"]: line["commit"].get("at", "") for line in lines if line.get("commit")}
    newest = sorted(dates, key=lambda commit: str(dates[commit]), reverse=True)
    if siblings and len(newest) > MOST_COMMITS:
        call.say(f"Only the newest {MOST_COMMITS} of {len(newest)} commits were looked for in other checkouts.")
    commits = [one for name in newest[:MOST_COMMITS] if siblings and (one := _commit_of(call, name, path))]
    places = {commit.id: _lines_from(call, lines, commit.id, path) for commit in commits}
    found = dict[int, list[dict[str, Any]]]()
    for sibling in siblings:
        works = told_by(call, sibling, lambda client: {commit.id: work_in(commit, client) for commit in commits})
        if works is None:
            away = {"checkout": sibling.name, "path": str(sibling.place.root), "branch": branch_of(sibling.place.root)}
            call.say(headed({**away, "you": False, "reply": None}))
        for commit, work in (works or {}).items():
            for place, run in _runs_at(places[commit], work):
                found.setdefault(place, []).append(
                    {"checkout": sibling.name, "version": run["version"], "writer": run["writer"]}
                )
    lines = [{**line, "elsewhere": found[at]} if at in found else line for at, line in enumerate(lines)]
    return {**reply, "lines": lines}


def _commit_of(call: Invocation, commit: str, path: str) -> GitCommit | None:
    """Return a commit with only the file `path`; None if it did not change the file."""
    found, name = git_commit(commit, call.place.root, call.environ), disk_path(path)
    if found is None or name not in found.paths:
        return None
    return found._replace(paths=(name,), moved_from={new: old for new, old in found.moved_from.items() if new == name})


def _lines_from(call: Invocation, lines: Sequence[Mapping[str, Any]], commit: str, path: str) -> dict[int, int]:
    """Return number of a line in the commit's file (from 1) → its index in `lines` (from 0), for lines that the blame
    ascribes to the commit.
    """
    said = git_output(("cat-file", "blob", f"{commit}:./{disk_path(path)}"), call.place.root, call.environ)
    there, here = said.splitlines(), [str(line.get("text", "")) for line in lines]
    blocks = SequenceMatcher(None, there, here, autojunk=False).get_matching_blocks()
    pairs = ((block.a + n, block.b + n) for block in blocks for n in range(block.size))
    return {number + 1: at for number, at in pairs if (lines[at].get("commit") or {}).get("id") == commit}


def _runs_at(places: Mapping[int, int], work: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (index in the blame, run of lines in `work`) for each line whose writer a checkout has recorded. `places`
    is the result of `_lines_from`.
    """
    for run in (run for file in work.get("files") or () for run in file.get("runs") or ()):
        if run["writer"].get("id") != "outside":
            yield from ((places[n], run) for n in range(run["start"], run["end"] + 1) if n in places)


def _with_other_hosts(call: Invocation, reply: dict[str, Any]) -> dict[str, Any]:
    """Return the reply with the field `elsewhere`, the writers on other hosts of the team, at lines of commits that
    lack this field. Without a team, the reply is unchanged.
    """
    from quire_client.hub import writers_elsewhere

    path, lines = str(reply.get("path", "")), list(reply.get("lines") or ())
    unknown = [line for line in lines if line.get("commit") and not line.get("elsewhere")]
    commits = dict.fromkeys(line["commit"]["id"] for line in unknown)
    wanted = {commit: contents for commit in commits if (contents := _contents(call, commit, path)) is not None}
    found = read_at_hub(call, lambda histories: writers_elsewhere(wanted, histories, path)) or {}
    whose = ((line.get("commit") or {}).get("id") if not line.get("elsewhere") else None for line in lines)
    return {
        **reply,
        "lines": [
            {**line, "elsewhere": found[commit]} if commit in found else line
            for line, commit in zip(lines, whose, strict=True)
        ],
    }


def _contents(call: Invocation, commit: str, path: str) -> CommitContents | None:
    from quire_client.hub import CommitContents

    root, environ = call.place.root, call.environ
    before, after = (
        hashlib.sha256(os.fsencode(said)).digest() if said else b""
        for said in (git_output(("cat-file", "blob", f"{one}:{path}"), root, environ) for one in (f"{commit}^", commit))
    )
    return CommitContents(before, after) if after else None


def _whole(client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
    reply = page = client.call("blame", arguments)
    lines, runs = [*reply.get("lines", ())], [*reply.get("runs", ())]
    while page.get("ok") and page.get("truncated") and page.get("next_line"):
        # The version keeps the text the same for all pages.
        page = client.call("blame", {**arguments, "at": reply["version"], "start_line": page["next_line"]})
        lines += page.get("lines", ())
        runs += page.get("runs", ())
    if page is reply or not page.get("ok"):
        return page
    return {
        **reply,
        "lines": lines,
        "runs": runs,
        "endLine": page.get("endLine"),
        "truncated": False,
        "next_line": None,
    }


def _said_beside(reply: Mapping[str, Any]) -> list[str]:
    names = [render.one_line(name) for name in reply.get("names") or ()]
    now = render.one_line(reply.get("path", ""))
    said = [f"Earlier names: {', '.join(name for name in names if name != now)}."] if {*names} - {now} else []
    for gap in reply.get("gaps") or ():
        lost, given = render.one_line(gap.get("version", "?")), render.one_line(gap.get("attributed_to", "?"))
        why = render.one_line(gap.get("why", "")).replace("_", " ")
        said.append(f"Of {lost} and before nothing is known ({why}): their lines stand under {given}.")
    return said


def _rows(reply: Mapping[str, Any], colours: render.Palette, person: bool) -> list[str]:
    lines: Sequence[Mapping[str, Any]] = reply.get("lines") or ()
    whose = [_whose(line, person) for line in lines]
    lane = {name: number for number, name in enumerate(dict.fromkeys(whose))}
    turns = any(line.get("turn") for line in lines)
    heads = render.columns(_head(line, name, turns) for line, name in zip(lines, whose, strict=True))
    width = max(map(len, heads), default=0)
    digits = len(str(lines[-1].get("line", ""))) if lines else 0
    return [
        f"{colours.paint(head.ljust(width), colours.of(lane[name]))}  "
        f"{line.get('line', ''):>{digits}}| {render.clean(line.get('text', ''), keep=chr(9))}".rstrip()
        for head, name, line in zip(heads, whose, lines, strict=True)
    ]


def _head(line: Mapping[str, Any], name: str, turns: bool) -> tuple[str, ...]:
    turn = (render.short_id(line.get("turn") or ""),) if turns else ()
    token = render.one_line(line.get("version") or f"seq:{line.get('seq', '?')}")
    how = f" ({render.one_line(line['how'])})" if line.get("how") else ""
    if brought := line.get("brought"):
        how += f" (back by {render.one_line(brought.get('by', '?'))} in {render.one_line(brought.get('version', '?'))})"
    # A commit has its own date; the time is the journal's.
    return (token, f"{name}{how}", *turn, "" if line.get("commit") else render.moment(line.get("at", "")))


def _whose(line: Mapping[str, Any], person: bool) -> str:
    if line.get("commit"):
        there = " or ".join(
            f"{render.one_line(one['checkout'])} {render.writer({'uid': None, **one['writer']})} {one['version']}"
            for one in line.get("elsewhere") or ()
        )
        return render.commit(line["commit"]) + (f", {there}" if there else "")
    if line.get("commit_pending"):
        return "commit author pending"
    return "first seen" if line.get("evidence") == "captured" else render.author(line, person)


COMMAND = Command(
    arguments="PATH",
    about="Prints the file, or of PATH:NAME the function or class called so, with the version, writer, turn and time\n"
    "that each line comes from, following renames. A line that git, an undo, a redo or a restore brought back keeps\n"
    "its author; what brought it stands behind. A line that was there when the journal began, or that git brought, is\n"
    "told with its commit; where git has none, it is only `first seen`.",
    example="quire blame src/app.py --at before-refactoring --lines 10:40",
    run=run,
    options=(
        Option("at", "POINT", "as it was then"),
        Option("lines", "A:B", "only these lines, from 1", "L"),
        Option(ALL_CHECKOUTS.name, "", f"who wrote the lines that a commit brought, {ALL_CHECKOUTS.meaning}"),
        Option("writer", "WHO", "only the lines of WHO: an agent's name, ada/s1, user, me, w3, or outside"),
    ),
)
