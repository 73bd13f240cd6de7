"""Commit: events on their way into the log: the recorder, in-flight writes, and what happens when a commit fails."""
