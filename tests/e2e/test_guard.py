"""The guard, against a real daemon, git and shell: what takes work of others is asked about, or can be undone."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quire_client
from live import Live, caught_up, eventually, ok, quire
from quire_client.hooks.relay import Surroundings, answered
from quire_client.hooks.table import agent

pytestmark = pytest.mark.real

BASE = {
    "src/app.py": "def a():\n    return 1\n\n\ndef b():\n    return 2\n",
    "notes.md": "# Notes\n\none\n",
    "own.py": "x = 1\n",
    "still.py": "y = 1\n",
    ".gitignore": ".env\nbuild/\ndata/\n",
}
OTHERS = {
    "src/app.py": BASE["src/app.py"].replace("return 2", "return 3  # codex"),
    "notes.md": BASE["notes.md"] + "two\n",
    "new.py": "z = 1\n",
}
"""Uncommitted work of another agent, and of a person."""
SECRET = "KEY=1\n"

TAKING = [
    "git reset --hard",
    "git reset --hard HEAD -q",
    "git reset --merge",
    "git checkout -f",
    "git checkout .",
    "git checkout -- src notes.md",
    "git checkout HEAD -- src/app.py",
    "git checkout HEAD src/app.py",
    "git checkout src/app.py",
    "git checkout -qf HEAD",
    "git switch -f main",
    "git switch --discard-changes main",
    "git restore .",
    "git restore -SW src",
    "git restore --source=HEAD notes.md",
    "git clean -fd",
    "git clean -fdx",
    "git clean -f new.py",
    "git stash",
    "git stash -u",
    "git stash push -- src",
    "git read-tree --reset -u HEAD",
    "git rm -rf src",
    "git rm -f notes.md",
    "git mv -f still.py notes.md",
    "git checkout-index -fa",
    "rm -rf src",
    "rm new.py notes.md",
    "rm -rf .",
    "rm -f .env",
    "mv own.py new.py",
    "mv -f own.py src/app.py",
    "cp own.py notes.md",
]

ENDS_THE_DAEMON = "git clean -fdx"
"""It removes `.quire`, too, with which the daemon ends; the next one finds what is gone, but not who took it."""

WRAPPED = {
    "alone": "{}",
    "behind others": "ls && {} && git status",
    "a shell's text": "sh -c '{}'",
    "a subshell": "(cd src && cd .. && {})",
    "or": "true && {} || true",
    "xargs": "echo x | xargs -I@ {}",
    "a script": "sh ../script.sh",
}
"""How a command line may hide a command; `script.sh` holds it."""

HARMLESS = re.split(
    r"(?<! )\|(?! )|\n",
    """\
ls -la|pwd|cat notes.md|git status|git status --short|git diff|git diff --stat HEAD|git log --oneline -5
git show HEAD|git branch -a|git branch new|git checkout -b topic|git switch -c topic2|git switch main
git checkout main|git stash list|git add own.py|git add -A|git commit -m 'own' own.py
git commit --allow-empty -m 'git reset --hard'|git fetch --all|git push -n origin main|git tag v1
git rev-parse HEAD|git ls-files|git grep return|git blame src/app.py|git reset|git reset -- own.py
git reset --soft HEAD|git restore --staged .|git clean -n|git clean -nfdx|git worktree list
git config --get user.name|git remote -v|git checkout -- own.py|git restore own.py|git checkout own.py|rm own.py
rm -f own.py missing.py|rm -rf build|rm -rf build/ dist/|rm -rf node_modules|find . -name '*.pyc' -delete
find . -name __pycache__ -exec rm -rf {} +|rm -rf .pytest_cache .mypy_cache|rm -f *.log|mkdir -p a/b|touch fresh.py
mv own.py moved.py|cp own.py copy.py|cp -r src copy|cp notes.md notes.bak|mv still.py src/still.py
python -m pytest -q|make test|npm test|grep -rn 'rm -rf' .|echo 'git reset --hard'|sed -n 1,5p notes.md
wc -l notes.md|head -3 src/app.py|rg --files|find . -name '*.py'|ls | wc -l|cat <<'E' > fresh.txt|echo done
git diff HEAD -- src | cat|git log -p -- src | head|for f in src/*; do echo $f; done|python -c 'print(1)'
git cat-file -p HEAD|git merge-base main HEAD|git rebase --show-current-patch|git stash show|git cherry-pick --quit
git worktree prune|git gc --auto|rsync -a src/ copy/|rm -rf /tmp/quire-none|rm /tmp/quire-none.txt
mv /tmp/quire-none /tmp/quire-none2|cd /tmp && rm -rf quire-none|git -C /tmp status|tar czf /tmp/quire-none.tgz src
git archive HEAD -o /tmp/quire-none.tar|xargs -a /dev/null rm -f|git diff --name-only | xargs cat
git ls-files -o | head|test -f own.py && cat own.py|rm -f own.py && git checkout own.py|git show HEAD:notes.md
diff own.py still.py|git shortlog -s|git describe --always|git notes list|git bisect log|cmp own.py still.py
stat own.py|env | sort|which git|date|true""",
)
"""A `|` without spaces parts two command lines."""


def write(client: quire_client.Client, path: str, text: str) -> None:
    """A tool writes a whole file that the writer has read, if there is one."""
    known = client.call("read_file", {"path": path})
    base = {"base": known["version"]} if known["ok"] else {}
    ok(client.call("write_file", {"path": path, "content": text, **base}))


class Site:
    """A checkout with a journal and git, in which an agent asks before its shell calls."""

    def __init__(self) -> None:
        self.at = Live()
        self.at.state_dir = Path()
        self.calls = 0
        settings = {"user.name": "Ann", "user.email": "ann@example.org", "alias.nuke": "reset --hard"}
        self.run("git init -q -b main .")
        for name, value in settings.items():
            self.run(f"git config {name} '{value}'")
        for path, text in BASE.items():
            self.at.write(path, text)
        self.run("git add -A && git commit -qm base")
        with quire_client.connect(self.at.root, agent="codex") as client:
            eventually("the first capture", lambda: client.status()["capture"]["finished"])
        self.session = self.told("SessionStart")
        lines = quire("env", cwd=self.at.root).stdout.decode().splitlines()
        told = (line.removeprefix("export ").partition("=") for line in lines if line.startswith("export GIT_"))
        self.shell = {name: value.strip("'") for name, _, value in told}  # as `quire setup` lets the agent's shell have
        self.environ = dict(os.environ)

    def run(self, line: str, **more: str) -> None:
        environ = {**os.environ, **more}
        subprocess.run(["sh", "-c", line], cwd=self.at.root, capture_output=True, timeout=20, env=environ)

    def told(self, event: str, **fields: Any) -> dict[str, Any]:
        said = {"hook_event_name": event, "session_id": "s1", "cwd": str(self.at.root), **fields}
        return answered(agent("claude-code"), said, Surroundings(os.environ))

    def before(self, line: str) -> str:
        """The decision about a command line; "" if it may run."""
        self.calls += 1
        self.call = {"tool_name": "Bash", "tool_use_id": f"c{self.calls}", "tool_input": {"command": line}}
        answer = self.told("PreToolUse", **self.call).get("hookSpecificOutput", {})
        return str(answer.get("permissionDecision", ""))

    def after(self) -> None:
        self.told("PostToolUse", **self.call, tool_response={"stdout": ""})

    def others_work(self) -> None:
        """The tree as committed, but for work of others and a file of the agent's own."""
        self.run("git checkout -qf main; git reset -q --hard; git clean -fdxq -e .quire; mkdir -p build data")
        self.at.write(".env", SECRET)
        self.at.write("build/x.o", "1")
        with quire_client.connect(self.at.root, agent="codex", session="s2") as client:
            for path in ("src/app.py", "new.py"):
                write(client, path, OTHERS[path])
        with quire_client.connect(self.at.root, agent="claude-code", session="s1") as client:
            write(client, "own.py", "x = 2\n")
        self.at.write("notes.md", OTHERS["notes.md"])

    def lost(self) -> set[str]:
        """The files of others that are not there as they were."""
        there = {path: self.at.root / path for path in (*OTHERS, ".env")}
        told = {path: file.read_text() if file.is_file() else "" for path, file in there.items()}
        return {path for path, text in told.items() if text != {**OTHERS, ".env": SECRET}[path]}

    def taken_back(self, by_git: bool) -> None:
        """Undo what git's last command did, or the call."""
        with quire_client.connect(self.at.root, agent="") as client:
            eventually("a daemon that looks", lambda: client.call("since", {}).get("ok"))
            caught_up(client)
            if by_git:
                client.call("undo", {"git": "last"})
                return
            burst = client.call("burst", {})["bursts"][0]["burst"]
            client.call("undo", {"burst": burst, "writer": "*", "probable": True})


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patch:
        found = Site()
        patch.chdir(found.at.root)
        yield found
        found.at.close()


def played(site: Site, line: str, command: str) -> str:
    """What became of a command line: "asked", "kept", "undone", else what was lost."""
    site.others_work()
    (site.at.root.parent / "script.sh").write_text(f"{command}\n")
    if site.before(line):
        return "asked"
    site.run(line, QUIRE_AGENT="claude-code", QUIRE_SESSION="s1", **site.shell)
    site.after()
    if not site.lost():
        return "kept"
    site.taken_back(by_git=command.startswith("git ") and command != ENDS_THE_DAEMON)
    return "undone" if not site.lost() else f"lost {sorted(site.lost())}"


SAMPLE = [(TAKING[n], [*WRAPPED][n % len(WRAPPED)]) for n in range(0, len(TAKING), 3)]
ALL = [(command, how) for command in TAKING for how in WRAPPED]


def check(site: Site, cases: list[tuple[str, str]]) -> None:
    became = {(command, how): played(site, WRAPPED[how].format(command), command) for command, how in cases}
    held = {case for case, said in became.items() if not said.startswith("lost")}
    unheld = {case for case, said in became.items() if said == "lost ['.env']"}
    assert not {case: became[case] for case in became.keys() - held - unheld}
    assert all(how == "a script" for _, how in unheld), unheld  # what cannot be read is allowed
    read = [case for case in became if case[1] != "a script"]
    assert sum(became[case] == "asked" for case in read) >= len(read) * 0.9


def test_what_takes_work_of_others_is_asked_about_or_undone(site: Site) -> None:
    check(site, SAMPLE)


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_each_of_two_hundred_command_lines_is_asked_about_or_undone(site: Site) -> None:
    assert len(ALL) >= 200
    check(site, ALL)


def test_at_most_one_in_fifty_harmless_command_lines_is_asked_about(site: Site) -> None:
    site.others_work()
    asked = [line for line in HARMLESS if site.before(line)]
    assert len(HARMLESS) >= 100
    assert len(asked) <= len(HARMLESS) // 50, asked


GIT_FORMS = {
    "-C": "git -C src/.. {}",
    "--git-dir": "git --git-dir=.git --work-tree=. {}",
    "options": "git --no-pager -c core.pager=cat {}",
    "an environment": "LC_ALL=C GIT_PAGER=cat command git {}",
    "a path": "/usr/bin/env git {}",
    "another folder": "cd src && git -C .. {}",
    "a pipe": "git {} 2>&1 | tail -3",
    "a list": "cd . ; pwd\ngit {} && echo done",
    "time": "time timeout 30 git {}",
    "a function": "f() {{ git {}; }}; f",
    "bash": "bash -lc 'set -e; git {}'",
}
"""How agents write a git command."""


def test_git_is_known_in_any_form(site: Site) -> None:
    site.others_work()
    commands = [command.removeprefix("git ") for command in TAKING if command.startswith("git ")]
    cases = [form.format(command) for command in commands for form in GIT_FORMS.values()]
    assert len(cases) >= 250
    assert [line for line in cases if not site.before(line)] == []


def test_the_question_names_whose_lines_are_at_stake(site: Site) -> None:
    site.others_work()
    site.calls += 1
    call = {"tool_name": "Bash", "tool_use_id": f"c{site.calls}", "tool_input": {"command": "git nuke"}}
    answer = site.told("PreToolUse", **call)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    assert '- src/app.py: uncommitted, 1 line of "codex/s2"' in answer["permissionDecisionReason"]
    assert "- notes.md: uncommitted, 1 line of a person or another program" in answer["permissionDecisionReason"]
    assert "own.py" not in answer["permissionDecisionReason"]
