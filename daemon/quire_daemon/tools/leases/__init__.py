"""Leases: who works on which lines, and who waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.leases.rules import (
        in_force as in_force,
        lease_held as lease_held,
        lease_json as lease_json,
        others as others,
        under_leases as under_leases,
        warnings as warnings,
    )
    from quire_daemon.tools.leases.scope import covers as covers
    from quire_daemon.tools.leases.tool import (
        CLAIM_TOOL as CLAIM_TOOL,
        CLAIMS_TOOL as CLAIMS_TOOL,
        RELEASE_TOOL as RELEASE_TOOL,
        ClaimParams as ClaimParams,
        wanted_lease as wanted_lease,
    )
else:
    __getattr__ = face(
        __name__,
        rules="in_force lease_held lease_json others under_leases warnings",
        scope="covers",
        tool="CLAIMS_TOOL CLAIM_TOOL ClaimParams RELEASE_TOOL wanted_lease",
    )
