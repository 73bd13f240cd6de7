"""`quire status`: prints the state of the daemon and its journal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from quire_client.cli import fork_told, gaps_told, lost_told, render
from quire_client.commands import Command, Invocation
from quire_journal import VERSION


def run(call: Invocation) -> int:
    call.at_most(0)
    from quire_client.transport import NoDaemon

    try:
        reply = call.ask("status", {}, start=False)
    except NoDaemon as reason:
        if not (wrong := _wrong_settings(call)):
            raise
        raise NoDaemon(
            f"{reason} None can be started, and nothing is recorded: {wrong}. Put that right first."
        ) from None
    if isinstance(reply.get("versions"), dict):
        reply["versions"].setdefault("client", VERSION)
    return call.answer(reply, lambda reply: "\n".join(render.columns(rows(reply, call.colours))))


def _wrong_settings(call: Invocation) -> str:
    from quire_journal.workspaces import settings_files

    if not any(os.path.lexists(path) for path in settings_files(call.place.root)):
        return ""
    import subprocess

    from quire_client.transport import checking_settings

    try:
        ran = subprocess.run(
            checking_settings(call.place), capture_output=True, text=True, errors="replace", timeout=15
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (
        render.one_line(ran.stderr.strip().rpartition("\n")[2].removeprefix("quired: "), 400) if ran.returncode else ""
    )


def rows(reply: Mapping[str, Any], colours: render.Palette) -> list[tuple[str, str]]:
    rows = [("workspace", render.clean(reply.get("workspace", "?")))]
    rows.append(("kept in", render.clean(reply.get("state_dir", "?"))))
    rows.append(("daemon", f"pid {reply.get('pid', '?')}, {_versions(reply.get('versions'))}"))
    rows.append(("journal", _journal(reply)))
    rows += [("" if n else "signed", told) for n, told in enumerate(_signed(reply.get("signed_heads"), colours))]
    rows += [("" if n else "shipped", told) for n, told in enumerate(_shipped(reply.get("shipping"), colours))]
    if reply.get("salvaged"):
        rows.append(("", colours.paint(render.one_line(reply["salvaged"], 500), "yellow")))
    if isinstance(reply.get("retention"), Mapping):
        rows += zip(("space", ""), _space(reply["retention"]), strict=False)
        rows += [("reserve", told) for told in [_reserve(reply["retention"], colours)] if told]
    rows.append(("capture", _capture(reply.get("capture") or {})))
    rows += [("", told) for told in [uncaptured(reply)] if told]
    rows.append(("coverage", _coverage(reply.get("coverage"), colours)))
    if reply.get("clock"):
        rows.append(("clock", colours.paint(render.one_line(reply["clock"], 1000), "yellow")))
    rows += [
        ("setting", colours.paint(render.one_line(told), "yellow")) for told in reply.get("settings_waiting") or ()
    ]
    closed = render.one_line(reply.get("checkout_read_only") or "")
    if closed:
        told = f"the checkout can only be read ({closed}): every write is refused"
        rows.append(("protection", colours.paint(told, "yellow")))
    else:
        rows.append(("protection", _protection(reply.get("protection"))))
    if reply.get("tracing"):
        rows.append(("tracing", render.one_line(reply["tracing"])))
    writers = reply.get("writers")
    if isinstance(writers, list) and writers:
        rows.append(("writers", _writers(writers, int(reply.get("writers_total") or 0))))
    return rows


def _versions(versions: object) -> str:
    if not isinstance(versions, Mapping):
        return "version unknown"
    daemon, client = (render.clean(versions.get(name, "?")) for name in ("daemon", "client"))
    told = [f"version {daemon}" if client in (daemon, "?") else f"version {daemon} (this client is {client})"]
    for name, words in (("journal_format", "journal format"), ("wire", "wire version")):
        if name in versions:
            told.append(f"{words} {render.clean(versions[name])}")
    return ", ".join(told)


def _journal(reply: Mapping[str, Any]) -> str:
    journal = reply.get("journal")
    parts = [render.counted(int(reply["seq"]), "record")] if "seq" in reply else []
    if isinstance(journal, Mapping) and journal.get("versions") is not None:
        parts.append(f"{render.counted(int(journal['versions']), 'version')} of files")
    if isinstance(journal, Mapping) and journal.get("bytes") is not None:
        parts.append(f"{render.size(journal['bytes'])} on disk")
    return ", ".join(parts) or "?"


def _signed(heads: object, colours: render.Palette) -> list[str]:
    if not isinstance(heads, Mapping):
        return []
    records = int(heads.get("records") or 0)
    told = [f"up to record {records}"] if records else []
    if heads.get("failed"):
        told.append(colours.paint(render.one_line(heads["failed"], 500), "yellow"))
    return told + [colours.paint(render.one_line(one, 500), "red") for one in heads.get("broken") or ()]


_STILL_S: Final = 90.0


def _shipped(shipping: object, colours: render.Palette) -> list[str]:
    if not isinstance(shipping, Mapping):
        return []
    behind = int(shipping.get("behind") or 0)
    far = "everything" if not behind else f"{render.counted(behind, 'record')} behind"
    told = [f"{far}, to {render.one_line(shipping.get('to') or '?', 200)}"]
    if shipping.get("trouble"):
        since = render.moment(shipping["since"])
        told.append(colours.paint(f"unreachable since {since}: {render.one_line(shipping['trouble'], 300)}", "yellow"))
    elif float(shipping.get("asked_s", _STILL_S + 1)) > _STILL_S:
        told.append(colours.paint("no `quire ship` runs", "yellow"))
    if lost := shipping.get("lost"):
        told.append(colours.paint(lost_told(lost), "yellow"))
    if gaps := shipping.get("gaps"):
        told.append(colours.paint(gaps_told(gaps), "yellow"))
    if shipping.get("forked"):
        told.append(colours.paint(fork_told(str(shipping["journal"]), str(shipping["forked"])), "yellow"))
    return told


_TAKERS: Final = {"workspace": "this journal", "store": "all your journals"}


def _space(retention: Mapping[str, Any]) -> list[str]:
    parts = []
    for name, words in _TAKERS.items():
        taken = retention.get(name) or {}
        if taken.get("limit"):
            parts.append(f"{words} {render.size(taken.get('bytes') or 0)} (limit {render.size(taken['limit'])})")
    return parts or ["no limits are set"]


def _reserve(retention: Mapping[str, Any], colours: render.Palette) -> str:
    reserve = retention.get("reserve") or {}
    if reserve.get("given_back"):
        return colours.paint("the disk is full: it was given back", "yellow")
    if not reserve.get("bytes"):
        return ""
    if not reserve.get("held"):
        return colours.paint(
            f"{render.size(reserve['bytes'])}, wanted for a full disk: there is no room for it", "yellow"
        )
    return f"{render.size(reserve['bytes'])}, held for a full disk"


def _writers(writers: list[Any], total: int) -> str:
    names = list(dict.fromkeys(render.writer(who) for who in writers))
    return ", ".join(names) + (f" and {total - len(writers)} more" if total > len(writers) else "")


def _capture(capture: Mapping[str, Any]) -> str:
    if capture.get("finished", True):
        return "finished: every file has been looked at"
    if capture.get("waits_for"):
        return render.one_line(f"waits: {capture['waits_for']}", 300)
    return f"under way: {capture.get('done', 0)} of {render.counted(int(capture.get('total') or 0), 'file')} looked at"


def uncaptured(reply: Mapping[str, Any]) -> str:
    """Return a sentence with the number of files whose bytes are not in the journal; "" if there are none."""
    journal = reply.get("journal")
    count = int(journal.get("uncaptured") or 0) if isinstance(journal, Mapping) else 0
    return f"{render.lacking(count)}: `quire ls` says which" if count else ""


def _coverage(coverage: object, colours: render.Palette) -> str:
    if not isinstance(coverage, Mapping):
        return render.one_line(coverage or "?")
    state = render.one_line(coverage.get("state", "?"))
    reasons = "; ".join(render.one_line(reason) for reason in coverage.get("reasons") or ())
    since = f" since {render.moment(coverage['since'])}" if coverage.get("since") else ""
    if state == "full":
        state = "full: every change is seen"
    else:
        state = colours.paint(state, "yellow")
    return f"{state}{since}: {reasons}" if reasons else f"{state}{since}"


def _protection(protection: object) -> str:
    if not isinstance(protection, Mapping):
        return render.one_line(protection or "?")
    active = [str(name) for name, on in protection.items() if on]
    missing = [str(name) for name, on in protection.items() if not on]
    if active and not missing:
        return render.one_line(f"all active: {', '.join(active)}")
    return render.one_line(f"active: {', '.join(active) or 'none'}; not available here: {', '.join(missing) or 'none'}")


COMMAND = Command(
    arguments="",
    about="Tells which daemon runs for the workspace, how much the journal holds, and takes of its limits, how far\n"
    "the capture is, whether anything escapes the journal (coverage), which protections of the file system are\n"
    "active, and who has called.",
    example="quire status --json",
    run=run,
)
