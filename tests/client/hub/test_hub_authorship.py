"""Who wrote on another host what a commit brought: by the bytes, not by the time."""

from __future__ import annotations

from quire_client.hub.authorship import CommitContents, HostVersion, versions_of

PARENT, DRAFT, COMMITTED, LATER = b"p", b"d", b"c", b"l"
COMMIT = CommitContents(PARENT, COMMITTED)


def host(*versions: tuple[int, bytes], brought: int = 0) -> list[HostVersion]:
    """Versions by (writer, bytes), newest first."""
    return [HostVersion(len(versions) - n, writer, sha, n < brought) for n, (writer, sha) in enumerate(versions)]


def writers(commit: CommitContents, versions: list[HostVersion]) -> list[int]:
    return [version.writer for version in versions_of(commit, versions)]


def test_a_commit_is_whose_version_has_its_bytes() -> None:
    assert writers(COMMIT, host((9, LATER), (7, COMMITTED), (5, PARENT), (4, DRAFT))) == [7]


def test_all_who_wrote_since_the_parent_may_have_written_a_line() -> None:
    assert writers(COMMIT, host((7, COMMITTED), (8, DRAFT), (7, DRAFT), (5, PARENT))) == [7, 8, 7]


def test_a_file_that_the_commit_made_is_of_all_who_wrote_it() -> None:
    assert writers(CommitContents(b"", COMMITTED), host((7, COMMITTED), (8, DRAFT))) == [7, 8]


def test_a_host_that_has_the_commit_from_elsewhere_wrote_nothing_of_it() -> None:
    assert not versions_of(COMMIT, host((0, COMMITTED), (5, PARENT), brought=1))


def test_other_bytes_are_of_nobody() -> None:
    assert not versions_of(COMMIT, host((7, LATER), (7, DRAFT)))
