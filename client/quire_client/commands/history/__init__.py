"""History: log, since, watch, show, diff, blame, why, cat, ls, exports and import."""
