"""`read_file`: what is shown, and the record of what was."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import live
from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Limits, Settings
from quire_journal.model.events import ReadServed
from quire_journal.text.line_hash import hash8, line_id

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def read(daemon: MemoryDaemon, by: str = "ann", **args: Any) -> dict[str, Any]:
    """A read of f.txt."""
    return daemon.ask("read_file", {"path": "f.txt", **args}, by=by)


def last_served(daemon: MemoryDaemon) -> ReadServed:
    """The newest record of a read."""
    served = daemon.events(ReadServed)[-1]
    assert isinstance(served, ReadServed)
    return served


def test_a_plain_read_gives_content_and_what_the_file_is() -> None:
    reply = read(MemoryDaemon({"f.txt": b"\xef\xbb\xbfa\r\nb\r\n"}))
    assert reply["content"] == "a\nb\n"
    assert "lines" not in reply
    assert (reply["newlineStyle"], reply["hasBom"], reply["sizeBytes"], reply["lineCount"]) == ("crlf", True, 9, 2)
    assert (reply["truncated"], reply["last_writer"]["type"]) == (False, "outside")


def test_a_hashed_read_shows_number_hash_quality_and_text() -> None:
    reply = read(MemoryDaemon({"f.txt": "foo\n}\n"}), hashes=True)
    assert reply["lines"] == ["1#acbd18 [high]|foo", "2#cbb184 [low]|}"]
    assert "content" not in reply
    assert read(MemoryDaemon({"f.txt": "foo\n}\n"}), format="hashed")["lines"] == reply["lines"]


def test_a_hashline_read_shows_line_and_id() -> None:
    reply = read(MemoryDaemon({"f.txt": "foo\n}\n"}), format="hashline")
    assert reply["lines"] == [f"1#{line_id(b'foo')}|foo", f"2#{line_id(b'}')}|}}"]


@pytest.mark.parametrize(
    ("args", "content"),
    [
        ({"start_line": 2, "end_line": 3}, "two 2\nthree 3"),
        ({"startLine": 4}, "four 4\nfive 5\n"),
        ({"endLine": 1}, "one 1"),
        ({"start_line": -3, "end_line": 99}, FIVE),
        ({"start_line": 0, "end_line": 1}, "one 1"),
        ({"start_line": 9}, ""),
        ({"start_line": 4, "end_line": 2}, ""),
        ({"end_line": 0}, ""),
    ],
)
def test_lines_are_clamped_to_the_file(args: dict[str, int], content: str) -> None:
    assert read(MemoryDaemon({"f.txt": FIVE}), **args)["content"] == content


def test_a_missing_final_break_is_not_shown() -> None:
    assert read(MemoryDaemon({"f.txt": "a\nb"}))["content"] == "a\nb"


@pytest.mark.parametrize(
    "args",
    [
        {"start_line": 1, "startLine": 2},
        {"hashes": True, "format": "plain"},
        {"format": "fancy"},
        {"lines": 3},
        {"start_line": "1"},
    ],
)
def test_arguments_that_contradict_or_are_unknown_are_refused(args: dict[str, Any]) -> None:
    assert read(MemoryDaemon({"f.txt": FIVE}), **args)["error"] == "schema_invalid"


def test_a_long_file_is_cut_at_a_line_and_goes_on_from_there() -> None:
    daemon = MemoryDaemon(
        {"f.txt": "x" * 99 + "\n" + "y" * 99 + "\n" + "z\n"}, Settings(limits=Limits(reply_bytes=150))
    )
    first = read(daemon)
    assert (first["content"], first["truncated"], first["next_line"]) == ("x" * 99, True, 2)
    assert last_served(daemon).shown == ((0, 1),)
    rest = read(daemon, start_line=first["next_line"])
    assert (rest["content"], rest["truncated"]) == ("y" * 99 + "\nz\n", False)
    assert last_served(daemon).shown == ((0, 3),)


def test_a_line_over_the_limit_is_shown_whole_so_that_reading_goes_on() -> None:
    daemon = MemoryDaemon({"f.txt": "x" * 500 + "\ny\n"}, Settings(limits=Limits(reply_bytes=100)))
    assert read(daemon, hashes=True)["next_line"] == 2


@pytest.mark.parametrize("shape", ["hashed", "hashline", "numbered"])
def test_pages_show_the_rows_of_the_whole_and_no_more_than_the_limit(shape: str) -> None:
    text = "one 1\nzwölf\n\n}\n" + "y" * 40 + "\nlast"
    whole = read(MemoryDaemon({"f.txt": text}), format=shape)["lines"]
    assert len(whole) == 6
    for limit in range(1, 200, live.length(7, 1)):
        daemon, pages, line = MemoryDaemon({"f.txt": text}, Settings(limits=Limits(reply_bytes=limit))), [], 1
        while line is not None:
            reply = read(daemon, format=shape, start_line=line)
            assert len(reply["lines"]) == 1 or sum(len(row.encode()) + 1 for row in reply["lines"]) <= limit
            pages += reply["lines"]
            line = reply.get("next_line")
            assert reply["truncated"] == (line is not None)
        assert pages == whole


def test_bytes_that_are_no_text_are_shown_as_such_and_come_in_base64_on_request() -> None:
    daemon = MemoryDaemon({"f.txt": b"caf\xe9\r\nplain\n"})
    reply = read(daemon, content_base64=True)
    assert (reply["content"], reply["lossy"]) == ("caf\ufffd\nplain\n", True)
    assert base64.b64decode(reply["content_base64"]) == b"caf\xe9\r\nplain\n"
    assert "lossy" not in read(daemon, start_line=2)


def test_a_read_is_recorded_with_what_the_caller_has_seen_by_now() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, start_line=1, end_line=2)
    assert not last_served(daemon).anchors
    read(daemon, start_line=4, end_line=5, hashes=True)
    assert last_served(daemon).shown == ((0, 2), (3, 5))
    assert last_served(daemon).anchors


def test_lines_seen_in_an_earlier_version_stay_seen_where_they_still_stand() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, start_line=1, end_line=3)
    daemon.save("f.txt", FIVE.replace("two 2\n", "theirs\nmore\n"))
    read(daemon, start_line=6, end_line=6)
    assert last_served(daemon).shown == ((0, 1), (3, 4), (5, 6))


def test_the_past_is_shown_and_does_not_move_the_base() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    first = read(daemon)["version"]
    daemon.save("f.txt", "now\n")
    served = len(daemon.events(ReadServed))
    reply = read(daemon, at=first, hashes=True, start_line=2, end_line=2)
    assert reply["lines"] == [f"2#{hash8(b'two 2')[:6]} [high]|two 2"]
    assert reply["version"] == first
    assert len(daemon.events(ReadServed)) == served
    assert read(daemon, at=f"seq:{first[1:]}")["content"] == FIVE


def test_a_point_before_the_file_existed_is_not_found() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon)
    assert read(daemon, at="2000-01-01T00:00:00Z")["error"] == "not_found"
    assert read(daemon, at="no such name")["error"] == "not_found"


@pytest.mark.parametrize(
    ("files", "error"),
    [({}, "not_found"), ({"f.txt/a": "x"}, "not_a_file"), ({"f.txt": b"\0"}, "binary_file")],
)
def test_what_is_no_text_is_refused(files: dict[str, bytes | str], error: str) -> None:
    assert read(MemoryDaemon(files))["error"] == error


def test_a_file_that_is_not_captured_is_shown_with_the_reason() -> None:
    daemon = MemoryDaemon({"f.txt": "secret=1\n"})
    daemon.keep_secret("f.txt")
    reply = read(daemon)
    assert (reply["content"], reply["version"], reply["uncaptured"]) == ("secret=1\n", "v2", "secret")
    (read_of,) = daemon.events(ReadServed)
    assert isinstance(read_of, ReadServed)
    assert (read_of.path, read_of.version) == ("f.txt", 2)


def test_an_empty_file_has_no_lines() -> None:
    reply = read(MemoryDaemon({"f.txt": b""}), hashes=True)
    assert (reply["lines"], reply["lineCount"], reply["newlineStyle"]) == ([], 0, "none")


def test_numbered_lines_have_their_numbers_and_no_anchors() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    reply = read(daemon, format="numbered", start_line=4)
    assert reply["lines"] == ["     4\tfour 4", "     5\tfive 5"]
    assert "content" not in reply
    assert not last_served(daemon).anchors


def test_a_read_since_a_version_shows_only_what_changed_with_anchors_and_what_is_gone() -> None:
    daemon = MemoryDaemon({"f.txt": "".join(f"{n}\n" for n in range(1, 31))})
    seen = read(daemon)["version"]
    old = [str(n) for n in range(1, 31)]
    new = [*old[:9], "ten", "ten and a half", *old[10:24], *old[25:]]
    daemon.write("f.txt", "".join(f"{line}\n" for line in new).encode(), daemon.ben)
    reply = read(daemon, hashes=True, since=seen)
    assert [(h["startLine"], h["endLine"], h["removed"]) for h in reply["hunks"]] == [(7, 14, ["10"]), (23, 28, ["25"])]
    assert reply["hunks"][0]["lines"][3:5] == [f"10#{hash8(b'ten')[:6]} [high]|ten", reply["hunks"][0]["lines"][4]]
    assert "lines" not in reply
    assert (reply["since"], reply["truncated"]) == (seen, False)


def test_what_a_read_since_a_version_shows_counts_as_read() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    seen = read(daemon)["version"]
    daemon.write("f.txt", FIVE.replace("five 5", "FIVE").encode(), daemon.ben)
    read(daemon, hashes=True, since=seen)
    assert last_served(daemon).shown == ((0, 5),)
    assert "changed_since_your_read" not in read(daemon)


def test_a_read_since_the_newest_version_shows_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    seen = read(daemon)["version"]
    reply = read(daemon, since=seen)
    assert reply["hunks"] == []
    assert reply["message"] == f"f.txt is as it was in {seen}."


def test_a_read_since_a_version_is_cut_between_places() -> None:
    daemon = MemoryDaemon({"f.txt": "".join(f"{n:040}\n" for n in range(60))}, Settings(limits=Limits(reply_bytes=600)))
    seen = read(daemon)["version"]
    text = "".join(f"{'x' if n % 20 == 10 else n:040}\n" for n in range(60))
    daemon.write("f.txt", text.replace("0" * 39 + "x", "changed").encode(), daemon.ben)
    reply = read(daemon, since=seen)
    assert 1 <= len(reply["hunks"]) < 3
    assert reply["truncated"]
    assert reply["next_line"] == reply["hunks"][-1]["endLine"] + 1


@pytest.mark.parametrize("other", [{"at": "v1"}, {"start_line": 1}, {"content_base64": True}])
def test_a_read_since_a_version_goes_with_no_other_choice_of_lines(other: dict[str, Any]) -> None:
    reply = read(MemoryDaemon({"f.txt": FIVE}), since="v1", **other)
    assert (reply["error"], "goes with none of" in reply["message"]) == ("schema_invalid", True)


@pytest.mark.parametrize("tool", ["read_file", "blame", "why", "show"])
def test_a_point_before_a_rename_is_that_of_the_file_under_its_earlier_name(tool: str) -> None:
    """It was refused, as no file was at the new name then."""
    daemon = MemoryDaemon({"f.txt": "one\n"})
    first = read(daemon)["version"]
    assert daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
    point = "version" if tool == "show" else "at"
    reply = daemon.ask(tool, {"path": "g.txt", point: first})
    assert (reply["ok"], reply["path"]) == (True, "f.txt")
    daemon.ask("write_file", {"path": "new.txt", "content": "new\n"})
    assert daemon.ask(tool, {"path": "new.txt", point: first})["error"] == "not_found"
