"""Where typer is met: the grammar, the root of all commands, options; limits and templates."""
