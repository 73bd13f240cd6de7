"""Everyday: up, down, status, top, read, call."""
