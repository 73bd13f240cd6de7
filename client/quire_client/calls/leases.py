"""Client methods for leases: claims of a caller on files, folders, globs or lines."""

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

        Lines are 1-based and inclusive. A lease expires after `ttl_s` seconds (default 600); `renew` is the number of a
        lease to prolong. `wait_ms` is the maximum wait for leases of others, in milliseconds. With `bind="connection"`
        the lease ends with this connection.

        Reply: `{lease, fencing, kind, path, form, lines, reason, holder, yours, granted_at, expires_at, expires_in_s,
        bind}` (`lease`: its number), `conflicts` (compatible leases of others there; `conflicts_total` counts them),
        `queued` (number of claims that wait for this lease).
        Refused: `lease_held` (`holder`, `expires_in_s`, `free`), `not_found` (no lease has the number `renew`),
        `expired` (after a wait).
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
        """Give up the caller's leases on `path`, the lease with the number `lease`, or all.

        `force` also breaks leases of other callers, and needs a `reason`.

        Reply: `released` (the caller's) and `broken` (others'), each as in `claim`.
        Refused: `not_found`, `lease_held` (another caller holds it).
        Source: quire_daemon.tools.leases.tool
        """
        return self.call("release", stated(path=path, lease=lease, all=all, force=force, reason=reason))

    def claims(self, path: str | None = None) -> Answer:
        """List the leases in force and the claims that wait, all or those that overlap `path`.

        Reply: `leases` and `waiting` as in `claim`, oldest first; `broken`, own leases that others broke.
        Refused: nothing of its own.
        Source: quire_daemon.tools.leases.tool
        """
        return self.call("claims", stated(path=path))
