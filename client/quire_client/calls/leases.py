"""Leases: announced or exclusive work on files."""

from __future__ import annotations

from quire_client.calls.base import Answer, Calls, stated


class Leases(Calls):
    def claim(
        self,
        path: str | None = None,
        kind: str | None = None,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        ttl_s: float | None = None,
        reason: str | None = None,
        wait_ms: int | None = None,
        dry_run: bool | None = None,
        bind: str | None = None,
        renew: int | None = None,
    ) -> Answer:
        """Announce work on a file, folder or glob (`kind="intent"`), or take a `shared` or `exclusive` lease.

        Lines are 1-based and inclusive. A lease expires after `ttl_s` seconds (600); `renew` is the number of a lease
        to prolong. `wait_ms`: longest wait for others, in milliseconds. `bind="connection"`: the lease ends with this
        connection.

        Reply: `{lease, fencing, kind, path, form, lines, reason, holder, yours, granted_at, expires_at, expires_in_s,
        bind}`, `conflicts` (leases of others there, `conflicts_total`), `queued`.
        Refused: `lease_held` (`holder`, `expires_in_s`, `free`), `not_found` (of `renew`), `expired` (after a wait).
        Source: quire_daemon.tools.leases.tool
        """
        bounds = stated(start_line=start_line, end_line=end_line, ttl_s=ttl_s, renew=renew, bind=bind)
        given = stated(path=path, kind=kind, reason=reason, wait_ms=wait_ms, dry_run=dry_run, **bounds)
        return self.call("claim", given)

    def release(
        self,
        path: str | None = None,
        *,
        lease: int | None = None,
        all: bool | None = None,
        force: bool | None = None,
        reason: str | None = None,
    ) -> Answer:
        """Give up the leases on `path`, one by its number, or all; `force` breaks those of others, for a `reason`.

        Reply: `released` (the caller's) and `broken` (others'), each as in `claim`.
        Refused: `not_found`, `lease_held` (another's).
        Source: quire_daemon.tools.leases.tool
        """
        return self.call("release", stated(path=path, lease=lease, all=all, force=force, reason=reason))

    def claims(self, path: str | None = None) -> Answer:
        """The leases in force and the waiting claims, all or those that touch `path`.

        Reply: `leases` and `waiting` as in `claim`, oldest first; `broken`, own leases broken by others.
        Refused: nothing of its own.
        Source: quire_daemon.tools.leases.tool
        """
        return self.call("claims", stated(path=path))
