"""`quire setup git-hooks`: an agent's commit with lines of others fails, and everything goes back byte for byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import quire_client
from live import Live, eventually, ok, quire

pytestmark = pytest.mark.real

AGENT = {"QUIRE_AGENT": "claude-code", "QUIRE_SESSION": "s1"}


class Repository:
    def __init__(self, at: Live) -> None:
        self.at = at
        at.state_dir = Path()
        for words in ("init -q -b main .", "config user.name Ann", "config user.email ann@example.org"):
            self.git(*words.split())
        at.write("f.py", "a = 1\n\n\n\nb = 2\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "base")
        with quire_client.connect(at.root, agent="tester") as client:
            eventually("the first capture", lambda: client.status()["capture"]["finished"])
        for agent, text in (("codex", "a = 10\n\n\n\nb = 2\n"), ("claude-code", "a = 10\n\n\n\nb = 20\n")):
            with quire_client.connect(at.root, agent=agent, session="s1") as client:
                base = client.call("read_file", {"path": "f.py"})["version"]
                ok(client.call("write_file", {"path": "f.py", "content": text, "base": base}))

    def git(self, *words: str, fails: bool = False, **environ: str) -> str:
        ran = subprocess.run(["git", *words], cwd=self.at.root, capture_output=True, env={**os.environ, **environ})
        assert (ran.returncode != 0) == fails, ran
        return (ran.stdout + ran.stderr).decode()

    def setup(self, *words: str, status: int = 0, verb: str = "setup") -> str:
        ran = quire(verb, "git-hooks", *words, cwd=self.at.root)
        assert ran.returncode == status, ran
        return (ran.stdout + ran.stderr).decode()

    def hooks(self, folder: str = ".git/hooks") -> dict[str, tuple[bytes, int]]:
        files = [file for file in (self.at.root / folder).iterdir() if file.is_file()]
        return {file.name: (file.read_bytes(), file.stat().st_mode) for file in files}


@pytest.fixture
def repository() -> Iterator[Repository]:
    at = Live()
    yield Repository(at)
    at.close()


def test_an_agents_commit_of_others_lines_fails_and_a_persons_does_not(repository: Repository) -> None:
    repository.setup()
    repository.git("add", "f.py")
    assert "codex" in repository.git("commit", "-m", "all of it", fails=True, **AGENT)
    repository.git("restore", "--staged", "f.py")
    repository.git("commit", "-a", "-m", "all of it", fails=True, **AGENT)  # which has an index of its own
    patch = quire("patch", "--writer", "claude-code", cwd=repository.at.root).stdout
    subprocess.run(["git", "apply", "--cached"], cwd=repository.at.root, input=patch, check=True)
    repository.git("commit", "-m", "mine", **AGENT)
    repository.git("commit", "-a", "-m", "theirs, by a person")
    assert repository.git("show", "HEAD:f.py") == "a = 10\n\n\n\nb = 20\n"


def test_trailers_name_the_agents_once(repository: Repository) -> None:
    repository.setup("--trailers")
    repository.git("commit", "-a", "-m", "both")
    repository.git("commit", "--amend", "-m", "both\n\nAgent: codex/s1")
    assert repository.git("log", "-1", "--format=%B").count("Agent: codex/s1") == 1


def test_unsetup_leaves_every_hook_as_it_was(repository: Repository) -> None:
    hooks = repository.at.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("#!/usr/bin/env bash\n# of pre-commit\nexec true")
    (hooks / "pre-commit").chmod(0o755)
    before = repository.hooks()
    repository.setup("--trailers")
    during = repository.hooks()
    assert during["pre-commit"][0].startswith(b"#!/usr/bin/env bash\n# quire setup git-hooks: begin\n")
    assert during["prepare-commit-msg"][1] & 0o111
    repository.setup("--trailers")
    assert repository.hooks() == during
    repository.setup(verb="unsetup")
    assert repository.hooks() == before


def test_husky_keeps_its_hook_and_gets_ours_in_the_file_that_people_write(repository: Repository) -> None:
    folder = repository.at.root / ".husky"
    (folder / "_").mkdir(parents=True)
    (folder / "_" / "pre-commit").write_text('#!/usr/bin/env sh\n. "${0%/*}/h"\n')
    (folder / "pre-commit").write_text("npm test")
    repository.git("config", "core.hooksPath", ".husky/_")
    before = repository.hooks(".husky"), repository.hooks(".husky/_")
    repository.setup()
    assert repository.hooks(".husky")["pre-commit"][0].endswith(b"git-hooks: end\nnpm test")
    assert repository.hooks(".husky/_") == before[1]
    repository.setup(verb="unsetup")
    assert (repository.hooks(".husky"), repository.hooks(".husky/_")) == before


def test_a_hook_that_is_no_shell_script_is_left_alone(repository: Repository) -> None:
    hook = repository.at.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/usr/bin/env python3\nprint()\n")
    assert "no shell script" in repository.setup(status=1)
    assert hook.read_text() == "#!/usr/bin/env python3\nprint()\n"


def test_a_commit_goes_on_where_quire_cannot_answer(repository: Repository) -> None:
    repository.setup()
    hook = repository.at.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(hook.read_text().replace("/quire ", "/no-such-quire "))
    repository.git("commit", "-a", "-m", "all", **AGENT)


def test_a_hook_that_pre_commit_has_set_aside_is_taken_out_too(repository: Repository) -> None:
    before = repository.hooks()
    repository.setup()
    hooks = repository.at.root / ".git" / "hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    (hooks / "pre-commit").write_text("#!/usr/bin/env bash\nexec $(dirname $0)/pre-commit.legacy\n")
    repository.setup(verb="unsetup")
    (hooks / "pre-commit").unlink()
    assert repository.hooks() == before
