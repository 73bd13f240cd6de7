"""Set-up: the service, the shell's environment and completion."""
