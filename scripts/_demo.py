"""The story that `scripts/demo` tells. Everything it makes is in one temporary folder, which goes away with it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from quire_client import Client, connect

QUIRE = Path(sys.executable).with_name("quire")
BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")

WIDTH = 80
"""Columns, as of a terminal that nobody has made wider."""

GREET = """\
def greet(name):
    text = "Hello, " + name
    print(text)
    return text
"""


def say(sentence: str) -> None:
    """A sentence of the story."""
    print(f"\n{BOLD}{textwrap.fill(sentence, WIDTH)}{PLAIN}\n", flush=True)


def _filled(line: str) -> str:
    indent = "    "
    return textwrap.fill(line, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def shell(*words: str) -> None:
    """A command, and what it prints; of that, what is too wide goes on in the next line, as on a terminal."""
    print(f"  $ {shlex.join(words)}")
    command = [str(QUIRE), *words[1:]] if words[0] == "quire" else list(words)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in textwrap.indent(done.stdout, "    ").splitlines():
        print(line if len(line) <= WIDTH else _filled(line.strip()), flush=True)


def read(agent: Client) -> list[str]:
    """The file as an agent is shown it, each line behind its anchor."""
    lines: list[str] = agent.read_file("greet.py", hashes=True)["lines"]
    return lines


def edit(agent: Client, shown: list[str], text: str, content: str) -> None:
    """An agent replaces the line in which it was shown `text`."""
    anchor = next(line for line in shown if text in line).split()[0]
    change = {"op": "replace_line", "hash": anchor, "content": content}
    reply: dict[str, Any] = agent.edit("greet.py", [change])
    print(f"  {agent.caller.agent}: replace_line {anchor} by {content.strip()!r}")
    verdict = "ok" if reply["ok"] else f"refused, {reply['error']}"
    for line in f"{verdict}: {reply['message']}".splitlines():
        print(_filled(line))
    for line in reply.get("diff", []):
        print(f"      {line}")


def tell(site: Path) -> None:
    """The story."""
    say("1. A checkout with one file. `quire up` starts its daemon and captures what is there.")
    Path("greet.py").write_text(GREET)
    shell("quire", "up", ".")

    with connect(site, agent="ada", session="s1") as ada, connect(site, agent="bob", session="s1") as bob:
        say("2. Two agents, Ada and Bob, read the file. Each line comes with an anchor: its number and its hash.")
        shell("quire", "--agent", "ada", "--session", "s1", "read", "--hashes", "greet.py")
        by_ada, by_bob = read(ada), read(bob)

        say("3. Ada edits. The answer comes when her edit would survive a power cut.")
        edit(ada, by_ada, "text =", '    text = f"Hello, {name}!"')

        say("4. Bob edits what he saw, which is not what is there any more. He is refused, and told who did what.")
        edit(bob, by_bob, "print", "    print(text, flush=True)")

        say("5. Bob reads again, and edits.")
        edit(bob, read(bob), "print", "    print(text, flush=True)")

        say("6. A program that has never heard of Quire appends to the file.")
        with open("greet.py", "a") as file:
            file.write("# reviewed\n")
        print("  $ echo '# reviewed' >> greet.py")

        say("7. Ada takes her edit back. What Bob and the program wrote stays.")
        shell("quire", "--agent", "ada", "--session", "s1", "undo")
        shell("cat", "greet.py")

    say("8. The journal has all of it, by whom, and how it is known.")
    shell("quire", "log", "--oldest", "greet.py")

    say("9. It is sound, and the daemon can go; the journal stays for the next one.")
    shell("quire", "verify")
    shell("quire", "down")


def main() -> None:
    """Tell the story in folders of its own, and leave nothing behind, however it ends."""
    with tempfile.TemporaryDirectory(prefix="quire-demo-") as top:
        site = Path(top, "site")
        site.mkdir()
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
            folder = Path(top, name.lower())
            folder.mkdir(mode=0o700)
            os.environ[name] = str(folder)
        os.environ.pop("QUIRE_AGENT", None)
        os.environ.pop("QUIRE_SESSION", None)
        os.chdir(site)
        try:
            tell(site)
        finally:
            subprocess.run([QUIRE, "down"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.chdir("/")


if __name__ == "__main__":
    main()
