"""Help page of `quire ui` with its keys, and the hint in the last line."""

from __future__ import annotations

from typing import Final

from quire_client.ui.rows import BOLD, DIM, Row, Span, row

KEYS: Final = (
    ("↑ ↓  j k", "move; PgUp PgDn by a page, Home End (g G) to an end"),
    ("Enter  →", "open: a story, a file's difference, what wrote a line"),
    ("Esc  ←", "go back"),
    ("d", "the difference of a story, a file or a call"),
    ("n p", "the next hunk, the one before"),
    ("b", "who wrote each line of the file at that point"),
    ("< >", "move the view sideways"),
    ("u", "take back a story, file or call: shows the plan, and asks"),
    ("r", "redo what was taken back last"),
    ("v", "what nobody has accepted: y accepts a place, A all, u takes back"),
    ("w", "who works now, and where they collide"),
    ("/", "filter: w:WRITER, p:PATH, other words as text; empty for all"),
    ("a", "only agents, or everybody"),
    ("?", "this list"),
    ("q", "quit"),
)
LETTERS: Final = (
    "A B C …  agents, each with its letter and colour everywhere",
    "y you, or another program   u a call without a name   o another program",
    "g git   c a commit   q what was there when the journal began   ~ probable",
)


def key_rows() -> list[Row]:
    keys = [row(Span(f"  {key:<10}", BOLD), said, key=at) for at, (key, said) in enumerate(KEYS)]
    return [row(Span("Keys", BOLD)), *keys, row(), row(Span("Letters", BOLD)), *(row(f"  {one}") for one in LETTERS)]


HINTS: Final = {
    "timeline": "Enter open  d diff  u undo  / filter  a agents  v review  ? keys  q quit",
    "story": "Enter diff  b blame  u undo  Esc back  ? keys  q quit",
    "diff": "n p hunk  b blame  < > sideways  Esc back  ? keys  q quit",
    "blame": "Enter what wrote it  < > sideways  Esc back  ? keys  q quit",
    "review": "y accept  A all  u take back  n p place  Esc back  ? keys  q quit",
    "plan": "y take it back  n leave it",
    "now": "Enter what it did  Esc timeline  ? keys  q quit",
    "keys": "Esc back  q quit",
}


def hint_row(page: str, undone: bool = False) -> Row:
    return row(Span(f"{'r redo  ' if undone and page != 'plan' else ''}{HINTS[page]}", DIM))
