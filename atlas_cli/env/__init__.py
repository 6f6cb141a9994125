"""The surroundings of a command."""
