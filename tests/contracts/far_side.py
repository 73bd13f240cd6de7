"""What every store of the far side promises. A suite of an adapter is this class with `opened` filled in."""

from __future__ import annotations

import threading

import pytest

from quire_client.ship.address import FarSide

J, OTHER = "0123abcd", "0123abce"


class FarSideContract:
    """The promises of `quire_client.ship.port`."""

    def opened(self) -> FarSide:
        """The same stores at each call, as another process would open them; empty at first."""
        raise NotImplementedError

    def test_a_segment_is_read_back_as_it_was_put(self) -> None:
        data = bytes(range(256)) * 300
        assert self.opened().segments.put(J, 1, data)
        assert self.opened().segments.get(J, 1) == data

    def test_the_first_segment_of_a_number_stays(self) -> None:
        segments = self.opened().segments
        assert segments.put(J, 1, b"first")
        assert not segments.put(J, 1, b"second")
        assert not segments.put(J, 1, b"first")
        assert segments.get(J, 1) == b"first"

    def test_what_is_not_there_is_none(self) -> None:
        far = self.opened()
        assert far.segments.get(J, 1) is None
        assert far.blobs.get("ab" * 32) is None
        assert not list(far.segments.numbers(J))
        assert not far.segments.journals()

    def test_numbers_are_told_in_order_after_one(self) -> None:
        segments = self.opened().segments
        for number in (2, 10, 1, 100):
            segments.put(J, number, b"x")
        segments.put(OTHER, 7, b"x")
        assert list(segments.numbers(J)) == [1, 2, 10, 100]
        assert list(segments.numbers(J, after=2)) == [10, 100]
        assert not list(segments.numbers(J, after=100))

    def test_journals_are_told_apart(self) -> None:
        segments = self.opened().segments
        for journal in (OTHER, J, f"{J}.f00d"):
            segments.put(journal, 1, journal.encode())
        assert segments.journals() == sorted([J, f"{J}.f00d", OTHER])
        assert segments.get(OTHER, 1) == OTHER.encode()
        assert list(segments.numbers(J)) == [1]

    def test_many_blobs_are_put_at_once_and_the_first_bytes_of_a_name_stay(self) -> None:
        blobs = self.opened().blobs
        taken = "cd" * 32
        blobs.put_all({taken: b"first"})
        many = {f"{n:02x}" * 32: bytes([n]) * (n * 10_000 + 1) for n in range(120)} | {taken: b"second"}
        there = blobs.put_all(many)
        assert there == {**many, taken: b"first"}
        assert blobs.put_all(many) == there
        assert blobs.get("03" * 32) == many["03" * 32]
        assert blobs.put_all({}) == {}

    def test_a_blob_is_put_once(self) -> None:
        blobs = self.opened().blobs
        blobs.put_all({"ab" * 32: b"bytes"})
        blobs.put_all({"ab" * 32: b"other", "ac" * 32: b"more"})
        assert self.opened().blobs.get("ab" * 32) == b"bytes"
        assert self.opened().blobs.get("ac" * 32) == b"more"

    def test_many_blobs_are_put_together(self) -> None:
        many = {f"{n:064x}": b"%d" % n * n for n in range(40)}
        self.opened().blobs.put_all(many)
        assert {name: self.opened().blobs.get(name) for name in many} == many

    @pytest.mark.parametrize("size", [0, 1, 3 << 20])
    def test_bytes_of_any_size_are_held(self, size: int) -> None:
        data = b"\0\xff" * (size // 2) + b"x" * (size % 2)
        far = self.opened()
        far.blobs.put_all({"cd" * 32: data})
        assert far.blobs.get("cd" * 32) == data

    def test_of_many_at_once_one_wins(self) -> None:
        won: list[bytes] = []
        start = threading.Barrier(6)

        def race(data: bytes) -> None:
            segments = self.opened().segments
            start.wait()
            if segments.put(J, 5, data):
                won.append(data)

        racers = [threading.Thread(target=race, args=(bytes([n]) * 1000,)) for n in range(6)]
        for one in racers:
            one.start()
        for one in racers:
            one.join()
        assert [self.opened().segments.get(J, 5)] == won
