"""`quire away`: prints all changes since the user last ran it, by writer. The time of that run is kept in the state
folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, columns
from quire_journal.model import MARK

USUAL: Final = "12h"
MOST: Final = 200
MOST_PAGES: Final = 40
LOOKED: Final = "looked"


def run(call: Invocation) -> int:
    call.at_most(0)
    since = call.options.get("since") or _looked(call)
    reply = _asked(call, since)
    if not reply.get("ok") and "since" not in call.options:  # the journal has been replaced
        reply = _asked(call, "")
    from quire_client.cli import signs_explained

    status = call.answer(reply, lambda reply: "\n".join(_lines(reply, call)))
    stories = reply.get("stories") or ()
    for sentence in signs_explained(stories, call.person_watches):
        call.say(sentence)
    if reply.get("next"):
        since = since or USUAL
        call.say(f"Only the newest {len(stories)} stories are told; `quire log --since {since}` has all of them.")
    if stories and _is_looked_at(call):
        with contextlib.suppress(OSError):
            (call.place.state / LOOKED).write_text(f"seq:{stories[0]['seq']}\n")
    return status


def _asked(call: Invocation, since: str) -> Mapping[str, Any]:
    from quire_client.commands import point_of

    asked = {"since": since or point_of(USUAL), "limit": MOST}
    reply = dict(call.ask("stories", asked))
    for _ in range(MOST_PAGES - 1):
        if not reply.get("next") or len(reply["stories"]) >= MOST:
            break
        more = call.ask("stories", {**asked, "limit": MOST - len(reply["stories"]), "cursor": reply["next"]})
        if not more.get("ok"):
            break
        reply |= {"stories": [*reply["stories"], *more["stories"]], "next": more.get("next")}
    return reply


def _looked(call: Invocation) -> str:
    try:
        said = (call.place.state / LOOKED).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return said if said.startswith("seq:") and said[4:].isdigit() else ""


def _is_looked_at(call: Invocation) -> bool:
    asked = {"since", "keep", "agent", "json"} & call.options.keys()
    return not asked and not call.environ.get("QUIRE_AGENT")


def _lines(reply: Mapping[str, Any], call: Invocation) -> Iterator[str]:
    from datetime import UTC, datetime

    from quire_client.cli import View, names_of, story_lines

    stories: Sequence[Mapping[str, Any]] = reply.get("stories") or ()
    if not stories:
        yield "Nothing happened since you looked last." if "since" not in call.options else "Nothing happened."
        return
    view = View(datetime.now(UTC), call.colours, call.person_watches, width=columns(), one_line=True, named=False)
    names = [_sure(name, story) for name, story in zip(names_of(stories, view), stories, strict=True)]
    for name in dict.fromkeys(names):
        own = [story for story, whose in zip(stories, names, strict=True) if whose == name]
        yield "  ".join(filter(None, (call.colours.paint(name, "bold"), _sum(own))))
        yield from (f"    {line}" for line in story_lines(own, view))
    yield from _shared(stories, names, call)


def _sure(name: str, story: Mapping[str, Any]) -> str:
    return name.removeprefix(MARK) if story.get("probable") else name


def _sum(stories: Sequence[Mapping[str, Any]]) -> str:
    from quire_client.cli import is_turn

    turns = sum(is_turn(story) for story in stories)
    listed = len({file["path"] for story in stories for file in story["files"]})
    # Two stories may have the same files, and a reply lists only some files of each: a sum would count files twice.
    cut = [story["files_count"] for story in stories if story.get("files_more")]
    files = max([listed, *cut])
    known = "about " if cut and len(stories) > 1 else ""
    refused = sum(story.get("refused_count", 0) for story in stories)
    said = [render.counted(turns, "turn")] if turns else []
    said += [known + render.counted(files, "file")] if files else []
    said += [f"{refused} refused"] if refused else []
    return ", ".join(said)


def _shared(stories: Sequence[Mapping[str, Any]], names: Sequence[str], call: Invocation) -> Iterator[str]:
    from quire_client.cli import author_of

    whose: dict[str, dict[str, str]] = {}  # path → author → its name; of a person and its saves that of the person
    for story, name in zip(stories, names, strict=True):
        if author := author_of(story, name):
            for file in story["files"]:
                known = whose.setdefault(file["path"], {})
                unsure = f"{MARK}{name}" if story.get("probable") else name
                known[author] = known.get(author, unsure) if story.get("unclaimed") or unsure != name else name
    several = ((path, list(dict.fromkeys(who.values()))) for path, who in whose.items())
    shared = [f"    {render.one_line(path)}: {', '.join(names)}" for path, names in several if len(names) > 1]
    if shared:
        yield call.colours.paint("changed by several", "bold")
        yield from shared


COMMAND = Command(
    arguments="",
    about="Tells what happened since you ran it last, by writer: turns, files, git, what was refused, and which files\n"
    "several changed. The first time it tells of the last twelve hours. What an agent asks is not your look.",
    example="quire away --since 2h",
    run=run,
    options=(
        Option("since", "POINT", "since then, and your last look stays where it was"),
        Option("keep", "", "your last look stays where it was"),
    ),
)
