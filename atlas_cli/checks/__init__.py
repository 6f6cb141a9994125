"""The user's own commits: read, and judged by their trailers against the store's history."""
