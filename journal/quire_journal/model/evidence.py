"""Evidence: how a write by another program was found, and how its writer is known."""

from __future__ import annotations

from typing import Final

CAPTURED: Final = "captured"
"""Found by the first comparison of tree and journal."""

WATCHED: Final = "watched"

SCANNED: Final = "scanned"
"""Found by a later comparison, or another check that does not know the time."""

READ: Final = "read"
"""Found by a call that read the file."""

DISPLACED: Final = "displaced"
"""Found where Quire reverted its own write, or restored a file."""

JOURNALED: Final = "journaled"

ISOLATED: Final = "isolated"
"""Written by a command on a copy of the tree; Quire applied the changes to the checkout."""

EXACT: Final = "exact"
"""Applying an agent's announced call to the bytes before gives the bytes found."""

TRACED: Final = "traced"
"""The kernel named the writing process, a descendant of the agent that announced the call."""

DURING: Final = "during"
"""A running command names the file, or is of a kind that writes such files, and no other writer was possible."""

OVERLAP: Final = "overlap"
"""Several calls, or a call and an unknown program, could have written the bytes."""

PROVED: Final = (ISOLATED, EXACT, TRACED)
"""Evidence that proves the writer of an outside write, so that an undo of the writer includes it."""

NAMING: Final = (*PROVED, DURING)

MARK: Final = "~"
