def claims():
    """Duplicate checks before a run; free browsing only after."""
    return []
