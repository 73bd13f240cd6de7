"""Dialects: the edit protocols of agents, each a pure function from arguments and a text to a new text."""
