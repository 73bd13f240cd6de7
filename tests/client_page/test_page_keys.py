"""Keys of the page: once, for a minute, and cookies for half a day."""

from __future__ import annotations

from quire_client.page.keys import IDLE_S, KEY_S, MOST_KEYS, Keys


def test_a_key_becomes_a_cookie_once() -> None:
    keys = Keys()
    key = keys.mint("write", 0)
    cookie = keys.redeem(key, 1)
    assert cookie is not None
    assert keys.right_of(cookie, 2) == "write"
    assert keys.redeem(key, 3) is None
    assert keys.redeem("", 3) is None


def test_a_key_is_good_for_a_minute() -> None:
    keys = Keys()
    early, late = keys.mint("write", 0), keys.mint("write", 0)
    assert keys.redeem(early, KEY_S) is not None
    assert keys.redeem(late, KEY_S + 0.1) is None


def test_a_cookie_may_do_what_its_key_was_made_for() -> None:
    keys = Keys()
    cookie = keys.redeem(keys.mint("read", 0), 0)
    assert cookie is not None
    assert keys.right_of(cookie, 1) == "read"
    assert keys.right_of(cookie + "x", 1) is None


def test_a_browser_that_asks_nothing_for_half_a_day_needs_another_key() -> None:
    keys = Keys()
    cookie = keys.redeem(keys.mint("read", 0), 0)
    assert cookie is not None
    assert keys.right_of(cookie, IDLE_S) == "read"
    assert keys.right_of(cookie, 2 * IDLE_S) == "read"
    assert keys.right_of(cookie, 3 * IDLE_S + 1) is None
    assert keys.right_of(cookie, 3 * IDLE_S + 1) is None


def test_what_is_revoked_is_void() -> None:
    keys = Keys()
    key, cookie = keys.mint("write", 0), keys.redeem(keys.mint("write", 0), 0)
    assert cookie is not None
    assert keys.good(cookie, 0)
    assert keys.revoke() == 1
    assert keys.redeem(key, 0) is None
    assert keys.right_of(cookie, 0) is None
    assert not keys.good(cookie, 0)


def test_of_many_keys_the_oldest_goes() -> None:
    keys = Keys()
    first = keys.mint("write", 0)
    others = [keys.mint("write", 0) for _ in range(MOST_KEYS)]
    assert keys.redeem(first, 0) is None
    assert keys.redeem(others[0], 0) is not None


def test_who_may_look_only_puts_nobody_out_who_may_write() -> None:
    """A guest of the page of all workspaces makes links there as it likes: the 64th ended the owner's visit."""
    keys = Keys()
    unused, owner = keys.mint("write", 0), keys.redeem(keys.mint("write", 0), 0)
    assert owner is not None
    for _ in range(MOST_KEYS + 1):
        assert keys.redeem(keys.mint("read", 1), 1) is not None
    for _ in range(MOST_KEYS + 1):
        keys.mint("read", 1)
    assert keys.right_of(owner, 2) == "write"
    assert keys.redeem(unused, 2) is not None
