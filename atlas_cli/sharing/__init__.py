"""The remote: what goes there, what comes from there, and what is carried over."""
