"""`quire why`: prints the writer of a file, a line, or the lines of a commit, and the operation."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import (
    Command,
    GitCommit,
    Invocation,
    Option,
    Usage,
    git_commit,
    is_number,
    versions_in,
    work_in,
)
from quire_client.commands.history.diff_text import patches
from quire_client.commands.history.log import undoing
from quire_journal.model import journal_path, shown_path

MOST_FILES: Final = 40


def run(call: Invocation) -> int:
    if "git" in call.options:
        return _of_git(call)
    word = call.one_argument("PATH")
    if not os.path.lexists(call.folder / word) and (commit := git_commit(word, call.place.root, call.environ)):
        return _of_commit(call, commit)
    named, point = call.path_then(word) if "@" in word else (word, call.options.get("at", ""))
    path, line = _path_and_line(call, named)
    arguments: dict[str, Any] = {"path": call.in_workspace(path or "."), **({"at": point} if point else {})}
    if line is not None:
        arguments["line"] = line
    with call.connect() as client:
        reply = client.call("why", arguments)
    return call.answer(reply, lambda reply: "\n".join(_told(reply, call.colours, call.person_watches)))


MOST_COMMANDS: Final = 10
_LOOKED_AT: Final = 1000


def _of_git(call: Invocation) -> int:
    call.at_most(1)
    word = call.arguments[0] if call.arguments else ""
    with call.connect() as client:
        reply = client.call("log", {"kind": ["git_ran"], "limit": _LOOKED_AT})
    if not reply.get("ok"):
        return call.answer(reply, str)
    found = [one for one in reply["records"] if word in one.get("command", "")][:MOST_COMMANDS]
    none = (
        f"No command of git with {word!r} in it is known." if word else "No command of git is known that changed files."
    )
    none += " `quire setup git` has every git of yours tell what it does."
    said = f"{render.counted(len(found), 'command')} of git." if found else none
    status = call.answer(
        {"ok": True, "message": said, "commands": found},
        lambda reply: "\n".join(render.columns(map(_git_row, reply["commands"]))) or said,
    )
    if any(one.get("evidence") == "head" for one in found):
        call.say(
            "Of a command marked with ? only its move of HEAD was seen: in a shell with `quire env` git tells more."
        )
    return status


def _git_row(record: Mapping[str, Any]) -> tuple[str, ...]:
    seen = record.get("evidence") != "head"
    command = f"{'' if seen else '? '}{render.git_command(record['command'])}"
    chain = " < ".join(render.one_line(name, 40) for name in record.get("parents") or ())
    before, after = record.get("head_before") or "", record.get("head_after") or ""
    moved = f"HEAD {before} -> {after}" if after and before != after and not after.endswith(f" {before}") else ""
    failed = f"failed ({record['exit_code']})" if record.get("exit_code") else ""
    who = render.author(record) if seen else ""
    return render.moment(record["at"]), who, render.one_line(command, 100), chain, render.commits(moved), failed


def _of_commit(call: Invocation, commit: GitCommit) -> int:
    with call.connect() as client:
        reply = work_in(commit, client)
    told = {name: value for name, value in commit._asdict().items() if name not in ("paths", "moved_from")}
    given = call.arguments[0]
    span = f"{given}, the changes up to " if ".." in given else ""
    return call.answer({**reply, "commit": told}, lambda reply: "\n".join(_told_of_commit(reply, commit, span)))


def _told_of_commit(reply: Mapping[str, Any], commit: GitCommit, span: str = "") -> Iterator[str]:
    told = f"{render.one_line(span)} " if span else ""
    yield f"{told}commit {commit.id[:12]} {render.one_line(commit.subject, 120)}"
    yield f"{render.one_line(commit.author, 80)}, {render.moment(commit.at)}"
    yield ""
    known = {shown_path(file): file for file in reply["files"]}
    some = commit.paths[:MOST_FILES]
    yield from render.columns(
        _row(path, commit.moved_from.get(path, ""), known.get(journal_path(path))) for path in some
    )
    if len(commit.paths) > MOST_FILES:
        yield f"  and {render.counted(len(commit.paths) - MOST_FILES, 'more file')}"
    turns = Counter[tuple[str, str]]()
    for file in reply["files"]:
        for run in file.get("runs") or ():
            turns[_wrote(run), run["writer"]["turn"]] += run["end"] - run["start"] + 1
    if turns:
        yield ""
        rows = ((f"  {who}", turn and f"turn {turn}", render.counted(n, "line")) for (who, turn), n in turns.items())
        yield from render.columns(rows)
    if versions_in(reply):
        yield f"`quire log --commit {commit.id[:12]}` tells what was asked for and done."


def _row(path: str, old: str, file: Mapping[str, Any] | None) -> tuple[str, str]:
    name = f"  {render.one_line(old)} → {render.one_line(path)}" if old else f"  {render.one_line(path)}"
    if file is None:
        return name, "only renamed" if old else "the journal saw nobody write these lines"
    lines = Counter[str]()
    for run in file.get("runs") or ():
        lines[_wrote(run)] += run["end"] - run["start"] + 1
    shares = [f"{who} {render.counted(n, 'line')}" for who, n in lines.items()] or [*map(_share, file["writers"])]
    if shares and file["status"] == "removed":
        shares[0] = f"deleted by {shares[0]}"
    unknown = "the journal never saw it" if file["status"] == "unknown" else "older than the journal, or of git"
    return name, ", ".join(shares) or ("only renamed" if old else unknown)


def _wrote(run: Mapping[str, Any]) -> str:
    return render.commit(run["commit"]) if run.get("commit") else render.author(run)


def _share(one: Mapping[str, Any]) -> str:
    """Return a writer's share of a file as text, without a line count if it is unknown."""
    who = render.author(one)
    if one["lines"] == 0:
        return f"renamed by {who}"
    return who if one["lines"] is None else f"{who} {render.counted(one['lines'], 'line')}"


def _path_and_line(call: Invocation, given: str) -> tuple[str, int | None]:
    """Return (path, line or None) of the argument. Raises Usage for several lines, a version or a definition, and names
    the command that takes them.
    """
    if given[:1] == "v" and is_number(given[1:]) and not os.path.lexists(call.folder / given):
        raise Usage(f"`quire why` takes a file, a line or a commit of git; `quire show {given}` tells of a version.")
    file, colon, name = given.rpartition(":")
    if colon and name.isidentifier() and os.path.lexists(call.folder / file):
        raise Usage(f"`quire why` is about one line, as {file}:12; `quire blame {given}` has all of {name}.")
    path, lines = call.path_lines(given)
    if lines and not is_number(lines):
        raise Usage(
            f"`quire why` is about one line, as {path}:{lines.partition(':')[0]}; `quire blame {given}` has all."
        )
    path, colon, digits = given.rpartition(":")
    if not colon or not path or not is_number(digits) or os.path.lexists(call.folder / given):
        return given, None
    return path, int(digits)


def _told(reply: Mapping[str, Any], colours: render.Palette, person: bool) -> Iterator[str]:
    record = reply.get("record") or {}
    writer = record.get("writer") or {}
    yield render.one_line(render.said(reply.get("message", "")), 4096)
    if "text" in reply:
        yield f"{reply.get('line', ''):>6}| {render.clean(reply['text'], keep=chr(9))}"
    yield ""
    session = writer.get("agent_session") or ""
    rows = [
        ("version", f"{reply.get('version', '')}, batch {record.get('batch', '')}"),
        ("commit", _commit(reply.get("commit"))),
        ("writer", render.author(record, person)),
        ("session", session if session != render.short_id(session) else ""),
        ("turn", writer.get("turn")),
        ("tool call", writer.get("tool_call")),
        ("model", writer.get("model")),
        ("operation", _operation(reply)),
        ("evidence", record.get("evidence")),
        ("hint", render.hint(record.get("hint") or "")),
        ("brought by", _brought(reply.get("brought"))),
        ("made from", record.get("base")),
        ("replaced", _versions((reply.get("replaced") or {}).get("by"))),
        ("before it", _versions([reply["previous"]] if reply.get("previous") else None)),
        ("after it", _versions([reply["next"]] if reply.get("next") else None)),
        ("beside it", _beside(reply)),
        ("undone by", f"batch {reply['undone_by']}" if reply.get("undone_by") else ""),
    ]
    yield from render.columns((f"  {name}", render.one_line(value, 400)) for name, value in rows if value)
    if reply.get("diff"):
        yield ""
        yield from patches({"files": [reply["diff"]]}, colours)
        if reply["diff"].get("partial"):
            from shlex import quote

            now, path = render.one_line(reply.get("version", "")), render.one_line(reply.get("path", ""))
            yield f"Only what is around the line; `quire log {quote(path)} --until {now} --limit 1 --patch` has all."
    elif record.get("evidence") == "captured":
        yield ""
        yield f"`quire show {render.one_line(reply.get('version', ''))}` prints the file as it was found."


def _operation(reply: Mapping[str, Any]) -> str:
    record = reply.get("record") or {}
    if record.get("evidence") == "captured":
        return "first seen"
    return undoing(record) if record.get("how") else str(reply.get("operation", "")).replace("_", " ")


def _commit(found: object) -> str:
    if not isinstance(found, Mapping):
        return ""
    return f"{found.get('id')} by {found.get('author')}, {found.get('at')}"


def _brought(found: object) -> str:
    if not isinstance(found, Mapping):
        return ""
    return f"{found.get('by')} in {found.get('version')}, {render.moment(found.get('at'))}"


def _versions(found: object) -> str:
    if not isinstance(found, list):
        return ""
    return ", ".join(f"{v.get('version')} ({render.author(v)}, {render.moment(v.get('at'))})" for v in found)


def _beside(reply: Mapping[str, Any]) -> str:
    paths = [str(file.get("path", "?")) for file in reply.get("batch_files") or ()]
    more = reply.get("batch_files_more", 0) + max(len(paths) - 8, 0)
    return ", ".join(paths[:8]) + (f" and {more} more" if more else "")


COMMAND = Command(
    arguments="PATH[:LINE]|COMMIT|--git [WORD]",
    about="Tells who made a file, or one line of it, what it is: when, in which turn and tool call, by which\n"
    "operation, from which base, in place of what, and what else the same call changed. Of a file that is\n"
    "gone, who removed it. Of a commit of git, who wrote its lines, also after a rebase or squash; A..B are several.",
    example="quire why src/app.py:42",
    run=run,
    options=(
        Option("at", "POINT", "as it was then"),
        Option("git", "", "the newest commands of git that changed something: who ran them, and from which programs"),
    ),
)
