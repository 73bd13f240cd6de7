"""Regex: searches by regular expression in a process that can be killed."""
