"""`.atlas/` in a worktree: the view, and texts that are left over."""
