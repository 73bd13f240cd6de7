"""The error of an agent's configuration file."""


class MalformedConfig(ValueError):
    """A file is unreadable, or another entry holds Quire's place. The text is a sentence without the file's name."""
