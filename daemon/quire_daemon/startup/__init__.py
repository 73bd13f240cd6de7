"""Startup: recovery of writes that the last run of the daemon did not finish."""
