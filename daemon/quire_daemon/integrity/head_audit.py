"""Comparison of a journal with its signed heads: those in its state folder, and saved ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from quire_daemon.heads import HeadFolder, broken_folders, head_in
from quire_journal.storage import Store
from quire_journal.transparency import (
    BadNote,
    Claim,
    HeadVerdict,
    StoredTree,
    VerifierKey,
    acceptance,
    claim_of,
    findings,
    known_keys,
    read_note,
    read_notes,
    read_vkey,
    verdicts,
)

SAVED: Final = "the file"


class HeadReport(msgspec.Struct, frozen=True):
    source: str
    origin: str
    records: int
    root: str
    signed_at_s: int  # 0: unknown
    state: str
    vouched: bool
    said: str


def audit_heads(
    store: Store,
    state: Path,
    against: str,
    vkeys: Sequence[str],
    source: str,
    progress: Callable[[int, int], None],
) -> tuple[list[str], list[dict[str, Any]]]:
    """Compare the journal with all signed heads; return findings as sentences, and a report on each head. `source`
    says where those in `against` (saved heads) were found. Raises `BadNote` for malformed `against` or keys.
    """
    wrong: list[str] = []
    own = HeadFolder.of(state)
    folders = [(own, "the state folder")]
    folders += [(folder, f"{folder.path.name} in the state folder") for folder, _ in broken_folders(state)]
    texts = [(_checkpoint(folder, beside, wrong), beside) for folder, beside in folders]  # before the records are read
    with store.reading() as r:
        keys = [*known_keys(r), *_keys_of([folder for folder, _ in folders])]
    asked = [read_vkey(vkey) for vkey in vkeys]
    claims = [claim_of(note, source, asked or keys) for note in read_notes(against)] if against else []
    unsigned = [claim for claim in claims if asked and not claim.vouched and not claim.wrong]
    wrong += [f"The head of {source} is not signed by the key that was given."] * len(unsigned)
    claims += [claim_of(read_note(text), beside, keys) for text, beside in texts if text]
    trees = [
        StoredTree(head_in(text).size, folder.read)
        for (folder, _), (text, _) in zip(folders, texts, strict=True)
        if text
    ]
    found = verdicts(store, claims, trees, progress)
    wrong += [sentence for verdict in found for sentence in findings(verdict)]
    return wrong, [msgspec.to_builtins(_report(verdict)) for verdict in found]


def _checkpoint(folder: HeadFolder, source: str, wrong: list[str]) -> str:
    try:
        text = folder.checkpoint()
        if text:
            head_in(text)
        return text
    except (BadNote, OSError) as error:
        wrong.append(f"The signed head of {source} cannot be read: {error}.")
        return ""


def _keys_of(folders: Sequence[HeadFolder]) -> Iterator[VerifierKey]:
    for folder in folders:
        for line in folder.keys().splitlines():
            try:
                yield read_vkey(line)
            except BadNote:
                continue


def _report(verdict: HeadVerdict) -> HeadReport:
    claim: Claim = verdict.claim
    said = " ".join(findings(verdict)) or acceptance(verdict)
    head = claim.head
    return HeadReport(
        claim.source, head.origin, head.size, head.root.hex(), claim.at_s, verdict.state, claim.vouched, said
    )
