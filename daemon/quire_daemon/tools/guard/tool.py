"""`guard`: predicts the files and changes that a command line discards from the working tree, before an agent's shell
runs it.

The hook then asks git for the affected files, and `contributions` for the writers of their changes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import GuardReply
from quire_daemon.tools.guard.git_losses import Loss
from quire_daemon.tools.guard.losses import losses
from quire_journal.model import counted


class GuardParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    command: str
    folder: str  # absolute; where the shell is
    aliases: dict[str, str] = {}  # git's aliases that the command may use; "": no alias of this name


def decide(params: GuardParams, world: World) -> Decision:
    """Return the losses (`GuardReply`), and the setting `hooks.git` for losses of other writers' work."""
    mode = world.settings.hooks.git
    found = losses(params.command, params.folder, params.aliases) if mode != "off" else None
    told = [] if found is None else [_loss_json(one) for one in found.losses]
    return Decision(
        {
            "ok": True,
            "message": f"{counted(len(told), 'program')} may take work from the tree.",
            "mode": mode,
            "losses": told,
            "aliases": [] if found is None else sorted({*found.unknown}),
        }
    )


def _loss_json(loss: Loss) -> dict[str, object]:
    return {**loss._asdict(), "paths": list(loss.paths)}


GUARD_TOOL: Final[Tool[GuardParams]] = Tool("guard", GuardParams, no_paths, decide, reply=GuardReply)
