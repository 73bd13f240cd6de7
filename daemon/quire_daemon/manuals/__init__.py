"""Moves on."""
