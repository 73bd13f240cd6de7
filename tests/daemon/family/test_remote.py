"""Other hosts: what is heard of them ages by the clock here, and is checked as if a stranger had said it."""

from __future__ import annotations

import msgspec
import pytest

from quire_daemon.family.note import ChangedFile, HeldLease, Note
from quire_daemon.family.remote import FRESH_S, HubLease, RemoteHost, RemoteHosts, RemoteWriter, Standing, standing_told

MINUTE_NS = 60_000_000_000


def host(*files: str, leases: tuple[HeldLease, ...] = (), silent_s: float = 0.0, name: str = "alpha") -> RemoteHost:
    changed = [ChangedFile(path, "ab" * 32, False, 5, "codex", "x1") for path in files]
    return RemoteHost(name, "site", f"journal-{name}", Note("", "", "fix", changed, leases), (), silent_s)


@pytest.fixture
def hosts() -> RemoteHosts:
    return RemoteHosts()


def test_an_uncommitted_change_of_another_host_is_known_by_path(hosts: RemoteHosts) -> None:
    hosts.hear([host("auth.ts")], {}, 100.0, 0)
    (one,) = hosts.changed("auth.ts", "cd" * 32, 100.0)
    assert (one.checkout, one.branch, one.file.agent) == ("alpha:site", "fix", "codex")
    assert not list(hosts.changed("other.ts", "", 100.0))
    assert not list(hosts.changed("auth.ts", "ab" * 32, 100.0)), "the same bytes are no news"


def test_a_host_that_is_silent_is_gone_by_the_clock_here(hosts: RemoteHosts) -> None:
    hosts.hear([host("auth.ts", silent_s=4.0)], {}, 100.0, 0)
    assert [one.silent_s for one in hosts.present(101.0)] == [5.0]
    assert hosts.present(96.0 + FRESH_S)
    assert not hosts.present(96.1 + FRESH_S)
    assert not list(hosts.changed("auth.ts", "", 96.1 + FRESH_S))


def test_what_is_heard_replaces_what_was_heard_before(hosts: RemoteHosts) -> None:
    hosts.hear([host("a", name="alpha"), host("b", name="beta")], {}, 100.0, 0)
    hosts.hear([host("a", name="alpha")], {}, 101.0, 0)
    assert [one.label for one in hosts.present(101.0)] == ["alpha:site"]


def test_a_lease_of_another_host_ends_by_the_clock_here(hosts: RemoteHosts) -> None:
    lease = HeldLease(7, "auth.ts", "file", "exclusive", MINUTE_NS, "codex", "x1")
    hosts.hear([host(leases=(lease,))], {}, 100.0, 5 * MINUTE_NS)
    ((_, (known,)),) = hosts.leases(100.0)
    assert known.expires_ns == 6 * MINUTE_NS


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a\0b", ""])
def test_a_path_that_leads_elsewhere_is_not_taken(hosts: RemoteHosts, path: str) -> None:
    hosts.hear([host(path)], {}, 100.0, 0)
    assert not list(hosts.changed(path, "", 100.0))
    assert not hosts.present(100.0)[0].note.files


def test_names_of_other_hosts_are_one_line_of_plain_text(hosts: RemoteHosts) -> None:
    evil = msgspec.structs.replace(host("a"), host="al\x1b[31mpha\n" * 100, writers=[RemoteWriter("co\ndex")])
    hosts.hear([evil], {}, 100.0, 0)
    (one,) = hosts.present(100.0)
    assert one.host.isprintable()
    assert len(one.host) <= 120
    assert one.writers[0].agent.isprintable()


def test_an_own_lease_is_sure_for_the_time_that_its_keeper_told_and_no_longer(hosts: RemoteHosts) -> None:
    hosts.hear([], {7: HubLease("held", 4.0, 57)}, 100.0, 0)
    assert hosts.lease(7, 103.9) == HubLease("held", 4.0, 57)
    assert hosts.lease(7, 104.0) == HubLease("unconfirmed", 0.0, 57), "nobody told that the shipper had ended"
    assert hosts.lease(8, 100.0).standing == "unconfirmed"


def test_a_lease_that_another_host_took_is_told_as_taken_while_somebody_looks(hosts: RemoteHosts) -> None:
    hosts.hear([], {7: HubLease("taken")}, 100.0, 0)
    assert hosts.lease(7, 100.0 + FRESH_S).standing == "taken"
    assert hosts.lease(7, 100.1 + FRESH_S).standing == "unconfirmed"


def test_after_leaving_nothing_is_known(hosts: RemoteHosts) -> None:
    hosts.hear([host("a")], {7: HubLease("held", 4.0, 57)}, 100.0, 0)
    hosts.leave()
    assert not hosts.in_team
    assert not hosts.present(100.0)
    assert not hosts.linked(100.0)


@pytest.mark.parametrize(("standing", "kind"), [("taken", "lease_taken"), ("unconfirmed", "lease_unconfirmed")])
def test_a_lease_that_the_hub_does_not_hold_is_told_with_its_path(standing: Standing, kind: str) -> None:
    told = standing_told(HeldLease(7, "auth.ts", "file", "exclusive", 0), standing)
    assert told["type"] == kind
    assert "auth.ts" in told["message"]
