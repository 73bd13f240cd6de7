"""Journal: the log of all changes of a workspace, and the views folded from it."""

FORMAT = 7
"""Version of the format on disk. Other formats are refused unchanged (`journal.OtherFormat`)."""

WIRE = 1
"""Version of the messages between client and daemon."""

VERSION = "0.1.0"
