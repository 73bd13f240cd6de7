"""Journal: the log of all changes of a workspace, and the views folded from it."""

FORMAT = 8
"""Version of the format on disk."""

READS = (7, FORMAT)
"""Formats that a start raises to `FORMAT`: 7 has no packs. Others are refused unchanged (`journal.OtherFormat`)."""

WIRE = 1
"""Version of the messages between client and daemon."""

VERSION = "0.1.0"
