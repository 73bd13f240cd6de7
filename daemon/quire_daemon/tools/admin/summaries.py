"""Shorten a manual to a tool's description: its lead, then the sections that fit whole.

Clients cut descriptions (one at 2 KiB), and some pass only ASCII.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quire_journal.model import capitalised

MOST: Final = 1900
"""Most characters of a description."""

_PLAIN: Final = str.maketrans(
    {"—": "-", "–": "-", "→": "->", "…": "...", "≤": "<=", "≥": ">=", "×": "x", "“": '"', "”": '"', "‘": "'", "’": "'"}
)


def ascii_text(text: str) -> str:
    """The text in ASCII; characters without a near spelling become question marks."""
    return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")


def summary(manual: str, changed: str, name: str, most: int = MOST) -> str:
    """The manual of `name` in at most `most` characters; `changed` describes the effect of others' changes."""
    heading, _, body = manual.partition("\n")
    lead, *sections = _sections(body)
    about = heading.partition(": ")[2]
    parts = [f"{capitalised(about)}."]
    tail = f"If another writer changed the file since you read it: {changed}." if changed else ""
    more = f'The tool manual with {{"dialect": "{name}"}} tells more.'
    left = most - sum(len(ascii_text(part)) + 2 for part in (parts[0], tail, more))
    whole = True
    for paragraph in [*_paragraphs(lead), *sections]:
        size = len(ascii_text(paragraph)) + 2
        if size <= left:
            parts.append(paragraph)
            left -= size
        else:
            whole = False
    parts += [part for part in (tail, "" if whole else more) if part]
    return ascii_text("\n\n".join(parts))


def _sections(body: str) -> list[str]:
    lead, *rest = body.split("\n## ")
    return [lead.strip(), *(f"## {section.strip()}" for section in rest)]


def _paragraphs(text: str) -> Sequence[str]:
    """The paragraphs; a fenced block counts as one, blank lines included."""
    found: list[str] = []
    fenced = False
    for block in text.split("\n\n"):
        if fenced:
            found[-1] += f"\n\n{block}"
        else:
            found.append(block)
        fenced ^= sum(line.startswith("```") for line in block.splitlines()) % 2 == 1
    return [block.strip() for block in found if block.strip()]
