"""Shipment: what leaves the machine of a journal: sealed segments of its records, and encrypted bytes."""
