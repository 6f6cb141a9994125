"""What a command runs with."""
