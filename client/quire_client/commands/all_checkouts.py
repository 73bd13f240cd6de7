"""The option `--all-checkouts`: calls a tool of the daemons of all checkouts of the repository (its family).

Daemons are not started; checkouts whose daemon does not answer are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from quire_client.cli import render
from quire_client.commands.base import ClientOptions, Invocation
from quire_client.commands.options import Option, Usage

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.hub import HostHistory
    from quire_journal.workspaces import Member

T = TypeVar("T")

ANSWER_S: Final = 5.0
ALL_CHECKOUTS: Final = Option(
    "all-checkouts",
    "",
    "of all checkouts and worktrees of this repository, as far as they run, and of the team's other hosts",
)


def checkouts_of(call: Invocation) -> list[Member]:
    """Return the checkouts of this checkout's family on this machine, this checkout first. Raises Usage if it has no
    family.
    """
    from quire_journal.workspaces import family_in, members

    found = list(members(family_in(call.place.state, call.place.root)))
    if not any(one.place.root == call.place.root for one in found):
        raise Usage(
            f"{call.place.root} is not known as a checkout of a repository beside others: --all-checkouts wants a "
            "journal in the state home, and a git repository or a name in [family]."
        )
    return sorted(found, key=lambda one: (one.place.root != call.place.root, one.place.root))


def told_by(call: Invocation, one: Member, ask: Callable[[Client], T]) -> T | None:
    """Return the result of `ask`, called with a client of the daemon of the checkout `one`; None if that daemon does
    not answer.
    """
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import WorkspaceRefused

    try:
        wanted = ClientOptions(one.place, *call.caller, call.timeout_s(ANSWER_S), False, None)
        with call.opener(wanted) as client:
            return ask(client)
    except (NoDaemon, WorkspaceRefused):
        return None


def read_at_hub(call: Invocation, read: Callable[[list[HostHistory]], T]) -> T | None:
    """Return what `read` finds in the histories that other hosts of the team have shipped, except checkouts whose
    daemons answer here. None if this checkout has joined no team, or after a message if the hub cannot be read.
    """
    from quire_client.hub import at_hub, joined, of_other_hosts
    from quire_client.ship import FarSideUnreachable, HubAddress
    from quire_journal.model import JournalDamaged
    from quire_journal.shipment import BadSegment

    if not (address := joined(call.place.state)):
        return None
    with call.connect() as client:
        own = str(client.hub().get("journal", ""))
    try:
        siblings = checkouts_of(call)[1:]
    except Usage:  # the journal is outside of the state home
        siblings = []
    known = {told_by(call, one, lambda client: str(client.hub().get("journal", ""))) or "" for one in siblings}
    try:
        with at_hub(HubAddress.parse(address)) as (connection, far):
            return read(of_other_hosts(connection, far, own, known))
    except (FarSideUnreachable, BadSegment, JournalDamaged) as error:
        call.say(f"The hub could not be read, so other hosts are missing: {error}.")
        return None


def asked(call: Invocation, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool of the family's daemons and return the replies in the list `checkouts`. Raises Usage if this checkout
    belongs to no family.
    """
    from quire_journal.workspaces import branch_of

    found = checkouts_of(call)
    checkouts = []
    for one in found:
        reply = told_by(call, one, lambda client: dict(client.call(tool, arguments)))
        checkouts.append(
            {
                "checkout": one.name,
                "path": str(one.place.root),
                "branch": branch_of(one.place.root),
                "you": one.place.root == call.place.root,
                "reply": reply,
            }
        )
    if tool in _FROM_HOSTS:
        checkouts += _on_other_hosts(call, _FROM_HOSTS[tool])
    answered = sum(1 for one in checkouts if one["reply"] is not None)
    message = f"{render.counted(len(checkouts), 'checkout')}, of which {answered} answered."
    return {"ok": True, "message": message, "family": found[0].family, "checkouts": checkouts}


def _on_other_hosts(
    call: Invocation, told: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield replies for checkouts on other hosts, made by `told` from the news that each sends to the team's hub."""
    from quire_client.hub import joined
    from quire_client.transport import NoDaemon

    if not joined(call.place.state):
        return
    try:
        with call.connect(start=False) as client:
            heard = client.hub().get("hosts") or ()
    except NoDaemon:
        heard = ()
    for host in heard:
        yield {
            "checkout": host["checkout"],
            "path": f"on {host['host']}, heard of {round(host['silent_s'])} s ago",
            "branch": host["note"]["branch"],
            "you": False,
            "reply": told(host),
        }


def _who_there(host: Mapping[str, Any]) -> Mapping[str, Any]:
    writers = [
        {
            "agent": writer["agent"],
            "agent_session": writer.get("session", ""),
            "uid": None if writer["agent"] else 0,
            "present": True,
            "on": {"writing": [{"path": path} for path in writer.get("paths") or ()]},
        }
        for writer in host["writers"]
    ]
    return {"ok": True, "message": "", "writers": writers, "collisions": [], "total": len(writers)}


def _claims_there(host: Mapping[str, Any]) -> Mapping[str, Any]:
    from quire_journal.history import rfc3339

    leases = [
        {
            "lease": number,
            "kind": strength,
            "path": path,
            "form": form,
            "expires_at": rfc3339(expires_ns),
            "holder": {"agent": agent, "agent_session": session},
            "yours": False,
        }
        for number, path, form, strength, expires_ns, agent, session, *_ in host["note"]["leases"]
    ]
    return {"ok": True, "message": render.counted(len(leases), "lease") + ".", "leases": leases, "waiting": []}


_FROM_HOSTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]] = {
    "who": _who_there,
    "claims": _claims_there,
}
"""Tools whose replies can be made from the news of other hosts."""


def shown(reply: Mapping[str, Any], show: Callable[[Mapping[str, Any]], str]) -> str:
    """Return the replies of all checkouts as text, each made by `show`, below a heading."""
    return "\n".join(_lines(reply["checkouts"], show))


def _lines(checkouts: Sequence[Mapping[str, Any]], show: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
    for one in checkouts:
        yield headed(one)
        reply = one["reply"]
        if reply is not None:
            said = show(reply) if reply.get("ok") else render.said(reply.get("message", ""))
            yield from (f"  {line}".rstrip() for line in said.splitlines())


def headed(one: Mapping[str, Any]) -> str:
    branch = f" ({render.one_line(one['branch'])})" if one["branch"] else ""
    here = ", this one" if one["you"] else ""
    silent = ": no daemon answers" if one["reply"] is None else ""
    return f"{render.one_line(one['checkout'])}{branch}  {render.clean(one['path'])}{here}{silent}"
