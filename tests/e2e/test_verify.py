"""`verify` by a process of its own, beside a daemon that serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from live import Live, caught_up, ok, refused

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def at() -> Iterator[Live]:
    live = Live()
    live.write("a.txt", "one\n")
    yield live
    live.close()


def test_the_stored_bytes_can_be_read_part_by_part_while_others_edit(at: Live) -> None:
    client = at.connect()
    caught_up(client)
    for n in range(1, 4):
        ok(client.call("write_file", {"path": f"new{n}.txt", "content": f"{n}\n"}))
        reply = ok(client.verify(f"{n}/3"))
        assert reply["findings"] == []
        assert reply["read_data"] == f"{n}/3"
    assert ok(client.verify("none"))["message"] == "The journal is sound."
    assert ok(client.call("write_file", {"path": "b.txt", "content": "two\n"}))["outcome"] == "applied"


@pytest.mark.parametrize("part", ["0/3", "4/3", "x", "1/0", "1"])
def test_a_part_that_cannot_be_is_refused(at: Live, part: str) -> None:
    assert "read_data" in refused(at.connect().verify(part), "schema_invalid")["message"]
