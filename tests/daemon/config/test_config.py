"""Settings: what the workspace's file may do, what only the user's own may, and how a bad file is told."""

from __future__ import annotations

import os
import re
import time
import tomllib
from pathlib import Path

import msgspec
import pytest

from quire_daemon.config.errors import BadSettings
from quire_daemon.config.files import SettingsFiles
from quire_daemon.config.settings import Hooks, Settings, in_force, load, policy_of
from quire_daemon.watch.ignore import Ignore


def test_without_files_the_defaults_hold() -> None:
    assert load(None, None) == Settings()


def test_the_page_about_settings_has_each_of_them_with_its_default() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "settings.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert load(None, block) == Settings()
    assert tomllib.loads(block) == msgspec.json.decode(msgspec.json.encode(Settings()))


def test_the_workspace_tunes_what_is_its_own() -> None:
    settings = load('[edit]\non_stale = "rebase"\n[dialects.edit]\nlow_entropy = "allow_unique"\n', None)
    assert settings.edit.on_stale == "rebase"
    assert settings.dialects.edit.low_entropy == "allow_unique"


def test_the_workspace_sets_one_key_of_a_dialect_and_the_users_others_stay() -> None:
    user = '[dialects.edit]\nrange_order = "strict"\n[dialects.hashline_edit]\nallow_replace_text = true\n'
    edit = load('[dialects.edit]\nlow_entropy = "allow_unique"\n', user).dialects.edit
    assert (edit.low_entropy, edit.range_order) == ("allow_unique", "strict")
    assert load("[dialects.edit]\n", user) == load(None, user)


@pytest.mark.parametrize("glob", ["[z-a]*", "*\\\\", " "])
def test_a_forbidden_glob_that_is_none_is_an_error_with_its_line(glob: str) -> None:
    """Every call would fail at it, or what was to be forbidden would not be."""
    with pytest.raises(BadSettings, match=r"\.quire\.toml: line 2: policy\.forbidden_globs: "):
        load(f'[policy]\nforbidden_globs = ["{glob}"]\n', None)


def test_secret_globs_of_many_stars_are_answered_at_once(tmp_path: Path) -> None:
    began = time.process_time()
    assert not Ignore(tmp_path, secret_globs=["*a" * 30 + "b", "*[!b]" * 30 + "c"]).secret("a" * 250)
    assert time.process_time() - began < 2


def test_the_workspace_adds_to_forbidden_globs_and_never_replaces_them() -> None:
    settings = load('[policy]\nforbidden_globs = ["*.lock"]\n', '[policy]\nforbidden_globs = ["secrets/**"]\n')
    assert set(settings.policy.forbidden_globs) == {"*.lock", "secrets/**"}


def test_the_workspace_cannot_make_secrets_ordinary() -> None:
    settings = load("[capture]\nsecret_globs = []\n", None)
    assert set(settings.capture.secret_globs) == set(Settings().capture.secret_globs)


def test_the_workspace_cannot_raise_a_limit() -> None:
    assert load("[limits]\nedit_bytes = 999999999\n", None).limits == Settings().limits
    assert load("[limits]\nedit_bytes = 1000\n", None).limits.edit_bytes == 1000


def test_the_user_may_raise_a_limit() -> None:
    assert load(None, "[limits]\nedit_bytes = 999999999\n").limits.edit_bytes == 999999999


def test_the_workspace_cannot_allow_absolute_paths_that_the_user_refuses() -> None:
    settings = load("[policy]\nallow_absolute_paths = true\n", "[policy]\nallow_absolute_paths = false\n")
    assert settings.policy.allow_absolute_paths is False


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[edit]\non_stal = 1\n", [".quire.toml", "line 2", "on_stal"]),
        ('[edit]\non_stale = "maybe"\n', [".quire.toml", "line 2", "on_stale", "'reject'"]),
        ("[limits]\nedit_bytes = true\n", [".quire.toml", "line 2", "edit_bytes"]),
        ("[edit\n", [".quire.toml", "line 1, column 6", "TOML"]),
        ("[edit]\nx = [\n", ["line 2: not valid TOML"]),
        ('[limits]\nedit_bytes = "8"\n', ["line 2: limits.edit_bytes must be a whole number, not a text"]),
        ("edit = 3\n", ["line 1: edit must be a table"]),
        ("[policy]\nforbidden_globs = [3]\n", ["line 2: what stands in policy.forbidden_globs must be a text"]),
        ("[capture]\nignore = []\n[mcp]\nignore = []\n", ["line 4: there is no key `mcp.ignore`"]),
        ("[dialects]\nedit = {low = 1}\n", ["line 2: there is no key `dialects.edit.low`"]),
        ("\n[edit]\non_stal = 1\n", ["line 3", "Did you mean on_stale?"]),
        ("[capture]\nmax_bytes = -5\n", ["line 2: capture.max_bytes is -5; it must be a number from 0 on"]),
        ("[capture]\nscan_minutes = nan\n", ["line 2: capture.scan_minutes is nan; it must be a number from 0.1 on"]),
        ("[capture]\nscan_minutes = inf\n", ["line 2: capture.scan_minutes is inf"]),
        ("[limits]\nregex_ms = 0\n", ["line 2: limits.regex_ms is 0; it must be a number from 1 to 3600000"]),
        ("[limits]\nregex_ms = 99999999999999999\n", ["line 2: limits.regex_ms is 99999999999999999; it must be"]),
    ],
)
def test_a_bad_file_is_told_with_line_and_key(text: str, parts: list[str]) -> None:
    with pytest.raises(BadSettings) as caught:
        load(text, None)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_a_bad_file_of_the_user_is_told_as_theirs() -> None:
    with pytest.raises(BadSettings, match=r"config\.toml"):
        load(None, "[nonsense]\n")


def test_the_workspace_makes_the_hooks_stricter_and_never_more_lenient() -> None:
    user = '[hooks]\nstale = "conflicts"\nunreachable = "deny"\n'
    assert load('[hooks]\nstale = "deny"\nunreachable = "allow"\n', user).hooks == Hooks(
        stale="deny", leases="deny", unreachable="deny"
    )
    assert load('[hooks]\nstale = "tell"\nleases = "tell"\n', user).hooks == Hooks(
        stale="conflicts", leases="deny", unreachable="deny"
    )
    with pytest.raises(BadSettings, match=r"line 2.*hooks\.stale"):
        load('[hooks]\nstale = "perhaps"\n', None)


def test_the_workspace_makes_edits_last_longer_and_never_less_long() -> None:
    normal, strict = (f'[journal]\ndurability = "{how}"\n' for how in ("normal", "strict"))
    asked = (
        (strict, None, "strict"),
        (strict, normal, "strict"),
        (normal, strict, "strict"),
        (normal, None, "normal"),
    )
    for workspace, user, expected in asked:
        assert load(workspace, user).journal.durability == expected


def test_what_a_daemon_takes_up_when_it_starts_waits_for_the_next_start_and_says_so() -> None:
    begun = load(None, '[watch]\ntrace = "off"\n')
    read = load("[edit]\nbusy_wait_ms = 1\n", "[retention]\nreserve_bytes = 0\n")
    taken, waiting = in_force(read, begun)
    assert (taken.watch, taken.retention.reserve_bytes, taken.edit.busy_wait_ms) == (begun.watch, 16 << 20, 1)
    assert waiting == (
        "reserve_bytes = 0 waits for the next start of the daemon; until then it is 16777216",
        'trace = "auto" waits for the next start of the daemon; until then it is "off"',
    )
    assert in_force(begun, begun) == (begun, ())


def test_retention_stands_in_the_users_own_file_only() -> None:
    settings = load(None, '[retention]\nkeep_last = 3\nkeep_within = "2w"\n')
    assert str(policy_of(settings.retention)).startswith("keep-last 3, keep-within 14d, daily -1")
    with pytest.raises(BadSettings, match=r"\.quire\.toml: line 2: \[retention\] can only stand in the user's own"):
        load("\n[retention]\nkeep_last = 1\n", None)
    with pytest.raises(BadSettings, match=r"'3 days' is not a duration"):
        load(None, '[retention]\nkeep_within = "3 days"\n')


def test_where_callers_see_the_checkout_stands_in_the_users_own_file_only() -> None:
    assert load(None, '[paths.map]\n"/workspace/" = "/home/me/site"\n').paths.folders == {"/workspace": "/home/me/site"}
    with pytest.raises(BadSettings, match=r"\[paths\] can only stand in the user's own"):
        load('[paths.map]\n"/workspace" = "/"\n', None)
    with pytest.raises(BadSettings, match=r"config\.toml: line 2: paths\.map: / cannot be mapped"):
        load(None, '[paths]\nmap = {"/" = "/home"}\n')


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = " + "9" * 5000], ids=["too deep", "too long a number"])
def test_what_the_parser_itself_gives_up_on_is_told_as_settings_that_are_wrong(text: str) -> None:
    with pytest.raises(BadSettings, match="not valid TOML"):
        load(text, None)


def test_settings_that_were_put_there_with_the_time_of_those_before_are_read(tmp_path: Path) -> None:
    """As `cp -p` and `rsync -t` do, where they are as long; nor has a `chmod` another sign."""
    path = tmp_path / ".quire.toml"
    path.write_text("[capture]\nmax_bytes = 1000\n")
    files, before = SettingsFiles(tmp_path), path.stat()
    files.read()
    assert not files.changed()
    path.write_text("[capture]\nmax_bytes = 2000\n")
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # within a tick of the clock of stamps nothing shows
        os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert files.changed()
