"""Git commands in the log: the versions from which git made a version, and HEAD. The hint of a version says that git
was running; the record of the command (`GitRan`) has HEAD before and after.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from quire_journal.history.authorship import LOCK_HELD, LOCK_TAKEN, is_by_git
from quire_journal.history.history import History
from quire_journal.model import OUTSIDE, WATCHED, Event, GitRan, Seq, WorkspaceScanned, cached_property
from quire_journal.views import OUTSIDE_TYPE, Version
from quire_journal.views.indexes import of_kind

MOST_COMMANDS: Final = 2_000

NEAR_NS: Final = 5_000_000_000
"""Maximum time in ns between a version by git whose hint names no command and the end of its command."""

JUST_BEFORE_NS: Final = 100_000_000
JUST_AFTER_NS: Final = 50_000_000
"""Times in ns before and after a move of HEAD within which a write without a hint counts as git's. A write is recorded
a moment after it was made.
"""

MOST_BESIDE: Final = 32
"""Maximum number of records after a write that are searched for a hint of the same command."""

NAMELESS: Final = ("git", LOCK_HELD, LOCK_TAKEN)

STEPS: Final = ("am", "cherry-pick", "pull", "rebase", "revert")
"""Commands that move HEAD several times."""

MERGING: Final = ("am", "cherry-pick", "merge", "pull", "rebase")
"""Commands that bring lines of another commit, also without moving HEAD (a conflict, `--no-commit`, `--squash`)."""

_WORD: Final = re.compile(r"[^\s:,'\"]+")
_MOVE: Final = re.compile(r"git: (.+) \(HEAD (.*) -> (.*)\)")
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_SHORT: Final = 7
_SHORT_COMMAND: Final = re.compile(r"git:? (?!index\.lock|HEAD)(stash (?:pop|apply)\b|[^\s:(]+)")


class _Head(NamedTuple):
    """HEAD in a record: `main 1a2b3c4d5e6f`, or only branch or commit."""

    branch: str
    commit: str

    @classmethod
    def of(cls, said: str) -> _Head:
        first, _, last = said.rpartition(" ")
        return cls(first, last) if first or _COMMIT.fullmatch(last) else cls(last, "")

    def has(self, name: str) -> bool:
        return bool(name) and (name == self.branch or (self.commit.startswith(name) and bool(_COMMIT.fullmatch(name))))


class _Command(NamedTuple):
    seq: int
    ran: GitRan
    before: _Head
    after: _Head


class GitMoves:
    def __init__(self, history: History) -> None:
        self._history = history
        self._hints: dict[int, str] = {}

    def hint(self, version: Version) -> str:
        """Return the hint of an outside version; if it has none, a hint of the move of HEAD that was seen just after
        the version. "" for other versions.
        """
        if version.type != OUTSIDE_TYPE:
            return ""
        if version.seq not in self._hints:
            event = self._history.event(version.seq)
            said = getattr(event, "hint", "")
            is_apart = getattr(event, "unlocked", False)  # git moves HEAD after it has let go of the index
            self._hints[version.seq] = said if said or is_apart else self._moved_just_after(version)
        return self._hints[version.seq]

    def _moved_just_after(self, version: Version) -> str:
        """Return a hint of a move of HEAD at the moment of a write that the watcher saw, if the move was recorded after
        the write; else "".
        """
        if (version.writer, version.evidence) != (OUTSIDE, WATCHED):
            return ""
        at = bisect_left(self._commands, version.seq, key=_seq)
        ran = self._commands[at].ran if at < len(self._commands) else None
        if ran is None or ran.evidence != "head":
            return ""
        since_ns = max(ran.ended_ns - JUST_BEFORE_NS, ran.started_ns)
        is_just_now = since_ns <= version.at_ns <= ran.ended_ns + JUST_AFTER_NS
        return f"git: {ran.command}" if is_just_now else ""

    def around(self, version: Version) -> tuple[str, str]:
        """Return (the command of git that made a version, the newest later command that may write files), as git or
        HEAD's log has them; "" for none.
        """
        command = self._command_of(version)
        if command is None:
            return "", ""
        later = (one for one in reversed(self._commands) if one.seq > max(command.seq, version.seq))
        newest = next((one.ran for one in later if one is not command and not _keeps_files(one.ran)), None)
        return command.ran.command, "" if newest is None else newest.command

    def made_from(self, version: Version, chain: Sequence[Version]) -> tuple[int, ...]:
        """Return the seqs of the versions in `chain` (all of the file) from which git made `version`, the likeliest
        first: the version when HEAD was last at the target commit, then those at the names in the command.
        """
        command = self._command_of(version)
        if command is None:
            return ()
        before = min(command.seq, version.seq)
        names = [command.after.commit] if command.after.commit else []
        names += [command.ran.merged] if command.ran.merged else []
        names += [word for word in _WORD.findall(command.ran.command)[1:] if not word.startswith("-")]
        found: dict[int, None] = {}
        for name in names:
            near = reversed([one for one in self._by_name.get(name[:_SHORT], ()) if one.seq < before])
            stood = next((v for one in near if (v := self._at(one, name, chain)) is not None), None)
            if stood is not None and stood.seq < version.seq:
                found[stood.seq] = None
        return tuple(found)

    def head(self, version: Version) -> tuple[str, str]:
        """Return (HEAD's commit when the version was found, ""), or ("", HEAD's last known commit before). Unknown
        commits are "".
        """
        command = self._command_of(version)
        if command is not None and command.after.commit:
            return command.after.commit, ""
        if not is_by_git(self.hint(version)) and (scanned := self._scanned_at(version)):
            return scanned, ""
        at = bisect_left(self._commands, version.seq, key=_seq)
        return "", next((one.after.commit for one in reversed(self._commands[:at]) if one.after.commit), "")

    def merged(self, version: Version) -> tuple[str, ...]:
        """Return the commits besides HEAD from which git made a version, if the command left HEAD where it was; else
        ().
        """
        command = self._command_of(version)
        if command is None or command.after.commit:
            return ()
        if command.ran.merged:
            return (command.ran.merged,)
        if first_word(command.ran.command) not in MERGING:
            return ()
        return tuple(word for word in _WORD.findall(command.ran.command)[1:] if _COMMIT.fullmatch(word))

    def arrival(self, commit: str) -> Seq | None:
        """Return the record by which HEAD last came to a commit, else the first scan that found HEAD there, or None. A
        stash, or a reset to HEAD, leaves HEAD where it is.
        """
        by_name = self._by_name.get(commit[:_SHORT], ())
        there = (one for one in by_name if _same_commit(one.after.commit, commit))
        came = max((one.seq for one in there if not _same_commit(one.before.commit, commit)), default=0)
        if came:
            return Seq(came)
        scans = self._of_kind(WorkspaceScanned, 0, self._history.head())
        for seq, scan in scans:
            if isinstance(scan, WorkspaceScanned) and _same_commit(_Head.of(scan.head).commit, commit):
                return Seq(seq)
        return None

    # ── commands ──

    @cached_property
    def _commands(self) -> list[_Command]:
        found = islice(self._of_kind(GitRan, 0, self._history.head(), reverse=True), MOST_COMMANDS)
        ran = [(seq, event) for seq, event in found if isinstance(event, GitRan)]
        return [_Command(seq, one, _Head.of(one.head_before), _Head.of(one.head_after)) for seq, one in ran][::-1]

    @cached_property
    def _by_name(self) -> dict[str, list[_Command]]:
        found: dict[str, list[_Command]] = {}
        for one in self._commands:
            for name in {name[:_SHORT] for name in (*one.before, *one.after) if name}:
                found.setdefault(name, []).append(one)
        return found

    def _of_kind(self, kind: type[Event], after: int, upto: int, reverse: bool = False) -> Iterator[tuple[int, Event]]:
        for _, seqs in self._history.with_terms([[of_kind(kind.kind)]], after, upto, reverse):
            for seq in seqs:
                event = self._history.event(seq)
                if isinstance(event, kind):
                    yield seq, event

    def _command_of(self, version: Version) -> _Command | None:
        hint = self.hint(version)
        if not is_by_git(hint):
            return None

        def away_ns(one: _Command) -> int:
            return abs((one.ran.ended_ns or version.at_ns) - version.at_ns)

        at = bisect_left(self._commands, version.seq, key=_seq)
        near = [*self._commands[max(at - 3, 0) : at], *self._commands[at : at + 3]]
        named = [one for one in near if _is_named(one, hint)]
        if not named and hint in NAMELESS:
            named = [
                one
                for one in near
                if away_ns(one) < NEAR_NS
                and not keeps_tree(one.ran)
                and (hint == "git" or one.seq > version.seq)
                and one.ran.started_ns <= version.at_ns
            ]
        if not named and hint in NAMELESS:
            hint = self._hint_beside(version)
        nearest = min(named, key=lambda one: (away_ns(one), abs(one.seq - version.seq)), default=None)
        return nearest or _command_in(hint, version)

    def _hint_beside(self, version: Version) -> str:
        """Return the hint of a write just after `version` that has a move of HEAD, as the command is not recorded yet;
        "" if there is none.
        """
        for seq in range(version.seq + 1, min(version.seq + MOST_BESIDE, self._history.head()) + 1):
            record = self._history.record(seq)
            if record is None or record.at_ns > version.at_ns + JUST_BEFORE_NS:
                break
            said = str(getattr(record.event(), "hint", ""))
            if _MOVE.fullmatch(said):
                return said
        return ""

    def _at(self, one: _Command, name: str, chain: Sequence[Version]) -> Version | None:
        if one.before.has(name) and not one.ran.command.startswith("commit"):
            stop = bisect_left(chain, one.seq, key=_seq)
            return next((v for v in reversed(chain[:stop]) if not (_is_since(one, v) or self._is_by(one, v))), None)
        if one.after.has(name):
            stop = bisect_right(chain, one.seq, key=_seq)
            while stop < len(chain) and self._is_by(one, chain[stop]):
                stop += 1
            return next((v for v in reversed(chain[:stop]) if not _is_since(one, v) or self._is_by(one, v)), None)
        return None

    def _is_by(self, one: _Command, version: Version) -> bool:
        return _is_named(one, self.hint(version)) or self._command_of(version) is one

    def _scanned_at(self, version: Version) -> str:
        scans = self._of_kind(WorkspaceScanned, version.seq, self._history.head())
        ended = next((scan for _, scan in scans if isinstance(scan, WorkspaceScanned)), None)
        return _Head.of(ended.head).commit if ended is not None else ""


def command_of(hint: str) -> str:
    """Return the command that the hint of a write names (`checkout main`), in the form of `command_name`; "" if the
    hint names none.
    """
    if hint in NAMELESS or not is_by_git(hint):
        return ""
    command, sign, _ = hint.partition(" ")[2].rpartition(" (")
    return command_name(command if sign else hint.partition(" ")[2])


def short_command(hint: str) -> str:
    """Return the command that the hint of a write by git names, without options: `git reset`, `git stash pop`; "git" if
    it names none.
    """
    command = _SHORT_COMMAND.match(hint)
    return "git" if command is None else f"git {command[1]}"


def command_name(command: str) -> str:
    """Return the form in which git commands are compared: the first word for a command that moves HEAD in several steps
    (`rebase (pick): subject`), else the whole command.
    """
    word = first_word(command)
    return word if word in STEPS and re.match(r"[^:]*: ", command) else command


def _command_in(hint: str, version: Version) -> _Command | None:
    """Return the command in a hint with a move of HEAD, for want of the command's record, which comes after the write.
    None for other hints.
    """
    said = _MOVE.fullmatch(hint)
    if said is None:
        return None
    before, after = (_Head.of(said[2]), _Head.of(said[3])) if said[2] != said[3] else (_Head("", ""), _Head("", ""))
    return _Command(version.seq, GitRan(said[1], evidence="head", ended_ns=version.at_ns), before, after)


def first_word(command: str) -> str:
    """Return the subcommand of a git command or of an entry of HEAD's log: `rebase` of `rebase (pick): subject`."""
    return re.split(r"[\s:]", command, maxsplit=1)[0]


def keeps_tree(ran: GitRan) -> bool:
    """True for a checkout of the commit at which HEAD was already (`git switch -c`), which changes no file."""
    before, after = _Head.of(ran.head_before).commit, _Head.of(ran.head_after).commit
    return ran.command.startswith("checkout: ") and before == after != ""


def _keeps_files(ran: GitRan) -> bool:
    return keeps_tree(ran) or first_word(ran.command) == "commit"


def _same_commit(one: str, other: str) -> bool:
    return len(one) >= _SHORT and (one.startswith(other) or other.startswith(one))


def _is_since(one: _Command, version: Version) -> bool:
    """True if a version came after the end of the command, even if the command was recorded later."""
    return 0 < one.ran.ended_ns < version.at_ns


def _is_named(one: _Command, hint: str) -> bool:
    return bool(one.ran.command) and command_of(hint) == command_name(one.ran.command)


def _seq(one: _Command | Version) -> int:
    return one.seq
