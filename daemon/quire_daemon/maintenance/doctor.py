"""The `doctor` service: reports which kernel protections are active and which parts of the daemon work."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.core import Call
from quire_daemon.core.replies import DoctorReply
from quire_daemon.maintenance.service import NoArguments, Service, ServiceHost
from quire_journal.model import size

_INSTEAD: Final = {
    "openat2": "each folder on the way is opened and compared by itself, and without /proc a bind mount is not noticed",
}
_DOCUMENTED: Final = "the documented fallback is used"


def run(call: Call, host: ServiceHost) -> None:
    """Reply with `healthy` and a list `checks` of `{name, ok, detail}`."""
    health = host.health()
    heads = health["signed_heads"]
    checks: list[dict[str, Any]] = [
        {
            "name": f"protection: {name}",
            "ok": bool(on),
            "detail": "active" if on else f"not available here; {_INSTEAD.get(name, _DOCUMENTED)}",
        }
        for name, on in health["protection"].items()
        if not health.get("checkout_read_only")  # without writes, protections do not matter
    ]
    if closed := health.get("checkout_read_only"):
        told = f"can only be read ({closed}): reading, log and blame work, every write is refused"
        checks.append({"name": "checkout", "ok": False, "detail": told})
    blind = "; ".join(host.outside.reasons())  # of coverage; its other parts have checks of their own
    checks.append({"name": "watcher", "ok": not blind, "detail": blind or "sees the whole tree"})
    checks.append({"name": "tracing", "ok": True, "detail": health["tracing"]})
    if host.in_force.wrong:
        told = f"those of before are in force, for a file cannot be used: {host.in_force.wrong}"
        checks.append({"name": "settings in force", "ok": False, "detail": told})
    checks += [{"name": "setting", "ok": True, "detail": told} for told in health.get("settings_waiting", ())]
    takes_none = health["read_only"] or health.get("journal_full", "")
    checks.append({"name": "journal", "ok": not takes_none, "detail": takes_none or "takes records"})
    if waiting := health.get("no_place_aside"):
        checks.append({"name": "displaced bytes", "ok": False, "detail": waiting})
    if salvaged := health.get("salvaged"):
        checks.append({"name": "salvage", "ok": True, "detail": salvaged})
    checks += [
        {"name": "signed head", "ok": False, "detail": told}
        for told in (*heads.get("broken", ()), *([heads["failed"]] if heads.get("failed") else []))
    ]
    clock = health.get("clock", "")
    in_future = "in the future" in clock
    checks.append({"name": "clock", "ok": not in_future, "detail": clock or "goes forward"})
    reserve = health["retention"]["reserve"]
    full = "the disk is full: it was given back" if reserve["given_back"] else "there is no room for it"
    checks.append(
        {
            "name": "disk reserve",
            "ok": reserve["held"] or not reserve["bytes"],
            "detail": size(reserve["bytes"]) if reserve["held"] else full,
        }
    )
    if unfinished := health["retention"].get("unfinished"):
        checks.append({"name": "collection", "ok": False, "detail": unfinished})
    healthy = all(check["ok"] for check in checks)
    message = "All is well." if healthy else "Something needs a look."
    host.answer(call, {"ok": True, "message": message, "healthy": healthy, "checks": checks})


DOCTOR: Final = Service("doctor", NoArguments, run, reply=DoctorReply)
