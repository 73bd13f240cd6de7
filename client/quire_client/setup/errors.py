"""The exception for an agent's configuration file."""


class MalformedConfig(ValueError):
    """A configuration file is unreadable, or a foreign entry has Quire's name. The text is a sentence."""
