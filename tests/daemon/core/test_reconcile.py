"""Disk against journal: every combination of what is known and what is found, the stat cache, and renames."""

from __future__ import annotations

import itertools
import stat
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire_daemon.core import reconcile
from quire_daemon.core.reconcile import (
    GRANULARITY_NS,
    MOST_RENAMES,
    OnDisk,
    Renames,
    SeenStat,
    StatEntry,
    compare,
    difference,
)
from quire_daemon.workers.pool import Cancellation
from quire_journal.model.events import (
    FOLDER,
    LINK,
    REGULAR,
    CaptureFailed,
    Event,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
)
from quire_journal.views.files import Version

A, B = b"a" * 32, b"b" * 32


def version(
    seq: int = 7,
    blob: bytes = A,
    size: int = 3,
    mode: int = 0o644,
    entry: int = REGULAR,
    gone: bool = False,
    uncaptured: str = "",
) -> Version:
    return Version(seq, 0, 1, seq, "edit", blob, size, mode, entry=entry, gone=gone, uncaptured=uncaptured)


# ── one path ─────────────────────────────────────────────────────────────────

MISSING = OnDisk("missing")
FILE_A = OnDisk("file", A, 3, 0o644)
FILE_B = OnDisk("file", B, 4, 0o644)
RUN_A = OnDisk("file", A, 3, 0o755)
LINK_A = OnDisk("link", A, 3, 0o777, LINK)
SOME_FOLDER = OnDisk("folder")
EMPTY_FOLDER = OnDisk("folder", mode=0o755, entry=FOLDER)
FIFO = OnDisk("special", mode=0o600)
LARGE = OnDisk("file", b"", 9, 0o644, why="too_large")
SECRET = OnDisk("file", A, 3, 0o644, why="secret")

NEW = None
GONE = version(blob=b"", gone=True)
KNOWN = version()
KNOWN_LINK = version(mode=0o777, entry=LINK)
KNOWN_FOLDER = version(blob=b"", size=0, mode=0o755, entry=FOLDER)
KNOWN_FIFO = version(blob=b"", size=0, mode=0o600, uncaptured="not_a_file")
KNOWN_LARGE = version(blob=b"", size=9, uncaptured="too_large")
KNOWN_SECRET = version(uncaptured="secret")


def written(disk: OnDisk, base: int = 7) -> OutsideWritten:
    return OutsideWritten("p", disk.blob, disk.size, disk.mode, "watched", base=base, entry=disk.entry)


def failed(disk: OnDisk, why: str, evidence: str = "watched") -> CaptureFailed:
    return CaptureFailed("p", why, disk.size, disk.blob, disk.mode, evidence)


DELETED = OutsideDeleted("p", "watched", 7)
CASES: dict[str, tuple[Version | None, dict[str, Event | None]]] = {
    "new": (
        NEW,
        {
            "missing": None,
            "file a": written(FILE_A, 0),
            "file b": written(FILE_B, 0),
            "run a": written(RUN_A, 0),
            "link": written(LINK_A, 0),
            "folder": None,
            "empty folder": written(EMPTY_FOLDER, 0),
            "fifo": failed(FIFO, "not_a_file"),
            "large": failed(LARGE, "too_large"),
            "secret": failed(SECRET, "secret"),
        },
    ),
    "known": (
        KNOWN,
        {
            "missing": DELETED,
            "file a": None,
            "file b": written(FILE_B),
            "run a": OutsideModeChanged("p", A, 3, 0o755, "watched", 7),
            "link": written(LINK_A),
            "folder": DELETED,
            "empty folder": written(EMPTY_FOLDER),
            "fifo": failed(FIFO, "not_a_file"),
            "large": failed(LARGE, "too_large"),
            "secret": failed(SECRET, "secret"),
        },
    ),
    "link": (KNOWN_LINK, {"missing": DELETED, "link": None, "file a": written(FILE_A), "folder": DELETED}),
    "folder": (
        KNOWN_FOLDER,
        {"missing": DELETED, "folder": None, "empty folder": None, "file a": written(FILE_A), "link": written(LINK_A)},
    ),
    "fifo": (KNOWN_FIFO, {"missing": DELETED, "fifo": None, "file a": written(FILE_A), "folder": DELETED}),
    "large": (
        KNOWN_LARGE,
        {"missing": DELETED, "large": None, "file a": written(FILE_A), "secret": failed(SECRET, "secret")},
    ),
    "secret": (
        KNOWN_SECRET,
        # "file a": the bytes are the same, but the journal does not have them
        {"missing": DELETED, "secret": None, "file a": written(FILE_A), "large": failed(LARGE, "too_large")},
    ),
}
DISKS = {
    "missing": MISSING,
    "file a": FILE_A,
    "file b": FILE_B,
    "run a": RUN_A,
    "link": LINK_A,
    "folder": SOME_FOLDER,
    "empty folder": EMPTY_FOLDER,
    "fifo": FIFO,
    "large": LARGE,
    "secret": SECRET,
}
ROWS = [(name, known, disk, event) for name, (known, row) in CASES.items() for disk, event in row.items()]


@pytest.mark.parametrize(
    ("known", "disk", "event"), [row[1:] for row in ROWS], ids=[f"{name}, then {disk}" for name, _, disk, _ in ROWS]
)
def test_what_follows(known: Version | None, disk: str, event: Event | None) -> None:
    assert difference("p", known, DISKS[disk], "watched") == event


@pytest.mark.parametrize("disk", DISKS)
def test_a_path_that_was_gone_is_as_one_never_known(disk: str) -> None:
    assert difference("p", GONE, DISKS[disk], "read") == difference("p", NEW, DISKS[disk], "read")


def head_after(event: Event | None, before: Version | None) -> Version | None:
    """What the files view holds after `event`, as its fold says."""
    match event:
        case OutsideWritten() | OutsideModeChanged():
            entry = event.entry if isinstance(event, OutsideWritten) else REGULAR
            return version(8, event.blob, event.size, event.mode, entry)
        case OutsideDeleted():
            return version(8, b"", 0, 0, gone=True)
        case CaptureFailed():
            return version(8, event.blob, event.size, event.mode, uncaptured=event.why)
        case _:
            return before


@pytest.mark.parametrize(
    ("known", "disk"), list(itertools.product([GONE, *(known for known, _ in CASES.values())], DISKS.values()))
)
def test_looking_twice_tells_nothing_new(known: Version | None, disk: OnDisk) -> None:
    first = difference("p", known, disk, "watched")
    assert difference("p", head_after(first, known), disk, "watched") is None


@pytest.mark.parametrize("evidence", ["captured", "watched", "scanned", "read", "recovered"])
def test_the_evidence_is_kept(evidence: str) -> None:
    for known, disk in [(NEW, FILE_A), (KNOWN, MISSING), (KNOWN, RUN_A), (KNOWN, FILE_B)]:
        event = difference("p", known, disk, evidence)
        assert isinstance(event, OutsideWritten | OutsideDeleted | OutsideModeChanged)
        assert event.evidence == evidence


def test_doubts_about_the_bytes_are_kept() -> None:
    disk = OnDisk("file", B, 4, 0o644, unfinished=True)
    event = difference("p", KNOWN, disk, "watched")
    assert isinstance(event, OutsideWritten)
    assert event.unfinished


@pytest.mark.parametrize(
    ("known", "found", "news"),
    [
        (A, A, False),
        (A, B, True),
        (A, b"", False),  # the hash could not be computed this time
        (b"", A, False),
        (b"", b"", False),
    ],
)
def test_withheld_bytes_are_news_when_both_hashes_say_so(known: bytes, found: bytes, news: bool) -> None:
    head = version(blob=known, uncaptured="secret")
    event = difference("p", head, OnDisk("file", found, 3, 0o644, why="secret"), "scanned")
    assert (event is not None) is news


@pytest.mark.parametrize("disk", [OnDisk("file", A, 4, 0o644, why="secret"), OnDisk("file", A, 3, 0o600, why="secret")])
def test_withheld_bytes_of_another_size_or_mode_are_news(disk: OnDisk) -> None:
    assert difference("p", KNOWN_SECRET, disk, "scanned") == failed(disk, "secret", "scanned")


# ── the stat cache ───────────────────────────────────────────────────────────

S = 1_000_000_000
TAKEN = 1000 * S


def entry(path: str = "f", kind: str = "file", **changes: int) -> StatEntry:
    plain = StatEntry(path, "file", 1, 2, 3, 900 * S, 900 * S, stat.S_IFREG | 0o644)
    return msgspec.structs.replace(plain, kind=kind, **changes)


CACHED = SeenStat.of(entry(), A, TAKEN)


def test_seen_survives_the_table() -> None:
    stored = msgspec.msgpack.encode(CACHED)
    assert msgspec.msgpack.decode(stored, type=SeenStat) == CACHED
    assert msgspec.msgpack.decode(stored) == [1, 2, 3, 900 * S, 900 * S, stat.S_IFREG | 0o644, A, TAKEN]


def test_an_equal_signature_is_no_change() -> None:
    result = compare({"f": CACHED}, [entry()])
    assert (result.changed, result.vanished, result.files) == ([], [], 1)


@pytest.mark.parametrize("field", ["dev", "ino", "size", "mtime_ns", "ctime_ns", "mode"])
@pytest.mark.parametrize("by", [-1, 1])
def test_each_part_of_the_signature_counts(field: str, by: int) -> None:
    other = entry(**{field: getattr(entry(), field) + by})
    assert compare({"f": CACHED}, [other]).changed == ["f"]


@pytest.mark.parametrize(
    ("mtime_ns", "ctime_ns", "racy"),
    [
        (TAKEN - GRANULARITY_NS - 1, TAKEN - GRANULARITY_NS - 1, False),
        (TAKEN - GRANULARITY_NS, 0, True),
        (0, TAKEN - GRANULARITY_NS, True),
        (TAKEN, 0, True),
        (TAKEN + GRANULARITY_NS, 0, True),
        (TAKEN + GRANULARITY_NS + 1, 0, False),  # set by hand; a write would have moved the ctime
        (0, TAKEN + 100 * S, True),  # the clock was set back
        (0, 0, False),
    ],
)
def test_stamps_as_young_as_the_read_prove_nothing(mtime_ns: int, ctime_ns: int, racy: bool) -> None:
    there = entry(mtime_ns=mtime_ns, ctime_ns=ctime_ns)
    cached = SeenStat.of(there, A, TAKEN)
    assert cached.racy() is racy
    assert compare({"f": cached}, [there]).changed == (["f"] if racy else [])


@pytest.mark.parametrize("kind", ["file", "link", "special", "unreadable"])
def test_what_is_not_in_the_cache_is_to_be_looked_at(kind: str) -> None:
    assert compare({}, [entry(kind=kind)]).changed == ["f"]


def test_folders_are_told_but_are_no_change() -> None:
    result = compare({}, [entry("d", "folder"), entry("d/f")])
    assert (result.changed, result.folders, result.files) == (["d/f"], ["d"], 1)


def test_a_folder_in_the_place_of_a_file_is_a_change() -> None:
    assert compare({"f": CACHED}, [entry("f", "folder")]).changed == ["f"]


def test_what_is_not_met_has_vanished() -> None:
    result = compare({"f": CACHED, "g": CACHED}, [entry("f")])
    assert (result.changed, result.vanished) == ([], ["g"])


def test_below_what_cannot_be_listed_nothing_has_vanished() -> None:
    known = dict.fromkeys(["d/e/f", "d", "dd", "d/g"], CACHED)
    result = compare(known, [entry("d", "unreadable")])
    assert (result.changed, result.vanished, result.bare) == (["d"], ["dd"], [])


def test_a_cancelled_crawl_proves_no_absence() -> None:
    def part() -> Iterator[StatEntry]:
        yield entry("f")
        raise Cancellation

    with pytest.raises(Cancellation):
        compare({"g": CACHED}, part())


# ── renames ──────────────────────────────────────────────────────────────────


def deleted(path: str, base: int = 7) -> OutsideDeleted:
    return OutsideDeleted(path, "watched", base)


def created(path: str, blob: bytes = A, base: int = 0, entry: int = REGULAR) -> OutsideWritten:
    return OutsideWritten(path, blob, 3, 0o644, "watched", base=base, entry=entry)


def moved(path: str, to: str, entry: int = REGULAR) -> OutsideMoved:
    return OutsideMoved(path, to, A, 3, 0o644, "watched", 7, entry)


def with_moves(events: list[Event], heads: dict[str, Version], told: list[tuple[str, str]]) -> list[Event]:
    """The events, after the watcher told of these renames."""
    return reconcile.with_moves(events, heads, Renames(told))


def test_a_hint_with_equal_bytes_is_a_move() -> None:
    events = [deleted("a"), created("b")]
    assert with_moves(events, {"a": version()}, [("a", "b")]) == [moved("a", "b")]
    assert with_moves(events[::-1], {"a": version()}, [("a", "b")]) == [moved("a", "b")]


def test_a_file_that_was_changed_on_the_way_moves_with_its_new_bytes() -> None:
    events = [deleted("a"), created("b", B)]
    assert with_moves(events, {"a": version()}, [("a", "b")]) == [msgspec.structs.replace(moved("a", "b"), blob=B)]


def test_a_link_that_moves_stays_a_link() -> None:
    events = [deleted("a"), created("b", entry=LINK)]
    assert with_moves(events, {"a": version(entry=LINK)}, [("a", "b")]) == [moved("a", "b", LINK)]


def test_other_events_stay_where_they_are() -> None:
    other = created("x", B)
    events = [other, deleted("a"), deleted("z"), created("b")]
    assert with_moves(events, {"a": version()}, [("a", "b")]) == [other, deleted("z"), moved("a", "b")]


@pytest.mark.parametrize(
    ("head", "appeared", "hints"),
    [
        (version(), created("b"), []),  # equal bytes alone are no rename
        (version(), created("b"), [("x", "b")]),
        (version(), created("b"), [("b", "a")]),
        (version(entry=LINK), created("b", B, entry=LINK), [("a", "b")]),  # a link has no lines to follow
        (version(), created("b", base=5), [("a", "b")]),  # how editors save: a new version of b
        (version(), created("b", entry=LINK), [("a", "b")]),
        (version(blob=b"", gone=True), created("b"), [("a", "b")]),
        (version(uncaptured="secret"), created("b"), [("a", "b")]),
        (version(blob=b"", entry=FOLDER), created("b", b"", entry=FOLDER), [("a", "b")]),
        (None, created("b"), [("a", "b")]),
    ],
)
def test_anything_less_is_a_deletion_and_a_new_file(
    head: Version | None, appeared: OutsideWritten, hints: list[tuple[str, str]]
) -> None:
    events = [deleted("a"), appeared]
    assert with_moves(events, {"a": head} if head else {}, hints) == events


def test_a_rename_whose_source_came_back_is_none() -> None:
    events = [created("a", B, base=7), created("b")]  # `mv a b`, and a new `a`: the history of a goes on
    assert with_moves(events, {"a": version()}, [("a", "b")]) == events


def test_renames_are_followed_through_names_in_between() -> None:
    hints = [("a", "t"), ("t", "b"), ("x", "y")]
    assert with_moves([deleted("a"), created("b")], {"a": version()}, hints) == [moved("a", "b")]


def test_a_folder_takes_its_files_along() -> None:
    events = [deleted("d/x"), deleted("d/e/y"), deleted("dd"), created("n/x"), created("n/e/y")]
    heads = dict.fromkeys(["d/x", "d/e/y", "dd"], version())
    assert with_moves(events, heads, [("d", "n")]) == [
        deleted("dd"),
        moved("d/x", "n/x"),
        moved("d/e/y", "n/e/y"),
    ]


def test_of_two_files_that_ended_under_one_name_one_moved() -> None:
    events = [deleted("a"), deleted("b"), created("c")]
    heads = dict.fromkeys("ab", version())
    assert with_moves(events, heads, [("a", "c"), ("b", "c")]) == [deleted("b"), moved("a", "c")]


def test_swapped_names_are_two_new_versions() -> None:
    events = [created("a", B, base=7), created("b", A, base=7)]
    heads = {"a": version(), "b": version(blob=B)}
    assert with_moves(events, heads, [("a", "t"), ("b", "a"), ("t", "b")]) == events


def test_renames_are_followed_in_the_order_in_which_they_came() -> None:
    """A folder, a file in it under its new name, that folder again; and a name that was used before."""
    renames = Renames([("n/x", "elsewhere"), ("d", "n"), ("n/x", "n/y"), ("d", "late"), ("n", "m"), ("m/y", "z")])
    assert [renames.followed(path) for path in ("d/x", "d/w", "n/x", "other")] == ["z", "m/w", "elsewhere", "other"]


@given(st.data())
def test_each_rename_is_applied_to_what_those_before_it_made_of_the_path(data: st.DataObject) -> None:
    names = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join)
    told, path = data.draw(st.lists(st.tuples(names, names), max_size=6)), data.draw(names)
    expected = path
    for source, target in told:
        if expected == source or expected.startswith(source + "/"):
            expected = target + expected[len(source) :]
    assert Renames(told).followed(path) == expected


def test_so_many_renames_are_remembered_and_no_more() -> None:
    renames = Renames((f"a{n}", f"b{n}") for n in range(MOST_RENAMES + 1))
    assert (renames.followed("a0"), renames.followed(f"a{MOST_RENAMES}")) == ("a0", f"b{MOST_RENAMES}")
    renames.clear()
    assert not renames
    assert renames.followed(f"a{MOST_RENAMES}") == f"a{MOST_RENAMES}"
