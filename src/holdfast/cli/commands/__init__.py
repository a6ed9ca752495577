"""One file a command, named like the command."""
