"""`quire check-staged`: fails if git's index holds lines of other writers; for a pre-commit hook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import render
from quire_client.commands import (
    COMMIT,
    RENAMED,
    Command,
    Invocation,
    Option,
    Usage,
    commit_named,
    in_commit,
    staged,
    under_way,
)
from quire_client.commands.history import whole
from quire_journal.model import DURING, is_escaped, journal_path, percent_escaped, shown_path

if TYPE_CHECKING:
    from quire_client.api import Client

FOUND: Final = 1
UNKNOWN: Final = "unknown"
MOST_FILES: Final = 200
MOST_SHOWN: Final = 5
WIDEST: Final = 200

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_FILE: Final = "diff --git "
_SUBMODULE: Final = "160000"
_UNMERGED: Final = "U"
_TYPE_CHANGED: Final = "T"
"""Status of a file that becomes a link, or the reverse; the patch has two parts for it."""


class HunkLines(NamedTuple):
    """A hunk without context: the range of lines that it removes, and the lines that it adds."""

    start: int  # of the commit, from 1; where nothing is removed, the line before
    removed: int
    added: tuple[str, ...]
    gone: tuple[str, ...] = ()  # the removed lines, of a hunk of git's index

    @property
    def numbers(self) -> range:
        return range(self.start, self.start + self.removed)

    def with_row(self, sign: str, text: str) -> HunkLines:
        if sign == "+":
            return self._replace(added=(*self.added, text))
        return self._replace(gone=(*self.gone, text))

    def touches(self, other: HunkLines) -> bool:
        return self.start <= other.start + other.removed and other.start <= self.start + self.removed


class StagedFile(NamedTuple):
    """A file whose staged state differs from the commit; without hunks if it has no lines, or only its mode differs."""

    path: str  # in the journal's form
    hunks: tuple[HunkLines, ...] = ()
    moved_from: str = ""  # path in the commit of a renamed file
    unmerged: bool = False  # a conflict of it is not resolved yet

    @property
    def added(self) -> set[str]:
        return {text for hunk in self.hunks for text in hunk.added}


def run(call: Invocation) -> int:
    call.at_most(0)
    head = commit_named("HEAD", call.place.root, call.environ)
    if not head:
        raise Usage("There is no commit yet, which the index could be compared with.")
    index = parsed(staged(call.place.root, call.environ))
    if not index:
        call.say("Nothing is staged.")
        return 0
    merged = under_way(call.place.root, call.environ)
    writer = call.options.get("writer") or call.options.get("agent") or call.environ.get("QUIRE_AGENT") or "me"
    asked = {"from": COMMIT + head, "writer": writer, "alone": "apart", "context": 0}
    asked |= call.stated((), (), ("probable",))
    doubtful: list[dict[str, Any]] = []
    with call.connect() as client:
        if merged:
            brought = parsed(staged(call.place.root, call.environ, merged))
            found = [*_told_of_merge(client, index, brought, writer, "probable" in asked)]
            return _answer(call, writer, found, [])
        reply = client.call("diff", asked)
        if reply.get("error") == "not_found":  # a writer without a record, as an agent that has only read
            call.say(render.said(reply["message"]))
        elif not reply.get("ok"):
            return call.answer(reply, str)
        own = _by_path(whole(client, reply, asked))
        known = known_files(client, [file.path for file in index], head)

        def before(path: str) -> str:
            return in_commit(head, path, call.place.root, call.environ)

        found = [*_told(client, asked, index, own, known, before)]
        if reply.get("left_out"):
            asked["probable"] = True
            own |= _by_path(whole(client, client.call("diff", asked), asked))
            others = [*_told(client, asked, index, own, known, before)]
            doubtful, found = [*_without(found, others)], others
    status = _answer(call, writer, found, doubtful)
    if status:
        probable = " --probable" if "probable" in call.options else ""
        call.say(
            f"`git restore --staged PATH`, then `quire patch --writer {writer}{probable} | git apply --cached` stages "
            "the rest."
        )
    return status


def _answer(call: Invocation, writer: str, found: Sequence[dict[str, Any]], doubtful: Sequence[dict[str, Any]]) -> int:
    """Print the staged changes of others and those that are only probably the writer's; return the exit status."""
    lines = [{**one, "shown": one["shown"][:MOST_SHOWN]} for one in (*found, *doubtful)]
    if call.json:
        call.put(render.as_json({"ok": not lines, "writer": writer, "files": lines}) + "\n")
    else:
        for line in lines:
            names = f" ({', '.join(line['writers'])})" if line["writers"] else ""
            what = render.counted(line["lines"], "staged line") if line["lines"] else "a staged change"
            whose = f"only probably (~) of {writer}" if line.get("probable") else f"of others{names}"
            print(f"{render.one_line(line['path'])}: {what} {whose}")
            for text in line["shown"]:
                print(f"    {_as_it_is(text)}")
            if more := line["lines"] - len(line["shown"]):
                print(f"    and {more} more")
    if doubtful:
        call.say("What is only probable is let through with --probable.")
    return FOUND if lines else 0


def _by_path(reply: Mapping[str, Any]) -> dict[str, Any]:
    return {shown_path(file): file for file in reply.get("files") or ()}


def _without(found: Iterable[dict[str, Any]], others: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the entries of `found`, marked as probable, with only those lines that `others` does not list for the same
    file.
    """
    theirs = {one["path"]: one for one in others}
    for one in found:
        left = Counter(one["shown"]) - Counter(theirs.get(one["path"], {}).get("shown", ()))
        if left or one["path"] not in theirs:
            yield {**one, "lines": left.total(), "shown": [*left.elements()], "probable": True}


def known_files(client: Client, paths: Sequence[str], head: str) -> dict[str, Any]:
    """Return path → entry of `contributions`, for files that the journal knows and that differ from commit `head`."""
    known: dict[str, Any] = {}
    for first in range(0, len(paths), MOST_FILES):
        some = [*paths[first : first + MOST_FILES]]
        reply = client.call("contributions", {"from": COMMIT + head, "paths": some, "lines": True})
        known |= {shown_path(file): file for file in reply.get("files") or () if file["status"] != UNKNOWN}
    return known


def new_lines(lines: Iterable[Mapping[str, Any]], file: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of a blame that the commit lacks; all lines if `file` does not tell which are new."""
    runs = file.get("runs")
    new = {number for run in runs or () for number in range(run["start"], run["end"] + 1)}
    return (line for line in lines if not runs or line["line"] in new)


def _own_hunks(mine: Mapping[str, Any], moved_from: str, before: Callable[[str], str]) -> list[HunkLines]:
    """Return the writer's hunks of a file. A file that the writer moved, and that git takes for a new file, has a
    single hunk: its old lines and the added ones. `before` returns the old text of a path.
    """
    hunks = [_of_json(hunk) for hunk in mine.get("hunks") or ()]
    if mine.get("moved_from", moved_from) == moved_from:
        return hunks
    added = [*before(mine["moved_from"]).split("\n"), *(text for hunk in hunks for text in hunk.added)]
    return [HunkLines(0, 0, tuple(added))]


def _told(
    client: Client,
    asked: Mapping[str, Any],
    index: Sequence[StagedFile],
    own: Mapping[str, Any],
    known: Mapping[str, Any],
    before: Callable[[str], str],
) -> Iterator[dict[str, Any]]:
    """Yield an entry for each staged file with changes of other writers than the one `asked` for. `before` returns the
    text of a file in the commit.
    """
    moved = {str(file["moved_from"]) for file in own.values() if file.get("moved_from")}
    for path, hunks, moved_from, _ in index:
        mine = own.get(path) or own.get(moved_from) or {}
        parts = [*foreign(hunks, _own_hunks(mine, moved_from, before))]
        typed = _typed_by(client, path, asked["writer"], bool(asked.get("probable"))) if parts else []
        removed, added = _without_typed(parts, Counter(line["text"] for line in typed))
        if path in moved and path not in own:
            continue
        if not (removed or added) and (hunks or (mine and not mine.get("inseparable"))):
            continue
        told = client.call("blame", {"path": path}) if added else {}
        if path not in known and (not added or told.get("error") == "not_found"):
            continue  # ignored, or a secret: the journal knows nobody who wrote it
        theirs = (line for line in told.get("lines") or () if line not in typed)
        writers = _writers(new_lines(theirs, known.get(path, {})), {*added})
        others = known.get(path, {}).get("writers") or ()
        renamed = moved_from and not hunks  # its lines are not staged
        others = [one for one in others if one["lines"] == 0] if renamed else others
        writers = writers or [render.writer(one["writer"]) for one in others]
        if moved_from and not (hunks or writers):
            continue  # a rename is the work of nobody but of who renamed by a tool
        shown = [*(f"-{text}" for text in removed), *(f"+{text}" for text in added)]
        path = percent_escaped(path) if is_escaped(path) else path
        yield {"path": path, "lines": len(added) + len(removed), "writers": writers, "shown": shown}


def _told_of_merge(
    client: Client, index: Sequence[StagedFile], brought: Sequence[StagedFile], writer: str, probable: bool
) -> Iterator[dict[str, Any]]:
    """Yield an entry for each file with lines of other writers that neither HEAD nor the other commit of a merge has.
    `brought`: the files that differ between that commit and the index. What a merge removes is nobody's.
    """
    others = {file.path: Counter(text for hunk in file.hunks for text in hunk.added) for file in brought}
    for file in index:
        path = file.path
        new = Counter(text for hunk in file.hunks for text in hunk.added) & others.get(path, Counter())
        if file.unmerged:
            yield {"path": path, "lines": 0, "writers": [], "shown": []}
        if not new:
            continue
        typed = _typed_by(client, path, writer, probable)
        new -= Counter(line["text"] for line in typed)
        if not new:
            continue
        lines = client.call("blame", {"path": path}).get("lines") or ()
        writers = _writers((line for line in lines if line not in typed), {*new})
        shown = [f"+{text}" for text in new.elements()]
        path = percent_escaped(path) if is_escaped(path) else path
        yield {"path": path, "lines": len(shown), "writers": writers, "shown": shown}


def foreign(hunks: Iterable[HunkLines], own: Sequence[HunkLines]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (removed lines, added lines) of each hunk that are not in the writer's own hunks."""
    mine = {number for hunk in own for number in hunk.numbers}
    left = [Counter(hunk.added) for hunk in own]
    for hunk in hunks:
        removed = [text for number, text in zip(hunk.numbers, hunk.gone, strict=False) if number not in mine]
        near = [count for count, other in zip(left, own, strict=True) if hunk.touches(other)]
        added = list[str]()
        for text in hunk.added:
            fitting = next((count for count in near if count[text]), None)
            if fitting is None:
                added.append(text)
            else:
                fitting[text] -= 1
        if removed or added:
            yield removed, added


def _without_typed(parts: Iterable[tuple[list[str], list[str]]], own: Counter[str]) -> tuple[list[str], list[str]]:
    """Return (removed lines, added lines) of the parts without the lines `own`, which the writer typed, and without
    what lines of the writer alone replace: they may rest on changes of others.
    """
    removed, added = list[str](), list[str]()
    for gone, came in parts:
        left = []
        for text in came:
            if own[text] > 0:
                own[text] -= 1
            else:
                left.append(text)
        if left or not came:
            removed += gone
            added += left
    return removed, added


def _typed_by(client: Client, path: str, writer: str, probable: bool) -> list[Mapping[str, Any]]:
    """Return the lines of the file now that the writer typed; also those that are only probable, if `probable`."""
    lines = client.call("blame", {"path": path, "writer": writer}).get("lines") or ()
    return [line for line in lines if probable or line.get("evidence") != DURING]


def parsed(said: str) -> list[StagedFile]:
    """Parse the text of `git_points.staged`: git's list of files, and their patch without context lines."""
    listed, _, patch = said.partition("\0\0")
    fields, parts = iter(listed.split("\0")), iter(_parts(patch))
    found: list[StagedFile] = []
    for row in filter(None, fields):
        status = row.rpartition(" ")[2]
        old = next(fields, "") if status.startswith(RENAMED) else ""
        name = next(fields, "")
        hunks = next(parts, ())
        if _SUBMODULE in row[1:].split()[:2]:
            continue  # the journal does not know of its commits
        if status.startswith(_TYPE_CHANGED):
            hunks += next(parts, ())
        found.append(StagedFile(journal_path(name), hunks, journal_path(old), status.startswith(_UNMERGED)))
    return found


def _parts(patch: str) -> Iterator[tuple[HunkLines, ...]]:
    """Yield the hunks of each file, in order. Lines are counted by a hunk's header, as a line of a hunk may itself look
    like a header.
    """
    hunks: list[HunkLines] | None = None
    left = 0
    for line in patch.split("\n"):
        if left and line[:1] in ("-", "+"):
            left -= 1
            if hunks:
                hunks[-1] = hunks[-1].with_row(line[0], line[1:].removesuffix("\r"))
        elif line.startswith((_FILE, "* Unmerged path ")):
            if hunks is not None:
                yield tuple(hunks)
            hunks = []
        elif hunks is not None and (place := _HUNK.match(line)):
            hunks.append(HunkLines(int(place[1]), int(place[2] or 1), ()))
            left = hunks[-1].removed + int(place[3] or 1)
    if hunks is not None:
        yield tuple(hunks)


def _of_json(hunk: Mapping[str, Any]) -> HunkLines:
    added = tuple(row[1:] for row in hunk["lines"] if row.startswith("+"))
    return HunkLines(hunk["old_start"], hunk["old_lines"], added)


def _writers(lines: Iterable[Mapping[str, Any]], texts: set[str]) -> list[str]:
    return sorted({render.author(line) for line in lines if line.get("text") in texts})


def _as_it_is(text: str) -> str:
    shown = render.clean(text, keep="\t")
    return shown if len(shown) <= WIDEST else f"{shown[: WIDEST - 1]}…"


COMMAND = Command(
    arguments="",
    about="Compares git's index with HEAD, and with the changes of one writer alone: the caller's, or --writer WHO's.\n"
    "Where lines of others are staged, it names them, and the exit status is 1: a line in a pre-commit hook of yours.\n"
    "It looks at the files as they are now; a line of yours that you have changed again since is not found.\n"
    "In a merge, a cherry-pick or a rebase only lines count that neither of the two commits has.",
    example="quire check-staged --writer claude-code",
    run=run,
    options=(
        Option("writer", "WHO", "whose lines may be staged: an agent's name, user, me, w3 or outside"),
        Option("probable", "", "also lines that are only probably (~) of WHO may be"),
    ),
)
