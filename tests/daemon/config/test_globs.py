"""Globs match what pathspec says they match, and a hostile one takes no longer than another."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings, strategies as st
from pathspec import GitIgnoreSpec

import live
from quire_daemon.config import globs
from quire_daemon.watch.ignore import _compile

NAMES = st.text("ab", min_size=1, max_size=5)
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
SETS = st.sampled_from(["[ab]*a*", "*[a]*b", "*\\b*a"])
PARTS = st.one_of(st.just("**"), st.text("ab*?", min_size=1, max_size=6), SETS)
GLOBS = st.tuples(st.sampled_from(["", "/"]), st.lists(PARTS, min_size=1, max_size=5), st.sampled_from(["", "/"])).map(
    lambda parts: parts[0] + "/".join(parts[1]) + parts[2]
)


@given(GLOBS, st.lists(PATHS, min_size=1, max_size=10))
@settings(max_examples=live.length(40, 4000), deadline=None)
def test_matches_what_pathspec_matches(glob: str, paths: list[str]) -> None:
    (pattern,) = GitIgnoreSpec.from_lines([glob]).patterns
    for path in paths:
        expected = pattern.regex is not None and pattern.regex.match(path) is not None
        assert (globs.matches(glob)(path) is not None) is expected, (glob, path)
        assert not expected or globs.common_part(glob) in path, (glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 30 + "b", "a" * 250),
        ("*" * 30 + "b", "a" * 250),
        ("*[a]" * 30 + "b", "a" * 250),
        ("*[!b]" * 30 + "b", "a" * 250),
        ("*?" * 30 + "b", "a" * 250),
        ("**/a/" * 20 + "b", "a/" * 1000 + "c"),
        ("**/*a*/" * 20 + "b", "aa/" * 1000 + "c"),
        ("/x/" + "**/a/" * 20 + "b", "x/" + "a/" * 1000 + "c"),
    ],
)
def test_a_glob_of_many_stars_is_answered_at_once(glob: str, path: str) -> None:
    began = time.process_time()
    assert not globs.matches(glob)(path)
    rules = _compile([glob])
    assert not any(p.regex.fullmatch(path) for p in rules.patterns)
    assert time.process_time() - began < 2


def test_no_set_matches_a_slash_and_a_line_break_is_a_character() -> None:
    assert not globs.matches("a[!b]c")("a/c")
    assert globs.matches("*.py")("odd\nfolder/x.py")
    assert not globs.matches("*.py")("x.py\n")


@pytest.mark.parametrize("glob", ["[z-a]*", "*\\"])
def test_what_is_no_glob_is_said_to_be_none(glob: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        globs.matches(glob)


@pytest.mark.parametrize(
    ("glob", "part"),
    [
        ("src/**/file17.*", "file17."),
        ("*.py", ".py"),
        ("!odd *", "!odd"),
        ("src/../a", ""),
        ("**", ""),
        ("[ab]c*", ""),
        ("a\\*b", ""),
    ],
)
def test_what_every_match_has_in_it_is_known_before_the_expression_is_asked(glob: str, part: str) -> None:
    assert globs.common_part(glob) == part
