"""`quire setup` and `unsetup`: our entries come and go, and nothing else in anybody's file changes."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_client.commands.agents.setup import shared_entry_point
from quire_client.hooks.table import AGENTS
from quire_client.setup import agents, jsonc, write as setup_write
from quire_client.setup.agents import Scope
from quire_daemon.tools.table import TOOLS
from quire_journal.model.refusals import Refusal

QUIRE = "/opt/my tools/quire"


# ── agents' files ────────────────────────────────────────────────────────────


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    (tmp_path / "site").mkdir()
    return Scope(tmp_path / "home", {}, tmp_path / "site")


def contents(scope: Scope) -> dict[str, bytes]:
    assert scope.project is not None
    top = scope.project.parent
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def put(agent: str, scope: Scope, quire: str = QUIRE) -> list[str]:
    changes = setup_write.planned(agents.files(agent, scope, quire), puts=True)
    setup_write.write(changes)
    return [change.action for change in changes]


def take(agent: str, scope: Scope) -> list[str]:
    changes = setup_write.planned(agents.files(agent, scope, QUIRE), puts=False)
    setup_write.write(changes)
    return [change.action for change in changes]


def all_strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in all_strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in all_strings(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("user", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
def test_where_there_was_nothing_setup_makes_files_and_unsetup_removes_them(
    agent: str, user: bool, scope: Scope
) -> None:
    scope = scope._replace(project=None) if user else scope
    top = scope.home.parent
    assert set(put(agent, scope)) == {"create"}
    assert set(put(agent, scope)) == {"unchanged"}
    made = [path for path in top.rglob("*") if path.is_file()]
    assert all(path.is_relative_to(scope.home if user else top / "site") for path in made)
    text = "".join(path.read_text() for path in made)
    assert f"hook {agent}" in text or f'"hook", "{agent}"' in text
    assert '"mcp"' in text
    assert ("-C" in text) is not user
    assert set(take(agent, scope)) == {"remove"}
    assert not [path for path in top.rglob("*") if path.is_file()]


@pytest.mark.parametrize("user", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
def test_folders_that_setup_made_go_with_its_files_and_no_others(agent: str, user: bool, scope: Scope) -> None:
    """Made by others, or with something in them by now, they stay."""
    scope = scope._replace(project=None) if user else scope
    top = scope.home.parent
    before = set(top.rglob("*"))
    put(agent, scope)
    made = {path for path in top.rglob("*") if path.is_dir()} - before
    take(agent, scope)
    assert set(top.rglob("*")) == before
    for folder in sorted(made):
        folder.mkdir()  # an empty one of somebody else's
    put(agent, scope)
    take(agent, scope)
    assert set(top.rglob("*")) == before | made
    for folder in sorted(made, reverse=True):
        folder.rmdir()
    put(agent, scope)
    for folder in made:
        (folder / "theirs").touch()
    take(agent, scope)
    assert set(top.rglob("*")) == before | made | {folder / "theirs" for folder in made}


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_set_up_can_be_found_again_as_the_agent_would_call_it(agent: str, scope: Scope) -> None:
    assert agents.ways_in(agent, scope) == []
    put(agent, scope)
    hook, server = sorted(agents.ways_in(agent, scope))
    assert (hook.kind, hook.command) == ("hook", (QUIRE, "hook", agent))
    assert (server.kind, server.command) == ("mcp", (QUIRE, "mcp", "--agent", agent, "-C", str(scope.project)))
    take(agent, scope)
    assert agents.ways_in(agent, scope) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_that_a_project_shares_holds_nothing_of_this_machine_where_that_can_be(agent: str, scope: Scope) -> None:
    def changes(shared: str) -> list[tuple[bool, str]]:
        files = agents.files(agent, scope, QUIRE, shared)
        return [(file.tied, file.put(None)) for file in files if file.path.name != "settings.local.json"]

    here = (QUIRE, str(scope.project))
    assert all(tied and here[0] in text for tied, text in changes(QUIRE))
    for tied, text in changes("quire"):
        assert tied is any(path in text for path in here)
        assert not tied or agent == "codex"
    assert not any(file.tied for file in agents.files(agent, scope._replace(project=None), QUIRE, "quire"))


@pytest.mark.parametrize("agent", AGENTS)
def test_plain_calls_are_found_again_replaced_and_removed_as_others_are(agent: str, scope: Scope) -> None:
    before = contents(scope)
    put(agent, scope)
    setup_write.write(setup_write.planned(agents.files(agent, scope, QUIRE, "quire"), puts=True))
    hook, server = sorted(agents.ways_in(agent, scope))
    assert hook.command == (QUIRE if agent == "claude-code" else "quire", "hook", agent)
    told = {"cursor": ("-C", str(scope.project)), "codex": ("-C", str(scope.project))}.get(agent, ())
    assert server.command == ("quire", "mcp", "--agent", agent, *told), "as the agent calls it"
    take(agent, scope)
    assert (contents(scope), agents.ways_in(agent, scope)) == (before, [])


def test_plain_quire_is_this_one_on_a_path_that_other_shells_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv, links, others = tmp_path / "venv", tmp_path / "links", tmp_path / "others"
    for made in (venv / "bin" / "quire", others / "quire"):
        made.parent.mkdir(parents=True)
        made.write_text("#!/bin/sh\n")
        made.chmod(0o755)
    here = str(venv / "bin" / "quire")
    links.mkdir()
    (links / "quire").symlink_to(here)
    monkeypatch.setattr(sys, "prefix", str(venv))
    for folders, called in (
        ([links], "quire"),
        ([venv / "bin", links], "quire"),
        ([venv / "bin"], here),
        ([others, links], here),
        ([], here),
    ):
        assert shared_entry_point(here, {"PATH": os.pathsep.join(map(str, folders))}) == called
    scripts = Path(__file__).parents[3] / "scripts"
    assert shared_entry_point(here, {"PATH": f"{scripts}:{others}"}) == "quire", "the script of this checkout"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert shared_entry_point(here, {"PATH": str(venv / "bin")}) == "quire", "an installation of its own"


def write(scope: Scope, files: dict[str, str]) -> None:
    assert scope.project is not None
    for name, text in files.items():
        path = scope.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


THEIRS = {
    "claude-code": {
        ".claude/settings.local.json": json.dumps(
            {
                "permissions": {"allow": ["Bash(ls:*)"]},
                "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]},
            },
            indent=2,
        ),
        ".mcp.json": '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t}\n}\n',
    },
    "codex": {
        ".codex/config.toml": "# mine\nmodel = 'gpt' # fast\n\n[mcp_servers.other]\ncommand = 'y'\n",
        ".codex/hooks.json": '{\n  "hooks": {\n    "Stop": []\n  },\n  "x": 1\n}\n',
    },
    "cursor": {
        ".cursor/hooks.json": '{\n    "version": 1,\n    "hooks": {},\n    "x": 1\n}',
        ".cursor/mcp.json": '{\n  "x": 1\n}\n',
    },
    "gemini": {".gemini/settings.json": '{\n  // dark\n  "theme": "x",\n  "tools": {"enableHooks": true}\n}\n'},
    "opencode": {"opencode.jsonc": '{\n  "$schema": "s", // mine\n  "mcp": {\n    "other": {}\n  },\n}\n'},
}
ONE_LINE = {
    "claude-code": {
        ".claude/settings.local.json": '{"hooks": {"PreToolUse": [{"hooks": [{"type":"command","command":"x"}]}],},}',
        ".mcp.json": '{"mcpServers":{"other":{"command":"x"}}}',
    },
    "codex": {
        ".codex/config.toml": '# mine\nmodel = "gpt-6"\n\n[mcp_servers.other]\ncommand = "x"',
        ".codex/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type":"command","command":"notify"}]}]}}\r\n',
    },
    "cursor": {
        ".cursor/hooks.json": '{"version":1,"hooks":{"stop":[{"command":"./x.sh"}]}}\n',
        ".cursor/mcp.json": '\t{"mcpServers":{}}\n\n',
    },
    "gemini": {".gemini/settings.json": '{"theme": "GitHub", "hooks": {}, "mcpServers": {"a": {"command": "b"}}}'},
    "opencode": {"opencode.json": '{"$schema": "https://opencode.ai/config.json"}'},
}
NOTHING = {agent: dict.fromkeys(files, "") for agent, files in THEIRS.items()}
EMPTY = {
    agent: {name: "\n" if name.endswith("toml") else '{"version": 1}' if "hooks" in name else "{}\n" for name in files}
    for agent, files in THEIRS.items()
}


@pytest.mark.parametrize("files", [THEIRS, ONE_LINE, NOTHING, EMPTY], ids=["theirs", "one line", "nothing", "empty"])
@pytest.mark.parametrize("agent", AGENTS)
def test_every_byte_of_the_old_file_is_kept(agent: str, files: dict[str, dict[str, str]], scope: Scope) -> None:
    write(scope, files[agent])
    before = contents(scope)
    put(agent, scope, "/old/quire")
    put(agent, scope)
    between = contents(scope)
    assert not any(b"/old/quire" in data for data in between.values())
    assert set(put(agent, scope)) == {"unchanged"}
    assert set(take(agent, scope)) <= {"change", "remove"}
    assert contents(scope) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_what_others_changed_meanwhile_stays_and_ours_goes(agent: str, scope: Scope) -> None:
    write(scope, THEIRS[agent])
    put(agent, scope)
    for name, data in contents(scope).items():
        if name.endswith("json"):
            value = {**jsonc.read(data.decode()), "added": [1]}
            write(scope, {name.removeprefix("site/"): json.dumps(value, indent=4)})
        elif name.endswith("toml"):
            write(scope, {name.removeprefix("site/"): data.decode() + '\n[projects."/x"]\ntrust_level = "trusted"\n'})
    take(agent, scope)
    for name, data in contents(scope).items():
        text, before = data.decode(), THEIRS[agent].get(name.removeprefix("site/"), "")
        if name.endswith("toml"):
            assert text == before + '\n[projects."/x"]\ntrust_level = "trusted"\n'
        elif before and name.endswith("json"):
            assert without_empty(jsonc.read(text)) == without_empty({**jsonc.read(before), "added": [1]})


def without_empty(value: Any) -> Any:
    """A program that writes the whole file anew leaves no trace of who made an object that is empty without ours."""
    if isinstance(value, dict):
        kept = {key: without_empty(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in ({}, [])}
    return value


@pytest.mark.parametrize(("agent", "name"), [(agent, next(iter(THEIRS[agent]))) for agent in AGENTS])
def test_a_file_that_cannot_be_read_is_refused_and_nothing_is_touched(agent: str, name: str, scope: Scope) -> None:
    write(scope, {**THEIRS[agent], name: "{ this = is [ nothing"})
    before = contents(scope)
    for act in (put, take):
        with pytest.raises(Refusal, match="cannot be changed") as refused:
            act(agent, scope)
        assert refused.value.code == "config_unusable"
        assert contents(scope) == before


def test_a_server_of_that_name_that_is_somebody_elses_is_refused(scope: Scope) -> None:
    write(scope, {".mcp.json": '{"mcpServers": {"quire": {"command": "/usr/bin/paper"}}}'})
    with pytest.raises(Refusal, match="not from `quire setup`"):
        put("claude-code", scope)
    assert take("claude-code", scope) == ["unchanged", "unchanged"]
    write(scope, {".opencode/plugins/quire.js": "export const mine = 1\n"})
    with pytest.raises(Refusal, match="not from `quire setup`"):
        put("opencode", scope)


def test_a_hook_of_ours_beside_others_in_one_matcher_goes_alone(scope: Scope) -> None:
    ours = {"type": "command", "command": "/x/quire hook claude-code"}
    mine = {"type": "command", "command": "/x/quire hook codex"}
    write(scope, {".claude/settings.local.json": json.dumps({"hooks": {"Stop": [{"hooks": [ours, mine]}]}})})
    take("claude-code", scope)
    left = json.loads(contents(scope)["site/.claude/settings.local.json"])
    assert left == {"hooks": {"Stop": [{"hooks": [mine]}]}}


def as_lists(matcher: str, tool: str) -> bool:
    """What Claude Code and Codex make of a matcher without signs: a list of whole names."""
    return tool in matcher.split("|") if re.fullmatch(r"[\w|]+", matcher) else bool(re.search(matcher, tool))


def as_patterns(matcher: str, tool: str) -> bool:
    """What Gemini CLI and Cursor make of any: a pattern that is looked for anywhere in the name."""
    return bool(re.search(matcher, tool))


@pytest.mark.parametrize(
    ("agent", "matches", "own", "ours"),
    [
        ("claude-code", as_lists, "Edit", "mcp__quire__{}"),
        ("codex", as_lists, "apply_patch", "mcp__quire__{}"),
        ("gemini", as_patterns, "write_file", "mcp_quire_{}"),
        ("cursor", as_patterns, "Write", "MCP:{}"),
    ],
)
def test_no_hook_is_called_at_a_tool_of_quires(
    agent: str, matches: Callable[[str, str], bool], own: str, ours: str, scope: Scope
) -> None:
    """A hook of an agent that looks for `edit` in the name of each tool took 100 ms of each of our calls."""
    put(agent, scope)
    strings = [text for data in contents(scope).values() for text in re.findall(r'"matcher": "(.*)"', data.decode())]
    assert strings
    assert all(matches(matcher, own) for matcher in strings)
    for tool in (*TOOLS, "Edit", "Write", "Bash", "Shell"):
        assert not any(matches(matcher, ours.format(tool)) for matcher in strings)


# ── the disk ─────────────────────────────────────────────────────────────────


def test_a_file_that_changes_meanwhile_is_left_as_it_is(scope: Scope) -> None:
    write(scope, {".mcp.json": "{}", ".claude/settings.local.json": "{}"})
    changes = setup_write.planned(agents.files("claude-code", scope, QUIRE), puts=True)
    write(scope, {".claude/settings.local.json": '{"mine": 1}'})
    before = contents(scope)
    with pytest.raises(Refusal, match="meanwhile") as refused:
        setup_write.write(changes)
    assert refused.value.code == "config_changed"
    assert contents(scope) == before


def test_a_file_that_comes_into_being_meanwhile_is_left_as_it_is(scope: Scope) -> None:
    changes = setup_write.planned(agents.files("gemini", scope, QUIRE), puts=True)
    write(scope, {".gemini/settings.json": '{"mine": 1}'})
    before = contents(scope)
    with pytest.raises(Refusal, match="meanwhile"):
        setup_write.write(changes)
    assert contents(scope) == before


def test_mode_and_links_stay(scope: Scope, tmp_path: Path) -> None:
    assert scope.project is not None
    kept = tmp_path / "dotfiles" / "settings.json"
    kept.parent.mkdir()
    kept.write_text('{"theme": "x"}')
    kept.chmod(0o600)
    link = scope.project / ".gemini" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(kept)
    put("gemini", scope)
    assert link.is_symlink()
    assert "mcpServers" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert os.listdir(kept.parent) == ["settings.json"]


# ── the commands ─────────────────────────────────────────────────────────────


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout, and a `quire` that an agent could call."""
    command = tmp_path / "bin" / "quire"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(command.with_name("python")))
    (tmp_path / "site" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "site")
    return command


def test_a_dry_run_shows_the_diff_and_writes_nothing(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "claude-code", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"+++ {tmp_path}/site/.mcp.json" in shown
    assert f'+            "command": "{installed} hook claude-code",' in shown
    assert "2 files would be changed. .claude/settings.local.json and .mcp.json are for this machine alone: " in shown
    assert "To share .mcp.json with others instead, let every shell find `quire`" in " ".join(shown.split())
    assert os.listdir(tmp_path / "site") == [".git"]


def test_setup_says_what_it_did_and_what_is_left_to_do(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "codex", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [file["action"] for file in told["files"]] == ["create", "create"]
    for said in ("where you trust it", "/hooks", "`quire up`", "`quire setup codex --user` needs no file"):
        assert said in told["message"]
    assert main(["setup", "codex", "--user"]) == 0
    assert (tmp_path / "home" / ".codex" / "hooks.json").exists()
    said = capsys.readouterr().out
    assert "/hooks" in said
    assert "where you trust it" not in said
    assert main(["unsetup", "codex"]) == 0
    assert capsys.readouterr().out.endswith("codex is without Quire: 2 files changed.\n")
    assert (tmp_path / "home" / ".codex" / "hooks.json").exists()


def test_a_daemon_is_told_what_setup_writes_so_that_it_is_nobodys_work(installed: Path) -> None:
    opener = FakeOpener({})
    assert main(["setup", "codex"], opener=opener) == 0
    assert {(wanted.agent, wanted.start) for wanted in opener.wanted} == {("quire", False)}
    (tool, before), (_, after) = opener.asked
    assert (tool, before["moment"], after["moment"]) == ("native", "before", "after")
    assert before["paths"] == after["paths"] == [".codex/hooks.json", ".codex/config.toml"]
    assert {one["path"]: one["text"] for one in before["payloads"]} == {
        path: Path(path).read_text() for path in before["paths"]
    }
    assert main(["unsetup", "codex"], opener=opener) == 0
    assert {one["kind"] for one in opener.asked[2][1]["payloads"]} == {"removed"}
    assert main(["setup", "codex"], opener=FakeOpener({}, runs=False)) == 0


@pytest.mark.parametrize(("agent", "wants"), [("claude-code", "both need a yes"), ("gemini", "/permissions")])
def test_setup_says_what_a_person_has_to_allow(
    agent: str, wants: str, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", agent]) == 0
    assert wants in capsys.readouterr().out


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x", *words], check=True, timeout=20)


def test_what_git_would_commit_is_told_with_the_line_that_keeps_it_out(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Git's files are the user's: they are asked for what they say, and never written."""
    site, tree = tmp_path / "site", tmp_path / "tree"
    (site / ".git").rmdir()
    git(tmp_path, "init", "-q", str(site))
    git(site, "commit", "-q", "--allow-empty", "-m", "x")
    git(site, "worktree", "add", "-q", str(tree))
    before = {path: path.stat().st_mtime_ns for path in (site / ".git" / "info").iterdir()}
    for folder, exclude in ((site, ".git/info/exclude"), (tree, f"{site}/.git/info/exclude")):
        monkeypatch.chdir(folder)
        assert main(["setup", "claude-code"]) == 0
        said = capsys.readouterr().out
        assert "`/.claude/settings.local.json` and `/.mcp.json`" in said
        assert f"to {exclude}, which is yours, or to .gitignore" in said
        assert main(["unsetup", "claude-code"]) == 0
    assert {path: path.stat().st_mtime_ns for path in (site / ".git" / "info").iterdir()} == before
    (site / ".git" / "info" / "exclude").write_text("/.mcp.json\n")
    (tree / ".gitignore").write_text(".claude/*.local.json\n")
    capsys.readouterr()
    assert main(["setup", "claude-code"]) == 0
    assert "alone" not in capsys.readouterr().out
    (site / ".mcp.json").write_text("{}")
    git(site, "add", "-f", ".mcp.json")
    assert main(["setup", "-C", str(site), "claude-code", "--dry-run"]) == 0
    assert "git tracks it: leave the change out of your commits." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["nobody"], 2), ([], 2), (["codex", "--user", "--project"], 2), (["cursor"], 1)],
)
def test_what_cannot_be_set_up_is_a_sentence(
    arguments: list[str], status: int, installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site" / ".cursor").mkdir()
    (tmp_path / "site" / ".cursor" / "mcp.json").write_text("{")
    assert main(["setup", *arguments]) == status
    assert capsys.readouterr().err


def test_without_an_installed_command_setup_says_so(
    installed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.unlink()
    monkeypatch.setattr(sys, "argv", ["-m"])
    assert main(["setup", "claude-code"]) == 1
    assert "install the package" in capsys.readouterr().err


def test_what_is_no_file_is_not_replaced_by_one(scope: Scope) -> None:
    """Some link a configuration to /dev/null to be rid of it, and a pipe would be waited for."""
    write(scope, {".mcp.json": "{}"})
    assert scope.project is not None
    settings = scope.project / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    os.mkfifo(settings)
    for _ in ("a pipe", "a device"):
        for act in (put, take):
            with pytest.raises(Refusal, match="not a regular file"):
                act("claude-code", scope)
        settings.unlink()
        settings.symlink_to("/dev/null")
    assert not stat.S_ISREG(os.stat("/dev/null").st_mode)


def test_a_write_protected_file_is_left_as_it_is(scope: Scope) -> None:
    """Somebody, or something that made it, wants it to stay; a rename would not even notice."""
    write(scope, {".gemini/settings.json": '{"theme": "x"}'})
    assert scope.project is not None
    settings = scope.project / ".gemini" / "settings.json"
    settings.chmod(0o444)
    with pytest.raises(Refusal, match="write-protected"):
        put("gemini", scope)
    assert settings.read_text() == '{"theme": "x"}'
    assert take("gemini", scope) == ["unchanged"]


@pytest.mark.parametrize("text", ["", "\n", "  \r\n\n"])
@pytest.mark.parametrize("agent", AGENTS)
def test_where_nothing_was_set_up_unsetup_touches_nothing(agent: str, text: str, scope: Scope) -> None:
    write(scope, dict.fromkeys(THEIRS[agent], text))
    before = contents(scope)
    assert set(take(agent, scope)) == {"unchanged"}
    assert contents(scope) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_a_byte_order_mark_and_the_line_ends_of_other_systems_stay(agent: str, scope: Scope) -> None:
    for name, text in THEIRS[agent].items():
        write(scope, {name: "\ufeff" * name.endswith("json") + text.replace("\n", "\r\n")})
    before = contents(scope)
    put(agent, scope)
    between = contents(scope)
    assert set(put(agent, scope)) == {"unchanged"}
    for name, data in between.items():
        if name in before:
            assert data[:3] == before[name][:3]
            assert data.count(b"\n") == data.count(b"\r\n")
    take(agent, scope)
    assert contents(scope) == before


def test_a_new_file_is_as_private_as_the_person_has_it(scope: Scope) -> None:
    old = os.umask(0o077)
    try:
        put("gemini", scope._replace(project=None))
    finally:
        os.umask(old)
    assert stat.S_IMODE((scope.home / ".gemini" / "settings.json").stat().st_mode) == 0o600


def test_a_folder_that_is_no_checkout_can_be_set_up_but_not_the_home_folder(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What agents take for a project is the folder that they are started in."""
    plain = tmp_path / "plain"
    plain.mkdir()
    monkeypatch.chdir(plain)
    assert main(["setup", "claude-code", "--dry-run"]) == 0
    assert f"+++ {plain}/.mcp.json" in capsys.readouterr().out
    assert os.listdir(plain) == []
    assert main(["setup", "claude-code"]) == 0
    assert "`quire up .`" in capsys.readouterr().out
    monkeypatch.setenv("HOME", str(plain))
    assert main(["setup", "codex"]) == 1
    assert "--user" in capsys.readouterr().err


def test_claude_code_has_its_server_answer_hooks_and_a_process_where_no_server_does(scope: Scope) -> None:
    put("claude-code", scope)
    hooks = json.loads(contents(scope)["site/.claude/settings.local.json"])["hooks"]
    kinds = {event: [hook["type"] for hook in items[0]["hooks"]] for event, items in hooks.items()}
    assert kinds.pop("SessionStart") == kinds.pop("SessionEnd") == ["command"]  # no server can be called then
    assert [*kinds.values()] == [["mcp_tool", "command"]] * 6
    (hook,) = {way.command for way in agents.ways_in("claude-code", scope) if way.kind == "hook"}
    assert hook == (QUIRE, "hook", "claude-code")


def test_an_older_claude_code_whose_hooks_call_no_tools_starts_processes(scope: Scope) -> None:
    put("claude-code", scope)
    put("claude-code", scope._replace(version="2.1.99 (Claude Code)"))
    settings = contents(scope)["site/.claude/settings.local.json"]
    hooks = [hook for items in json.loads(settings)["hooks"].values() for item in items for hook in item["hooks"]]
    assert {tuple(shlex.split(hook["command"])) for hook in hooks} == {(QUIRE, "hook", "claude-code")}
    take("claude-code", scope)
    assert contents(scope) == {}
