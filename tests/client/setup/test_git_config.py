"""Git's configuration with Quire's section in it, and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire_client.setup.errors import MalformedConfig
from quire_client.setup.git_config import config_file, put, take

FOLDER = Path('/home/a "b"/git-trace')
NAMES = ("QUIRE_AGENT", "QUIRE_SESSION")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=80))
def test_a_section_that_is_put_in_and_taken_out_leaves_every_byte_as_it_was(text: str) -> None:
    for before in (text, f"[user]\n\tname = {text}", f"[user]\n\tname = A\n# {text}\n"):
        if "eventTarget" in before:
            continue
        made = put(FOLDER, NAMES, before)
        assert take(made) == (before or None)
        assert put(FOLDER, NAMES, made) == made


def test_a_file_that_we_made_goes_again() -> None:
    assert take(put(FOLDER, NAMES, None)) is None
    assert 'eventTarget = "/home/a \\"b\\"/git-trace"' in put(FOLDER, NAMES, None)


def test_what_comes_behind_the_section_stays() -> None:
    made = put(FOLDER, NAMES, "[a]\n\tb = c") + "[d]\n\te = f\n"
    assert take(made) == "[a]\n\tb = c\n[d]\n\te = f\n"


def test_the_trace_of_another_program_is_left_alone() -> None:
    with pytest.raises(MalformedConfig, match="for another program"):
        put(FOLDER, NAMES, "[trace2]\n\teventTarget = /tmp/x\n")


def test_the_file_is_the_one_that_git_writes(tmp_path: Path) -> None:
    assert config_file(tmp_path, {}) == tmp_path / ".gitconfig"
    (tmp_path / ".config" / "git").mkdir(parents=True)
    (tmp_path / ".config" / "git" / "config").touch()
    assert config_file(tmp_path, {}) == tmp_path / ".config" / "git" / "config"
    assert config_file(tmp_path, {"GIT_CONFIG_GLOBAL": "/x"}) == Path("/x")
