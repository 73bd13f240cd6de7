"""Events of fanotify, as the kernel wrote them, and what they say."""

from __future__ import annotations

import pytest

from quire_daemon.watch.fanotify.kernel import CLOSED, CREATED, MODIFIED, OVERFLOW, RENAMED, KernelEvent, parsed

FSID = "51b264a7bf44adfa"
FOLDER = "0800000001000000616023004c44e5cc"
OLD = "0800000001000000176123003dd23bf2"
NEW = "080000000100000026612300de9a0bc8"

WRITTEN = bytes.fromhex(
    f"54000000030018000a01000000000000ffffffff1e180000 02002000{FSID}{FOLDER}66000000 01001c00{FSID}{OLD}"
)
MOVED = bytes.fromhex(
    "7c000000030018000000001000000000ffffffff20180000"
    f"0a002800{FSID}{FOLDER}736564675a6567594b000000 0c002000{FSID}{FOLDER}66000000 01001c00{FSID}{NEW}"
)


def test_an_event_names_the_process_the_folder_the_name_in_it_and_the_file() -> None:
    assert [*parsed(WRITTEN)] == [
        KernelEvent(CREATED | CLOSED | MODIFIED, 6174, bytes.fromhex(FOLDER), b"f", bytes.fromhex(OLD))
    ]


def test_a_rename_names_both_ends() -> None:
    folder = bytes.fromhex(FOLDER)
    assert [*parsed(MOVED)] == [KernelEvent(RENAMED, 6176, folder, b"sedgZegYK", bytes.fromhex(NEW), folder, b"f")]


def test_several_events_come_in_one_read() -> None:
    assert [event.pid for event in parsed(WRITTEN + MOVED + WRITTEN)] == [6174, 6176, 6174]


def test_lost_events_are_told_by_one_without_a_file() -> None:
    told = bytes.fromhex("18000000030018000040000000000000ffffffff00000000")
    assert [*parsed(told)] == [KernelEvent(OVERFLOW, 0)]


def test_events_of_another_form_are_not_guessed_at() -> None:
    with pytest.raises(OSError, match="version 4"):
        [*parsed(WRITTEN[:4] + b"\4" + WRITTEN[5:])]
