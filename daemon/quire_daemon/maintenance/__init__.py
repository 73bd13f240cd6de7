"""Maintenance: services for the whole journal: verify, repair, purge, export, import, garbage collection."""
