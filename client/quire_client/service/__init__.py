"""The daemon as a service of the user's own service manager: systemd (unit and socket) or launchd (an agent)."""
