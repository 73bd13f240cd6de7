"""Two hosts and a hub: real daemons, real shippers, a real server of NATS."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from hub_hosts import TEXT, Host, clones, git, there, two_hosts
from live import eventually, ok, quire
from nats_server import NatsNode, free_ports, make_place, new_team
from quire_client.commands import DAMAGED
from quire_client.page import OtherHosts

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return clones(tmp_path)


def test_hosts_hear_of_each_other_and_are_told_before_an_edit(repository: Path, team: str) -> None:
    with two_hosts(repository, team) as (alpha, beta):
        eventually("beta hears of alpha", lambda: beta.heard() == ["alpha:one"])
        eventually("alpha hears of beta", lambda: alpha.heard() == ["beta:two"])
        alpha.write("auth.ts", TEXT.replace("line 3\n", "line three\n"))
        ok(alpha.client.call("claim", {"path": "auth.ts", "kind": "exclusive"}))

        def warned() -> list[str]:
            fresh = beta.live.connect("bob", os.urandom(4).hex())
            return [one["type"] for one in fresh.call("read_file", {"path": "auth.ts"}).get("warnings") or ()]

        eventually("beta is warned", lambda: {"also_changed", "leased_elsewhere"} <= {*warned()})
        ok(beta.client.call("claim", {"path": "auth.ts", "kind": "exclusive"}))
        eventually("beta's lease is known to be taken", lambda: "lease_taken" in warned())
        hosts = {one["host"]: one for one in ok(beta.client.hub())["hosts"]}
        assert hosts["alpha"]["writers"][0]["agent"] == "ada"
        git(alpha.live.root, "commit", "-am", "two")
        eventually("what is committed is no news", lambda: not beta.client.hub()["hosts"][0]["note"]["files"])


def test_the_history_of_all_hosts_is_at_the_hub_and_is_sound(repository: Path, team: str) -> None:
    with two_hosts(repository, team) as (alpha, beta):
        for n in range(5):
            alpha.write(f"a{n}.txt", f"{n}\n")
            beta.write(f"b{n}.txt", f"{n}\n")
        eventually("all is there", lambda: alpha.behind() + beta.behind() <= 2)
        work = alpha.cli("log", "--host", "all")["work"]
        paths = {path for one in work for path in one["paths"]}
        assert {f"{which}{n}.txt" for which in "ab" for n in range(5)} <= paths
        assert {one["checkout"] for one in work} == {"alpha:one", "beta:two"}
        (only,) = alpha.cli("log", "--host", "beta", "b3.txt")["work"]
        assert (only["writer"]["agent"], only["writer"]["agent_session"]) == ("ada", "of-beta")
        lanes = OtherHosts(alpha.live.state_dir, alpha.client.hub, time.monotonic).lanes(0, int(time.time() * 1000))
        (lane,) = [one for one in lanes["lanes"] if one["writer"].get("agent")]
        assert (lane["checkout"], lane["writer"]["agent_session"]) == ("beta:two", "of-beta")
        assert sum(count for _, count in lane["writes"]) == 5, "the page has a lane of the other host"
        verdict = beta.cli("hub", "verify")
        assert [one["wrong"] for one in verdict["journals"]] == [[], []]
        status = beta.cli("hub", "status")
        assert [(one["checkout"], one["you"]) for one in status["journals"]] == [
            ("alpha:one", False),
            ("beta:two", True),
        ]


@pytest.mark.wide
def test_a_line_that_a_commit_brought_is_of_who_wrote_it_on_the_other_host(repository: Path, team: str) -> None:
    with two_hosts(repository, team) as (alpha, beta):
        eventually("both ship", lambda: alpha.client.hub()["linked"] and beta.client.hub()["linked"])
        alpha.write("auth.ts", TEXT.replace("line 3\n", "line three\n"))
        git(alpha.live.root, "commit", "-am", "two")
        git(beta.live.root, "pull")

        def lines() -> list[dict[str, Any]]:
            return list(beta.cli("blame", "auth.ts", "--lines", "2:3", "--all-checkouts")["lines"])

        eventually("all is there", lambda: alpha.behind() == 0 and beta.behind() == 0, 30)
        eventually("the commit is known", lambda: lines()[1].get("elsewhere"), 30)
        first, changed = lines()
        (who,) = changed["elsewhere"]
        assert (who["checkout"], who["writer"]["agent_session"]) == ("alpha:one", "of-alpha")
        assert not first.get("elsewhere"), "ada's first commit is older than all journals"


@pytest.mark.wide
def test_a_journal_that_was_put_back_from_an_old_copy_goes_on_under_a_name_of_its_own(
    repository: Path, team: str
) -> None:
    """So does that of a cloned machine, which is the same copy at another place."""
    host = Host(repository / "one", "alpha", team)
    try:
        host.join()
        host.write("a.txt", "before\n")
        eventually("all is there", lambda: host.behind() == 0)
        journal = host.stand_still()
        copy = repository / "copy"
        shutil.copytree(host.live.state_dir, copy)
        host.go_on()
        host.write("a.txt", "what the copy does not know\n")
        eventually("that is there", lambda: host.behind() == 0)
        before = host.stand_still()
        shutil.rmtree(host.live.state_dir)
        shutil.copytree(copy, host.live.state_dir)
        host.go_on()
        host.write("b.txt", "what only the copy knows\n")
        eventually("it ships under another name", lambda: host.client.hub()["journal"] != journal, 30)
        eventually("all is there", lambda: host.behind() == 0)
        (event,) = host.cli("log", "--records", "--kind", "journal_forked")["records"]
        assert event["kind"] == "journal_forked"
        assert before == journal
        at = host.client.outbox(look=True)
        assert there(host) == at["records"]
        rows = {row["journal"]: row for row in host.cli("hub", "verify", exits=DAMAGED)["journals"]}
        assert set(rows) == {journal, at["journal"]}, "nothing of either is lost"
        assert rows[journal]["records"] > 0
        assert f"{journal} goes on there from segment" in rows[at["journal"]]["wrong"][0], "and it is told"
    finally:
        host.close()


@pytest.mark.wide
def test_a_server_that_is_killed_and_one_that_lost_everything_get_it_all(repository: Path, tmp_path: Path) -> None:
    node = NatsNode(tmp_path / "nats", free_ports(1)[0])
    node.start()
    host = Host(repository / "one", "alpha", new_team(node.host))
    try:
        host.join()
        for n in range(20):
            host.write(f"{n}.txt", f"{n}\n")
            if n == 5:
                node.kill()
            if n == 10:
                node.start()
        eventually("all is there", lambda: host.behind() <= 1, 60)
        node.kill()
        node.empty()
        node.start()
        host.write("later.txt", "later\n")
        make_place(host.address)
        eventually("all is there again", lambda: there(host) >= 20, 60)
        assert "far_side_lost" in (host.live.state_dir / "daemon.log").read_text()
        assert "lost" not in host.client.status()["shipping"], "it is whole again"
    finally:
        host.close()
        node.kill()


def test_one_shipper_runs_for_a_checkout(repository: Path, team: str) -> None:
    """It ends when the team is left, also one that a shell started in the background, where SIGINT is ignored."""
    host = Host(repository / "one", "alpha", team, ("sh", "-c", 'trap "" INT; exec "$0" "$@"'))
    try:
        host.join()
        eventually("it ships", lambda: host.client.hub()["linked"])
        ran = quire("ship", "-C", str(host.live.root), "--state-dir", str(host.live.state_dir))
        assert ran.returncode == 2
        assert b"runs here already" in ran.stderr
        assert host.cli("hub", "leave")["stopped"]
        eventually("it ends", lambda: host.shipper is not None and host.shipper.poll() is not None)
    finally:
        host.close()


@pytest.mark.wide
def test_an_exclusive_lease_is_told_as_unconfirmed_while_nobody_renews_it(repository: Path, tmp_path: Path) -> None:
    node = NatsNode(tmp_path / "nats", free_ports(1)[0])
    node.start()
    host = Host(repository / "one", "alpha", new_team(node.host))
    try:
        host.join()
        ok(host.client.call("claim", {"path": "auth.ts", "kind": "exclusive"}))
        number = host.cli("claims")["leases"][0]["lease"]

        def standing() -> str:
            return str(host.cli("claims")["leases"][0]["hub"]["standing"])

        eventually("the hub holds it", lambda: standing() == "held")
        token = host.cli("claims")["leases"][0]["hub"]["token"]
        node.kill()
        eventually("it is not sure any more", lambda: standing() == "unconfirmed", 20)
        warned = host.client.call("read_file", {"path": "auth.ts"})["warnings"]
        assert [one["type"] for one in warned] == ["lease_unconfirmed"]
        host.write("auth.ts", "it still holds here\n")
        node.start()
        eventually("the hub holds it again", lambda: standing() == "held", 30)
        assert host.cli("claims")["leases"][0]["hub"]["token"] > token
        assert host.cli("claims")["leases"][0]["lease"] == number
        host.stop_shipping()
        eventually("a shipper that was killed renews nothing", lambda: standing() == "unconfirmed", 20)
        host.cli("hub", "leave")
        assert "hub" not in host.cli("claims")["leases"][0]
    finally:
        host.close()
        node.kill()
