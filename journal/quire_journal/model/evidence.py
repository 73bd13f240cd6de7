"""Evidence: how a write of another program was found, and what is known of who made it."""

from __future__ import annotations

from typing import Final

CAPTURED: Final = "captured"
"""The first comparison of tree and journal met it: it was there before anybody looked."""

WATCHED: Final = "watched"
"""The watcher told of it."""

SCANNED: Final = "scanned"
"""A later comparison met it, or something else that does not tell when it happened."""

READ: Final = "read"
"""A call met it."""

DISPLACED: Final = "displaced"
"""It was met where a write of ours was taken back, or put back."""

JOURNALED: Final = "journaled"
"""A tool of Quire's wrote it."""

ISOLATED: Final = "isolated"
"""A command wrote it on a copy of the tree, and Quire landed it."""

EXACT: Final = "exact"
"""An agent announced a call, and the bytes found are what the call makes of the bytes before."""

TRACED: Final = "traced"
"""The kernel named the process, and it descends from the agent that announced the call."""

DURING: Final = "during"
"""A command was under way that names the file, or is of a kind that writes such files, and nothing else could have."""

OVERLAP: Final = "overlap"
"""Several calls, or a call and somebody unknown, could have written it."""

PROVED: Final = (ISOLATED, EXACT, TRACED)
"""The evidence by which an outside write is its writer's, and goes with an undo of the writer."""

NAMING: Final = (*PROVED, DURING)
"""The evidence that names a writer."""

MARK: Final = "~"
"""The sign in front of a writer who is probable, not proved."""
