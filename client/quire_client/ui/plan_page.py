"""Formats the plan of an undo or redo as rows, with the wording of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any, Final

from quire_client.cli import show_files, whose
from quire_client.ui.rows import BOLD, DIM, WARN, Row, Span, row
from quire_client.ui.visible import visible_in

LEAST: Final = 20


def plan_rows(plan: Mapping[str, Any], width: int) -> list[Row]:
    shown = visible_in({name: value for name, value in plan.items() if name != "token"})
    first, *rest = [*show_files(shown).split("\n"), *whose(shown)]
    told = [Span(first, BOLD), *(Span(line, _style(line)) for line in rest)]
    if plan.get("stayed"):
        told.append(Span("What others built on the undone lines stays as it is.", WARN))
    folded = (Span(line, span.style) for span in told for line in _folded(span.text, max(width, LEAST)))
    return [row(span, key=number) for number, span in enumerate(folded)]


def _folded(line: str, width: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip()) + 2, width // 2)
    return wrap(line, width, subsequent_indent=indent) or [line]


def can_be_done(plan: Mapping[str, Any]) -> bool:
    files = plan.get("files") or ()
    return bool(plan.get("token")) and plan.get("valid", True) and any(one.get("action") != "none" for one in files)


def _style(line: str) -> str:
    text = line.strip()
    if text.startswith(("conflict:", "left ", "left alone")):
        return WARN
    return DIM if text.startswith(("keeps ", "of ")) else ""
