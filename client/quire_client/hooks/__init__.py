"""Hooks: what agents tell of their own tools, and what they are answered."""
