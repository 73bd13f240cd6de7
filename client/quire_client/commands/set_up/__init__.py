"""Commands that set up a machine: service, shell environment and completion."""
