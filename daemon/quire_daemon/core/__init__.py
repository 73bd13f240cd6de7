"""Core: the values that a call consists of: arguments, the world it meets, its decision; no disk, no clock, no thread."""
