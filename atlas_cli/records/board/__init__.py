"""The task board: tasks, gates, results, and the writes on them."""
