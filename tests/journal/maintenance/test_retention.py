"""Retention: what each rule keeps, with its reason, and what no policy may ever drop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import fields, replace

from quire_journal.maintenance.retention import Pins, Policy, RetentionVerdict, duration_ns, judge
from quire_journal.views.files import Version

SECOND = 10**9
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
NOON = 1_795_176_000 * SECOND  # 2026-11-20T12:00:00Z
ALL = Policy(keep_last=-1)


def version(seq: int, ago_ns: int = 0, type: str = "edit", **more: object) -> Version:
    """A version of `ago_ns` before noon, with bytes of its own."""
    made = Version(seq, NOON - ago_ns, 1, seq, type, b"%032d" % seq, 10, 0o644)
    return Version(**{name: more.get(name, getattr(made, name)) for name in made.__struct_fields__})


def gone(seq: int, ago_ns: int = 0) -> Version:
    return version(seq, ago_ns, gone=True, blob=b"")


def told(judged: Sequence[RetentionVerdict]) -> dict[int, str]:
    """Seq → `+reason` or `-reason`."""
    return {one.version.seq: ("+" if one.keep else "-") + one.reason for one in judged}


def kept(judged: Sequence[RetentionVerdict]) -> set[int]:
    return {one.version.seq for one in judged if one.keep}


@pytest.mark.parametrize(
    ("text", "ns"), [("", 0), ("0", 0), ("10s", 10 * SECOND), ("90d", 90 * DAY), ("2w", 14 * DAY), ("1y", 365 * DAY)]
)
def test_durations_are_numbers_with_a_unit(text: str, ns: int) -> None:
    assert duration_ns(text) == ns


@pytest.mark.parametrize("text", ["90", "d", "-1d", "1.5h", "90 d", "1month"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        duration_ns(text)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy(), "no rule"),
        (Policy(keep_last=3), "keep-last 3"),
        (Policy(keep_within_ns=90 * DAY), "keep-within 90d"),
        (Policy(keep_within_ns=DAY, hourly=24, daily=-1), "keep-within 1d, hourly 24, daily -1"),
        (Policy(keep_within_ns=HOUR), "keep-within 1h"),
        (Policy(keep_within_ns=36 * HOUR), "keep-within 36h"),
        (Policy(keep_within_ns=90 * SECOND), "keep-within 90 s"),
        (Policy(keep_within_ns=SECOND), "keep-within 1 s"),
        (Policy(keep_within_ns=SECOND // 4), "keep-within 0.25 s"),
        (Policy(keep_last=1, thin_outside_ns=2 * SECOND), "keep-last 1, thin-outside 2 s after 0 s"),
        (Policy(thin_outside_ns=SECOND, thin_after_ns=7 * DAY), "thin-outside 1 s after 7d"),
    ],
)
def test_a_policy_is_told_by_its_rules_in_units_that_they_come_out_even_in(policy: Policy, told: str) -> None:
    assert str(policy) == told


def test_a_deletion_is_no_head_and_what_was_there_before_it_goes_by_the_rules() -> None:
    assert told(judge("a", [version(1, DAY), gone(2)], Policy(keep_within_ns=1), Pins(), NOON)) == {
        1: "-no rule keeps it"
    }


def test_limits_of_age_include_the_limit_and_pins_since_a_cursor_include_its_state() -> None:
    old = [version(seq, 2 * DAY) for seq in (1, 2, 3)]
    assert kept(judge("a", old, Policy(keep_within_ns=2 * DAY), Pins(), NOON)) == {1, 2, 3}
    since = told(judge("a", old, Policy(keep_within_ns=1), Pins(since=[(1, "open burst 1")]), NOON))
    assert since == {1: "+open burst 1", 2: "+open burst 1", 3: "+head of a"}
    thin = Policy(keep_last=-1, thin_outside_ns=SECOND, thin_after_ns=DAY)
    made = [version(1, DAY + SECOND, "outside"), version(2, DAY, "outside"), version(3, 0, "outside")]
    assert told(judge("a", made, thin, Pins(), NOON))[1] == "-outside, superseded after 1 s"


def test_the_head_is_kept_whatever_the_policy_says_and_the_rest_by_the_rules() -> None:
    versions = [version(1, 9 * DAY), version(2, 8 * DAY), version(3, 7 * DAY)]
    assert told(judge("a", versions, Policy(keep_within_ns=1), Pins(), NOON)) == {
        1: "-no rule keeps it",
        2: "-no rule keeps it",
        3: "+head of a",
    }
    assert told(judge("a", versions, Policy(keep_last=2), Pins(), NOON))[2] == "+one of the last 2 of a"
    assert told(judge("a", versions, Policy(keep_within_ns=8 * DAY), Pins(), NOON))[2] == "+within 8d"


def test_a_policy_without_a_rule_is_taken_for_a_mistake() -> None:
    judged = judge("a", [version(1, DAY), version(2)], Policy(thin_outside_ns=DAY), Pins(), NOON)
    assert kept(judged) == {1, 2}


def test_one_version_of_each_day_is_the_last_of_that_day() -> None:
    versions = [version(1, 50 * HOUR), version(2, 49 * HOUR), version(3, 25 * HOUR), version(4, HOUR), version(5)]
    assert told(judge("a", versions, Policy(daily=2), Pins(), NOON)) == {
        1: "-no rule keeps it",
        2: "-no rule keeps it",
        3: "+daily 2026-11-19",
        4: "-no rule keeps it",
        5: "+head of a",
    }
    assert told(judge("a", versions, Policy(daily=-1), Pins(), NOON))[2] == "+daily 2026-11-18"
    assert told(judge("a", versions, Policy(hourly=2), Pins(), NOON))[4] == "+hourly 2026-11-20 11h"


@pytest.mark.parametrize(
    ("rule", "reason"), [("weekly", "weekly 2026-W46"), ("monthly", "monthly 2026-10"), ("yearly", "yearly 2025")]
)
def test_longer_buckets_are_named_by_week_month_and_year(rule: str, reason: str) -> None:
    versions = [version(1, 365 * DAY), version(2, 25 * DAY), version(3, 6 * DAY), version(4)]
    assert f"+{reason}" in told(judge("a", versions, replace(Policy(), **{rule: -1}), Pins(), NOON)).values()


def test_a_checkpoint_keeps_what_the_file_was_then() -> None:
    versions = [version(1, 9 * DAY), version(4, 8 * DAY), gone(6, 7 * DAY), version(8, 6 * DAY), version(9)]
    pins = Pins(cursors=[(5, "checkpoint before-lunch"), (7, "checkpoint when it was gone")])
    judged = judge("a", versions, Policy(keep_last=1), pins, NOON)
    assert kept(judged) == {4, 9}
    assert told(judged)[4] == "+checkpoint before-lunch"


def test_an_open_burst_keeps_what_was_there_when_it_began_and_everything_since() -> None:
    versions = [version(n, (10 - n) * DAY) for n in range(1, 7)]
    pins = Pins(since=[(3, "open burst 3")], versions={("a", 1): "unsettled write", ("b", 2): "of another file"})
    assert kept(judge("a", versions, Policy(keep_last=1), pins, NOON)) == {1, 3, 4, 5, 6}


def test_outside_versions_that_followed_each_other_at_once_go_first() -> None:
    def outside(seq: int, ago_ns: int = 0) -> Version:
        return version(seq, ago_ns, "outside")

    versions = [
        outside(1, 3 * DAY),
        outside(2, 3 * DAY - 3 * SECOND),
        outside(3, 3 * DAY - 5 * SECOND),
        version(4, 3 * DAY - 6 * SECOND),
        outside(5, 3 * DAY - 7 * SECOND),
        outside(6, 2 * DAY),
        outside(7, 3 * SECOND),
        outside(8),
    ]
    policy = Policy(keep_last=-1, thin_outside_ns=10 * SECOND, thin_after_ns=DAY)
    assert told(judge("a", versions, policy, Pins(), NOON)) == {
        1: "-outside, superseded after 3 s",
        2: "-outside, superseded after 2 s",
        **dict.fromkeys((3, 4, 5, 6, 7), "+one of the last -1 of a"),
        8: "+head of a",
    }
    pins = Pins(cursors=[(1, "checkpoint c")])
    assert told(judge("a", versions, policy, pins, NOON))[1] == "+checkpoint c"


def test_displaced_bytes_are_kept_by_time_only_and_are_nobodys_newest() -> None:
    lost = version(3, 2 * DAY, "outside", index=-1)
    versions = [version(1, 9 * DAY), version(2, 3 * DAY), lost, version(4)]
    assert told(judge("a", versions, Policy(keep_last=2), Pins(), NOON)) == {
        1: "-no rule keeps it",
        2: "+one of the last 2 of a",
        3: "-displaced bytes, and no rule keeps them",
        4: "+head of a",
    }
    assert kept(judge("a", versions, Policy(keep_within_ns=2 * DAY), Pins(), NOON)) == {3, 4}


def test_what_is_not_held_is_not_judged() -> None:
    versions = [version(1, 9 * DAY), version(2, uncaptured="too_large"), gone(3), version(4), version(5)]
    judged = judge("a", versions, ALL, Pins(), NOON, held=lambda blob: blob != b"%032d" % 4)
    assert [one.version.seq for one in judged] == [1, 5]


# ── whatever the history and the policy ──

COUNTS = st.sampled_from([0, 1, 2, 5, -1])
POLICIES = st.builds(
    Policy,
    keep_last=COUNTS,
    keep_within_ns=st.sampled_from([0, HOUR, 3 * DAY]),
    hourly=COUNTS,
    daily=COUNTS,
    monthly=COUNTS,
    thin_outside_ns=st.sampled_from([0, 10 * SECOND, HOUR]),
    thin_after_ns=st.sampled_from([0, DAY]),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Version]:
    """Up to 30 versions of one file, of which some are gone, displaced, or of the same bytes."""
    ago, made = 40 * DAY, []
    for seq in range(1, draw(st.integers(1, 30)) + 1):
        ago = max(0, ago - draw(st.sampled_from([SECOND, 5 * SECOND, HOUR, DAY, 5 * DAY])))
        kind = draw(st.sampled_from(["edit", "edit", "outside", "outside", "outside", "gone", "displaced"]))
        if kind == "gone":
            made.append(gone(seq, ago))
        elif kind == "displaced":
            made.append(version(seq, ago, "outside", index=-1))
        else:
            made.append(version(seq, ago, kind))
    return made


@given(histories(), POLICIES, st.lists(st.integers(0, 31), max_size=3), st.integers(0, 3))
def test_heads_and_checkpoints_are_complete_and_a_second_collection_finds_nothing_to_do(
    versions: list[Version], policy: Policy, cursors: list[int], days: int
) -> None:
    pins = Pins(cursors=[(cursor, f"checkpoint {cursor}") for cursor in cursors])
    judged = judge("a", versions, policy, pins, NOON)
    stays = kept(judged)
    states = [v for v in versions if not v.displaced]
    for cursor in (*cursors, 10**6):
        then = [v for v in states if v.seq <= cursor][-1:]
        assert {v.seq for v in then if not v.gone} <= stays
    held = {v.blob for v in versions if v.seq in stays}
    again = judge("a", versions, policy, pins, NOON, held.__contains__)
    assert kept(again) == stays == {one.version.seq for one in again}
    assert all(one.reason for one in judged)
    assert [one.version.seq for one in judged] == [v.seq for v in versions if v.blob]


@given(histories(), POLICIES, st.sampled_from([f.name for f in fields(Policy) if not f.name.startswith("thin")]))
def test_a_policy_that_keeps_more_keeps_everything_that_the_other_kept(
    versions: list[Version], policy: Policy, name: str
) -> None:
    value = getattr(policy, name)
    more = value + 2 * DAY if name == "keep_within_ns" else value if value < 0 else value + 1
    if policy.keeps_nothing:
        return
    wider = replace(policy, **{name: more})
    assert kept(judge("a", versions, policy, Pins(), NOON)) <= kept(judge("a", versions, wider, Pins(), NOON))


def test_an_outside_version_dated_after_its_successor_is_not_thinned() -> None:
    """The clock was set back between the two: nobody knows how long the first one stood."""
    thin = Policy(keep_last=-1, thin_outside_ns=10 * SECOND, thin_after_ns=DAY)
    made = [version(1, DAY, "outside"), version(2, 2 * DAY, "outside"), version(3, 0, "outside")]
    assert kept(judge("a", made, thin, Pins(), NOON)) == {1, 2, 3}
