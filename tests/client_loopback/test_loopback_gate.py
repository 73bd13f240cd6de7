"""Host, Origin and token: who gets past, and what the others are told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quire_client.loopback.gate import token_in, verdict
from quire_journal.workspaces.layout import WorkspaceRefused

TOKEN = "t" * 43
MOST = 1000
"""Bytes of a body."""


def status(token: str = TOKEN, **headers: str | list[str]) -> int:
    """The status of a request with these headers, which are right where they are not given; 200 when it may pass."""
    given: dict[str, str | list[str]] = {"host": "127.0.0.1:8123", "authorization": f"Bearer {TOKEN}"} | headers
    lines = [
        (name.encode(), one.encode())
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    no = verdict(lines, 8123, token, MOST)
    return 200 if no is None else no.status


def test_the_right_token_at_our_own_address_passes() -> None:
    assert status() == 200
    assert status(host="localhost:8123", origin="http://localhost:8123") == 200
    assert status(authorization=f"bearer {TOKEN}") == 200


@pytest.mark.parametrize("host", ["", "evil.example:8123", "127.0.0.1", "127.0.0.1:9", "127.0.0.1:8123.evil.example"])
def test_a_name_that_was_bound_to_this_machine_is_not_ours(host: str) -> None:
    assert status(host=host) == 421


def test_a_body_that_is_too_large_is_refused_before_the_token_is_looked_at() -> None:
    assert status(**{"content-length": str(MOST)}) == 200
    assert status(**{"content-length": str(MOST + 1)}) == 413
    assert status(**{"content-length": str(MOST + 1), "authorization": "Bearer wrong"}) == 413


def test_two_hosts_are_none() -> None:
    assert status(host=["127.0.0.1:8123", "evil.example"]) == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:8123", ""])
def test_a_foreign_origin_is_refused_even_with_the_token(origin: str) -> None:
    assert status(origin=origin) == 403


@pytest.mark.parametrize(
    "said", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer é"]
)
def test_a_wrong_token_is_refused_and_told_which_scheme_is_wanted(said: str) -> None:
    no = verdict([(b"host", b"127.0.0.1:8123"), (b"authorization", said.encode())], 8123, TOKEN, MOST)
    assert no is not None
    assert (no.status, no.header) == (401, (b"www-authenticate", b"Bearer"))


def test_two_tokens_are_none() -> None:
    assert status(authorization=[f"Bearer {TOKEN}", f"Bearer {TOKEN}"]) == 401


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    token = token_in(tmp_path / "mcp.token")
    assert len(token) >= 43
    assert token_in(tmp_path / "mcp.token") == token
    assert os.stat(tmp_path / "mcp.token").st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.token"]


@pytest.mark.parametrize("spoilt", ["readable", "short", "link"])
def test_a_token_that_others_could_know_or_guess_is_not_used(tmp_path: Path, spoilt: str) -> None:
    path = tmp_path / "mcp.token"
    token_in(path)
    if spoilt == "readable":
        path.chmod(0o644)
    elif spoilt == "short":
        path.write_text("")
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceRefused, match=r"mcp\.token"):
        token_in(path)
