"""`quire bisect`: finds the change after which a command fails, by running it in copies of old trees."""

from __future__ import annotations

import base64
import os
import shlex
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, end_of, point_of
from quire_client.commands.history.diff_text import whole

if TYPE_CHECKING:
    from quire_client.api import Client

SKIP: Final = 125
"""Exit status of a command that cannot judge a tree, as in git-bisect(1)."""

ABORT: Final = 128
"""Minimum exit status that ends the search, as in git-bisect(1)."""

_OF_GIT: Final = ("start", "good", "bad", "old", "new", "skip", "reset")
"""Subcommands of `git bisect` that a search in one command does not need."""

MOST_CHANGES: Final = 100_000
MOST_A_PAGE: Final = 1000
MOST_NAMED: Final = 5
MOST_PARSED: Final = 50

KINDS: Final = (
    *("file_written", "file_deleted", "file_moved", "mode_changed"),
    *("outside_written", "outside_deleted", "outside_moved", "outside_mode_changed"),
)


class Suspect(NamedTuple):
    """A change that may be the first bad one (a tool call, turn or write): its consecutive records, and the seq of the
    last one.
    """

    key: tuple[str, object]
    upto: int  # seq of its last record
    records: tuple[Mapping[str, Any], ...]


class Found(NamedTuple):
    """The result of a bisection: the first bad state, the last good state before it, and the number of runs."""

    first: int  # the first state known to be bad
    last_good: int  # the last state before it known to be good
    runs: int


class SearchStop(Exception):
    """The search cannot continue; the text is a sentence with the reason."""


def first_bad(count: int, is_bad: Callable[[int], bool | None]) -> Found:
    """Find the first bad state between state 0, known to be good, and state `count`, known to be bad, by bisection.
    `is_bad` returns None for a state that cannot be judged.
    """
    good, bad, runs = 0, count, 0
    skipped = set[int]()
    while (left := [at for at in range(good + 1, bad) if at not in skipped]) and bad - good > 1:
        middle = (good + bad) // 2
        at = min(left, key=lambda one: abs(one - middle))
        runs += 1
        judged = is_bad(at)
        if judged is None:
            skipped.add(at)
        elif judged:
            bad = at
        else:
            good = at
    return Found(bad, good, runs)


def changes_of(records: Sequence[Mapping[str, Any]], by: str) -> list[Suspect]:
    """Group records (oldest first) into changes, by `call`, `turn` or `write`. A change that other records interrupt
    becomes several changes, so that each state existed on disk.
    """
    found: list[Suspect] = []
    for record in records:
        key = _key(record, by)
        if found and found[-1].key == key:
            found[-1] = found[-1]._replace(upto=record["seq"], records=(*found[-1].records, record))
        else:
            found.append(Suspect(key, record["seq"], (record,)))
    return found


def _key(record: Mapping[str, Any], by: str) -> tuple[str, object]:
    writer = record.get("writer") or {}
    if by == "turn" and writer.get("turn"):
        return "turn", writer["turn"]
    call = record.get("call") or {}
    if by != "write" and call.get("burst"):
        return "burst", call["burst"]
    return ("write", record["seq"]) if by == "write" else ("batch", record["batch"])


# ── the command ──────────────────────────────────────────────────────────────


def run(call: Invocation) -> int:
    _require_command(call.arguments)
    if "since" not in call.options:
        raise Usage("--since POINT is missing: a state in which the command did well.")
    command = call.arguments[1:]
    start, end = point_of(call.options["since"]), end_of(call.options.get("until", ""))
    if "without" in call.options:
        if "by" in call.options:
            raise Usage("--by and --without exclude each other: a writer's work is left out as a whole.")
        return _without(call, command, start, end)
    with call.connect() as client:
        records = _records(client, start, end)
        if isinstance(records, dict):
            return call.answer(records, lambda reply: "")
        changes = changes_of(records, call.options.get("by", "call"))
        if not changes:
            return _nothing(call, "Nothing was changed there.")
        broken = BrokenStates(client, records)

        def is_bad(at: int) -> bool | None:
            if path := broken.path_at(changes[at - 1].upto):
                call.say(f"quire: after v{changes[at - 1].upto} {render.one_line(path)} does not parse; skipped.")
                return None
            return trees.is_bad(changes[at - 1].upto)

        with tempfile.TemporaryDirectory(prefix="quire-bisect-", ignore_cleanup_errors=True) as folder:
            trees = _Trees(call, client, Path(folder), command)
            try:
                if not trees.is_bad(changes[-1].upto):
                    return _nothing(call, "The command does well at the end, too: there is nothing to be found.")
                found = first_bad(len(changes), is_bad)
                if found.last_good == 0 and trees.is_bad_before(int(records[0]["seq"])):
                    return _nothing(
                        call, f"The command fails at {call.options['since']} already; name an earlier point."
                    )
            except SearchStop as reason:
                return _nothing(call, str(reason))
    suspects = changes[found.last_good : found.first]
    reply = {
        "ok": True,
        "message": f"Found in {render.counted(trees.runs, 'run')} among {render.counted(len(changes), 'change')}.",
        "runs": trees.runs,
        "changes": len(changes),
        "found": [_told(change) for change in suspects],
    }
    return call.answer(reply, lambda reply: "\n".join(_lines(reply)))


def _require_command(arguments: Sequence[str]) -> None:
    word = arguments[0] if arguments else ""
    usage = "`quire bisect --since POINT run CMD`"
    if word in _OF_GIT:
        raise Usage(f"A search is one command, without `{word}`: {usage}.")
    if word not in ("", "run"):
        raise Usage(f"`run` is missing: `quire bisect --since POINT run {render.one_line(shlex.join(arguments))}`.")
    if len(arguments) < 2:
        raise Usage(f"run CMD is missing: {usage}.")


# ── without a writer ─────────────────────────────────────────────────────────


def _without(call: Invocation, command: Sequence[str], start: str, end: str) -> int:
    names = [name for name in call.options["without"].split(",") if name]
    with call.connect() as client:
        asked = {"from": start, **({"to": end} if end else {})}
        state = client.call("tree", {"at": end} if end else {})
        if not state.get("ok"):
            return call.answer(state, lambda reply: "")
        seq = int(str(state["at"]).removeprefix("seq:"))
        with tempfile.TemporaryDirectory(prefix="quire-bisect-", ignore_cleanup_errors=True) as folder:
            trees = _Trees(call, client, Path(folder), command)
            try:
                if not trees.is_bad(seq):
                    return _nothing(call, "The command does well with everybody's work: there is nothing to be found.")
                told = []
                for name in names:
                    work = client.call("diff", {**asked, "to": f"seq:{seq}", "writer": name})
                    if not work.get("ok"):
                        return call.answer(work, lambda reply: "")
                    files = list(whole(client, work, {**asked, "to": f"seq:{seq}", "writer": name}).get("files") or ())
                    bad = trees.is_bad_without(seq, name, files)
                    told.append({"writer": name, "files": len(files), "fails": bad})
            except SearchStop as reason:
                return _nothing(call, str(reason))
    guilty = [str(one["writer"]) for one in told if one["fails"] is False]
    message = (
        f"The command does well without the work of {' or '.join(guilty)}."
        if guilty
        else (f"The command fails without the work of {' or '.join(names)}, too.")
    )
    reply = {"ok": True, "message": message, "without": told, "runs": trees.runs}
    return call.answer(reply, lambda reply: str(reply["message"]))


def _nothing(call: Invocation, sentence: str) -> int:
    return call.answer({"ok": False, "error": "nothing_found", "message": sentence}, lambda reply: "")


def _records(client: Client, start: str, end: str) -> list[Mapping[str, Any]] | dict[str, Any]:
    asked: dict[str, Any] = {"since": start, "kind": [*KINDS], "order": "oldest", "limit": MOST_A_PAGE}
    asked |= {"until": end} if end else {}
    found: list[Mapping[str, Any]] = []
    while True:
        reply = client.call("log", asked)
        if not reply.get("ok"):
            return dict(reply)
        found += reply["records"]
        if not reply.get("next") or len(found) >= MOST_CHANGES:
            return found
        asked["cursor"] = reply["next"]


class BrokenStates:
    """Finds states with a changed file that does not parse. Files that do not parse in the last state are ignored."""

    def __init__(self, client: Client, records: Sequence[Mapping[str, Any]]) -> None:
        """`records`: all changes between the two points, oldest first."""
        self._client = client
        self._versions: dict[str, list[tuple[int, str]]] = {}
        for record in records:
            gone = record.get("path") if record.get("to") else None
            path = str(record.get("to") or record.get("path"))
            self._versions.setdefault(path, []).append((record["seq"], str(record.get("version") or "")))
            if gone:
                self._versions.setdefault(str(gone), []).append((record["seq"], ""))
        self._known: dict[str, bool] = {"": False}

    def path_at(self, seq: int) -> str:
        """Return a file that does not parse in the state after record `seq` but does in the last state; "" if there is
        none.
        """
        there = {path: self._at(path, seq) for path in self._versions}
        self._learn([*there.values()])
        broken = [path for path, version in there.items() if self._known[version]]
        ends = {path: self._versions[path][-1][1] for path in broken}
        self._learn([*ends.values()])
        return next((path for path, version in ends.items() if version and not self._known[version]), "")

    def _at(self, path: str, seq: int) -> str:
        versions = self._versions[path]
        at = bisect_right(versions, seq, key=lambda one: one[0])
        return versions[at - 1][1] if at else ""

    def _learn(self, versions: Sequence[str]) -> None:
        left = [version for version in dict.fromkeys(versions) if version not in self._known]
        for start in range(0, len(left), MOST_PARSED):
            some = left[start : start + MOST_PARSED]
            reply = self._client.call("syntax", {"versions": some})
            broken = {one["version"] for one in reply.get("broken") or ()}
            self._known |= {version: version in broken for version in some}


class _Trees:
    def __init__(self, call: Invocation, client: Client, folder: Path, command: Sequence[str]) -> None:
        from quire_client.export import KeptFiles

        self._call, self._client, self._folder, self._command = call, client, folder, command
        self._known: dict[int, bool | None] = {}
        self._kept = KeptFiles(folder / "kept")
        self.runs = 0
        within = os.path.relpath(os.path.realpath(call.folder), os.path.realpath(call.place.root))
        self._within = within

    def is_bad(self, seq: int) -> bool | None:
        """Return True if the command fails in the tree after record `seq`, None if it cannot judge that tree. Raises
        SearchStop if the search cannot continue.
        """
        if seq not in self._known:
            self._known[seq] = self._verdict(self._tree(seq), f"after v{seq}")
        return self._known[seq]

    def is_bad_before(self, seq: int) -> bool | None:
        """Return True if the command fails in the tree before record `seq`, None if it cannot judge it."""
        return self._verdict(self._tree(seq - 1), f"before v{seq}")

    def is_bad_without(self, seq: int, writer: str, files: Sequence[Mapping[str, Any]]) -> bool | None:
        """Return True if the command fails in the tree without a writer's changes, None if it cannot judge it.

        `files` has the changes as patches. Raises SearchStop if they cannot be removed.
        """
        top = self._tree(seq)
        try:
            _take_out(files, top)
        except SearchStop as reason:
            raise SearchStop(f"The work of {writer} cannot be left out: {reason}") from None
        return self._verdict(top, f"without the work of {writer}")

    def _tree(self, seq: int) -> Path:
        from quire_client.export import ExportStop, Unwritable, export, fetch

        top = self._folder / f"{seq}" / (self._call.place.root.name or "tree")
        top.parent.mkdir()
        try:
            export(self._client, fetch(self._client, f"seq:{seq}"), top, self._kept)
        except ExportStop as stopped:
            raise SearchStop(str(stopped.reply.get("message"))) from None
        except Unwritable as error:
            raise SearchStop(str(error)) from None
        return top

    def _verdict(self, top: Path, when: str) -> bool | None:
        folder = top / self._within
        self.runs += 1
        try:
            status = subprocess.run(self._command, cwd=folder if folder.is_dir() else top, check=False).returncode
        except OSError as error:
            raise SearchStop(f"{self._command[0]}: {error.strerror or error}.") from None
        finally:
            _remove(top.parent)
        verdict = "cannot judge" if status == SKIP else "did well" if status == 0 else "failed"
        self._call.say(f"quire: {when} the command {verdict} ({_ended(status)}).")
        if status < 0 or status >= ABORT:
            raise SearchStop(f"The search ends here: the command has to end with exit status 0 to {ABORT - 1}.")
        return None if status == SKIP else status != 0


def _ended(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"ended by signal {-status}"


def _take_out(files: Sequence[Mapping[str, Any]], top: Path) -> None:
    parts = [base64.b64decode(f["patch_base64"]) if "patch_base64" in f else f.get("patch", "").encode() for f in files]
    lacking = [str(file["path"]) for file, part in zip(files, parts, strict=True) if not part]
    if lacking:
        raise SearchStop(f"the journal cannot tell it apart in {', '.join(lacking[:MOST_NAMED])}.")
    if not parts:
        return
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": os.fspath(top.parent)}
    done = subprocess.run(
        ["git", "apply", "-R", "--whitespace=nowarn"], cwd=top, input=b"".join(parts), capture_output=True, env=alone
    )
    if done.returncode:
        raise SearchStop(render.one_line(os.fsdecode(done.stderr), 200))


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


# ── in words ─────────────────────────────────────────────────────────────────


def _told(change: Suspect) -> dict[str, Any]:
    last = change.records[-1]
    paths = dict.fromkeys(str(record.get("to") or record.get("path")) for record in change.records)
    kind, number = change.key
    return {
        "by": kind,
        "number": number,
        "seq": change.upto,
        "at": last["at"],
        "writer": last["writer"],
        "evidence": last.get("evidence"),
        "call": last.get("call"),
        "paths": [*paths],
        "versions": [record["version"] for record in change.records if record.get("version")],
    }


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    found = reply["found"]
    yield reply["message"] + (" It is one of these:" if len(found) > 1 else "")
    for one in found:
        paths = ", ".join(render.one_line(path) for path in one["paths"][:MOST_NAMED])
        more = len(one["paths"]) - MOST_NAMED
        said = (one.get("call") or {}).get("command") or (one.get("call") or {}).get("label") or ""
        beside = f"  [{render.one_line(said, 80)}]" if said else ""
        paths += f" and {more} more" if more > 0 else ""
        yield f"{render.moment(one['at'])}  {render.author(one)}  {paths}{beside}"
        yield f"  `quire show {one['versions'][-1]}` shows it, `{_back(one)}` takes it back."


def _back(one: Mapping[str, Any]) -> str:
    if one["by"] == "turn":
        return f"quire undo --turn {render.one_line(one['number'])}"
    return f"quire undo --burst {one['number']}" if one["by"] == "burst" else f"quire undo {one['versions'][-1]}"


COMMAND = Command(
    arguments="run CMD [ARG ...]",
    about="Finds the change after which CMD fails: a call of an agent, a save, a run. CMD runs in copies of the tree\n"
    "as it was, without what is ignored, which are removed afterwards; of a thousand changes it takes eleven runs.\n"
    "CMD says by its exit status, as for `git bisect run`: 0 is good, 125 cannot judge, others up to 127 are bad.\n"
    "States in which a changed file does not parse, but does at the end, are skipped without running CMD.",
    example="quire bisect --since before-refactoring run make test",
    run=run,
    options=(
        Option("since", "POINT", "a state in which CMD did well", also=("good",)),
        Option("until", "POINT", "a state in which it fails; now if not said", also=("bad",)),
        Option(
            "without", "WHO", "only tell whether CMD does well without a writer's work since then; several by commas"
        ),
        Option("by", "WHAT", "call (if not said), turn, or write", choices=("call", "turn", "write")),
    ),
    words=("run",),
    passes_on=True,
)
