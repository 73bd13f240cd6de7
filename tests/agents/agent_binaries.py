"""The real agents: pinned packages of the npm registry, in a folder of the cache, each below a prefix of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

import pytest


class Package(NamedTuple):
    """A package, and the command that it brings."""

    name: str
    version: str
    command: str


PACKAGES: Final = {
    "claude-code": Package("@anthropic-ai/claude-code", "2.1.330", "claude"),
    "codex": Package("@openai/codex", "0.169.0", "codex"),
    "gemini": Package("@google/gemini-cli", "0.61.0", "gemini"),
    "opencode": Package("opencode-ai", "1.18.33", "opencode"),
}
"""Agent, as Quire calls it → the package that the tests are written for."""

INSTALL_S: Final = 900.0


class Unavailable(Exception):
    """The agent cannot be had here; the text is a sentence that says why."""


def cache() -> Path:
    """The folder of all packages: `$XDG_CACHE_HOME/quire-agents`."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache") / "quire-agents"


def binary(agent: str) -> Path:
    """The command of the agent, installed if need be. Raises Unavailable."""
    package = PACKAGES[agent]
    prefix = cache() / f"{agent}-{package.version}"
    command = prefix / "node_modules" / ".bin" / package.command
    if command.exists():
        return command
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is missing, which installs {package.name}.")
    prefix.mkdir(parents=True, exist_ok=True)
    wanted = f"{package.name}@{package.version}"
    words = [npm, "install", "--no-audit", "--no-fund", "--prefix", os.fspath(prefix), wanted]
    done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode or not command.exists():
        shutil.rmtree(prefix)
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise Unavailable(f"npm does not install {wanted}: {said}")
    return command


def require(*agents: str) -> None:
    """Skip the test where one of these agents cannot be had."""
    for agent in agents:
        try:
            binary(agent)
        except Unavailable as reason:
            pytest.skip(str(reason))
