"""Where typer is met: options, limits, templates."""
