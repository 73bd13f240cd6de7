"""Ops: what the operating system is asked and told: timers, limits, the daemon's own log, systemd."""
