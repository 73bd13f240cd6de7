"""`python -m quire_daemon.tools.admin.print_manual [TOOL]`: the reply of `manual` without a workspace, as JSON."""

from __future__ import annotations

import sys

import msgspec

from quire_daemon.config import Settings
from quire_daemon.tools.admin.manual import answer
from quire_journal.model import Refusal


def main(names: list[str]) -> int:
    """Print the manual under the default settings as JSON. Always returns 0; an unknown tool prints the refusal."""
    try:
        reply = answer(names[0] if names else None, Settings())
    except Refusal as refused:
        reply = refused.reply()
    sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
