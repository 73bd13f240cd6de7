"""Agents: setup, unsetup, hooks, MCP and the manual."""
