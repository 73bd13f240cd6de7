"""What every store of leases across hosts promises. A suite of an adapter is this class with two methods filled in."""

from __future__ import annotations

import threading

from quire_client.hub.leases import LeaseStore

KEY, OTHER = "x.app", "x.lib"


class LeaseStoreContract:
    """The promises of `quire_client.hub.leases`."""

    def opened(self) -> LeaseStore:
        """The same store at each call, as another host would open it; empty at first."""
        raise NotImplementedError

    def pass_time(self, seconds: float) -> None:
        """Let the store's clock go on."""
        raise NotImplementedError

    def test_a_lease_is_held_by_one(self) -> None:
        token = self.opened().acquire(KEY, b"ada", 60)
        assert token
        assert self.opened().acquire(KEY, b"bob", 60) is None
        assert self.opened().acquire(OTHER, b"bob", 60)
        assert self.opened().lease(KEY) == (b"ada", token)

    def test_a_lease_that_ended_is_free_with_a_newer_token(self) -> None:
        first = self.opened().acquire(KEY, b"ada", 1)
        self.pass_time(2.5)
        assert self.opened().lease(KEY) is None
        second = self.opened().acquire(KEY, b"bob", 60)
        assert first
        assert second
        assert second > first

    def test_a_renewed_lease_lasts_and_its_old_token_is_worth_nothing(self) -> None:
        store = self.opened()
        first = store.acquire(KEY, b"ada", 2)
        assert first
        self.pass_time(1)
        second = store.renew(KEY, b"ada, still", first, 4)
        assert second
        assert second > first
        self.pass_time(2)
        assert store.acquire(KEY, b"bob", 60) is None
        assert store.lease(KEY) == (b"ada, still", second)
        assert store.renew(KEY, b"ada", first, 60) is None
        store.release(KEY, first)
        assert store.lease(KEY)

    def test_a_renewed_lease_ends(self) -> None:
        store = self.opened()
        first = store.acquire(KEY, b"ada", 60)
        assert first
        assert store.renew(KEY, b"ada", first, 1)
        self.pass_time(2.5)
        assert store.acquire(KEY, b"bob", 60)

    def test_a_lease_that_ended_cannot_be_renewed(self) -> None:
        store = self.opened()
        first = store.acquire(KEY, b"ada", 1)
        assert first
        self.pass_time(2.5)
        second = store.acquire(KEY, b"bob", 60)
        assert store.renew(KEY, b"ada", first, 60) is None
        assert store.lease(KEY) == (b"bob", second)

    def test_a_released_lease_is_free_at_once(self) -> None:
        store = self.opened()
        first = store.acquire(KEY, b"ada", 60)
        assert first
        store.release(KEY, first)
        store.release(KEY, first)
        assert store.lease(KEY) is None
        second = store.acquire(KEY, b"bob", 60)
        assert second
        assert second > first
        store.release(KEY, first)
        assert store.lease(KEY) == (b"bob", second)

    def test_of_many_at_once_one_gets_it(self) -> None:
        got: list[bytes] = []
        start = threading.Barrier(6)
        stores = [self.opened() for _ in range(6)]

        def race(number: int) -> None:
            value = b"%d" % number
            start.wait()
            if stores[number].acquire(KEY, value, 60):
                got.append(value)

        racers = [threading.Thread(target=race, args=(n,)) for n in range(6)]
        for one in racers:
            one.start()
        for one in racers:
            one.join()
        held = self.opened().lease(KEY)
        assert held
        assert got == [held.value]
