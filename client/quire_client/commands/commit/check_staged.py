"""`quire check-staged`: fails if git's index holds lines of other writers; for a pre-commit hook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import render
from quire_client.commands import COMMIT, Command, Invocation, Option, Usage, commit_named, staged
from quire_client.commands.history import whole
from quire_journal.model import shown_path

if TYPE_CHECKING:
    from quire_client.api import Client

FOUND: Final = 1
MOST_SHOWN: Final = 5

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class HunkLines(NamedTuple):
    """A hunk without context: the range of lines that it removes, and the lines that it adds."""

    start: int  # of the commit, from 1; where nothing is removed, the line before
    removed: int
    added: tuple[str, ...]

    @property
    def numbers(self) -> set[int]:
        return {*range(self.start, self.start + self.removed)}

    def touches(self, other: HunkLines) -> bool:
        return self.start <= other.start + other.removed and other.start <= self.start + self.removed


def run(call: Invocation) -> int:
    call.at_most(0)
    head = commit_named("HEAD", call.place.root, call.environ)
    if not head:
        raise Usage("There is no commit yet, which the index could be compared with.")
    index = parsed(staged(call.place.root, call.environ))
    if not index:
        call.say("Nothing is staged.")
        return 0
    writer = call.options.get("writer") or call.options.get("agent") or call.environ.get("QUIRE_AGENT") or "me"
    asked = {"from": COMMIT + head, "writer": writer, "alone": "apart", "context": 0}
    with call.connect() as client:
        reply = client.call("diff", asked)
        if not reply.get("ok"):
            return call.answer(reply, str)
        own = {shown_path(file): file for file in whole(client, reply, asked).get("files") or ()}
        lines = [*_told(client, index, own)]
    if call.json:
        call.put(render.as_json({"ok": not lines, "writer": writer, "files": lines}) + "\n")
    else:
        for line in lines:
            names = f" ({', '.join(line['writers'])})" if line["writers"] else ""
            print(f"{render.one_line(line['path'])}: {render.counted(line['lines'], 'staged line')} of others{names}")
            for text in line["shown"]:
                print(f"    {render.one_line(text)}")
    if lines:
        call.say(
            f"`git restore --staged PATH`, then `quire patch --writer {writer} | git apply --cached` stages the rest."
        )
    return FOUND if lines else 0


def _told(client: Client, index: Mapping[str, Sequence[HunkLines]], own: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, hunks in index.items():
        known = [_of_json(hunk) for hunk in (own.get(path) or {}).get("hunks") or ()]
        removed, added = foreign(hunks, known)
        if not (removed or added):
            continue
        told = client.call("blame", {"path": path})
        if not told.get("ok") and told.get("error") == "not_found":
            continue  # ignored, or a secret: the journal knows nobody who wrote it
        writers = _writers(told.get("lines") or (), {*added})
        shown = [f"+{text}" for text in added][:MOST_SHOWN]
        yield {"path": path, "lines": len(added) + removed, "writers": writers, "shown": shown}


def foreign(hunks: Iterable[HunkLines], own: Sequence[HunkLines]) -> tuple[int, list[str]]:
    """Return (number of removed lines, added lines) of the hunks that are not in the writer's own hunks."""
    removed, added = 0, list[str]()
    mine = {number for hunk in own for number in hunk.numbers}
    left = [Counter(hunk.added) for hunk in own]
    for hunk in hunks:
        removed += len(hunk.numbers - mine)
        near = [count for count, other in zip(left, own, strict=True) if hunk.touches(other)]
        for text in hunk.added:
            fitting = next((count for count in near if count[text]), None)
            if fitting is None:
                added.append(text)
            else:
                fitting[text] -= 1
    return removed, added


def parsed(patch: str) -> dict[str, list[HunkLines]]:
    """Return the hunks of a patch without context lines, by path."""
    found: dict[str, list[HunkLines]] = {}
    old = path = ""
    for line in patch.split("\n"):
        if line.startswith("--- "):
            old = line[6:]
        elif line.startswith("+++ "):
            path = old if line == "+++ /dev/null" else line[6:]
            found[path] = []
        elif path and (place := _HUNK.match(line)):
            found[path].append(HunkLines(int(place[1]), int(place[2] or 1), ()))
        elif path and found[path] and line.startswith("+"):
            last = found[path][-1]
            found[path][-1] = last._replace(added=(*last.added, line[1:].removesuffix("\r")))
    return found


def _of_json(hunk: Mapping[str, Any]) -> HunkLines:
    added = tuple(row[1:] for row in hunk["lines"] if row.startswith("+"))
    return HunkLines(hunk["old_start"], hunk["old_lines"], added)


def _writers(lines: Iterable[Mapping[str, Any]], texts: set[str]) -> list[str]:
    return sorted({render.writer(line.get("writer")) for line in lines if line.get("text") in texts})


COMMAND = Command(
    arguments="",
    about="Compares git's index with HEAD, and with the changes of one writer alone: the caller's, or --writer WHO's.\n"
    "Where lines of others are staged, it names them, and the exit status is 1: a line in a pre-commit hook of yours.\n"
    "It looks at the files as they are now; a line of yours that you have changed again since is not found.",
    example="quire check-staged --writer claude-code",
    run=run,
    options=(Option("writer", "WHO", "whose lines may be staged: an agent's name, user, me, w3 or outside"),),
)
