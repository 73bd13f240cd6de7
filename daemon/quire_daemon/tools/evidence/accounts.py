"""An agent's claims about the files of an announced call, by file name. A patch is parsed once, not for each file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from quire_daemon.core import AnnouncedCall, Cell, Content, Hunks, Patch, Payload, Removal, Replace
from quire_daemon.dialects.patch import FilePatch, parse_patch
from quire_daemon.tools.evidence.effort import END, Effort, EffortSpentError
from quire_journal.model import Refusal

Account = Content | Replace | FilePatch | Cell | Hunks | Removal
"""Claim of a call about its change of one file; about two files for a move."""

READING: Final = 20


_END: Final = "*** End Patch"


class CallAccounts(NamedTuple):
    """An announced call with the agent's claims about its files, by the last component of their paths."""

    call: AnnouncedCall
    by_name: dict[str, list[Account]]
    size: int = 0  # approximate characters of the payloads

    @classmethod
    def of(cls, call: AnnouncedCall) -> CallAccounts:
        """Return the call with its claims, without those of a malformed or too long patch."""
        found: dict[str, list[Account]] = defaultdict(list)
        effort = Effort(END)
        for payload in call.payloads:
            for account in _of_payload(payload, effort):
                for name in {_last(name) for name in _names(account)}:
                    found[name].append(account)
        return cls(call, dict(found), sum(map(_size, call.payloads)))

    def about(self, path: str) -> Sequence[Account]:
        """Return the claims about the file at `path`, relative to the workspace."""
        return [one for one in self.by_name.get(_last(path), ()) if any(same(name, path) for name in _names(one))]


def same(name: str, path: str) -> bool:
    """True if `name`, absolute or relative, means the file of the workspace at `path`. Agents use both forms."""
    name = name.removeprefix("./")
    return name == path or (name.endswith(f"/{path}") and name.startswith("/"))


def _of_payload(payload: Payload, effort: Effort) -> Iterator[Account]:
    if not isinstance(payload, Patch):
        yield payload
        return
    try:
        effort.spend(len(payload.text), READING * payload.text.count("\n"))
        for patch in _patches(payload.text):
            yield from parse_patch(patch)
    except (EffortSpentError, Refusal, UnicodeError):
        return


def _patches(text: str) -> Sequence[str]:
    if text.count(_END) < 2:
        return (text,)
    return [f"{patch}{_END}\n" for patch in text.split(_END) if patch.strip()]


def _names(account: Account) -> tuple[str, ...]:
    return account.paths if isinstance(account, FilePatch) else (account.path,)


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _size(payload: Payload) -> int:
    match payload:
        case Content(text=text) | Patch(text=text):
            return len(text)
        case Replace(edits=edits):
            return sum(len(edit.old) + len(edit.new) for edit in edits)
        case Hunks(before=before, hunks=hunks):
            return len(before or "") + sum(sum(map(len, hunk.lines)) for hunk in hunks)
        case Cell(source=source):
            return len(source)
        case _:
            return 0
