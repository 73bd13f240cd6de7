"""Leases: who works on which lines, and who waits for them."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.leases.rules import *
    from quire_daemon.tools.leases.scope import *
    from quire_daemon.tools.leases.tool import *
else:
    __getattr__ = face(
        __name__,
        rules="in_force lease_held lease_json others under_leases warnings",
        scope="covers disturbs lines_at",
        tool="CLAIMS_TOOL CLAIM_TOOL ClaimParams RELEASE_TOOL wanted_lease",
    )
