"""The exception for an agent's configuration file."""


class MalformedConfig(ValueError):
    """A configuration file is malformed, or contains an entry of Quire's name that Quire did not write. The text is a
    sentence.
    """
