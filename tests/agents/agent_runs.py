"""A checkout with a home of its own, in which the real agents run against a model on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import agent_binaries
import pytest
from scripted_model import DELEGATED, Call, Model

RUN_S: Final = 240.0
"""How long one run of an agent may take."""

CALC: Final = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
NOTES: Final = "# Notes\n\nfirst\nsecond\nthird\n"
DATA: Final = "alpha\nbeta\ngamma\n"
PROMPT: Final = "change what is to be changed"

LOOPBACK: Final = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "IS_SANDBOX": "1",
    "MODEL_KEY": "none",
    "GEMINI_API_KEY": "none",
    "GEMINI_TELEMETRY_ENABLED": "false",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "NO_BROWSER": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}
"""What keeps the agents from asking anybody but the model."""


class Checkout:
    """A git checkout with three files, and a home for the agents."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "ws"
        runtime = folder / "run"
        for made in (self.home, self.root, runtime):
            made.mkdir(mode=0o700)
        quire = Path(sys.executable).parent
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ}
        self.environ = {
            **kept,
            **LOOPBACK,
            "PATH": f"{quire}{os.pathsep}{kept['PATH']}",
            "HOME": os.fspath(self.home),
            "XDG_RUNTIME_DIR": os.fspath(runtime),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        for name, text in (("calc.py", CALC), ("notes.md", NOTES), ("data.txt", DATA)):
            (self.root / name).write_text(text)
        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "config", "user.email", "ann@example.org")
        self.run("git", "config", "user.name", "Ann")
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "first")

    def run(self, *words: str, check: bool = True, **environ: str) -> str:
        """What a program prints that is run in the checkout."""
        done = subprocess.run(
            words,
            cwd=self.root,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    def quire(self, *words: str) -> Any:
        """The reply of a command of `quire`."""
        return json.loads(self.run("quire", *words, "--json"))

    def read(self, name: str) -> str:
        """The text of a file."""
        return (self.root / name).read_text()

    def elsewhere(self, name: str, old: str, new: str) -> None:
        """Another process changes a file, in place."""
        assert old in self.read(name)
        self.run("sed", "-i", f"s/{old}/{new}/", name)

    def agent(self, name: str, model: Model) -> subprocess.CompletedProcess[str]:
        """Run an agent until its turn is over."""
        words, files, environ = _COMMANDS[name](os.fspath(agent_binaries.binary(name)), model.url)
        for path, text in files.items():
            file = self.home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run(
            words,
            cwd=self.root,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done


def require_quiet() -> None:
    """Skip a test of times where others keep the machine busy: it would tell of them."""
    load = os.getloadavg()[0]
    if load > 1.5 * (os.cpu_count() or 1):
        pytest.skip(f"The machine is busy (load {load:.1f}): how long something takes says nothing of Quire.")


@contextlib.contextmanager
def checkout() -> Iterator[Checkout]:
    """A fresh one; its daemon, if it has one, is ended with it. Its path is short: a socket lies in it."""
    folder = Path(tempfile.mkdtemp(prefix="qa-", dir="/tmp"))
    made = Checkout(folder)
    try:
        yield made
    finally:
        made.run("quire", "down", check=False)
        shutil.rmtree(folder, ignore_errors=True)


Started = tuple[Sequence[str], Mapping[str, str], Mapping[str, str]]
"""(command line, files below the home, variables)."""


def _claude_code(command: str, url: str) -> Started:
    words = [command, "-p", PROMPT, "--output-format", "stream-json", "--verbose"]
    return [*words, "--permission-mode", "bypassPermissions"], {}, {"ANTHROPIC_BASE_URL": url}


def _codex(command: str, url: str) -> Started:
    config = f"""\
model = "gpt-5.5"
model_provider = "model"
check_for_update_on_startup = false

[model_providers.model]
name = "model"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"

[analytics]
enabled = false
"""
    words = [command, "exec", "--json", "--trust", "--dangerously-bypass-approvals-and-sandbox"]
    return [*words, "--dangerously-bypass-hook-trust", PROMPT], {".codex/config.toml": config}, {}


def _gemini(command: str, url: str) -> Started:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    words = [command, "-p", PROMPT, "--approval-mode", "yolo", "--output-format", "stream-json"]
    return words, {".gemini/settings.json": json.dumps(settings)}, {"GOOGLE_GEMINI_BASE_URL": url}


def _opencode(command: str, url: str) -> Started:
    limits = {"context": 200000, "output": 8000}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "model/model-1",
        "small_model": "model/model-1",
        "permission": {"edit": "allow", "bash": "allow"},
        "provider": {
            "model": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "model",
                "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
                "models": {"model-1": {"name": "model-1", "tool_call": True, "limit": limits}},
            }
        },
    }
    words = [command, "run", "--format", "json", PROMPT]
    return words, {".config/opencode/opencode.json": json.dumps(config)}, {}


_COMMANDS: Final = {"claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "opencode": _opencode}


# ── the tools of each agent ──────────────────────────────────────────────────


def read(agent: str, root: Path, name: str) -> Call:
    """The call with which an agent reads a file."""
    path = os.fspath(root / name)
    return {
        "claude-code": Call("Read", {"file_path": path}),
        "codex": Call("exec_command", {"cmd": f"cat {name}"}),
        "gemini": Call("read_file", {"file_path": path}),
        "opencode": Call("read", {"filePath": path}),
    }[agent]


def edit(agent: str, root: Path, name: str, old: str, new: str) -> Call:
    """The call with which it replaces one line of a file by another."""
    path = os.fspath(root / name)
    patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-{old}\n+{new}\n*** End Patch\n"
    return {
        "claude-code": Call("Edit", {"file_path": path, "old_string": f"{old}\n", "new_string": f"{new}\n"}),
        "codex": Call("apply_patch", text=patch),
        "gemini": Call(
            "replace",
            {"file_path": path, "old_string": f"{old}\n", "new_string": f"{new}\n", "instruction": "change the line"},
        ),
        "opencode": Call("edit", {"filePath": path, "oldString": f"{old}\n", "newString": f"{new}\n"}),
    }[agent]


def write(agent: str, root: Path, name: str, text: str) -> Call:
    """The call with which it writes a new file."""
    path = os.fspath(root / name)
    added = "".join(f"+{line}\n" for line in text.splitlines())
    return {
        "claude-code": Call("Write", {"file_path": path, "content": text}),
        "codex": Call("apply_patch", text=f"*** Begin Patch\n*** Add File: {name}\n{added}*** End Patch\n"),
        "gemini": Call("write_file", {"file_path": path, "content": text}),
        "opencode": Call("write", {"filePath": path, "content": text}),
    }[agent]


def shell(agent: str, command: str) -> Call:
    """The call with which it runs a command."""
    return {
        "claude-code": Call("Bash", {"command": command, "description": "run it"}),
        "codex": Call("exec_command", {"cmd": command, "yield_time_ms": 10_000}),
        "gemini": Call("run_shell_command", {"command": command, "description": "run it"}),
        "opencode": Call("bash", {"command": command, "description": "run it"}),
    }[agent]


def by_mcp(agent: str, tool: str, **arguments: object) -> Call:
    """The call with which it uses a tool of Quire's server."""
    name = {
        "claude-code": f"mcp__quire__{tool}",
        "codex": f"mcp__quire.{tool}",
        "gemini": f"mcp_quire_{tool}",
        "opencode": f"quire_{tool}",
    }[agent]
    return Call(name, arguments)


def delegate(agent: str) -> Call:
    """The call with which it has a subagent do something."""
    asked = {"description": "a part", "prompt": DELEGATED}
    return {
        "claude-code": Call("Agent|Task", {**asked, "subagent_type": "general-purpose", "run_in_background": False}),
        "opencode": Call("task", {**asked, "subagent_type": "general"}),
    }[agent]
