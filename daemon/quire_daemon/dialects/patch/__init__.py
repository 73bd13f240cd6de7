"""Patch: patches in the envelope of agents and as unified diffs, parsed and located."""
