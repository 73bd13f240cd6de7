"""`quire log`: prints the history as stories (a turn, git operation, series of saves, or burst), or as single
records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import (
    ALL_CHECKOUTS,
    NOT_FOUND,
    Command,
    Invocation,
    Option,
    Usage,
    asked,
    commit_named,
    end_of,
    git_commit,
    headed,
    is_of_nobody,
    is_point,
    nowhere,
    point_of,
    read_at_hub,
    stretch,
    versions_in,
    work_in,
)
from quire_client.commands.history.diff_text import patches
from quire_journal.model import DURING, MARK

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.hub import Card

LIMIT: Final = 50
MOST_A_PAGE: Final = 1000
MOST_STORIES_A_PAGE: Final = 200
STORIES: Final = 15
WIDE: Final = 160
"""Columns of a line about a story where it goes into a file or pipe."""

MOST_NAMED: Final = 4
"""Maximum number of files named in a line about another host."""

MOST_VERSIONS: Final = 2000
_CLOCK: Final = re.compile(r"\d?\d:\d\d(:\d\d(\.\d+)?)?Z?")
_TEXTS: Final = ("writer", "agent-session", "turn", "since", "until", "cursor")
_OF_RECORDS: Final = (
    *("records", "runs", "kind", "burst", "changed-text", "contains", "patch", "stat", "oldest", "graph"),
)
_OF_STORIES: Final = ("agents", "all", "oneline", "all-checkouts")
_NOT_OF_HOSTS: Final = (*_TEXTS, *_OF_RECORDS, *_OF_STORIES, "commit")


def run(call: Invocation) -> int:
    call.at_most(1)
    stretched = _stretch(call)
    if stretched:
        call = Invocation([], {**call.options, **stretched}, call.environ, call.opener, call.name)
    named = [*call.arguments, *(call.options[name] for name in ("path",) if name in call.options)]
    if len(named) > 1:
        raise Usage(f"PATH is named twice: {named[0]!r} and --path {named[1]!r}.")
    path = named[0] if named else ""
    arguments: dict[str, Any] = {"path": call.in_workspace(path)} if named else {}
    arguments |= call.stated(_TEXTS, ("limit",))
    arguments |= call.session_meant()
    if "runs" in call.options:
        if "kind" in call.options:
            raise Usage("--runs and --kind exclude each other: a run is a record of the kind 'command ran'.")
        arguments["kind"] = "command_ran"
    of_records = [name for name in _OF_RECORDS if name in call.options]
    if "host" in call.options:
        if more := [name for name in _NOT_OF_HOSTS if name in call.options]:
            raise Usage(f"--host is told by --path and --limit alone, not by --{more[0]}.")
        return _of_host(call, arguments)
    if "commit" in call.options:
        if of_records or "all-checkouts" in call.options:
            raise Usage(f"--commit and --{(of_records or ['all-checkouts'])[0]} exclude each other.")
        return _of_commit(call, arguments)
    if not of_records:
        return _stories(call, arguments, path)
    for name in _OF_STORIES:
        if name in call.options:
            raise Usage(f"--{name} is about stories, and --{of_records[0]} about records.")
    return _records(call, arguments, path)


def _stretch(call: Invocation) -> dict[str, str]:
    word = call.arguments[0] if call.arguments else ""
    if not word or os.path.lexists(call.folder / word):
        return {}
    if (named := {"since", "until"} & call.options.keys()) and _CLOCK.fullmatch(word):
        raise Usage(f"A time with a space in it wants quotes: --{max(named)} 'DAY {word}'.")
    start, dots, end = word.partition("..")
    if dots and start and "/" not in start and not end.startswith((".", "/")):
        if both := {"since", "until"} & call.options.keys():
            raise Usage(f"{word} and --{min(both)} both say from when on; give one of them.")
        if end and all(_is_commit(one, call) for one in (start, end)):
            raise Usage(
                f"{word} are commits of git: `quire log --commit {word}` tells how their lines were written, `quire "
                f"why {word}` who wrote them, `quire log --since {start} --until {end}` what happened meanwhile."
            )
        return {"since": point_of(start), **({"until": end_of(end)} if end else {})}
    if is_point(word) or _is_commit(word, call):
        raise Usage(f"`quire log` takes a PATH: --until {word} tells what was before, --since {word} what came after.")
    return {}


def _is_commit(word: str, call: Invocation) -> bool:
    return not is_point(word) and bool(commit_named(word, call.place.root, call.environ))


# ── stories ──────────────────────────────────────────────────────────────────


def _stories(call: Invocation, arguments: dict[str, Any], path: str) -> int:
    arguments |= call.stated(flags=("agents", "all"))
    if ALL_CHECKOUTS.name in call.options:
        return _of_all_checkouts(call, arguments)
    reply = _enough_stories(call, arguments)
    if path and not reply.get("stories") and reply.get("ok"):
        with call.connect() as client:
            reply = nowhere(call, client, path) or reply
    status = call.answer(reply, lambda reply: "\n".join(_story_table(reply, call)))
    if reply.get("capturing"):
        call.say(CAPTURING)
    if reply.get("next") and ("limit" in call.options or "cursor" in call.options):
        call.say(f"There is more: the same with --cursor {render.one_line(reply['next'])} goes on.")
    if reply.get("ok"):
        _tell_who_calls(call, reply["stories"])
        _tell_of_signs(call, reply["stories"])
        if not reply["stories"] and arguments.keys() == {"path"} and not reply.get("capturing"):
            call.say(IGNORED)
    return status


def _of_host(call: Invocation, arguments: Mapping[str, Any]) -> int:
    """Print the newest changes of the team's host `--host`, from the history that it has shipped; return the exit
    status. Raises Usage without a team, for an unknown host, or for a filter other than path and limit.
    """
    from quire_client.hub import at_hub, histories, joined, newest_work
    from quire_client.ship import FarSideUnreachable, HubAddress
    from quire_journal.model import JournalDamaged
    from quire_journal.shipment import BadSegment

    if more := sorted(set(arguments) - {"path", "limit"}):
        raise Usage(f"--host is told by --path and --limit alone, not by --{more[0].replace('_', '-')}.")
    address, host = joined(call.place.state), call.options["host"]
    if not address:
        raise Usage("This checkout has joined no team: quire hub join nats://HOST:PORT/TEAM does.")
    try:
        with at_hub(HubAddress.parse(address)) as (connection, far):
            found, known = histories(connection, far, lambda journal, card: host in _names(journal, card))
            if not found:
                told = render.one_line(", ".join(known) or "nobody", 400)
                raise Usage(f"--host {host}: the hub knows {told}; all means each of them.")
            work = newest_work(found, arguments.get("limit") or LIMIT, str(arguments.get("path", "")))
    except (FarSideUnreachable, BadSegment, JournalDamaged) as error:
        reply = {"ok": False, "error": "unreachable", "message": f"The hub could not be read: {error}."}
        return call.answer(reply, lambda reply: "")
    message = f"{render.counted(len(work), 'piece')} of work." if work else "Nothing of it is at the hub yet."
    return call.answer({"ok": True, "message": message, "work": work}, lambda reply: "\n".join(_host_table(reply)))


def _names(journal: str, card: Card | None) -> Sequence[str]:
    return ("all", journal, *((card.label, card.host) if card is not None else ()))


def _host_table(reply: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for one in reply["work"]:
        paths = [render.one_line(path) for path in one["paths"]]
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        versions = one["last"] if one["versions"] == 1 else f"{one['first']}..{one['last']}"
        when, who = render.moment(one["at"]), render.writer({"uid": None, **one["writer"]})
        rows.append((when, render.one_line(one["checkout"]), who, f"{', '.join(paths[:MOST_NAMED])}{more}", versions))
    yield from render.columns(rows) or [str(reply["message"])]


def _of_commit(call: Invocation, arguments: dict[str, Any]) -> int:
    name = call.options["commit"]
    commit = git_commit(name, call.place.root, call.environ)
    if commit is None:
        raise Usage(f"--commit: git knows no commit {name!r} here.")
    with call.connect() as client:
        work = work_in(commit, client)
    if not work["ok"]:
        return call.answer(work, str)
    newest = sorted(versions_in(work), reverse=True)
    if not newest:
        reply = {"ok": True, "message": "0 stories.", "stories": [], "next": None}
        call.say("The journal saw nobody write the lines of this commit: they are older, or came with git.")
        return call.answer(reply, lambda reply: "")
    return _stories(call, {**arguments, "versions": newest[:MOST_VERSIONS]}, "")


def _of_all_checkouts(call: Invocation, arguments: dict[str, Any]) -> int:
    if "cursor" in call.options:
        raise Usage("--cursor is a place in one journal; --until goes on with --all-checkouts.")
    wanted = min(arguments.get("limit", STORIES), MOST_STORIES_A_PAGE)
    reply = asked(call, "stories", {**arguments, "limit": wanted})
    listed = (
        [{**story, "checkout": one["checkout"]} for story in (one["reply"] or {}).get("stories", ())]
        for one in reply["checkouts"]
    )
    stories = [*merge(*listed, key=_ended, reverse=True)]  # each journal's own order stays
    work = _work_on_hosts(call, arguments, wanted)
    silent = [one for one in reply["checkouts"] if not (one["reply"] or {}).get("ok")]
    status = call.answer(
        {
            **reply,
            "stories": stories[:wanted],
            "checkouts": [_without_reply(one) for one in reply["checkouts"]],
            **({"work": work} if work else {}),
        },
        lambda reply: "\n".join([*_story_table(reply, call), *(_host_table(reply) if work else ())]),
    )
    for one in silent:
        said = (one["reply"] or {}).get("message")
        call.say(f"{headed(one)}: {render.said(said)}" if said else headed(one))
    _tell_of_signs(call, stories[:wanted])
    return status


def _work_on_hosts(call: Invocation, arguments: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
    """Return the newest work on other hosts of the team; for a filter other than path and limit [], after a message."""
    from quire_client.hub import joined, newest_work

    if joined(call.place.state) and arguments.keys() - {"path", "limit"}:
        call.say("Other hosts are told by PATH and -n alone, so they are left out.")
        return []
    path = str(arguments.get("path", ""))
    return read_at_hub(call, lambda histories: newest_work(histories, limit, path)) or []


def _ended(story: Mapping[str, Any]) -> str:
    """Return the time of a story's end without the "Z", so that times sort as text, with or without fractions of a
    second.
    """
    return str(story["ended_at"]).removesuffix("Z")


def _without_reply(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name != "reply"}


def _enough_stories(call: Invocation, arguments: dict[str, Any]) -> dict[str, Any]:
    wanted = arguments.get("limit", STORIES)
    stories: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        left = min(wanted - len(stories), MOST_STORIES_A_PAGE)
        asked = {**arguments, "limit": left, **cursor}
        page = call.ask("stories", asked)
        if page.get("suggested_action") == "name_a_point":  # git may resolve the point, which a client does
            with call.connect() as client:
                page = client.call("stories", asked)
        if not page.get("ok"):
            return dict(page)
        stories += page.get("stories", ())
        following = page.get("next")
        if not following or len(stories) >= wanted:
            many = render.counted(len(stories), "story", "stories")
            return {**page, "stories": stories, "message": f"{many}; `next` leads on." if following else f"{many}."}
        cursor = {"cursor": following}


def _story_table(reply: Mapping[str, Any], call: Invocation) -> Iterator[str]:
    if not reply["stories"]:
        yield "Nothing is recorded there."
        return
    from datetime import UTC, datetime

    from quire_client.cli import View, story_lines

    view = View(
        datetime.now(UTC),
        call.colours,
        call.person_watches,
        width=render.terminal_width() or WIDE,
        one_line="oneline" in call.options,
        everything="all" in call.options,
    )
    yield from story_lines(reply["stories"], view)


def _tell_of_signs(call: Invocation, stories: Sequence[Mapping[str, Any]]) -> None:
    from quire_client.cli import signs_explained

    for sentence in signs_explained(stories, call.person_watches):
        call.say(sentence)


# ── records ──────────────────────────────────────────────────────────────────


def _records(call: Invocation, arguments: dict[str, Any], path: str) -> int:
    arguments |= call.stated(("kind", "contains"), ("burst",), ("patch", "stat"))
    arguments |= call.stated({"changed-text": "text_changed"})
    if "oldest" in call.options:
        arguments["order"] = "oldest"
    if "graph" in call.options and "patch" in call.options:
        raise Usage("--graph and --patch exclude each other: a lane has no room for a patch.")
    with call.connect() as client:
        reply = _enough(client, arguments)
        if path and not reply.get("records") and reply.get("ok"):
            reply = nowhere(call, client, path) or reply
    status = call.answer(reply, lambda reply: "\n".join(_lines(reply, call)))
    if reply.get("capturing"):
        call.say(CAPTURING)
    if reply.get("next"):
        call.say(f"There is more: the same with --cursor {render.one_line(reply['next'])} goes on.")
    if reply.get("ok"):
        _tell_who_calls(call, reply.get("records") or ())
        _tell_of_left_out(call, reply)
        if not reply.get("records") and arguments.keys() == {"path"} and not reply.get("capturing"):
            call.say(IGNORED)
    return NOT_FOUND if is_of_nobody(reply) else status


CAPTURING: Final = "The first capture still goes on, so there may be more; `quire up` waits until it is over."

IGNORED: Final = "What is ignored (.gitignore, .quireignore, settings) is journaled once a tool has read or written it."


def _tell_who_calls(call: Invocation, listed: Sequence[Mapping[str, Any]]) -> None:
    agent = call.options.get("agent")
    if not agent or "session" in call.options or "writer" in call.options:
        return
    whose = [(one.get("writer") or {}).get("agent") for one in listed]
    if not whose or {*whose} != {agent}:
        name = render.one_line(agent)
        call.say(f"--agent only says who calls; --writer {name} lists what {name} did.")


def _tell_of_left_out(call: Invocation, reply: Mapping[str, Any]) -> None:
    name = render.one_line(call.options.get("writer", ""))
    if reply.get("left_out"):
        many = render.counted(reply["left_out"], "write")
        call.say(f"{many} more may be of {name} or of others; `quire log --writer outside` lists them with who may be.")
    if call.person_watches and any(record.get("unclaimed") for record in reply.get("records") or ()):
        call.say(render.ABOUT_YOU)
    if name and any(record.get("evidence") == DURING for record in reply.get("records") or ()):
        call.say(f"{MARK} is probable: it was written while a command of {name} ran that accounts for it.")


def _enough(client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
    wanted = arguments.get("limit", LIMIT)
    first = {**arguments, "limit": min(arguments["limit"], MOST_A_PAGE)} if "limit" in arguments else arguments
    reply = page = client.call("log", first)
    records = [*reply.get("records", ())]
    while page.get("ok") and page.get("next") and len(records) < wanted:
        asked = {**arguments, "cursor": page["next"], "limit": min(wanted - len(records), MOST_A_PAGE)}
        page = client.call("log", asked)
        records += page.get("records", ())
    if page is reply or not page.get("ok"):
        return page
    many = render.counted(len(records), "record")
    return {**page, "records": records, "message": f"{many}; `next` leads on." if page.get("next") else f"{many}."}


def _lines(reply: Mapping[str, Any], call: Invocation) -> Iterator[str]:
    records = reply.get("records") or ()
    if not records:
        yield "Nothing is recorded there."
        return
    person = call.person_watches
    rows = [(*row(record, person), _stat(record)) for record in records]
    if not any(stat for *_, stat in rows):
        rows = [cells[:-1] for cells in rows]
    lanes = 2 * len({who for _, _, who, *_ in rows}) + 1 if "graph" in call.options else 0
    width = render.terminal_width()
    table = render.columns(rows, width and width - lanes)
    if "graph" in call.options:
        yield from render.lanes([render.author(record, person) for record in records], table, call.colours)
        return
    for record, line in zip(records, table, strict=True):
        yield line
        if "diff" in record:
            yield from patches({"files": [record["diff"]]}, call.colours)
            yield ""


def _stat(record: Mapping[str, Any]) -> str:
    stat, told = record.get("stat"), []
    if isinstance(stat, Mapping) and not str(record.get("kind")).endswith("mode_changed"):
        told.append("binary" if stat.get("binary") else f"+{stat.get('added', '?')} -{stat.get('removed', '?')}")
    if record.get("occurrences"):
        told.append(" -> ".join(map(str, record["occurrences"])))
    return "  ".join(told)


def row(record: Mapping[str, Any], person: bool = False) -> tuple[str, ...]:
    path = render.one_line(record.get("path") or record.get("name") or record.get("label") or "")
    if record.get("entry") == "folder":
        path += "/"
    if record.get("to"):
        path = f"{path} -> {render.one_line(record['to'])}"
    if record.get("kind") == "turn_began":
        path = render.one_line(record.get("prompt") or "", 120)
    if record.get("broken"):
        path = render.one_line(record["broken"], 200)
    if record.get("command") and record.get("kind") == "git_ran":
        path = f"git {render.one_line(record['command'])}" if record.get("evidence") == "trace2" else record["command"]
        path = render.commits(render.one_line(path))
    if record.get("kind") == "command_ran":
        path = _ran(record)
    if record.get("how"):
        path = f"{path}  ({undoing(record)})".lstrip()
    if said := _beside(record):
        path = f"{path}  [{said}]"
    token = render.one_line(record.get("version") or f"seq:{record.get('seq', '?')}")
    kind = _kind(record)
    if record.get("kind") == "capture_failed":
        path = f"{path}  ({render.one_line(record.get('why') or 'it failed').replace('_', ' ')})"
    if record.get("abandoned"):
        kind += " (abandoned)"
    return (render.moment(record.get("at", "")), token, render.author(record, person), kind, path)


def _kind(record: Mapping[str, Any]) -> str:
    """Return a record's kind in words: for an outside write whose writer is known `written (exact)`, with its evidence;
    for a file that the first capture found `first seen`.
    """
    kind, writer = render.one_line(record.get("kind", "")).replace("_", " "), record.get("writer") or {}
    if kind == "outside written" and record.get("evidence") == "captured":
        return "first seen"  # older than the journal: time and writer are unknown
    if kind == "capture failed":
        return "not captured"
    if kind.startswith("outside ") and (writer.get("agent") or writer.get("uid") is not None):
        return f"{kind.removeprefix('outside ')} ({render.one_line(record.get('evidence') or 'known')})"
    return kind


def _ran(record: Mapping[str, Any]) -> str:
    said = [f"$ {render.one_line(record.get('command') or '', 120)}", f"exit {record.get('status', '?')}"]
    if record.get("ran_at"):
        said.append(f"in the tree of {render.one_line(record['ran_at'])}")
    if record.get("by_others"):
        said.append(f"others changed {render.counted(record['by_others'], 'file')} meanwhile")
    return "  ".join(said)


def _beside(record: Mapping[str, Any]) -> str:
    call = record.get("call")
    if isinstance(call, Mapping):
        return render.one_line(call.get("command") or call.get("label") or "", 80)
    names = [render.one_line(f"{c.get('writer')} {c.get('label')}", 60) for c in record.get("candidates") or ()]
    if names:
        return f"may be {' or '.join(names)}"
    return render.hint(record["hint"]) if record.get("hint") else ""


def undoing(record: Mapping[str, Any]) -> str:
    """Return the description of an undo: `undo of 12`, `rollback of 12 and 3 more`, `restore`."""
    how, undone = render.one_line(record["how"]), [*(record.get("undone") or ())]
    if not undone:
        return how
    more = len(undone) - 1 + int(record.get("undone_more") or 0)
    return f"{how} of {render.one_line(undone[0])}" + (f" and {more} more" if more else "")


COMMAND = Command(
    arguments="[PATH]",
    about="Lists what happened, of everything or of PATH: a file, also under its earlier names, a folder, or a quoted\n"
    "glob. A turn of an agent is one story, with its prompt, files, lines and definitions; a git operation, what was\n"
    "saved within a short time and a burst of many files are one line each. A time or version that is shown can be\n"
    "typed as a POINT. (began earlier) stands at a story of which only the newer part was read.\n"
    "--records lists each record in place of that, and so does every option that is about records.",
    example="quire log src --agents --since 2d --limit 20",
    run=run,
    options=(
        Option("writer", "WHO", "an agent's name, ada/s1, user, me, w3, or outside"),
        Option("agent-session", "ID", "what this agent session did; so does --session without --agent"),
        Option("turn", "ID", "what was done in this turn"),
        Option("agents", "", "only what agents did"),
        *stretch("what was done after it", "what was done up to it"),
        Option("path", "PATH", "the same as the argument"),
        Option("limit", "N", "at most so many, as -5; 15 stories or 50 records if not said", "n"),
        Option("oneline", "", "a line for each story"),
        Option("all", "", "open each story: every call, and more files"),
        ALL_CHECKOUTS,
        Option("host", "HOST", "what another host of the team shipped (`quire hub`); all: each of them"),
        Option("cursor", "C", "go on where an earlier page ended"),
        Option("records", "", "each record"),
        Option("runs", "", "what `quire run` ran, and how it ended"),
        Option("kind", "KIND", "only records of this kind, such as 'file written'"),
        Option("commit", "COMMIT", "stories in which the lines of a commit of git were written; A..B are several"),
        Option("burst", "N", "the records that belong to this burst"),
        Option("changed-text", "TEXT", "changes after which TEXT occurs more or less often than before", "S"),
        Option("contains", "TEXT", "versions whose bytes contain TEXT"),
        Option("patch", "", "records with the difference to the version before", "p"),
        Option("stat", "", "records with how many lines came and went"),
        Option("oldest", "", "records, oldest first"),
        Option("graph", "", "records, with a lane for each writer"),
    ),
)
