"""A plan as rows: in the words of the command line, with what stays and what is in the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire_client.cli import show_files, whose
from quire_client.ui.rows import BOLD, DIM, WARN, Row, Span, row
from quire_client.ui.visible import visible_in


def plan_rows(plan: Mapping[str, Any]) -> list[Row]:
    """The rows; each can be chosen, so that a long plan can be read."""
    shown = visible_in({name: value for name, value in plan.items() if name != "token"})
    first, *rest = [*show_files(shown).split("\n"), *whose(shown)]
    told = [Span(first, BOLD), *(Span(line, _style(line)) for line in rest)]
    if plan.get("stayed"):
        told.append(Span("What others built on the undone lines stays as it is.", WARN))
    return [row(span, key=number) for number, span in enumerate(told)]


def can_be_done(plan: Mapping[str, Any]) -> bool:
    """Would the plan change anything?"""
    files = plan.get("files") or ()
    return bool(plan.get("token")) and plan.get("valid", True) and any(one.get("action") != "none" for one in files)


def _style(line: str) -> str:
    text = line.strip()
    if text.startswith(("conflict:", "left ", "left alone")):
        return WARN
    return DIM if text.startswith(("keeps ", "of ")) else ""
