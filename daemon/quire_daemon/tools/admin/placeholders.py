"""Fills placeholders in manuals from the settings and hash functions.

`{{hlinefull 41 "text"}}` is a line as a hashline read shows it, `{{hlineref 41 "text"}}` its reference; `{{hashedfull
…}}` and `{{hashedref …}}` are the same for a hashed read. Text between `{{#if allow_replace_text}}` and `{{/if}}` is
removed unless that setting is on.
"""

from __future__ import annotations

import re
from typing import Final

from quire_daemon.config import Settings
from quire_journal.text import SHOWN_DIGITS, hash8, line_id, quality

_LINE: Final = re.compile(r'\{\{(hlinefull|hlineref|hashedfull|hashedref) ([1-9][0-9]*) "([^"\n]*)"\}\}')
_REPLACE_TEXT: Final = re.compile(r"^\{\{#if allow_replace_text\}\}\n(.*?)^\{\{/if\}\}\n", re.MULTILINE | re.DOTALL)


def filled(template: str, settings: Settings) -> str:
    """Return the manual with its placeholders filled for these settings."""
    told = settings.dialects.hashline_edit.allow_replace_text
    return _LINE.sub(_line, _REPLACE_TEXT.sub(r"\1" if told else "", template))


def _line(found: re.Match[str]) -> str:
    kind, number, text = found.groups()
    line = text.encode()
    if kind.startswith("hline"):
        reference = f"{number}#{line_id(line)}"
        return reference if kind == "hlineref" else f"{reference}|{text}"
    reference = f"{number}#{hash8(line)[:SHOWN_DIGITS]}"
    return reference if kind == "hashedref" else f"{reference} [{quality(line, 1)}]|{text}"
