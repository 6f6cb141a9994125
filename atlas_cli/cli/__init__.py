"""The only part that knows typer, beside the commands: the grammar, the root of all commands,
options; limits and templates."""
