"""Families: the checkouts of one repository on this machine, each with its own journal. Imports only the standard
library.

Checkouts whose repositories have one common folder (git's worktrees) are a family; so are those with one `[family]
name` in their settings, which a daemon writes into its state folder. A journal outside of the state home belongs to
none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_journal.workspaces.identity import Identity, known_journals
from quire_journal.workspaces.layout import Place
from quire_journal.workspaces.repository import common_folder, file_tail, git_folder

MOST_NOTE_BYTES: Final = 1 << 20

_MOST_NAME: Final = 200


class Member(NamedTuple):
    place: Place
    identity: Identity
    family: str

    @property
    def name(self) -> str:
        return self.place.root.name


def note_file(state: Path) -> Path:
    """Return the path of the note in a state folder. In its note, a daemon lists changed files and leases for other
    checkouts of the repository.
    """
    return state / "family.json"


def hub_file(state: Path) -> Path:
    """Return the path of the file with the team's address, which exists while the checkout is in a team."""
    return state / "hub"


def note_bytes(state: Path) -> tuple[bytes, tuple[int, int]]:
    """Return the end of the journal's note, at most `MOST_NOTE_BYTES`, and a stamp that changes when the note does.
    Never blocks.
    """
    said, at_ns = file_tail(os.fspath(note_file(state)), MOST_NOTE_BYTES)
    return said, (len(said), at_ns)


def read_note(state: Path) -> dict[str, Any]:
    """Return the journal's note; {} if missing or malformed."""
    said, _ = note_bytes(state)
    try:
        found = json.loads(said) if said else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def family_of(root: Path, name: str = "") -> str:
    """Return the key that all checkouts of one family share: `name:NAME` for a `name` from the settings, else `git:`
    and the repository's common folder; "" outside a repository.
    """
    if name:
        return f"name:{name[:_MOST_NAME]}"
    folder = git_folder(os.fspath(root))
    return f"git:{os.path.realpath(common_folder(folder))}" if folder else ""


def family_in(state: Path, root: Path) -> str:
    """Return the family in the journal's note; without one, that of the repository."""
    said = read_note(state).get("family")
    return said if isinstance(said, str) else family_of(root)


def members(family: str) -> Iterator[Member]:
    """Yield the journals of the family whose folders exist, sorted by state folder."""
    for state, identity in known_journals() if family else ():
        root = Path(identity.root)
        if family_in(state, root) == family and root.is_dir():
            yield Member(Place(root, state), identity, family)


def branch_of(root: Path) -> str:
    """Return the branch checked out at `root`; without a branch, the beginning of the commit's id; "" without a
    repository.
    """
    folder = git_folder(os.fspath(root))
    said = file_tail(os.path.join(folder, "HEAD"))[0].strip().decode("utf-8", "replace") if folder else ""
    return said.removeprefix("ref: refs/heads/") if said.startswith("ref: ") else said[:12]
