"""`quire status`: how the daemon and the journal are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire_client import render
from quire_client.commands.base import Command, Invocation
from quire_journal import VERSION


def run(call: Invocation) -> int:
    """Ask the daemon that runs; none is started for it."""
    call.at_most(0)
    reply = call.ask("status", {}, start=False)
    if isinstance(reply.get("versions"), dict):
        reply["versions"].setdefault("client", VERSION)
    return call.answer(reply, lambda reply: "\n".join(render.columns(rows(reply, call.colours))))


def rows(reply: Mapping[str, Any], colours: render.Palette) -> list[tuple[str, str]]:
    """What is told, and how it is."""
    rows = [("workspace", render.clean(reply.get("workspace", "?")))]
    rows.append(("state", render.clean(reply.get("state_dir", "?"))))
    rows.append(("daemon", f"pid {reply.get('pid', '?')}, {_versions(reply.get('versions'))}"))
    rows.append(("journal", _journal(reply)))
    if reply.get("salvaged"):
        rows.append(("", colours.paint(render.one_line(reply["salvaged"], 500), "yellow")))
    if isinstance(reply.get("retention"), Mapping):
        rows.append(("limits", _limits(reply["retention"], colours)))
    rows.append(("capture", _capture(reply.get("capture") or {})))
    rows.append(("coverage", _coverage(reply.get("coverage"), colours)))
    rows.append(("protection", _protection(reply.get("protection"))))
    writers = reply.get("writers")
    if isinstance(writers, list) and writers:
        rows.append(("writers", ", ".join(render.writer(who) for who in writers)))
    return rows


def _versions(versions: object) -> str:
    if not isinstance(versions, Mapping):
        return "version unknown"
    return ", ".join(f"{render.clean(name)} {render.clean(number)}" for name, number in sorted(versions.items()))


def _journal(reply: Mapping[str, Any]) -> str:
    journal = reply.get("journal")
    parts = [f"record {reply['seq']}"] if "seq" in reply else []
    if isinstance(journal, Mapping):
        if journal.get("versions") is not None:
            parts.append(render.count(int(journal["versions"]), "version"))
        if journal.get("bytes") is not None:
            parts.append(render.size(journal["bytes"]))
    return ", ".join(parts) or "?"


def _limits(retention: Mapping[str, Any], colours: render.Palette) -> str:
    """What is taken of what may be, and whether the disk's reserve is there."""
    parts = []
    for name in ("workspace", "store"):
        taken = retention.get(name) or {}
        if taken.get("limit"):
            parts.append(f"{name} {render.size(taken.get('bytes') or 0)} of {render.size(taken['limit'])}")
    reserve = retention.get("reserve") or {}
    if reserve.get("given_back"):
        parts.append(colours.paint("the disk is full: its reserve was given back", "yellow"))
    elif reserve.get("bytes"):
        lacking = "" if reserve.get("held") else " (no room for it)"
        parts.append(f"disk reserve {render.size(reserve['bytes'])}{lacking}")
    return ", ".join(parts) or "none"


def _capture(capture: Mapping[str, Any]) -> str:
    if capture.get("finished", True):
        return "finished"
    return f"{capture.get('done', 0)} of {render.count(int(capture.get('total') or 0), 'file')}"


def _coverage(coverage: object, colours: render.Palette) -> str:
    if not isinstance(coverage, Mapping):
        return render.one_line(coverage or "?")
    state = render.one_line(coverage.get("state", "?"))
    reasons = "; ".join(render.one_line(reason) for reason in coverage.get("reasons") or ())
    since = f" since {render.moment(coverage['since'])}" if coverage.get("since") else ""
    if state != "full":
        state = colours.paint(state, "yellow")
    return f"{state}{since}: {reasons}" if reasons else f"{state}{since}"


def _protection(protection: object) -> str:
    if not isinstance(protection, Mapping):
        return render.one_line(protection or "?")
    active = [str(name) for name, on in protection.items() if on]
    missing = [str(name) for name, on in protection.items() if not on]
    told = f"{', '.join(active) or 'none'} active"
    return render.one_line(f"{told}; {', '.join(missing)} not available here" if missing else told)


COMMAND = Command(
    arguments="",
    about="Tells which daemon runs for the workspace, how large the journal is, how far the first capture has come,\n"
    "whether anything escapes the journal (coverage), and which protections of the file system are active.",
    example="quire status --json",
    run=run,
)
