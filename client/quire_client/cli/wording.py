"""Words a refusal for the command line: options instead of a tool's arguments, commands instead of suggested
actions.
"""

from __future__ import annotations

import re
from typing import Final

ARGUMENTS: Final = {
    "agent_session": "--agent-session",
    "all": "--all",
    "allow_uncaptured": "--allow-uncaptured",
    "batch": "--batch",
    "burst": "--burst",
    "conflicts": "--conflicts",
    "contains": "--contains",
    "cursor": "--cursor",
    "force": "--force",
    "force: true": "--force",
    "from": "--since",
    "kind": "--kind",
    "last": "--last",
    "lease": "LEASE",
    "limit": "--limit",
    "minutes": "--minutes",
    "move: true": "--move",
    "next": "--cursor",
    "only": "--only",
    "path": "PATH",
    "plan": "--plan",
    "renew": "--renew",
    "since": "--since",
    "text_changed": "--changed-text",
    "token": "--token",
    "ttl_s": "--ttl",
    "turn": "--turn",
    "until": "--until",
    "wait_ms": "--wait",
    "writer": "--writer",
}

STEPS: Final = {
    "allow_uncaptured": "say --allow-uncaptured if those bytes may be lost; nothing brings them back",
    "begin_again": "begin anew",
    "burst": "`quire burst list` lists the bursts",
    "check_path": "look at the path again; `quire ls` lists what there is, `quire log` what there was",
    "check_permissions": "look at the permissions with `ls -l`",
    "choose_dialect": "`quire manual` prints all of them",
    "choose_a_new_folder": "`quire import -C NEW_FOLDER` makes the journal in another folder",
    "choose_another_path": "choose another path",
    "choose_another_point": "name another POINT; `quire log` lists those that there are",
    "choose_tool": "choose one of these",
    "claim": "`quire claim` asks for a lease",
    "claim_whole_file": "claim the file without --lines",
    "claims": "`quire claims` lists the leases",
    "confirm": "say --yes, and it is done",
    "describe": "`quire help` lists the commands",
    "end_burst": "`quire burst end` ends one",
    "export": "export anew",
    "export_jsonl": "`quire export jsonl` writes what can be imported",
    "fix_arguments": "`quire help COMMAND` tells what it takes",
    "free_space": "make room on the disk; `quire gc` drops what need not be kept",
    "install_quire": "install the package, with `pip install`",
    "fix_settings": "put the settings right; `quire doctor` says where they are wrong",
    "force": "say --force if what others claimed may be taken from them",
    "keep_copies": "keep a copy of the journal's folder (`quire status` names it) and of the signed head, and find out "
    "who could write there; `quire export jsonl` writes what it says now",
    "leave_file": "leave it to a tool that knows its format",
    "list_bursts": "`quire burst list` lists the bursts",
    "list_checkpoints": "`quire checkpoint list` lists the checkpoints",
    "list_folder": "`quire ls PATH` lists it, with --at POINT as it was then",
    "list_journals": "`quire list` lists the journals",
    "log": "`quire log` lists what there is",
    "look_there": "look what is in that folder",
    "name_a_point": "name a POINT that there is",
    "name_a_version": "`quire log --records` lists the versions; a file that is gone is shown by PATH@POINT",
    "name_the_target": "name what the link leads to",
    "narrow_the_choice": "choose less: by path, --writer, --batch or time",
    "op_status": 'whether it was done is told by `quire call op_status \'{"op": "%s"}\'`',
    "plan": "choose less, by path, --batch or time; `--conflicts markers` writes both sides into the file",
    "plan_again": "make the plan anew with --plan",
    "raise_limit": "a higher limit can be set in [limits] or [capture] of your own config.toml",
    "re-read_file": "read the file again, with `quire read`",
    "release": "`quire release` gives leases up",
    "repair_file": "mend that file, and call again",
    "report": "it is a bug: please report it, with what the daemon's log says (`quire status` names its folder)",
    "restart_daemon": "end the old daemon with `quire down`, and call again",
    "retry": "call again in a moment",
    "run_doctor": "`quire doctor` tells what is wrong",
    "run_repair": "`quire repair` tells what would be done about it",
    "run_verify": "`quire verify` tells what is wrong",
    "start_daemon": "`quire up` starts the daemon",
    "stop_daemon": "say --stop, which ends it first",
    "verify": "`quire verify` checks the journal",
    "wait": "`quire claims` says who holds it, and until when; `quire claim PATH --wait SECONDS` waits for it",
    "who": "`quire who` lists who has called",
    "wait_or_use_free_lines": "claim lines that are free with --lines, or wait for the others with --wait",
}
"""A refusal's suggested action → the command or action for the user. `%s` is the operation's id."""

OTHER_STEPS: Final = {
    ("uncaptured", "log"): "`quire log --records PATH` lists its other versions",
    ("restore", "narrow_the_choice"): "name fewer files, or move away what is in the way",
    ("restore", "plan"): "name fewer files, or move away what is in the way",
    ("rollback", "narrow_the_choice"): "choose less: by path, --only, or a later POINT",
    ("rollback", "plan"): "choose less, by path, --only, or a later POINT; `--conflicts markers` writes both sides",
}
"""(error code or command, suggested action) → the step, where `STEPS` has another step for the action."""

_NAMED: Final = re.compile(r"`([a-z_]+(?:: true)?)`")
_LEADING: Final = re.compile(r"^([a-z_]+)(?=: )")


def sentence(message: str) -> str:
    """Return a refusal's message with command-line options in place of tool arguments."""
    message = _LEADING.sub(lambda found: ARGUMENTS.get(found[1], found[0]), message)
    return _NAMED.sub(lambda found: ARGUMENTS.get(found[1], found[0]), message)


def step(action: str, op: str = "", command: str = "", code: str = "") -> str:
    """Return what to do, as a command or in words, after `command` was refused with `code`. An unknown `action` is
    returned as words.
    """
    other = OTHER_STEPS.get((code, action)) or OTHER_STEPS.get((command, action))
    told = other or STEPS.get(action) or action.replace("_", " ")
    return told.replace("%s", op).replace("help COMMAND", f"help {command}" if command else "help COMMAND")
